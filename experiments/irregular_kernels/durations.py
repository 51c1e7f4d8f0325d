"""Runs kernel by kernel: total times, and distances between distributions over tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from experiments.irregular_kernels.results import KERNELS
from tasksim.run.compare import ks_distance
from tasksim.run.metrics import kernel_durations

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tasksim.run.record import Run

__all__ = [
    "Shift",
    "duration_distances",
    "durations",
    "shifts",
    "totals_s",
]


class Shift(NamedTuple):
    """How far apart two runs executed the tasks of a kernel: 0 (at the same times) to 1.

    Kolmogorov-Smirnov distances between the distributions of the times, in seconds since the
    first submission, at which tasks start, and end.
    """

    start: float
    end: float


def durations(run: Run) -> dict[str, NDArray[np.float64]]:
    """Return per kernel that ran the durations of its tasks, in seconds, in task order.

    The kernels are in the order of :data:`KERNELS`; others follow.
    """
    return _in_order(kernel_durations(run))


def totals_s(run: Run) -> dict[str, float]:
    """Return per kernel that ran the sum of the durations of its tasks, in seconds."""
    return {kernel: float(values.sum()) for kernel, values in durations(run).items()}


def duration_distances(a: Run, b: Run) -> dict[str, float]:
    """Return per kernel that ran in both the Kolmogorov-Smirnov distance of its durations.

    It is the largest difference between the shares of tasks that took at most some time, from
    0 (the same distribution) to 1 (no task of the one took as long as any of the other).
    """
    ours, theirs = durations(a), durations(b)
    return {k: ks_distance(ours[k], theirs[k]) for k in ours if k in theirs}


def shifts(a: Run, b: Run) -> dict[str, Shift]:
    """Return per kernel that ran in both how far apart its tasks start and end."""
    starts, others = _split(a, a.tasks.start_s), _split(b, b.tasks.start_s)
    ends, other_ends = _split(a, a.tasks.end_s), _split(b, b.tasks.end_s)
    return {
        k: Shift(ks_distance(starts[k], others[k]), ks_distance(ends[k], other_ends[k]))
        for k in starts
        if k in others
    }


def _split(run: Run, column: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return a column of the tasks per kernel that ran."""
    parts = {name: column[run.tasks.kernel == k] for k, name in enumerate(run.kernel_names)}
    return _in_order({name: part for name, part in parts.items() if len(part)})


def _in_order(parts: dict[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    known = [name for name in KERNELS if name in parts]
    return {name: parts[name] for name in dict.fromkeys((*known, *parts))}
