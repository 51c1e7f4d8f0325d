"""Loops of the programs after the NAS benchmarks, compiled to C functions by Numba."""

from __future__ import annotations

from math import cos, log, pi, sin, sqrt
from typing import Any, Final

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from tasksim.kernels.cfunctions import c_function

__all__ = [
    "ANNULI",
    "add_all",
    "columns_solved",
    "fourier",
    "prolong",
    "put",
    "restrict",
    "rows_solved",
    "sweep",
    "take",
    "tally",
]

ANNULI: Final = 10
"""Number of square annuli that count pairs of normal deviates, as of NAS's EP."""
NEIGHBOUR_WEIGHT: Final = 0.25
"""Weight of each neighbour on a line or in a sweep; below 1/2, so that values stay bounded."""


@c_function(1, 2)
def tally(counts: Any, pairs: Any, first: Any) -> None:
    """Count normal deviates of pairs by annulus.

    Uniform numbers come from SplitMix64 of their index, so that each block can begin anywhere.
    """
    found = carray(counts, ANNULI)
    for i in range(ANNULI):
        found[i] = 0.0
    for i in range(pairs):
        x = y = 0.0
        for part in range(2):
            z = (np.uint64(2 * (first + i) + part) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z = z ^ (z >> np.uint64(31))
            uniform = 2.0 * (np.float64(z >> np.uint64(11)) * 2.0**-53) - 1.0
            if part == 0:
                x = uniform
            else:
                y = uniform
        square = x * x + y * y
        if 0.0 < square <= 1.0:
            factor = sqrt(-2.0 * log(square) / square)
            larger = max(abs(x * factor), abs(y * factor))
            found[min(int(larger), ANNULI - 1)] += 1.0


@c_function(2, 1)
def add_all(a: Any, b: Any, n: Any) -> None:
    """Compute a += b."""
    to, of = carray(a, n), carray(b, n)
    for i in range(n):
        to[i] += of[i]


@c_function(1, 2)
def fourier(x: Any, rows: Any, n: Any) -> None:
    """Transform rows of n complex numbers (Fourier).

    n is a power of two; results are divided by the square root of n.
    """
    data = carray(x, (rows, n, 2))
    for row in range(rows):
        line = data[row]
        j = 0
        for i in range(1, n):  # numbers in the order of their reversed bits
            bit = n >> 1
            while j & bit:
                j ^= bit
                bit >>= 1
            j ^= bit
            if i < j:
                for part in range(2):
                    kept = line[i, part]
                    line[i, part] = line[j, part]
                    line[j, part] = kept
        length = 2
        while length <= n:
            half = length // 2
            for k in range(half):
                real, imaginary = cos(2.0 * pi * k / length), -sin(2.0 * pi * k / length)
                for begin in range(k, n, length):
                    other = begin + half
                    a = line[other, 0] * real - line[other, 1] * imaginary
                    b = line[other, 0] * imaginary + line[other, 1] * real
                    line[other, 0] = line[begin, 0] - a
                    line[other, 1] = line[begin, 1] - b
                    line[begin, 0] += a
                    line[begin, 1] += b
            length *= 2
        scale = 1.0 / sqrt(float(n))
        for i in range(n):
            line[i, 0] *= scale
            line[i, 1] *= scale


@c_function(2, 3)
def take(piece: Any, x: Any, rows: Any, n: Any, number: Any) -> None:
    """Copy a square of rows of x, transposed, to *piece*."""
    to, data = carray(piece, (rows, rows, 2)), carray(x, (rows, n, 2))
    for i in range(rows):
        for j in range(rows):
            for part in range(2):
                to[j, i, part] = data[i, number * rows + j, part]


@c_function(2, 3)
def put(x: Any, piece: Any, rows: Any, n: Any, number: Any) -> None:
    """Copy the square *piece* into rows of x."""
    data, of = carray(x, (rows, n, 2)), carray(piece, (rows, rows, 2))
    for i in range(rows):
        for j in range(rows):
            for part in range(2):
                data[i, number * rows + j, part] = of[i, j, part]


@c_function(2, 1)
def restrict(coarse: Any, fine: Any, n: Any) -> None:
    """Set *coarse*, n x n, to means of four points of *fine*."""
    to, of = carray(coarse, (n, n)), carray(fine, (2 * n, 2 * n))
    for i in range(n):
        for j in range(n):
            above = of[2 * i, 2 * j] + of[2 * i, 2 * j + 1]
            below = of[2 * i + 1, 2 * j] + of[2 * i + 1, 2 * j + 1]
            to[i, j] = 0.25 * (above + below)


@c_function(2, 1)
def prolong(fine: Any, coarse: Any, n: Any) -> None:
    """Add each of n x n points of *coarse* to four of *fine*."""
    to, of = carray(fine, (2 * n, 2 * n)), carray(coarse, (n, n))
    for i in range(2 * n):
        for j in range(2 * n):
            to[i, j] += of[i // 2, j // 2]


@c_function(2, 1)
def rows_solved(x: Any, work: Any, n: Any) -> None:
    """Solve tridiagonal systems along the rows of n x n points."""
    data, upper = carray(x, (n, n)), carray(work, n)
    for i in range(n):
        line = data[i]
        pivot = 1.0
        for j in range(n):
            if j > 0:
                pivot = 1.0 - NEIGHBOUR_WEIGHT * upper[j - 1]
                line[j] = (line[j] + NEIGHBOUR_WEIGHT * line[j - 1]) / pivot
            upper[j] = NEIGHBOUR_WEIGHT / pivot
        for j in range(n - 2, -1, -1):
            line[j] += upper[j] * line[j + 1]


@c_function(2, 1)
def columns_solved(x: Any, work: Any, n: Any) -> None:
    """Solve tridiagonal systems along the columns of n x n points."""
    data, upper = carray(x, (n, n)), carray(work, n)
    pivot = 1.0
    for i in range(n):
        if i > 0:
            pivot = 1.0 - NEIGHBOUR_WEIGHT * upper[i - 1]
            for j in range(n):
                data[i, j] = (data[i, j] + NEIGHBOUR_WEIGHT * data[i - 1, j]) / pivot
        upper[i] = NEIGHBOUR_WEIGHT / pivot
    for i in range(n - 2, -1, -1):
        for j in range(n):
            data[i, j] += upper[i] * data[i + 1, j]


@c_function(5, 2)
def sweep(u: Any, below: Any, right: Any, above: Any, left: Any, n: Any, plane: Any) -> None:
    """Update a plane in the order of its points.

    Each point takes a share of those above and to the left, which may be edges of other blocks;
    the last row and the last column are the edges for the next ones.
    """
    data = carray(u, ((plane + 1) * n, n))
    under, beside = carray(below, n), carray(right, n)
    over, first = carray(above, n), carray(left, n)
    begin = plane * n
    for i in range(n):
        for j in range(n):
            up = data[begin + i - 1, j] if i > 0 else over[j]
            before = data[begin + i, j - 1] if j > 0 else first[i]
            data[begin + i, j] += NEIGHBOUR_WEIGHT * (up + before)
    for i in range(n):
        under[i] = data[begin + n - 1, i]
        beside[i] = data[begin + i, n - 1]
