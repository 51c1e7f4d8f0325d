"""Overlaps of tasks in native runs, and what they say of how kernels slow each other down.

A task that takes *alone* by itself and has spent *o_j* of its time beside tasks of kernel j has
done so much

    alone = duration - sum over j of o_j * (1 - 1 / stretch_j)

of work, as the clock of a simulation has it. So the lost shares 1 - 1 / stretch are found by least
squares over all tasks of a kernel, drawn towards what the kernel loses beside any other as far as
little was seen of a pair, or what was seen is noise; and all together towards none, as far as runs
differ from each other by as much as they differ from those alone.
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

OUTLIER: Final = 4.0
"""Median absolute deviations of what neighbours do not explain beyond which a task says more of the
system, which has taken the core away."""
GROSS: Final = 2.0
"""So many times the usual duration is certainly the system's: two tasks that share a core do not
take so much longer than two that seldom do."""
FINEST: Final = 0.005
"""The least such deviation that is looked at, as a share of the task: clocks are no finer."""
NORMAL: Final = 1.4826
"""Standard deviations in a median absolute one, of normal noise."""
LEAST_S: Final = 1e-9
"""Of a task that takes no time: a tick of the clock."""
DRAWN: Final = 0.002
"""How strongly a pair is drawn to the middle of its kernel, as a share of what was seen of all its
pairs: one of a five-hundredth of that is half its own."""
APART: Final = 0.1
"""By how much of its time what a kernel loses beside one neighbour differs from what it loses
beside another, before anything is seen: memory slows by a fifth or so. What noise says of a pair
counts as far as it is less than that."""
MOST: Final = 0.9
"""The most of its time that a task is thought to lose: a stretch of ten."""


class Seen(NamedTuple):
    """What runs tell of the tasks of one kernel: durations, and time beside each kernel."""

    alone_s: Numbers
    duration_s: Numbers
    beside_s: Numbers
    """Shape (tasks, kernels); several neighbours count in parts that are one together."""


def alone_s(runs: Sequence[Run]) -> Numbers:
    """Return what each task takes alone: the median of its durations in *runs*.

    The faster ones would be less than what tasks beside others take without being slowed.
    """
    found: Numbers = np.median([run.tasks.duration_s for run in runs], axis=0)
    return found


def seen_beside(run: Run, graph: TaskGraph, alone: Numbers) -> Iterator[tuple[str, Seen]]:
    """Yield, per kernel by the name of its model, what *run* tells of its tasks."""
    names = list(graph.model_names)
    beside = _beside(run, graph)
    for kernel, name in enumerate(names):
        mine = np.flatnonzero(graph.kernel == kernel)
        if len(mine):
            yield name, Seen(alone[mine], run.tasks.duration_s[mine], beside[mine])


def _beside(run: Run, graph: TaskGraph) -> Numbers:
    """Return for how long each task ran beside each kernel, neighbours in equal parts."""
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
    """Yield the pairs of tasks of two workers that overlap, and for how long."""
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
    """Return how many times as long a kernel takes beside each kernel, at least 1.

    *seen* has a part per run. What was never seen is what it takes beside any other.
    """
    alone, duration, beside = (np.concatenate(columns) for columns in zip(*seen, strict=True))
    run = np.repeat(np.arange(len(seen)), [len(part.alone_s) for part in seen])
    ratio = duration / np.maximum(alone, LEAST_S)
    whole = ratio <= GROSS * np.median(ratio)
    shares = _lost_shares(alone[whole], duration[whole], beside[whole])
    # What is left to explain, as a share of what the task takes alone.
    left = (duration - alone - beside @ shares) / np.maximum(alone, LEAST_S)
    spread = float(np.median(np.abs(left - np.median(left))))
    fits = np.abs(left - np.median(left)) <= OUTLIER * max(spread, FINEST)
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
    mean = float(np.clip(np.median(lost / np.maximum(duration, LEAST_S)), 0.0, MOST))
    # Weighted by what they take: a long task says as much as many short ones.
    weights = 1 / np.maximum(alone, LEAST_S)
    weighted = (beside * weights[:, None]).T
    normal = weighted @ beside
    # Ridge regression, as Bayes has it: the variance of noise over that of what is looked for.
    noise = float(np.median(np.abs(lost - mean * beside.sum(axis=1)) * np.sqrt(weights)))
    pull = DRAWN * float(np.trace(normal)) / len(normal) + (NORMAL * noise / APART) ** 2
    right = weighted @ lost + pull * mean
    shares: Numbers = np.clip(
        np.linalg.solve(normal + pull * np.eye(len(normal)), right), 0.0, MOST
    )
    return shares


def _certain_part(lost: Numbers, beside: Numbers, shares: Numbers, run: NDArray[np.intp]) -> float:
    """Return how much of what is lost in the mean is no difference between runs, 0 to 1.

    Runs alone differ as those beside others do, so the mean over both has twice the variance; an
    estimate and its noise are shrunk together, as James and Stein have it.
    """
    together = np.bincount(run, beside.sum(axis=1))
    seen = together > 0
    if np.count_nonzero(seen) < 2:  # one run says nothing of others
        return 1.0
    by_run = np.bincount(run, lost - beside @ shares)[seen] / together[seen]
    mean = float(lost.sum() / together.sum())
    variance = 2 * float(by_run.var(ddof=1)) / len(by_run)
    return max(0.0, 1.0 - variance / mean**2) if mean > 0 else 0.0
