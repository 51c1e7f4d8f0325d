"""Sums of floats that every version of Python, and the compiled core, round alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["total"]


def total(values: Iterable[float]) -> float:
    """Return the sum of *values*, added one after the other; :func:`sum` compensates since 3.12.

    >>> total([0.1] * 10)
    0.9999999999999999
    """
    result = 0.0
    for value in values:
        result += value
    return result
