"""Programs of tiled Cholesky, LU and QR factorisations, with their matrices and residuals.

The matrices are random, from a seed, and well-conditioned: uniform on [-1/2, 1/2), with
2√n + 1 added to the diagonal for Cholesky (the eigenvalues of the random part are within
±0.58 √n) and for LU (so that pivoting would not interchange rows).

A check takes O(n²) operations: it compares L(Lᵀx), L(Ux) or Q(Rx) with Ax for a random vector x. If
several processes share the tiles, each multiplies with its own tiles and the products are summed,
so that no process needs more than its part of the matrix (:mod:`tasksim.kernels.program`).
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tasksim.kernels.dense import KERNELS, PreparedCall
from tasksim.kernels.pointers import Buffer, Workspace
from tasksim.kernels.program import ALONE, Residual
from tasksim.kernels.tiled import TiledProgram

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Together
    from tasksim.kernels.tiled import Tiles

    Block = tuple[int, int, NDArray[Any]]
    Held = NDArray[np.integer] | None

__all__ = ["Cholesky", "Lu", "Qr", "apply_q"]

RESIDUAL_TOLERANCE = 10.0
"""Tolerance of the residual in units of √n ε, the growth of independent rounding errors (N. Higham,
T. Mary, "A New Approach to Probabilistic Rounding Error Analysis", SIAM J. Sci. Comput. 41(5),
2019). The factorisations here reach 1.5 at n = 15, and less for larger n (0.13 at 4096)."""


class _Factorisation(TiledProgram):
    """The factorisation of a random matrix."""

    dominant: ClassVar[bool] = True
    """Whether the diagonal of the matrix dominates, so that it needs no pivoting."""

    def __init__(self, graph: TaskGraph, workers: int, seed: int = 0, held: Held = None) -> None:
        super().__init__(graph, workers, held)
        order = self.tiles.rows * self.tiles.tile_size
        self.tiles.fill(seed, 2 * sqrt(order) + 1 if self.dominant else 0.0)


class Cholesky(_Factorisation):
    """A = L Lᵀ of a symmetric positive definite matrix, stored as its lower part."""

    def check(self) -> Residual:
        """Return the residual of L(Lᵀx) against Ax."""
        mine = _Share(self.tiles, self.together)
        x = mine.probe()
        factor = [(i, j, np.tril(t) if i == j else t) for i, j, t in mine.lower(self.tiles.tile)]
        transposed = mine.product(((j, i, tile.T) for i, j, tile in factor), x)
        return mine.residual("L(Lᵀx)", mine.product(factor, transposed), mine.symmetric(), x)


class Lu(_Factorisation):
    """A = L U without pivoting, of a matrix that needs no pivoting."""

    def check(self) -> Residual:
        """Return the residual of L(Ux) against Ax."""
        mine = _Share(self.tiles, self.together)
        x = mine.probe()
        product = mine.product(mine.upper(), x)
        lower = mine.lower(self.tiles.tile)
        below = ((i, j, np.tril(t, -1) if i == j else t) for i, j, t in lower)
        product = product + mine.product(below, product)
        return mine.residual("L(Ux)", product, mine.blocks(self.tiles.initial), x)


class Qr(_Factorisation):
    """A = Q R, with Q as the reflectors of its kernels."""

    dominant = False

    def check(self) -> Residual:
        """Return the residual of Q(Rx) against Ax."""
        mine = _Share(self.tiles, self.together)
        x = mine.probe()
        product = apply_q(self.graph, self.tiles, mine.product(mine.upper(), x), self.together)
        return mine.residual("Q(Rx)", product, mine.blocks(self.tiles.initial), x)


class _Share:
    """The tiles that this process counts, with products and norms over all processes.

    Parameters
    ----------
    tiles : Tiles
        The tiles of this process.
    together : Together
        All processes of the run.
    """

    def __init__(self, tiles: Tiles, together: Together) -> None:
        self._tiles, self._together = tiles, together

    def probe(self) -> Floats:
        """Return a random vector with one row per tile column, the same on all processes."""
        tiles = self._tiles
        return np.random.default_rng(0).standard_normal((tiles.columns, tiles.tile_size))

    def product(self, blocks: Iterable[Block], x: Floats) -> Floats:
        """Return the product of a matrix with *x*, in double precision.

        This process has *blocks* of the matrix.
        """
        product = np.zeros((self._tiles.rows, x.shape[1]))
        for i, j, block in blocks:
            product[i] += block.astype(np.float64) @ x[j]
        return self._together.total(product)

    def residual(self, what: str, got: Floats, matrix: Iterable[Block], x: Floats) -> Residual:
        """Return the residual of *got* against the product of *x* and *matrix*, given by blocks."""
        tiles, blocks = self._tiles, list(matrix)
        # E ‖Ax‖² = ‖A‖² in the Frobenius norm for standard normal x; ‖Ax‖ itself may be tiny.
        squares = sum(float(np.linalg.norm(block)) ** 2 for _, _, block in blocks)
        norm = sqrt(float(self._together.total(np.array([squares]))[0]))
        order = max(tiles.rows, tiles.columns) * tiles.tile_size
        unit = sqrt(order) * float(np.finfo(tiles.precision.dtype).eps) * norm
        error = float(np.linalg.norm(got - self.product(blocks, x)))
        return Residual(error / unit, RESIDUAL_TOLERANCE, f"residual ‖{what} − Ax‖ / (√n ε ‖A‖)")

    def blocks(self, tile: Callable[[int, int], NDArray[Any]]) -> Iterator[Block]:
        """Yield the tiles that this process counts, each as *tile* returns it."""
        tiles = self._tiles
        for i in range(tiles.rows):
            for j in range(tiles.columns):
                if tiles.used(i, j) and self._together.counts(tiles.handle(i, j)):
                    yield i, j, tile(i, j)

    def lower(self, tile: Callable[[int, int], NDArray[Any]]) -> Iterator[Block]:
        """Yield the tiles on the diagonal and below that this process counts."""
        return ((i, j, block) for i, j, block in self.blocks(tile) if i >= j)

    def upper(self) -> Iterator[Block]:
        """Yield the blocks of U or R."""
        for i, j, block in self.blocks(self._tiles.tile):
            if i <= j:
                yield i, j, np.triu(block) if i == j else block

    def symmetric(self) -> Iterator[Block]:
        """Yield the blocks of the symmetric matrix with the lower part of the initial matrix."""
        for i, j, block in self.lower(self._tiles.initial):
            if i == j:
                yield i, i, np.tril(block) + np.tril(block, -1).T
            else:
                yield i, j, block
                yield j, i, block.T


_FACTORS = {"geqrt": ("gemqrt", (0, 2), (0,)), "tpqrt": ("tpmqrt", (1, 2), (0, 1))}
"""Map from a kernel to the kernel that applies its Q, the indices of its accesses to V and T, and
those whose tile rows give the rows that Q applies to."""


def apply_q(graph: TaskGraph, tiles: Tiles, x: Floats, together: Together = ALONE) -> NDArray[Any]:
    """Return Q *x* for the Q that the geqrt and tpqrt tasks of *graph* left in *tiles*.

    Each of these tasks made one factor of Q = Q₁ Q₂ ..., so the factors are applied from last to
    first. The process that executed a task applies its factor, and processes pass rows of the
    vector on to each other.

    Parameters
    ----------
    graph, tiles
        The graph, and the data after all its tasks.
    x
        float64 [tile rows, tile size], the same on all processes.
    together
        All processes with parts of the data.

    Returns
    -------
    array of the shape of *x*, in the precision of the tiles
    """
    size_bytes = tiles.precision.size_bytes
    buffer = Buffer(x.size * size_bytes)
    y = buffer.array(0, x.shape[::-1], tiles.precision.dtype).T
    y[:] = x
    references = tiles.references()
    rows_of_x = _TravellingRows(y, together)
    for task in reversed(range(len(graph))):
        if graph.kernel_of(task) in _FACTORS:
            name, factor, onto = _FACTORS[graph.kernel_of(task)]
            handles = [handle for handle, _ in graph.accesses_of(task)]
            rows = [(handles[at] - tiles.matrix.first) // tiles.columns for at in onto]
            if not rows_of_x.are_here(rows, together.executor(task)):
                continue
            vectors = [buffer.reference(row * tiles.tile_size * size_bytes) for row in rows]
            prepared, workspace = _untransposed(name, graph.parameters_of(task), tiles)
            arguments = prepared.arguments([*(references[handles[at]] for at in factor), *vectors])
            prepared.routine(*arguments, *workspace.tail(prepared.tail))
    return rows_of_x.gathered()


class _TravellingRows:
    """The rows of a vector, each at the process that changed it last.

    At first, all processes have all rows.

    All processes visit the same rows in the same order, so that they need no requests.
    """

    def __init__(self, rows: NDArray[Any], together: Together) -> None:
        self._rows, self._together = rows, together
        self._holder: list[int | None] = [None] * len(rows)

    def are_here(self, rows: list[int], needed_at: int) -> bool:
        """Bring *rows* to the process *needed_at*; return whether this process is the one."""
        for row in rows:
            holder = self._holder[row]
            if holder is not None and holder != needed_at:
                self._together.pass_on(self._rows[row], holder, needed_at)
            self._holder[row] = needed_at
        return needed_at == self._together.rank

    def gathered(self) -> NDArray[Any]:
        """Return all rows with their latest values."""
        mine = self._together.rank
        for row, holder in enumerate(self._holder):
            if (holder or 0) != mine:  # rank 0 has the rows that no process changed
                self._rows[row] = 0.0
        return self._together.total(self._rows)


def _untransposed(
    name: str, parameters: dict[str, float], tiles: Tiles
) -> tuple[PreparedCall, Workspace]:
    """Return the call that applies Q, not its transpose, to one column, and its workspace."""
    kernel = KERNELS[name]
    arguments = tuple("'N'" if item == "'T'" else item for item in kernel.arguments)
    sizes = kernel.sizes({**parameters, "n": 1, "k": parameters["n"]})
    workspace = Workspace(kernel.work_elements(sizes), tiles.precision)
    return PreparedCall(replace(kernel, arguments=arguments), sizes, tiles.precision), workspace
