"""Evaluation of methods by MSOP over splits of a table, with bootstrap intervals.

MSOP is the mean share of the optimal performance that the choices reach. A split divides the
examples into those for training and those for evaluation.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.base.arrays import Floats, Indices
    from tasksim.base.progress import CountProgress
    from tasksim.tuning.methods import Method
    from tasksim.tuning.table import PerformanceTable

__all__ = [
    "CONFIDENCE_LEVEL",
    "Score",
    "Splits",
    "interval",
    "judge",
    "leave_one_out",
    "prediction_times_s",
    "score",
    "shuffled",
]


@dataclass(frozen=True, eq=False)
class Splits:
    """Rows for evaluation in each split, and groups of rows that belong together.

    All other rows are for training.

    Attributes
    ----------
    tests : sequence of arrays
        Row numbers for evaluation, one array per split.
    groups : array
        The group of each row. Rows of a group resemble each other, so intervals are over groups.
    """

    tests: Sequence[Indices]
    groups: Indices

    def training(self, table: PerformanceTable, test: Indices) -> PerformanceTable:
        """Return the rows of *table* that are not in *test*: those for training."""
        return table.select(np.setdiff1d(np.arange(len(table)), test))


def shuffled(rows: int, count: int, share: float, seed: int) -> Splits:
    """Return *count* random splits, each with a *share* of the rows for evaluation.

    Raises
    ------
    InputError
        If no row is left for training, or none for evaluation.

    Examples
    --------
    >>> [test.tolist() for test in shuffled(4, 2, 0.5, seed=0).tests]
    [[0, 2], [1, 3]]
    """
    judging = round(rows * share)
    if not 0 < judging < rows:
        raise InputError(
            f"--test: {share:.4g} of {rows} rows are {judging}; legal: at least one row to"
            " judge by and one to train on"
        )
    rng = np.random.default_rng(seed)
    tests = [np.sort(rng.permutation(rows)[:judging]) for _ in range(count)]
    return Splits(tests, np.arange(rows))


def leave_one_out(table: PerformanceTable, column: str) -> Splits:
    """Return a split per value of *column*, whose rows evaluate methods trained on all others.

    Raises
    ------
    InputError
        If there is no such column, or it has only one value.
    """
    if column not in table.others:
        known = list(table.others)
        raise InputError(
            f"--leave-one-out: no column '{column}'{nearest(column, known)} "
            f"(columns: {', '.join(known)})"
        )
    values = list(dict.fromkeys(table.others[column]))
    if len(values) < 2:
        raise InputError(f"--leave-one-out: all rows have the same {column}, '{values[0]}'")
    groups = np.array([values.index(text) for text in table.others[column]], np.intp)
    return Splits([np.flatnonzero(groups == group) for group in range(len(values))], groups)


RESAMPLES: Final = 2000
"""Number of bootstrap resamples: the ends of an interval then vary by less than a tenth of its
width."""
CONFIDENCE_LEVEL: Final = 0.95
"""Confidence level of the intervals."""


@dataclass(frozen=True)
class Score:
    """Score of the choices of a method, by MSOP.

    Attributes
    ----------
    msop : float
        Mean share of the optimal performance, over all examples for evaluation.
    low, high : float
        Its 95 % interval, over the choice of examples or groups.
    nodes : float or None
        The mean number of nodes over the splits, for trees.
    """

    msop: float
    low: float
    high: float
    nodes: float | None = None


def judge(
    table: PerformanceTable,
    methods: Mapping[str, Method],
    splits: Splits,
    *,
    seed: int = 0,
    progress: CountProgress | None = None,
) -> dict[str, Score]:
    """Return the score of each method, trained and evaluated in every split.

    Parameters
    ----------
    table : PerformanceTable
        All examples.
    methods : mapping of str to Method
        Methods by name.
    splits : Splits
        Rows for training and evaluation.
    seed : int, default 0
        Seed of the bootstrap.
    progress : callable, optional
        Called with the numbers of finished and of all splits.
    """
    sums = {name: np.zeros(len(table)) for name in methods}
    counts = np.zeros(len(table))
    nodes: dict[str, list[int]] = {name: [] for name in methods}
    for index, test in enumerate(splits.tests):
        taught_by, judged_by = splits.training(table, test), table.select(test)
        counts[test] += 1
        for name, method in methods.items():
            taught = method(taught_by)
            sums[name][test] += taught.shares(judged_by)
            nodes[name] += [] if taught.nodes is None else [taught.nodes]
        if progress is not None:
            progress(index + 1, len(splits.tests))
    return {name: score(sums[name], counts, splits.groups, seed, nodes[name]) for name in methods}


def prediction_times_s(
    table: PerformanceTable, methods: Mapping[str, Method], splits: Splits
) -> dict[str, float]:
    """Return the processor time of each method to choose for one example, in seconds.

    Each method is trained on the first split, and chooses for one example at a time, as in a
    program. The result is the median over the examples for evaluation.
    """
    test = splits.tests[0]
    taught_by = splits.training(table, test)
    examples = [table.select(np.array([row])) for row in test]
    found = {}
    for name, method in methods.items():
        taught = method(taught_by)
        times_s = []
        for example in examples:
            taught.shares(example)  # warm up: some results are cached
            before_ns = time.thread_time_ns()
            taught.shares(example)
            times_s.append(1e-9 * (time.thread_time_ns() - before_ns))
        found[name] = float(np.median(times_s))
    return found


def score(
    sums: Floats, counts: Floats, groups: Indices, seed: int, nodes: list[int] | None = None
) -> Score:
    """Return the score from the *sums* of shares and the *counts* of evaluations of each row."""
    low, high = interval(sums, counts, groups, seed)
    mean_nodes = float(np.mean(nodes)) if nodes else None
    return Score(float(sums.sum() / counts.sum()), low, high, mean_nodes)


def interval(sums: Floats, counts: Floats, groups: Indices, seed: int) -> tuple[float, float]:
    """Return the bootstrap interval of the mean over groups, drawn with replacement.

    Groups are drawn rather than splits: splits share examples, so their mean seems too certain.
    """
    group_sums, group_counts = np.bincount(groups, sums), np.bincount(groups, counts)
    judged = group_counts > 0
    group_sums, group_counts = group_sums[judged], group_counts[judged]
    rng = np.random.default_rng(seed)
    means = np.empty(RESAMPLES)
    for sample in range(RESAMPLES):
        drawn = rng.integers(len(group_sums), size=len(group_sums))
        means[sample] = group_sums[drawn].sum() / group_counts[drawn].sum()
    low, high = np.quantile(means, [(1 - CONFIDENCE_LEVEL) / 2, (1 + CONFIDENCE_LEVEL) / 2])
    return float(low), float(high)
