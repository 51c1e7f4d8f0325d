"""Overlaps of tasks in native runs, and the slowdown of kernels that follows from them.

A run on several cores is compared with the run on one core that was made in the same round, within
a moment in which the machine keeps its speed. A task that takes *alone* by itself, and overlapped
with tasks of kernel j for a time *o_j*, has done the work

    alone = duration - sum over j of o_j * (1 - 1 / stretch_j)

as in a simulation, where stretches depend on the number of busy neighbours, too. The mean loss of a
kernel is what its tasks took longer than alone, over the time that they overlapped with others:
with it, a model of the runs on one core has the mean duration of the runs on several. A fit over
all tasks distributes it over the neighbours. A pair that was rarely seen, or only in noise, is
drawn to the kernel's mean loss, and that of a kernel with few tasks to the mean of all kernels, by
their standard errors; that mean is drawn to zero only as far as it may be off by a tenth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.run.undisturbed import undisturbed_s

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.base.arrays import Floats
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run


__all__ = ["Beside", "Loss", "Seen", "losses", "overlaps", "seen_beside", "without_stalls"]

OUTLIER_DEVIATIONS: Final = 4.0
"""Number of median absolute deviations from the fit beyond which a task says nothing about pairs of
kernels; it counts for the kernel's mean."""
MAX_DURATION_RATIO: Final = 2.0
"""Ratio to the usual duration beyond which the system certainly took the core: two tasks that share
a core do not slow down by as much."""
MIN_DEVIATION: Final = 0.005
"""Smallest deviation that counts, as a share of the task: clocks have no finer resolution."""
DEVIATION_RATIO: Final = 1.4826
"""Ratio of the standard deviation to the median absolute deviation of normal noise."""
EXTREME_DEVIATIONS: Final = 3.0
"""Standard deviations from the median beyond which the loss in a run is extreme: by chance, one in
400 is."""
MIN_DURATION_S: Final = 1e-9
"""Duration of a task that takes no time, in seconds: a tick of the clock."""
MIN_OVERLAP_SHARE: Final = 1e-3
"""Share of its time that a kernel must overlap with others for a run to say what it loses: less
would divide noise by nothing."""
SHRINKAGE_SHARE: Final = 0.002
"""Strength of the shrinkage of a pair to its kernel's mean, as a share of the kernel's overlaps: a
pair with a five-hundredth of them is half its own."""
PRIOR_DEVIATION: Final = 0.1
"""Prior standard deviation of the share that a kernel loses beside different neighbours, and of the
mean loss of different kernels: memory slows by a fifth or so. An estimate counts as far as its
noise is below this."""
MIN_RUN_DEVIATION: Final = 1e-3
"""Smallest standard deviation of the total time of a kernel in runs that counts, as a share: no
machine repeats itself to a thousandth."""
MAX_PASSES: Final = 3
"""Number of passes of the fit over runs, each without what is extreme by the one before."""
MAX_LOST_SHARE: Final = 0.9
"""Largest share of its time that a task may lose: a slowdown of ten."""


class Beside(NamedTuple):
    """Tasks of a run on several cores, and of the run on one core in the same round.

    Durations exclude time that others took.
    """

    alone_s: Floats
    duration_s: Floats
    overlap_s: Floats
    """Time beside each kernel by number of neighbours, shape (tasks, knots, kernels)."""
    far_s: Floats
    """Extra cost of far data in the run on several cores, less that in the run on one."""

    @classmethod
    def of(cls, alone: Run, run: Run, graph: TaskGraph, knots: Sequence[int]) -> Beside:
        """Return the comparison of two runs of *graph* without costs of far data.

        *knots* are the numbers of neighbours for which slowdowns are wanted.
        """
        beside = overlaps(run, graph, knots)
        return cls(undisturbed_s(alone), undisturbed_s(run), beside, np.zeros(len(graph)))


class Seen(NamedTuple):
    """Durations of one kernel's tasks in a run, expected and measured, and their overlaps."""

    alone_s: Floats
    duration_s: Floats
    beside_s: Floats


class Loss(NamedTuple):
    """Loss of a kernel beside its neighbours."""

    stretches: Floats
    """Slowdown beside each number of tasks of each kernel, shape (knots, kernels), at least 1."""
    mean: float
    """Mean slowdown beside the largest number of neighbours."""
    deviation: float
    """Standard error of the mean slowdown; NaN for a single run."""


def without_stalls(durations_s: Sequence[Floats]) -> Floats:
    """Return *durations_s* of the same tasks, by run, without stalls of the system.

    A task that took more than twice its usual duration, by its run's pace, gets the usual one.
    """
    table = np.maximum(np.array(durations_s), MIN_DURATION_S)
    usual = np.median(table, axis=0)
    pace = np.median(table / usual, axis=1, keepdims=True)
    stalled = table > MAX_DURATION_RATIO * pace * usual
    found: Floats = np.where(stalled, pace * usual, table)
    return found


def seen_beside(rounds: Sequence[Beside], graph: TaskGraph) -> list[dict[str, Seen]]:
    """Return the observations in *rounds* of *graph*, by round and name of the kernel's model.

    The expected duration of a task is its mean over the runs on one core at the pace of the one in
    the round: a machine whose speed changes between rounds changes both runs of a round. Costs of
    far data are added, which a simulation charges by itself.
    """
    alone = without_stalls([each.alone_s for each in rounds])
    duration = without_stalls([each.duration_s for each in rounds])
    pace = alone.sum(axis=1, keepdims=True) / alone.sum(axis=1).mean()
    expected = (alone / pace).mean(axis=0) * pace + np.array([each.far_s for each in rounds])
    expected = np.maximum(expected, MIN_DURATION_S)
    found: list[dict[str, Seen]] = [{} for _ in rounds]
    for kernel, name in enumerate(graph.model_names):
        mine = np.flatnonzero(graph.kernel == kernel)
        if len(mine):
            for number, each in enumerate(rounds):
                seen = Seen(expected[number, mine], duration[number, mine], each.overlap_s[mine])
                found[number][name] = seen
    return found


def overlaps(run: Run, graph: TaskGraph, knots: Sequence[int]) -> Floats:
    """Return the time that each task ran beside each kernel, by number of busy neighbours.

    The shape is (tasks, knots, kernels). Simultaneous neighbours count in equal parts that sum to
    one, and their number counts for the two *knots* around it, in proportion. A task counts for the
    share of its time in which it had its core.
    """
    tasks, kernels = run.tasks, len(graph.model_names)
    found = np.zeros((len(graph), len(knots), kernels))
    own = undisturbed_s(run) / np.maximum(tasks.duration_s, MIN_DURATION_S)
    times, at = np.unique(np.concatenate([tasks.start_s, tasks.end_s]), return_inverse=True)
    begun, ended = at[: len(graph)], at[len(graph) :]
    running, having = np.zeros((2, len(times), kernels))
    for table, weights in ((running, np.ones(len(graph))), (having, own)):
        np.add.at(table, (begun, graph.kernel), weights)
        np.add.at(table, (ended, graph.kernel), -weights)
        np.cumsum(table, axis=0, out=table)
    lengths = np.diff(times, append=times[-1])
    for kernel in range(kernels):
        mine = np.flatnonzero(graph.kernel == kernel)
        if not len(mine):
            continue
        others = np.maximum(having, 0.0)
        # The task itself, which has its core as much as others of its kernel do.
        others[:, kernel] *= 1.0 - 1.0 / np.maximum(running[:, kernel], 1.0)
        count = others.sum(axis=1)
        parts = others / np.maximum(count, MIN_DURATION_S)[:, None]
        hats = _hats(count, knots)
        rates = lengths[:, None, None] * hats[:, :, None] * parts[:, None, :]
        until = np.concatenate([np.zeros((1, *rates.shape[1:])), np.cumsum(rates, axis=0)])
        found[mine] = own[mine, None, None] * (until[ended[mine]] - until[begun[mine]])
    return found


def _hats(count: Floats, knots: Sequence[int]) -> Floats:
    """Return the weight of each of *knots* for *count* neighbours; none for no neighbours."""
    ends = [0, *knots]
    columns = [np.interp(count, ends, np.eye(len(ends))[place + 1]) for place in range(len(knots))]
    found: Floats = np.column_stack(columns)
    return found


def losses(seen: Mapping[str, Sequence[Seen]]) -> dict[str, Loss]:
    """Return the loss of each kernel; *seen* has a part per run.

    A neighbour that was never seen gets the kernel's mean slowdown.
    """
    parts = [part for parts in seen.values() for part in parts]
    if not parts:
        return {}
    knots = parts[0].beside_s.shape[1]
    # Losses beside similar numbers of neighbours are similar; beside none, there is none.
    steps = np.eye(knots) - np.eye(knots, k=-1)
    common, _ = _mean_losses(parts, np.zeros(knots), steps.T @ steps / PRIOR_DEVIATION**2)
    found = {}
    for kernel, of in seen.items():
        prior = np.eye(knots) / PRIOR_DEVIATION**2
        mean, error = _mean_losses(of, common, prior)
        mean = np.clip(mean, 0.0, MAX_LOST_SHARE)
        stretches: Floats = 1.0 / (1.0 - _shares(of, mean))
        factor = 1.0 / (1.0 - float(mean[-1]))
        found[kernel] = Loss(stretches, factor, error * factor**2)
    return found


def _mean_losses(parts: Sequence[Seen], prior: Floats, precision: Floats) -> tuple[Floats, float]:
    """Return the share of time lost beside each number of neighbours, and the last one's error.

    *prior* has the expected shares, and *precision* is the inverse of their covariance. Shares may
    be negative: cutting off noise on one side would leave the other. The error is unknown for a
    single run.
    """
    alone = np.maximum([part.alone_s.sum() for part in parts], MIN_DURATION_S)
    lost = np.array([part.duration_s.sum() for part in parts]) - alone
    overlap = np.array([part.beside_s.sum(axis=(0, 2)) for part in parts])
    seen = overlap.sum(axis=1) > MIN_OVERLAP_SHARE * alone
    if not seen.any():
        return prior.copy(), np.nan
    # As shares of the time alone, with weights by it: each second counts as much as another.
    scale = 1 / np.sqrt(alone * alone[seen].mean())
    lost, overlap = (scale * lost)[seen], (scale[:, None] * overlap)[seen]
    free = max(len(lost) - int(np.linalg.matrix_rank(overlap)), 1)
    fitted = np.linalg.lstsq(overlap, lost, rcond=None)[0]
    for _ in range(MAX_PASSES):
        left = lost - overlap @ fitted
        deviation = DEVIATION_RATIO * float(np.median(np.abs(left)))
        if deviation:  # a run that was held up is not typical
            left = np.clip(left, -EXTREME_DEVIATIONS * deviation, EXTREME_DEVIATIONS * deviation)
        variance = max(float(left @ left) / free, MIN_RUN_DEVIATION**2)
        typical = overlap @ fitted + left
        covariance = np.linalg.inv(overlap.T @ overlap / variance + precision)
        fitted = covariance @ (overlap.T @ typical / variance + precision @ prior)
    error = float(np.sqrt(covariance[-1, -1])) if len(lost) > 1 else np.nan
    return fitted, error


def _shares(parts: Sequence[Seen], mean: Floats) -> Floats:
    """Return the share of its time that a task loses beside each number of each kernel.

    Weighted by the time beside each kernel, they are *mean* for each number.
    """
    alone, duration, beside = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    shape = beside.shape[1:]
    expected = np.repeat(mean, shape[1])
    total = beside.sum(axis=0)
    if not mean.any() or not total.sum():
        return expected.reshape(shape)
    flat = beside.reshape(len(beside), -1)
    shares = _by_neighbour(alone, duration, flat, expected)
    # Unexplained time as a share of the time alone.
    left = (duration - alone - flat @ shares) / np.maximum(alone, MIN_DURATION_S)
    spread = float(np.median(np.abs(left - np.median(left))))
    fits = np.abs(left - np.median(left)) <= OUTLIER_DEVIATIONS * max(spread, MIN_DEVIATION)
    shares = _by_neighbour(alone[fits], duration[fits], flat[fits], expected).reshape(shape)
    return np.array([_with_mean(*each) for each in zip(shares, total, mean, strict=True)])


def _by_neighbour(alone: Floats, duration: Floats, beside: Floats, expected: Floats) -> Floats:
    """Return the least-squares share of its time that a task loses beside each kernel."""
    lost = duration - alone
    # Weights by time: a long task counts as much as many short ones.
    weights = 1 / np.maximum(alone, MIN_DURATION_S)
    weighted = (beside * weights[:, None]).T
    normal = weighted @ beside
    # Bayesian ridge regression: the variance of noise divided by the prior variance.
    noise = float(np.median(np.abs(lost - beside @ expected) * np.sqrt(weights)))
    pull = (
        SHRINKAGE_SHARE * float(np.trace(normal)) / len(normal)
        + (DEVIATION_RATIO * noise / PRIOR_DEVIATION) ** 2
    )
    if not pull:  # nothing was seen
        return expected
    right = weighted @ lost + pull * expected
    shares = np.linalg.solve(normal + pull * np.eye(len(normal)), right)
    return shares.astype(np.float64)


def _with_mean(shares: Floats, weights: Floats, mean: float) -> Floats:
    """Return *shares* shifted so that their weighted mean is *mean*, each within its limits."""
    found: Floats = np.clip(shares, 0.0, MAX_LOST_SHARE)
    for _ in range(2 * len(shares)):  # each pass moves those that are free; some reach a limit
        missing = float(weights @ (mean - found))
        free = (found > 0.0) if missing < 0 else (found < MAX_LOST_SHARE)
        room = float(weights[free].sum())
        if not room or abs(missing) <= 1e-12 * float(weights.sum()):
            break
        found = np.clip(np.where(free, found + missing / room, found), 0.0, MAX_LOST_SHARE)
    return found
