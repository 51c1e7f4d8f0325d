"""SUMMA as a program on tiles of three matrices, with one BLAS call per product."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.kernels.dense import PreparedCall, dense_kernel
from tasksim.kernels.grids import loops
from tasksim.kernels.grids.blocks import Blocks, CalledTasks, executor_of
from tasksim.kernels.program import Residual

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["summa"]

RESIDUAL_TOLERANCE = 10.0
"""Tolerance of the residual in units of √n ε, as in the factorisations."""


class Summa:
    """C = A B, panel by panel, of random matrices.

    Tiles of B are stored transposed, and tiles of A negated, so that the kernel is the same
    ``gemm`` as in Cholesky.

    Parameters
    ----------
    graph : TaskGraph
        A graph of the generator ``summa``.
    seed : int
        The seed of the matrices.
    held : int array, or None
        Numbers of the data that have memory here; None for all.
    """

    def __init__(self, graph: TaskGraph, seed: int, held: NDArray[np.integer] | None) -> None:
        self.graph, self._seed = graph, seed
        self._b = int(graph.arguments["tile_size"])
        self._dtype = str(graph.arguments.get("dtype", "float64"))
        self.blocks = Blocks(graph, held)
        self._tiles = int(self.blocks.block("A").rows)
        number = graph.kernels.index("gemm")
        dense, precision = dense_kernel(graph.model_names[number])
        self._prepared = PreparedCall(dense, dict.fromkeys("mnk", self._b), precision)
        self.tasks = self._called()

    def fill(self) -> None:
        """Set C to zero, and A and B to their initial values."""
        for name, sign in (("A", -1.0), ("B", 1.0)):
            for row in range(self._tiles):
                for column in range(self._tiles):
                    data = self._tile(name, row, column)
                    if data is not None:
                        drawn = self._drawn(name, row, column)
                        data[:] = sign * drawn if name == "A" else drawn.T

    def check(self) -> Residual:
        """Return the residual of Cx against A(Bx)."""
        x = np.random.default_rng(0).standard_normal((self._tiles, self._b))
        exact = self._times("A", self._times("B", x))
        got, norm = np.zeros_like(exact), {"A": 0.0, "B": 0.0}
        for i in range(self._tiles):
            for j in range(self._tiles):
                tile = self._tile("C", i, j)
                if tile is None:
                    raise InputError(f"graph {self.graph.name}: C[{i}, {j}] is on another process")
                got[i] += tile.astype(np.float64) @ x[j]
                for name in norm:
                    norm[name] += float(np.linalg.norm(self._drawn(name, i, j))) ** 2
        unit = sqrt(self._tiles * self._b) * float(np.finfo(self._dtype).eps)
        unit *= sqrt(norm["A"] * norm["B"])
        error = float(np.linalg.norm(got - exact))
        return Residual(error / unit, RESIDUAL_TOLERANCE, "residual ‖Cx − A(Bx)‖ / (√n ε ‖A‖ ‖B‖)")

    def _times(self, name: str, x: Floats) -> Floats:
        """Return the product of the initial matrix *name* and the vector *x*."""
        result = np.zeros_like(x)
        for i in range(self._tiles):
            for j in range(self._tiles):
                result[i] += self._drawn(name, i, j).astype(np.float64) @ x[j]
        return result

    def _drawn(self, name: str, row: int, column: int) -> NDArray[Any]:
        """Return the initial values of a tile of A or B."""
        random = np.random.default_rng([self._seed, "AB".index(name), row, column])
        return (random.random((self._b, self._b)) - 0.5).astype(self._dtype)

    def _tile(self, name: str, row: int, column: int) -> NDArray[Any] | None:
        """Return the array of a tile; None if it has no memory here."""
        data = self.blocks.array(self.blocks.handle(name, row, column), self._dtype)
        return None if data is None else data.reshape((self._b, self._b), order="F")

    def _called(self) -> CalledTasks:
        graph = self.graph
        called = self._prepared.called(None)  # type: ignore[arg-type]  # gemm needs no core
        tasks = CalledTasks(len(graph), [self.blocks, called])
        for task in range(len(graph)):
            if graph.kernel_of(task) == "barrier":
                tasks.add(task, loops.nothing().address, [])
                continue
            handles = [handle for handle, _ in graph.accesses_of(task)][-3:]
            rows = called.rows(self.blocks.addresses[handles][None, :])
            tasks.add(task, called.address, rows[0].tolist())
        return tasks


summa = executor_of(Summa)
"""The executor of graphs of the generator."""
