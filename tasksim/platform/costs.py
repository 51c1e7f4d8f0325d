"""Costs of the runtime and of devices, beside kernels.

By default, all are zero or have no effect. Calibrations and imported machines fill them in; each
can be set by name (``--set platform.overheads.push=2us``).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["Allocation", "Copying", "Overheads"]

KIB, MIB = 1024.0, 1024.0**2


@dataclass(frozen=True, slots=True)
class Overheads:
    """Overheads of the runtime, in seconds; zero by default.

    Parameters
    ----------
    submission_s : float, default 0.0
        Task *i* is submitted at ``i * submission_s``.
    task_s : float, default 0.0
        From a worker's pop to the start of the kernel.
    wakeup_s : float, default 0.0
        Added to ``task_s`` when the worker was asleep.
    push_s : float, default 0.0
        To give one released task to the scheduler, on the worker whose task released it.
    fetch_s : float, default 0.0
        Per datum of a task, on the worker that has popped it.
    progress_s : float, default 0.0
        One round of a worker's loop, per memory that it looks after, before it pops.
    kernel_s : float, default 0.0
        To queue a kernel on a device, on the worker that drives it.
    copy_s : float, default 0.0
        To start a copy, on the worker that drives the device.
    start_s : float, default 0.0
        Until a core other than the first is there for its first task, unless that is its start, as
        in recordings of OpenMP programs on several threads.
    creation_s : float, default 0.0
        To create a task on a team of several threads, beyond what it takes on one: replays of
        OpenMP programs that were recorded on one thread charge it where there are more workers.
    dependence_s : float, default 0.0
        The same, per datum in the task's ``depend`` clauses.

    See Also
    --------
    Allocation, Copying : what devices and copies cost.

    Examples
    --------
    >>> Overheads(push_s=1e-6).only_basic, Overheads(task_s=1e-6).only_basic
    (False, True)
    """

    submission_s: float = 0.0
    task_s: float = 0.0
    wakeup_s: float = 0.0
    push_s: float = 0.0
    fetch_s: float = 0.0
    progress_s: float = 0.0
    kernel_s: float = 0.0
    copy_s: float = 0.0
    start_s: float = 0.0
    creation_s: float = 0.0
    dependence_s: float = 0.0

    @property
    def only_basic(self) -> bool:
        """Whether no data, devices or pushes cost anything."""
        basic = ("submission_s", "task_s", "wakeup_s", "start_s", "creation_s", "dependence_s")
        return not any(getattr(self, f.name) for f in fields(self) if f.name not in basic)


@dataclass(frozen=True, slots=True)
class Allocation:
    """Cost and granularity of allocations on devices.

    Blocks up to ``largest_bytes`` come, in whole units, out of chunks that are allocated
    at once; larger ones are allocated each on its own. Allocations of all devices exclude each
    other, as those of CUDA do.

    Parameters
    ----------
    allocate_s : float, default 0.0
        One allocation by the driver.
    free_s : float, default 0.0
        One release by the driver.
    chunk_bytes : float, default 32 MiB
        What is allocated at once for small blocks.
    unit_bytes : float, default 16 KiB
        Small blocks are whole multiples of this.
    largest_bytes : float, default 4 MiB
        The largest block that is small; 0: none is.
    usable : float, default 1.0
        The part of a device's memory that the runtime uses.
    pin_s : float, default 0.0
        To pin 1 MiB of main memory, for data that nodes of a cluster receive and that their
        devices then copy; chunks are pinned at once, and kept.

    See Also
    --------
    Overheads : what the runtime takes.
    Memory : how large a device's is.

    Examples
    --------
    >>> Allocation(usable=0.9).largest_bytes
    4194304.0
    """

    allocate_s: float = 0.0
    free_s: float = 0.0
    chunk_bytes: float = 32 * MIB
    unit_bytes: float = 16 * KIB
    largest_bytes: float = 4 * MIB
    usable: float = 1.0
    pin_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Copying:
    """Start-up of copies between memories, and the schedulers' estimates of copies.

    Parameters
    ----------
    fetches : int, default 5
        A copy that a task waits for starts while fewer than this many are under way between
        the two memories, in its direction.
    prefetches : int, default 2
        The same for copies made ahead.
    idle : int, default 1
        The same for copies that nobody waits for, such as writing back.
    serialised : bool, default False
        Whether copies exclude each other as CUDA's do: see
        :mod:`tasksim.engine.data.engines`.
    contention : float, default 0.0
        Schedulers believe that a copy takes ``latency + max(1, contention * devices in use) *
        bytes / bandwidth``.

    See Also
    --------
    Link : what copies take once they have begun.

    Examples
    --------
    >>> Copying(fetches=2).prefetches
    2
    """

    fetches: int = 5
    prefetches: int = 2
    idle: int = 1
    serialised: bool = False
    contention: float = 0.0
