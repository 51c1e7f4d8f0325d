"""Conjugate gradient: a linear system of a plate's cells, by blocks of rows, with reductions.

    tasksim run examples/conjugate_gradient.py n=1024 iterations=20 --workers 2

The matrix is that of Laplace's equation: nobody stores it. Scalar products are reductions: each
worker adds to a number of its own, and a task combines them.
"""

import numba
import numpy as np

import tasksim
from tasksim import RW, R, Reduce, W


@numba.njit(nogil=True)
def laplace(q: W, p: R, above: R = None, below: R = None):
    """q = A p, with the rows of p above and below the block; outside of the plate p is 0."""
    rows, columns = p.shape
    for i in range(rows):
        for j in range(columns):
            total = 4 * p[i, j]
            if j > 0:
                total -= p[i, j - 1]
            if j < columns - 1:
                total -= p[i, j + 1]
            if i > 0:
                total -= p[i - 1, j]
            elif above is not None:
                total -= above[-1, j]
            if i < rows - 1:
                total -= p[i + 1, j]
            elif below is not None:
                total -= below[0, j]
            q[i, j] = total


@numba.njit(nogil=True)
def dot(total: Reduce, x: R, y: R):
    """total += x . y"""
    found = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            found += x[i, j] * y[i, j]
    total[()] += found


@numba.njit(nogil=True)
def step(y: RW, x: R, above: R, below: R, sign):
    """y += sign * above / below * x"""
    factor = sign * above[()] / below[()]
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            y[i, j] += factor * x[i, j]


@numba.njit(nogil=True)
def turn(p: RW, r: R, above: R, below: R):
    """p = r + above / below * p"""
    factor = above[()] / below[()]
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            p[i, j] = r[i, j] + factor * p[i, j]


@tasksim.kernel(parameters=lambda to: {"cells": to.size})
def copy(to: W, of: R):
    """to = of"""
    to[...] = of


laplace = tasksim.kernel(laplace, parameters=lambda q: {"cells": q.size})
dot = tasksim.kernel(dot, parameters=lambda x: {"cells": x.size})
step = tasksim.kernel(step, parameters=lambda y: {"cells": y.size})
turn = tasksim.kernel(turn, parameters=lambda p: {"cells": p.size})


@tasksim.application("conjugate-gradient")
def conjugate_gradient(g, n=512, iterations=10, blocks=8):
    """Solve A x = b for a plate of n x n cells, with so many iterations."""

    x = g.cut("x", (n, n), blocks)
    r = g.cut("r", (n, n), blocks, initial=lambda rng: rng.random((n, n)))  # x is 0: r = b
    p = g.cut("p", (n, n), blocks)
    q = g.cut("q", (n, n), blocks)
    pq = g.arrays("pq", [()] * iterations)
    rr = g.arrays("rr", [()] * (iterations + 1))
    for i in range(blocks):
        g.insert(copy, p[i], r[i])
        g.insert(dot, rr[0], r[i], r[i])
    for k in range(iterations):
        for i in range(blocks):
            g.insert(laplace, q[i], p[i], p.get(i - 1), p.get(i + 1))
            g.insert(dot, pq[k], p[i], q[i])
        for i in range(blocks):
            g.insert(step, r[i], q[i], rr[k], pq[k], sign=-1.0)
            g.insert(dot, rr[k + 1], r[i], r[i])
            g.insert(step, x[i], p[i], rr[k], pq[k], sign=1.0)
        for i in range(blocks):
            g.insert(turn, p[i], r[i], rr[k + 1], rr[k])

    def error(results):
        solution = np.pad(results[x], 1)
        ahead, behind = solution[2:, 1:-1], solution[:-2, 1:-1]
        product = 4 * results[x] - ahead - behind - solution[1:-1, 2:] - solution[1:-1, :-2]
        b = results.initial(r)
        return np.linalg.norm(b - product - results[r]) / np.linalg.norm(b)

    g.check(error, tolerance=1e-10, what="|b - A x - r| / |b|")
