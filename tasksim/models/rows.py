"""Rows of tables of parameters, with searches for distinct, nearest and special ones.

A row of parameters is one *configuration* of a kernel. All functions are vectorised, and
work for kernels without parameters, too (a table without columns has one distinct row).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from tasksim.base.arrays import Bools, Floats, Indices

__all__ = [
    "DURATION_PARAMETER",
    "RECORDED_SIZE",
    "SIZE_PARAMETER",
    "checked_table",
    "describe_row",
    "distinct_rows",
    "find_rows",
    "is_logarithmic",
    "nearest_row",
    "plain_number",
    "row_values",
]

SIZE_PARAMETER: Final = "size_bytes"
"""The parameter that every task has implicitly: the bytes of the data it accesses."""
RECORDED_SIZE: Final = "bytes"
"""Its name in recordings of OpenMP programs, and so in models of their kernels."""

DURATION_PARAMETER: Final = "duration_s"
"""The parameter with a task's own duration, in seconds."""


def checked_table(parameters: ArrayLike, names: Sequence[str], what: str = "row") -> Floats:
    """Return *parameters* as a float64 table with the columns *names*.

    Raises
    ------
    InputError
        If the table has another shape, or values that are negative or not finite;
        messages call a row *what*.
    """
    try:
        table = np.asarray(parameters, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"parameters must be numbers: {error}") from None
    if table.size == 0 and table.ndim == 1 and names:
        table = table.reshape(0, len(names))
    if table.ndim != 2 or table.shape[1] != len(names):
        raise InputError(
            f"parameters must have one row per {what} and {len(names)} column(s), "
            f"({', '.join(names)}); got an array of shape {table.shape}"
        )
    wrong = ~(np.isfinite(table) & (table >= 0))
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise InputError(
            f"{what} {row}: {names[column]}={table[row, column]!s}: "
            "parameters must be finite and not negative"
        )
    return table


def distinct_rows(table: Floats) -> tuple[Floats, Indices]:
    """Return the distinct rows of *table* in lexicographic order, and each row's index in them.

    >>> rows, inverse = distinct_rows(np.array([[2.0, 1.0], [1.0, 3.0], [2.0, 1.0]]))
    >>> rows.tolist(), inverse.tolist()
    ([[1.0, 3.0], [2.0, 1.0]], [1, 0, 1])
    """
    count, columns = table.shape
    if columns == 0 or count == 0:
        return table[: min(count, 1)].copy(), np.zeros(count, dtype=np.intp)
    order = np.lexsort(table.T[::-1])
    ordered = table[order]
    first = np.ones(count, dtype=bool)
    first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    inverse = np.empty(count, dtype=np.intp)
    inverse[order] = np.cumsum(first) - 1
    return ordered[first], inverse


def find_rows(known: Floats, table: Floats) -> Indices:
    """Return the index of each row of *table* in *known*, or -1 if it is missing.

    *known* are distinct rows in lexicographic order, as returned by :func:`distinct_rows`.
    """
    if len(known) == 0:
        return np.full(len(table), -1, dtype=np.intp)
    # Column by column: `group` numbers the distinct beginnings of rows, in their order.
    group = np.zeros(len(table), dtype=np.intp)
    known_group = np.zeros(len(known), dtype=np.intp)
    found = np.ones(len(table), dtype=bool)
    for column in range(known.shape[1]):
        values, known_code = np.unique(known[:, column], return_inverse=True)
        code, present = _index(values, table[:, column])
        keys, known_group = np.unique(known_group * len(values) + known_code, return_inverse=True)
        group, begun = _index(keys, group * len(values) + code)
        found &= present & begun
    return np.where(found, group, -1)


def nearest_row(known: Floats, row: Floats) -> Floats:
    """Return the row of *known* nearest to *row*, with each column scaled by its largest value."""
    scale = np.maximum(np.abs(known).max(axis=0, initial=0.0), np.abs(row))
    scale[scale == 0] = 1.0
    distance = (((known - row) / scale) ** 2).sum(axis=1)
    return np.asarray(known[int(np.argmin(distance))])


def describe_row(
    names: Sequence[str], row: Floats, categories: Mapping[str, tuple[str, ...]] | None = None
) -> str:
    """Return a row as text, for messages and as a key in files.

    *categories* are the names of those whose numbers some columns hold.

    >>> describe_row(("m", "n"), np.array([256.0, 0.5]))
    'm=256, n=0.5'
    >>> describe_row(("layout",), np.array([1.0]), {"layout": ("col", "row")})
    'layout=row'
    """
    values = row_values(names, row, categories or {})
    return ", ".join(f"{name}={value}" for name, value in values.items())


def row_values(
    names: Sequence[str], row: Floats, categories: Mapping[str, tuple[str, ...]]
) -> dict[str, str | float]:
    """Return a row as plain data: numbers, and names of categories."""
    return {
        name: categories[name][int(value)] if name in categories else plain_number(value)
        for name, value in zip(names, row.tolist(), strict=True)
    }


LOG_RATIO: Final = 8.0
"""Ratio of the largest to the smallest value from which a range is divided by factors: below, the
smallest is more than an eighth of the way along a linear axis; beyond, most of such sizes as 1, 2,
4, ..., 1024 are in the first of equal steps."""


def is_logarithmic(low: float, high: float) -> bool:
    """Return whether the range from *low* to *high* is divided by factors, not by equal steps.

    >>> is_logarithmic(64, 512), is_logarithmic(64, 256), is_logarithmic(0, 1)
    (True, False, False)
    """
    return low > 0 and high >= LOG_RATIO * low


def plain_number(value: float) -> int | float:
    """Return *value* as an integer if it is a whole number: files contain 256, not 256.0."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _index(ordered: NDArray[Any], wanted: NDArray[Any]) -> tuple[Indices, Bools]:
    """Return the positions of the *wanted* values in *ordered*, and whether they occur."""
    index = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return index, ordered[index] == wanted
