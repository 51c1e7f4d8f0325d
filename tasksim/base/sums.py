"""Sums of floats with the same rounding in all versions of Python and in the compiled core."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["total"]


def total(values: Iterable[float]) -> float:
    """Return the sum of *values*, added one after the other.

    :func:`sum` compensates rounding errors since Python 3.12, so its result depends on the
    version.

    >>> total([0.1] * 10)
    0.9999999999999999
    """
    result = 0.0
    for value in values:
        result += value
    return result
