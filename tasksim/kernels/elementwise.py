"""Elementwise C functions on arrays, compiled by Numba.

BLAS has no sum of two vectors.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import carray, cfunc, types  # type: ignore[attr-defined]

__all__ = ["add", "count"]

_POINTER: Any = types.CPointer
_DOUBLES = _POINTER(types.float64)


@cache
def add() -> Any:
    """Return ``void add(double *c, const double *a, const double *b, int64_t n)``: c = a + b."""

    def add(c: Any, a: Any, b: Any, n: Any) -> None:
        result, left, right = carray(c, n), carray(a, n), carray(b, n)
        for i in range(n):
            result[i] = left[i] + right[i]

    return cfunc(types.void(_DOUBLES, _DOUBLES, _DOUBLES, types.int64), cache=True)(add)


@cache
def count() -> Any:
    """Return ``void count(double *number)``, which adds one."""

    def count(number: Any) -> None:
        carray(number, 1)[0] += 1.0

    return cfunc(types.void(_DOUBLES), cache=True)(count)
