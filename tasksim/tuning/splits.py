"""Splits of a table into examples that teach and examples that judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.tuning.table import PerformanceTable

__all__ = ["Splits", "leave_one_out", "shuffled"]


@dataclass(frozen=True, eq=False)
class Splits:
    """Which rows judge in each split, all others teach; and what rows belong together.

    Attributes
    ----------
    tests : sequence of arrays
        Of row numbers, one array per split.
    groups : array
        The group of each row. Rows of a group are alike: an interval is over groups.
    """

    tests: Sequence[NDArray[np.intp]]
    groups: NDArray[np.intp]


def shuffled(rows: int, count: int, share: float, seed: int) -> Splits:
    """Return *count* random splits; a *share* of the rows judges in each.

    Raises
    ------
    InputError
        If no row would be left to teach, or none to judge.

    Examples
    --------
    >>> [test.tolist() for test in shuffled(4, 2, 0.5, seed=0).tests]
    [[0, 2], [1, 3]]
    """
    judging = round(rows * share)
    if not 0 < judging < rows:
        raise InputError(
            f"--test: {share:.4g} of {rows} rows are {judging}; legal: some rows that judge and "
            "some that teach"
        )
    rng = np.random.default_rng(seed)
    tests = [np.sort(rng.permutation(rows)[:judging]) for _ in range(count)]
    return Splits(tests, np.arange(rows))


def leave_one_out(table: PerformanceTable, column: str) -> Splits:
    """Return a split per value of a column: an application is judged by what others taught.

    Raises
    ------
    InputError
        If there is no such column, or it has one value only.
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
