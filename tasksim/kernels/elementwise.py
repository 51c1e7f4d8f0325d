"""C functions on arrays that BLAS has not, compiled by Numba: sums, and products of a part."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numba import carray, cfunc  # type: ignore[attr-defined]

from tasksim.kernels.calls import address_of
from tasksim.kernels.cfunctions import c_function, signature_of
from tasksim.kernels.pointers import routine

__all__ = [
    "add",
    "add_transposed",
    "combine_blocks",
    "count",
    "multiply_blocks",
    "multiply_tn",
    "scale",
]


@c_function(3, 1)
def add(c: Any, a: Any, b: Any, n: Any) -> None:
    """Compute c = a + b, of n numbers."""
    result, left, right = carray(c, n), carray(a, n), carray(b, n)
    for i in range(n):
        result[i] = left[i] + right[i]


@c_function(2, 1, 1)
def scale(c: Any, a: Any, n: Any, alpha: Any) -> None:
    """Compute c = alpha a, of n numbers."""
    result, given = carray(c, n), carray(a, n)
    for i in range(n):
        result[i] = alpha * given[i]


@c_function(3, 3)
def add_transposed(c: Any, a: Any, b: Any, rows: Any, columns: Any, first: Any) -> None:
    """Compute c = a + the *rows* of b' from the *first* on.

    *b* is square, and stored by columns.
    """
    result, left = carray(c, (rows, columns)), carray(a, (rows, columns))
    right = carray(b, (columns, columns))
    for i in range(rows):
        for j in range(columns):
            result[i, j] = left[i, j] + right[j, first + i]


@c_function(3, 6, 2)
def combine_blocks(
    c: Any, a: Any, b: Any, n: Any, height: Any, width: Any, first: Any, count: Any,
    transposed: Any, alpha: Any, beta: Any,
) -> None:  # fmt: skip
    """Compute some blocks of c = alpha A + beta B, square, with n rows.

    Blocks of *height* rows and *width* columns are numbered row by row; *c* has those from the
    *first* on, one after the other. With *transposed* (1: A, 2: B, 3: both), what is read is stored
    by columns.
    """
    left, right, result = carray(a, (n, n)), carray(b, (n, n)), carray(c, n * n)
    across, place = (n + width - 1) // width, 0
    for block in range(first, first + count):
        row, column = block // across * height, block % across * width
        for i in range(row, min(row + height, n)):
            for j in range(column, min(column + width, n)):
                value = alpha * (left[j, i] if transposed & 1 else left[i, j])
                if beta != 0.0:
                    value += beta * (right[j, i] if transposed & 2 else right[i, j])
                result[place] = value
                place += 1


def _gemm() -> Any:
    """Return BLAS's dgemm as a function that compiled code can call."""
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)(address_of(routine("dgemm")))


@cache
def multiply_tn() -> Any:
    """Return ``void multiply_tn(c, a, b, int64_t rows, int64_t columns, int64_t first)``.

    c = the *rows* of A from the *first* on, times B, of a square *A* that is stored by columns.
    """
    gemm = _gemm()

    def multiply_tn(c: Any, a: Any, b: Any, rows: Any, columns: Any, first: Any) -> None:
        left, right = carray(a, (columns, columns)), carray(b, (columns, columns))
        result = carray(c, (rows, columns))
        codes, factors = np.array([78, 84], np.int8), np.array([1.0, 0.0])
        n = np.array([columns, rows], np.int32)
        gemm(
            codes[0:].ctypes, codes[1:].ctypes, n[0:].ctypes, n[1:].ctypes, n[0:].ctypes,
            factors[0:].ctypes, right.ctypes, n[0:].ctypes, left[0, first:].ctypes, n[0:].ctypes,
            factors[1:].ctypes, result.ctypes, n[0:].ctypes,
        )  # fmt: skip

    return cfunc(signature_of(3, 3))(multiply_tn)


@cache
def multiply_blocks() -> Any:
    """Return a function for some blocks of C = A B, square, with n rows; see combine_blocks.

    ``void multiply_blocks(c, a, b, int64_t n, int64_t height, int64_t width, int64_t first,
    int64_t count, int64_t transposed)``.
    """
    gemm = _gemm()

    def multiply_blocks(
        c: Any, a: Any, b: Any, n: Any, height: Any, width: Any, first: Any, count: Any,
        transposed: Any,
    ) -> None:  # fmt: skip
        left, right, result = carray(a, n * n), carray(b, n * n), carray(c, n * n)
        codes, factors = np.array([78, 84], np.int8), np.array([1.0, 0.0])
        size = np.array([n, n, n], np.int32)
        across, place = (n + width - 1) // width, 0
        for block in range(first, first + count):
            row, column = block // across * height, block % across * width
            size[0], size[1] = min(width, n - column), min(height, n - row)
            by_columns = (transposed & 1, transposed >> 1)
            gemm(
                codes[by_columns[1] :].ctypes, codes[by_columns[0] :].ctypes, size[0:].ctypes,
                size[1:].ctypes, size[2:].ctypes, factors[0:].ctypes,
                right[column * (n if by_columns[1] else 1) :].ctypes, size[2:].ctypes,
                left[row * (1 if by_columns[0] else n) :].ctypes, size[2:].ctypes,
                factors[1:].ctypes, result[place:].ctypes, size[0:].ctypes,
            )  # fmt: skip
            place += size[0] * size[1]

    return cfunc(signature_of(3, 6))(multiply_blocks)


@c_function(1)
def count(number: Any) -> None:
    """Add one to *number*."""
    carray(number, 1)[0] += 1.0
