"""Loops over blocks of a grid, compiled to C functions by Numba.

A block has n rows of n points, and zeros at sides without a neighbour. Vectorised sums may reorder
their terms.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from numba import carray  # type: ignore[attr-defined]

from tasksim.kernels.cfunctions import c_function

__all__ = ["add", "axpy", "dot", "nothing", "pack", "relax", "stencil", "update"]

_loop = partial(c_function, reorders=True)


@_loop(5, 1)
def pack(p: Any, up: Any, down: Any, left: Any, right: Any, n: Any) -> None:
    """Copy the four edges of p."""
    block = carray(p, (n, n))
    above, below = carray(up, n), carray(down, n)
    first, last = carray(left, n), carray(right, n)
    for i in range(n):
        above[i], below[i] = block[0, i], block[n - 1, i]
        first[i], last[i] = block[i, 0], block[i, n - 1]


@_loop(6, 1)
def stencil(q: Any, p: Any, up: Any, down: Any, left: Any, right: Any, n: Any) -> None:
    """Compute q = 4 p - its four neighbours."""
    result, block = carray(q, (n, n)), carray(p, (n, n))
    above, below = carray(up, n), carray(down, n)
    first, last = carray(left, n), carray(right, n)
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


@_loop(6, 1)
def relax(y: Any, x: Any, up: Any, down: Any, left: Any, right: Any, n: Any) -> None:
    """Compute y = mean of the neighbours in x."""
    result, block = carray(y, (n, n)), carray(x, (n, n))
    above, below = carray(up, n), carray(down, n)
    first, last = carray(left, n), carray(right, n)
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


@_loop(3, 1)
def dot(result: Any, a: Any, b: Any, count: Any) -> None:
    """Compute the sum of products."""
    left, right, total = carray(a, count), carray(b, count), 0.0
    for i in range(count):
        total += left[i] * right[i]
    carray(result, 1)[0] = total


@_loop(2)
def add(a: Any, b: Any) -> None:
    """Compute a += b, one number each."""
    carray(a, 1)[0] += carray(b, 1)[0]


@_loop(5, 1)
def axpy(x: Any, r: Any, p: Any, q: Any, pq: Any, count: Any) -> None:
    """Compute x += alpha p, r -= alpha q.

    alpha is the square of the residual, which follows the elements of p, divided by the number at
    pq. It is 0 if the iteration has converged.
    """
    to, left = carray(x, count), carray(r, count)
    along, image, product = carray(p, count + 1), carray(q, count), carray(pq, 1)[0]
    alpha = along[count] / product if product > 0.0 else 0.0
    for i in range(count):
        to[i] += alpha * along[i]
        left[i] -= alpha * image[i]


@_loop(3, 1)
def update(p: Any, r: Any, rr: Any, count: Any) -> None:
    """Compute p = r + beta p, followed by the square of the residual.

    beta is the number at rr divided by the previous square of the residual.
    """
    along, left, square = carray(p, count + 1), carray(r, count), carray(rr, 1)[0]
    beta = square / along[count] if along[count] > 0.0 else 0.0
    for i in range(count):
        along[i] = left[i] + beta * along[i]
    along[count] = square


@_loop(0)
def nothing() -> None:
    """Do nothing: a task that only waits for others."""
