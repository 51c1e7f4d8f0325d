"""Critical kernels, which a model of the whole program must include separately.

At least three runs on different numbers of workers are needed: a kernel is critical if it takes a
large share of the time, or if its time does not fall with the number of workers. (N. Ding et al.,
"APMT: an automatic hardware counter-based performance modeling tool for HPC applications".)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Floats
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.samples import RecordedRun

__all__ = ["AGGREGATED_NAME", "MIN_RUNS", "CriticalKernels", "KernelScaling", "critical_kernels"]

AGGREGATED_NAME: Final = "other"
"""Name of the aggregated kernels."""
MIN_RUNS: Final = 3
"""Smallest number of different numbers of workers: two points always lie on a line."""
SHARE_THRESHOLD: Final = 0.05
MAX_FALLING_EXPONENT: Final = -0.1
"""Largest exponent of a kernel's time over the number of workers with which it falls. The ideal is
-1; 0.1 is the difference between runs when the number of workers doubles."""
MIN_TIME_S: Final = 1e-15
"""Time in seconds that replaces zero for a kernel that a run does not have."""


@dataclass(frozen=True)
class KernelScaling:
    """Scaling of a kernel over the runs.

    Attributes
    ----------
    name
        Name of its kernel model.
    shares
        Share of the time of all tasks, per run.
    times_s
        Time of the worker that spends most on it, per run.
    exponent
        Exponent of that time over the number of workers; -1 for ideal scaling.
    reason
        Reason why it is critical, as text; None if it is not.
    """

    name: str
    shares: tuple[float, ...]
    times_s: tuple[float, ...]
    exponent: float
    reason: str | None


@dataclass(frozen=True)
class CriticalKernels:
    """Scaling of all kernels of some runs.

    Attributes
    ----------
    workers
        Number of workers per run, ascending.
    kernels
        Kernels with the largest share first.
    """

    workers: tuple[int, ...]
    kernels: tuple[KernelScaling, ...]

    @property
    def critical(self) -> tuple[str, ...]:
        """Names of the critical kernels."""
        return tuple(kernel.name for kernel in self.kernels if kernel.reason is not None)

    @property
    def rest(self) -> tuple[str, ...]:
        """Names of the other kernels, which are aggregated."""
        return tuple(kernel.name for kernel in self.kernels if kernel.reason is None)

    @property
    def covered(self) -> float:
        """Smallest share, over the runs, of the time that the critical kernels take."""
        shares = [kernel.shares for kernel in self.kernels if kernel.reason is not None]
        return min(map(sum, zip(*shares, strict=True)), default=0.0)

    def aggregated(self, graph: TaskGraph) -> TaskGraph:
        """Return *graph* with all other kernels modelled as one.

        Tasks keep the names of their kernels; their durations come from the model of ``other``.
        """
        rest = set(self.rest)
        names = tuple(AGGREGATED_NAME if name in rest else name for name in graph.model_names)
        return replace(graph, model_names=names)


def critical_kernels(
    runs: Sequence[RecordedRun], threshold: float = SHARE_THRESHOLD
) -> CriticalKernels:
    """Return which kernels of *runs* are critical.

    Parameters
    ----------
    runs
        At least three runs on different numbers of workers; recorded, simulated or imported.
    threshold
        Share of the time, in any run, from which a kernel is critical.

    Raises
    ------
    InputError
        If there are fewer runs, or *threshold* is no share.
    """
    if not 0 < threshold < 1:
        raise InputError(f"threshold {threshold!r}: must be a share between 0 and 1")
    ordered = sorted(runs, key=lambda run: len(run.run.workers))
    workers = tuple(len(run.run.workers) for run in ordered)
    if len(set(workers)) < MIN_RUNS:
        raise InputError(
            f"critical kernels need runs on at least {MIN_RUNS} different numbers of workers, "
            f"got {', '.join(map(str, workers)) or 'none'}: two cannot show which times fall"
        )
    tables = [_times(run) for run in ordered]
    totals = [sum(float(times.sum()) for times in table.values()) or 1.0 for table in tables]
    found = []
    for name in dict.fromkeys(name for table in tables for name in table):
        times = [table.get(name, np.zeros(1)) for table in tables]
        shares = tuple(float(t.sum()) / total for t, total in zip(times, totals, strict=True))
        longest = tuple(float(t.max()) for t in times)
        exponent = float(np.polyfit(np.log(workers), np.log(np.maximum(longest, MIN_TIME_S)), 1)[0])
        reason = None
        if max(shares) > threshold:
            reason = f"takes {100 * max(shares):.1f} % of the time"
        elif exponent > MAX_FALLING_EXPONENT:
            reason = "its time does not fall with the workers"
        found.append(KernelScaling(name, shares, longest, exponent, reason))
    return CriticalKernels(workers, tuple(sorted(found, key=lambda k: -max(k.shares))))


def _times(recorded: RecordedRun) -> dict[str, Floats]:
    """Return kernel -> time that each worker spends on it."""
    run, graph, tasks = recorded.run, recorded.graph, recorded.run.tasks
    of_task = graph.kernel[tasks.task]
    found: dict[str, Floats] = {}
    for kernel, name in enumerate(graph.model_names):
        mine = of_task == kernel
        if mine.any():
            durations = (tasks.end_s - tasks.start_s)[mine]
            times = np.bincount(tasks.worker[mine], durations, minlength=len(run.workers))
            before = found.get(name, np.zeros(len(run.workers)))
            found[name] = np.asarray(before + times, dtype=np.float64)
    return found
