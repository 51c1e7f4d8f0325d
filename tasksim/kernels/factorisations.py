"""Cholesky, LU and QR by tiles: programs with their matrices and residuals.

The matrices are random, from a seed, and well-conditioned: uniform on [-1/2, 1/2), with
2√n + 1 added to the diagonal for Cholesky (the eigenvalues of the random part are within
±0.58 √n) and for LU (so that no row ever wants to be interchanged).

A result is checked on a random vector x, in O(n²): L(Lᵀx), L(Ux) or Q(Rx) against Ax.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.kernels.program import Residual
from tasksim.kernels.reflectors import apply_q
from tasksim.kernels.tiled import TiledProgram

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.tiles import Tiles

    Block = tuple[int, int, NDArray[Any]]
    Vector = NDArray[np.float64]
    Held = NDArray[np.integer] | None

__all__ = ["Cholesky", "Lu", "Qr"]

TOLERANCE = 10.0
"""Of the residual in units of √n ε, as which rounding errors grow that are independent (N. Higham,
T. Mary, "A New Approach to Probabilistic Rounding Error Analysis", SIAM J. Sci. Comput. 41(5),
2019). The factorisations here reach 1.5 at n = 15, and less for larger n (0.13 at 4096)."""


class Cholesky(TiledProgram):
    """A = L Lᵀ of a symmetric positive definite matrix, of which the lower part is stored."""

    def __init__(self, graph: TaskGraph, workers: int, seed: int = 0, held: Held = None) -> None:
        super().__init__(graph, workers, held)
        self.tiles.fill(seed, _dominance(self.tiles))

    def check(self) -> Residual:
        """Return the residual of L(Lᵀx) against Ax."""
        tiles, x = self.tiles, _probe(self.tiles)
        matrix = list(_symmetric(tiles))
        factor = [(i, j, np.tril(t) if i == j else t) for i, j, t in _lower(tiles, tiles.tile)]
        transposed = _multiply(((j, i, tile.T) for i, j, tile in factor), x, tiles.rows)
        return _residual(tiles, "L(Lᵀx)", _multiply(factor, transposed, tiles.rows), matrix, x)


class Lu(TiledProgram):
    """A = L U without pivoting, of a matrix that needs none."""

    def __init__(self, graph: TaskGraph, workers: int, seed: int = 0, held: Held = None) -> None:
        super().__init__(graph, workers, held)
        self.tiles.fill(seed, _dominance(self.tiles))

    def check(self) -> Residual:
        """Return the residual of L(Ux) against Ax."""
        tiles, x = self.tiles, _probe(self.tiles)
        matrix = list(_all(tiles, tiles.initial))
        product = _multiply(_upper(tiles), x, tiles.rows)
        below = ((i, j, np.tril(t, -1) if i == j else t) for i, j, t in _lower(tiles, tiles.tile))
        product = product + _multiply(below, product, tiles.rows)
        return _residual(tiles, "L(Ux)", product, matrix, x)


class Qr(TiledProgram):
    """A = Q R; Q stays in the form of the reflectors of its kernels."""

    def __init__(self, graph: TaskGraph, workers: int, seed: int = 0, held: Held = None) -> None:
        super().__init__(graph, workers, held)
        self.tiles.fill(seed, 0.0)

    def check(self) -> Residual:
        """Return the residual of Q(Rx) against Ax."""
        tiles, x = self.tiles, _probe(self.tiles)
        matrix = list(_all(tiles, tiles.initial))
        product = apply_q(self.graph, tiles, _multiply(_upper(tiles), x, tiles.rows))
        return _residual(tiles, "Q(Rx)", product, matrix, x)


def _dominance(tiles: Tiles) -> float:
    return 2 * sqrt(tiles.rows * tiles.tile_size) + 1


def _probe(tiles: Tiles) -> Vector:
    """Return a random vector, one row per tile column."""
    return np.random.default_rng(0).standard_normal((tiles.columns, tiles.tile_size))


def _multiply(blocks: Iterator[Block] | list[Block], x: Vector, rows: int) -> Vector:
    """Return the product of a matrix given by its blocks with *x*, in double precision."""
    product = np.zeros((rows, x.shape[1]))
    for i, j, block in blocks:
        product[i] += block.astype(np.float64) @ x[j]
    return product


def _residual(tiles: Tiles, what: str, got: Vector, matrix: list[Block], x: Vector) -> Residual:
    # E ‖Ax‖² = ‖A‖² in the Frobenius norm, as x is standard normal; ‖Ax‖ itself may be tiny.
    norm = sqrt(sum(float(np.linalg.norm(block)) ** 2 for _, _, block in matrix))
    order = max(tiles.rows, tiles.columns) * tiles.tile_size
    unit = sqrt(order) * float(np.finfo(tiles.precision.dtype).eps) * norm
    error = float(np.linalg.norm(got - _multiply(matrix, x, tiles.rows)))
    return Residual(error / unit, TOLERANCE, f"residual ‖{what} − Ax‖ / (√n ε ‖A‖)")


def _all(tiles: Tiles, tile: Callable[[int, int], NDArray[Any]]) -> Iterator[Block]:
    for i in range(tiles.rows):
        for j in range(tiles.columns):
            if tiles.used(i, j):
                yield i, j, tile(i, j)


def _lower(tiles: Tiles, tile: Callable[[int, int], NDArray[Any]]) -> Iterator[Block]:
    return ((i, j, block) for i, j, block in _all(tiles, tile) if i >= j)


def _upper(tiles: Tiles) -> Iterator[Block]:
    """Yield the blocks of U or R."""
    for i, j, block in _all(tiles, tiles.tile):
        if i <= j:
            yield i, j, np.triu(block) if i == j else block


def _symmetric(tiles: Tiles) -> Iterator[Block]:
    """Yield the blocks of the matrix that the lower part of the initial one stands for."""
    for i, j, block in _lower(tiles, tiles.initial):
        if i == j:
            yield i, i, np.tril(block) + np.tril(block, -1).T
        else:
            yield i, j, block
            yield j, i, block.T
