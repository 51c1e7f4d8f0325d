"""Overlaps of tasks in native runs, and the slowdown of kernels that follows from them.

A task that takes *alone* by itself, and overlapped with tasks of kernel j for a time *o_j*, has
done the work

    alone = duration - sum over j of o_j * (1 - 1 / stretch_j)

as in a simulation. So the lost shares 1 - 1 / stretch are a least-squares fit over all tasks of a
kernel. A pair that was rarely seen, or only in noise, is shrunk towards the kernel's mean loss; and
all losses are shrunk towards zero, as far as runs differ from each other by as much as they differ
from those alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

    Numbers = NDArray[np.float64]

__all__ = ["Seen", "alone_s", "seen_beside", "stretches"]

OUTLIER_DEVIATIONS: Final = 4.0
"""Number of median absolute deviations from the fit beyond which a task is an outlier: the system
took its core."""
MAX_DURATION_RATIO: Final = 2.0
"""Ratio to the usual duration beyond which the system certainly took the core: two tasks that share
a core do not slow down by as much."""
MIN_DEVIATION: Final = 0.005
"""Smallest deviation that counts, as a share of the task: clocks have no finer resolution."""
DEVIATION_RATIO: Final = 1.4826
"""Ratio of the standard deviation to the median absolute deviation of normal noise."""
MIN_DURATION_S: Final = 1e-9
"""Duration of a task that takes no time, in seconds: a tick of the clock."""
SHRINKAGE_SHARE: Final = 0.002
"""Strength of the shrinkage of a pair to its kernel's mean, as a share of the kernel's overlaps: a
pair with a five-hundredth of them is half its own."""
PRIOR_DEVIATION: Final = 0.1
"""Prior standard deviation of the share that a kernel loses beside different neighbours: memory
slows by a fifth or so. The estimate of a pair counts as far as its noise is below this."""
MAX_LOST_SHARE: Final = 0.9
"""Largest share of its time that a task may lose: a slowdown of ten."""


class Seen(NamedTuple):
    """Durations of one kernel's tasks in runs, and their overlap with each kernel."""

    alone_s: Numbers
    duration_s: Numbers
    beside_s: Numbers
    """Shape (tasks, kernels); simultaneous neighbours count in equal parts that sum to one."""


def alone_s(runs: Sequence[Run]) -> Numbers:
    """Return the duration of each task alone: the median of *runs*.

    Faster ones would be less than tasks take beside others that do not slow them.
    """
    found: Numbers = np.median([run.tasks.duration_s for run in runs], axis=0)
    return found


def seen_beside(run: Run, graph: TaskGraph, alone: Numbers) -> Iterator[tuple[str, Seen]]:
    """Yield the observations in *run* per kernel, by its model's name."""
    names = list(graph.model_names)
    beside = _beside(run, graph)
    for kernel, name in enumerate(names):
        mine = np.flatnonzero(graph.kernel == kernel)
        if len(mine):
            yield name, Seen(alone[mine], run.tasks.duration_s[mine], beside[mine])


def _beside(run: Run, graph: TaskGraph) -> Numbers:
    """Return the overlap of each task with each kernel, simultaneous neighbours in equal parts."""
    tasks, others = run.tasks, max(1, len(run.workers) - 1)
    found = np.zeros((len(graph), len(graph.model_names)))
    by_worker = [np.flatnonzero(tasks.worker == worker) for worker in range(len(run.workers))]
    by_worker = [mine[np.argsort(tasks.start_s[mine])] for mine in by_worker]
    for mine in by_worker:
        for theirs in by_worker:
            if mine is not theirs and len(mine) and len(theirs):
                for one, other, seconds in _overlaps(mine, theirs, tasks.start_s, tasks.end_s):
                    found[one, graph.kernel[other]] += seconds / others
    return found


def _overlaps(
    mine: NDArray[np.intp], theirs: NDArray[np.intp], start: Numbers, end: Numbers
) -> Iterator[tuple[int, int, float]]:
    """Yield the overlapping pairs of tasks of two workers, and the length of the overlap."""
    i = j = 0
    while i < len(mine) and j < len(theirs):
        one, other = int(mine[i]), int(theirs[j])
        seconds = float(min(end[one], end[other]) - max(start[one], start[other]))
        if seconds > 0:
            yield one, other, seconds
        if end[one] <= end[other]:
            i += 1
        else:
            j += 1


def stretches(seen: Sequence[Seen]) -> Numbers:
    """Return the slowdown of a kernel beside each kernel, at least 1.

    *seen* has a part per run. A neighbour that was never seen gets the mean slowdown.
    """
    alone, duration, beside = (np.concatenate(columns) for columns in zip(*seen, strict=True))
    run = np.repeat(np.arange(len(seen)), [len(part.alone_s) for part in seen])
    ratio = duration / np.maximum(alone, MIN_DURATION_S)
    whole = ratio <= MAX_DURATION_RATIO * np.median(ratio)
    shares = _lost_shares(alone[whole], duration[whole], beside[whole])
    # Unexplained time as a share of the time alone.
    left = (duration - alone - beside @ shares) / np.maximum(alone, MIN_DURATION_S)
    spread = float(np.median(np.abs(left - np.median(left))))
    fits = np.abs(left - np.median(left)) <= OUTLIER_DEVIATIONS * max(spread, MIN_DEVIATION)
    alone, duration, beside, run = alone[fits], duration[fits], beside[fits], run[fits]
    shares = _lost_shares(alone, duration, beside)
    shares *= _certain_part(duration - alone, beside, shares, run)
    found: Numbers = 1.0 / (1.0 - shares)
    return found


def _lost_shares(alone: Numbers, duration: Numbers, beside: Numbers) -> Numbers:
    """Return the share of its time that a task loses beside each kernel."""
    total = float(beside.sum())
    if not total > 0:
        return np.zeros(beside.shape[1])
    lost = duration - alone
    mean = float(
        np.clip(np.median(lost / np.maximum(duration, MIN_DURATION_S)), 0.0, MAX_LOST_SHARE)
    )
    # Weights by time: a long task counts as much as many short ones.
    weights = 1 / np.maximum(alone, MIN_DURATION_S)
    weighted = (beside * weights[:, None]).T
    normal = weighted @ beside
    # Bayesian ridge regression: the variance of noise divided by the prior variance.
    noise = float(np.median(np.abs(lost - mean * beside.sum(axis=1)) * np.sqrt(weights)))
    pull = (
        SHRINKAGE_SHARE * float(np.trace(normal)) / len(normal)
        + (DEVIATION_RATIO * noise / PRIOR_DEVIATION) ** 2
    )
    right = weighted @ lost + pull * mean
    shares: Numbers = np.clip(
        np.linalg.solve(normal + pull * np.eye(len(normal)), right), 0.0, MAX_LOST_SHARE
    )
    return shares


def _certain_part(lost: Numbers, beside: Numbers, shares: Numbers, run: NDArray[np.intp]) -> float:
    """Return the part of the mean loss that is not due to differences between runs, 0 to 1.

    Runs alone differ as runs beside others do, so that the mean over both has twice the variance;
    the shrinkage is that of James and Stein.
    """
    together = np.bincount(run, beside.sum(axis=1))
    seen = together > 0
    if np.count_nonzero(seen) < 2:  # one run says nothing about others
        return 1.0
    by_run = np.bincount(run, lost - beside @ shares)[seen] / together[seen]
    mean = float(lost.sum() / together.sum())
    variance = 2 * float(by_run.var(ddof=1)) / len(by_run)
    return max(0.0, 1.0 - variance / mean**2) if mean > 0 else 0.0
