"""More examples for methods: measured elsewhere, they teach and never judge.

How a tree is to grow is chosen by cross-validation among them, before anything is judged.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.tuning.methods import tree_method
from tasksim.tuning.table import PerformanceTable
from tasksim.tuning.tree import Growth

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tasksim.tuning.methods import Method, Taught

__all__ = ["best_growth", "joined", "more_taught"]

THRESHOLDS: Final = (0.99, 0.98, 0.97, 0.95)
LEAST_SAMPLES: Final = (1, 2, 4, 8, 16)
"""Settings of :class:`~tasksim.tuning.tree.Growth` that are tried. Depths are not: these two end a
tree."""
FOLDS: Final = 5
"""Each example judges once; four fifths of them teach nearly as all do."""


def joined(first: PerformanceTable, second: PerformanceTable) -> PerformanceTable:
    """Return the rows of both tables, which have the same columns."""
    assert (first.features, first.choices) == (second.features, second.choices)
    limits = [table.limit for table in (first, second) if table.limit is not None]
    return PerformanceTable(
        first.features,
        np.vstack([first.values, second.values]),
        first.choices,
        np.vstack([first.performance, second.performance]),
        np.concatenate(limits) if len(limits) == 2 else None,
        {name: [*first.others[name], *second.others[name]] for name in first.others},
    )


def best_growth(table: PerformanceTable, seed: int = 0) -> Growth:
    """Return the growth whose trees choose best by cross-validation; of several the first tried.

    Parameters
    ----------
    table : PerformanceTable
        Examples that teach.
    seed : int, default 0
        Shuffles them into folds.

    Examples
    --------
    >>> from tasksim.tuning.table import PerformanceTable
    >>> sizes = range(20)
    >>> low, high = [2 if n < 10 else 1 for n in sizes], [1 if n < 10 else 2 for n in sizes]
    >>> best_growth(PerformanceTable.of({"n": sizes}, {"a": low, "b": high})).threshold
    0.99
    """
    if len(table) < FOLDS:
        return Growth()
    folds = np.random.default_rng(seed).permutation(len(table)) % FOLDS
    tried = [
        Growth(threshold, min_samples=least)
        for threshold, least in product(THRESHOLDS, LEAST_SAMPLES)
    ]
    scores = [_kept(table, folds, growth) for growth in tried]
    return tried[int(np.argmax(scores))]


def _kept(table: PerformanceTable, folds: NDArray[np.int_], growth: Growth) -> float:
    """Return the sum of what is kept in each fold by a tree that the others taught."""
    method = tree_method(growth)
    return sum(
        float(method(table.select(folds != fold)).shares(table.select(folds == fold)).sum())
        for fold in range(FOLDS)
    )


def more_taught(
    methods: Mapping[str, Method], more: PerformanceTable, group: str = "operation"
) -> dict[str, Method]:
    """Return the *methods*, taught by *more* examples too, of groups that they are taught by.

    So a method that is to be judged by a group that it does not know gets nothing of it here.

    Parameters
    ----------
    methods : mapping of str to Method
        The one called ``tree`` grows as is best for the examples that are added.
    more : PerformanceTable
        They teach only.
    group : str, default "operation"
        The column of groups.
    """
    growths: dict[frozenset[str], Growth] = {}

    def chosen(table: PerformanceTable) -> PerformanceTable:
        known = frozenset(table.others[group])
        return more.select(np.array([text in known for text in more.others[group]], bool))

    def with_more(method: Method) -> Method:
        return lambda table: method(joined(table, chosen(table)))

    def tree(table: PerformanceTable) -> Taught:
        added = chosen(table)
        key = frozenset(added.others[group])
        if key not in growths:
            growths[key] = best_growth(added)
        return tree_method(growths[key])(joined(table, added))

    return {name: tree if name == "tree" else with_more(method) for name, method in methods.items()}
