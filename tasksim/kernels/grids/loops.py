"""Loops over blocks of a grid, compiled to C functions by Numba.

A block has n rows of n points, and zeros at sides without a neighbour.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import carray, cfunc, types  # type: ignore[attr-defined]

__all__ = ["add", "axpy", "dot", "nothing", "pack", "relax", "stencil", "update"]

_CPOINTER: Any = types.CPointer
_POINTER: Any = _CPOINTER(types.float64)
_REORDERING_FLAGS: Any = {"reassoc", "contract", "nsz"}
"""Flags that let a vectorised sum reorder its terms; no flag may assume finite numbers."""


def _compiled(function: Any, pointers: int, integers: int = 1) -> Any:
    signature = types.void(*[_POINTER] * pointers, *[types.int64] * integers)
    return cfunc(signature, cache=True, fastmath=_REORDERING_FLAGS)(function)


@cache
def pack() -> Any:
    """Return ``pack(p, up, down, left, right, n)``: copies of the four edges of p."""

    def pack(p: Any, up: Any, down: Any, left: Any, right: Any, n: Any) -> None:
        block = carray(p, (n, n))
        above, below, first, last = (
            carray(up, n),
            carray(down, n),
            carray(left, n),
            carray(right, n),
        )
        for i in range(n):
            above[i], below[i] = block[0, i], block[n - 1, i]
            first[i], last[i] = block[i, 0], block[i, n - 1]

    return _compiled(pack, 5)


@cache
def stencil() -> Any:
    """Return ``stencil(q, p, above, below, left, right, n)``: q = 4 p - its four neighbours."""

    def stencil(q: Any, p: Any, up: Any, down: Any, left: Any, right: Any, n: Any) -> None:
        result, block = carray(q, (n, n)), carray(p, (n, n))
        above, below, first, last = (
            carray(up, n),
            carray(down, n),
            carray(left, n),
            carray(right, n),
        )
        for i in range(n):
            over = above if i == 0 else block[i - 1]
            under = below if i == n - 1 else block[i + 1]
            here, to = block[i], result[i]
            for j in range(n):
                to[j] = 4.0 * here[j] - (over[j] + under[j])
            to[0] -= first[i]
            to[n - 1] -= last[i]
            for j in range(1, n):
                to[j] -= here[j - 1]
            for j in range(n - 1):
                to[j] -= here[j + 1]

    return _compiled(stencil, 6)


@cache
def relax() -> Any:
    """Return ``relax(y, x, above, below, left, right, n)``: y = mean of the neighbours in x."""

    def relax(y: Any, x: Any, up: Any, down: Any, left: Any, right: Any, n: Any) -> None:
        result, block = carray(y, (n, n)), carray(x, (n, n))
        above, below, first, last = (
            carray(up, n),
            carray(down, n),
            carray(left, n),
            carray(right, n),
        )
        for i in range(n):
            over = above if i == 0 else block[i - 1]
            under = below if i == n - 1 else block[i + 1]
            here, to = block[i], result[i]
            for j in range(n):
                to[j] = over[j] + under[j]
            to[0] += first[i]
            to[n - 1] += last[i]
            for j in range(1, n):
                to[j] += here[j - 1]
            for j in range(n - 1):
                to[j] += here[j + 1]
            for j in range(n):
                to[j] *= 0.25

    return _compiled(relax, 6)


@cache
def dot() -> Any:
    """Return ``dot(result, a, b, count)``: the sum of products."""

    def dot(result: Any, a: Any, b: Any, count: Any) -> None:
        left, right, total = carray(a, count), carray(b, count), 0.0
        for i in range(count):
            total += left[i] * right[i]
        carray(result, 1)[0] = total

    return _compiled(dot, 3)


@cache
def add() -> Any:
    """Return ``add(a, b)``: a += b, one number each."""

    def add(a: Any, b: Any) -> None:
        carray(a, 1)[0] += carray(b, 1)[0]

    return _compiled(add, 2, 0)


@cache
def axpy() -> Any:
    """Return ``axpy(x, r, p, q, pq, count)``: x += alpha p, r -= alpha q.

    alpha is the square of the residual, which follows the elements of p, divided by the number at
    pq. It is 0 if the iteration has converged.
    """

    def axpy(x: Any, r: Any, p: Any, q: Any, pq: Any, count: Any) -> None:
        to, left = carray(x, count), carray(r, count)
        along, image, product = carray(p, count + 1), carray(q, count), carray(pq, 1)[0]
        alpha = along[count] / product if product > 0.0 else 0.0
        for i in range(count):
            to[i] += alpha * along[i]
            left[i] -= alpha * image[i]

    return _compiled(axpy, 5)


@cache
def update() -> Any:
    """Return ``update(p, r, rr, count)``: p = r + beta p, followed by the square of the residual.

    beta is the number at rr divided by the previous square of the residual.
    """

    def update(p: Any, r: Any, rr: Any, count: Any) -> None:
        along, left, square = carray(p, count + 1), carray(r, count), carray(rr, 1)[0]
        beta = square / along[count] if along[count] > 0.0 else 0.0
        for i in range(count):
            along[i] = left[i] + beta * along[i]
        along[count] = square

    return _compiled(update, 3)


@cache
def nothing() -> Any:
    """Return ``nothing()``, which does nothing: a task that only waits for others."""

    def nothing() -> None:
        pass

    return _compiled(nothing, 0, 0)
