"""Costs of the runtime and of devices, beside kernels.

By default, all are zero or have no effect. Calibrations and imports fill them in, and each can be
set by name (``--set platform.overheads.push=2us``).
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
        Time to submit a task: task *i* is submitted at ``i * submission_s``.
    task_s : float, default 0.0
        Time from a worker's pop to the start of the kernel.
    wakeup_s : float, default 0.0
        Time added to ``task_s`` if the worker was asleep.
    push_s : float, default 0.0
        Time to push a released task, on the worker whose task released it.
    fetch_s : float, default 0.0
        Time per datum of a task, on the worker that popped it.
    progress_s : float, default 0.0
        Time of one round of a worker's loop before a pop, per memory that it serves.
    kernel_s : float, default 0.0
        Time to queue a kernel on a device, on the worker that drives it.
    copy_s : float, default 0.0
        Time to start a copy, on the worker that drives the device.
    start_s : float, default 0.0
        Time until a core other than the first is ready for its first task, unless that is its
        start, as in recordings of OpenMP programs on several threads and of pools of processes.
    creation_s : float, default 0.0
        Time to create a task on a team of several threads, less the time on one. Replays of OpenMP
        programs that were recorded on one thread charge it if there are more workers.
    dependence_s : float, default 0.0
        The same time per datum in the task's ``depend`` clauses.

    See Also
    --------
    Allocation, Copying : Costs of devices and copies.

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
        """Whether only submissions, tasks and their creation, wake-ups and starts have costs."""
        basic = ("submission_s", "task_s", "wakeup_s", "start_s", "creation_s", "dependence_s")
        return not any(getattr(self, f.name) for f in fields(self) if f.name not in basic)


@dataclass(frozen=True, slots=True)
class Allocation:
    """Cost and granularity of allocations on devices.

    Blocks up to ``largest_bytes`` take whole units of chunks; larger blocks have allocations of
    their own. Allocations of all devices exclude each other, as CUDA's do.

    Parameters
    ----------
    allocate_s : float, default 0.0
        Time of an allocation by the driver.
    free_s : float, default 0.0
        Time of a release by the driver.
    chunk_bytes : float, default 32 MiB
        Size of a chunk for small blocks.
    unit_bytes : float, default 16 KiB
        Unit of small blocks.
    largest_bytes : float, default 4 MiB
        Largest small block; 0 for none.
    usable : float, default 1.0
        Share of a device's memory that the runtime uses.
    pin_s : float, default 0.0
        Time to pin 1 MiB of main memory, for data that nodes of a cluster receive for their
        devices; chunks are pinned at once, and kept.

    See Also
    --------
    Overheads : Costs of the runtime.
    Memory : The size of a device's memory.

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
        Largest number of concurrent copies from one memory to another that tasks wait for.
    prefetches : int, default 2
        The same for copies made ahead.
    idle : int, default 1
        The same for copies that no task waits for, such as write-backs.
    serialised : bool, default False
        Whether copies exclude each other as CUDA's do: see
        :mod:`tasksim.engine.data.engines`.
    contention : float, default 0.0
        Factor of the schedulers' estimates: ``latency + max(1, contention * devices in use) * bytes
        / bandwidth``.

    See Also
    --------
    Link : The speed of copies.

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
