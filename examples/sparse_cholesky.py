"""Sparse Cholesky: the multifrontal method on blocks of all sizes.

    tasksim run examples/sparse_cholesky.py n=64 --workers 2
    tasksim run examples/sparse_cholesky.py n=12 dimension=3 --workers 2

The matrix is Laplace's on a grid in two or three dimensions. Nested dissection cuts the grid by
planes; each plane is eliminated in a dense block, its front, after the two halves that it parts.
What a front leaves over is added to its parent's, in any order (J. Liu, "The multifrontal method
for sparse matrix solution: theory and practice", SIAM Review 34(1), 1992). Parts of up to *leaf*
unknowns are eliminated whole: some zeros are kept, but tasks are larger than what a task costs.
"""

from functools import cache, reduce
from typing import NamedTuple

import numba
import numpy as np
import scipy.sparse as sparse

import tasksim
from tasksim import RW, Commute, R, W

BLOCK = 32  # rows that stay in the cache while others are eliminated from them


class Front(NamedTuple):
    """Unknowns that are eliminated together, and those that this changes."""

    parent: int  # -1 of the last
    pivots: np.ndarray
    rest: np.ndarray


@numba.njit(nogil=True)
def assemble(front: W, values: R, rows: R, columns: R):
    """Write the entries of the matrix to a front."""
    front[:] = 0.0
    for i in range(len(values)):
        front[rows[i], columns[i]] = values[i]


@numba.njit(nogil=True)
def extend_add(parent: Commute, child: R, places: R):
    """Add what a child leaves over to its parent; of both, only the lower half counts."""
    pivots = child.shape[0] - places.shape[0]
    for i in range(places.shape[0]):
        for j in range(i + 1):
            row, column = max(places[i], places[j]), min(places[i], places[j])
            parent[row, column] += child[pivots + i, pivots + j]


@numba.njit(nogil=True)
def factor(front: RW, pivots):
    """Eliminate the first unknowns of a front: [L, 0; B, S] of [A, B'; B, C]."""
    k, rows = pivots, front.shape[0]
    lower = np.linalg.cholesky(front[:k, :k].copy())
    front[:k, :k] = lower
    if rows == k:
        return
    right = front[k:, :k].T.copy()  # its rows lie together in memory
    for begin in range(0, k, BLOCK):  # right = inverse(lower) * right
        end = min(begin + BLOCK, k)
        if begin > 0:
            right[begin:end] -= np.dot(lower[begin:end, :begin].copy(), right[:begin])
        for j in range(begin, end):
            for t in range(begin, j):
                times = lower[j, t]
                for i in range(rows - k):
                    right[j, i] -= times * right[t, i]
            for i in range(rows - k):
                right[j, i] /= lower[j, j]
    front[k:, :k] = right.T
    front[k:, k:] -= np.dot(right.T, right)


assemble = tasksim.kernel(assemble, parameters=lambda front: {"rows": len(front)})
extend_add = tasksim.kernel(extend_add, parameters=lambda places: {"entries": len(places) ** 2})
factor = tasksim.kernel(
    factor, parameters=lambda front, pivots: {"pivots": pivots, "rows": len(front) - pivots}
)


@tasksim.application("sparse-cholesky")
def sparse_cholesky(g, n=48, dimension=2, leaf=128):
    """Factorise Laplace's matrix on a grid of n^dimension unknowns; parts up to leaf stay whole."""
    fronts = analysed(n, dimension, leaf)
    entries = [entries_of(front, n, dimension) for front in fronts]
    names = ("values", "rows", "columns")
    given = [
        g.arrays(name, [len(part) for part, *_ in entries], dtype,
                 initial=lambda _, i, column=column: entries[i][column])
        for column, (name, dtype) in enumerate(zip(names, ("f8", "i8", "i8")))
    ]  # fmt: skip
    places = [places_of(front, fronts) for front in fronts]
    where = g.arrays("places", [len(p) for p in places], "i8", initial=lambda _, i: places[i])
    data = g.arrays("front", [(len(f.pivots) + len(f.rest),) * 2 for f in fronts])
    depth = depths(fronts)
    for i in range(len(fronts)):
        g.insert(assemble, data[i], given[0][i], given[1][i], given[2][i], priority=depth[i])
    for i, front in enumerate(fronts):
        g.insert(factor, data[i], pivots=len(front.pivots), priority=depth[i])
        if front.parent >= 0 and len(front.rest):
            g.insert(extend_add, data[front.parent], data[i], where[i], priority=depth[i])
    g.check(
        lambda results: error_of(fronts, results[data], laplacian(n, dimension)),
        tolerance=1e-10,
        what="|L L'x - A x| / |A x|",
    )


# The analysis: of the graph alone, so a simulation does it, too.


@cache
def analysed(n, dimension, leaf):
    """Return the fronts of the grid, children before their parents."""
    grid = np.arange(n**dimension).reshape((n,) * dimension)
    matrix = laplacian(n, dimension)
    fronts = []

    def dissect(part):
        """Eliminate a part of the grid; return the numbers of the fronts that have no parent."""
        axis = int(np.argmax(part.shape))
        middle = part.shape[axis] // 2
        if part.size <= leaf or part.shape[axis] < 3:
            return [add(part.ravel(), [])]
        left, plane, right = np.split(part, [middle, middle + 1], axis)
        return [add(plane.ravel(), dissect(left) + dissect(right))]

    def add(pivots, children):
        starts, ends = matrix.indptr[pivots], matrix.indptr[pivots + 1]
        near = [matrix.indices[start:end] for start, end in zip(starts, ends)]
        rest = reduce(np.union1d, [fronts[child].rest for child in children], np.concatenate(near))
        later = rest[~np.isin(rest, pivots) & ~eliminated[rest]]
        eliminated[pivots] = True
        for child in children:
            fronts[child] = fronts[child]._replace(parent=len(fronts))
        fronts.append(Front(-1, pivots, later))
        return len(fronts) - 1

    eliminated = np.zeros(grid.size, dtype=bool)
    dissect(grid)
    return fronts


@cache
def laplacian(n, dimension):
    """Return Laplace's matrix on a grid, with the grid's border at 0."""
    line = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    one = sparse.identity(n)
    parts = [
        reduce(sparse.kron, [line if axis == i else one for axis in range(dimension)])
        for i in range(dimension)
    ]
    return sparse.csr_matrix(sum(parts[1:], parts[0]))


def entries_of(front, n, dimension):
    """Return the entries of the matrix that belong to a front: values, rows, columns in it."""
    matrix, unknowns = laplacian(n, dimension), np.concatenate([front.pivots, front.rest])
    found = sparse.coo_matrix(matrix[unknowns][:, front.pivots])
    lower = found.row >= found.col
    return found.data[lower], found.row[lower].astype(int), found.col[lower].astype(int)


def places_of(front, fronts):
    """Return where in its parent's front the unknowns are that a front leaves over."""
    if front.parent < 0:
        return np.empty(0, dtype=int)
    parent = fronts[front.parent]
    unknowns = np.concatenate([parent.pivots, parent.rest])
    order = np.argsort(unknowns)
    return order[np.searchsorted(unknowns, front.rest, sorter=order)]


def depths(fronts):
    """Return how far each front is from the last: the deepest are the most urgent."""
    depth = np.zeros(len(fronts), dtype=int)
    for i in range(len(fronts) - 1, -1, -1):
        if fronts[i].parent >= 0:
            depth[i] = depth[fronts[i].parent] + 1
    return depth.tolist()


def error_of(fronts, factored, matrix):
    """Return how far L (L'x) is from A x, relative, for a random x."""
    x = np.random.default_rng(0).standard_normal(matrix.shape[0])
    transposed, product = np.zeros_like(x), np.zeros_like(x)
    for front, data in zip(fronts, factored):
        k, unknowns = len(front.pivots), np.concatenate([front.pivots, front.rest])
        columns = np.tril(data)[:, :k]
        transposed[front.pivots] = columns.T @ x[unknowns]
        np.add.at(product, unknowns, columns @ transposed[front.pivots])
    exact = matrix @ x
    return np.linalg.norm(product - exact) / np.linalg.norm(exact)
