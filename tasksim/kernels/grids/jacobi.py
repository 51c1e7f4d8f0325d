"""Jacobi's iteration on a grid in blocks as a program, with a random initial grid."""

from __future__ import annotations

import numpy as np

from tasksim.base.errors import InputError
from tasksim.kernels.grids import loops
from tasksim.kernels.grids.blocks import GridComputation, executor_of, whole_grid
from tasksim.kernels.program import Residual

__all__ = ["jacobi"]

DIFFERENCE_TOLERANCE = 1e-13
"""Tolerance of the largest difference from steps over the whole grid, with values up to 0.5: the
four terms of a mean may be added in another order."""


class Jacobi(GridComputation):
    """Jacobi steps, which replace each point by the mean of its neighbours, with a zero border."""

    matrix = "x"

    def fill(self) -> None:
        """Set the grid to its initial values."""
        for at in self._at:
            data = self.blocks.array(self.blocks.handle("x", *at))
            if data is not None:
                data[:] = self._drawn(at).ravel()

    def check(self) -> Residual:
        """Return the largest difference from steps over the whole grid."""
        n, steps = self._n, int(self.graph.arguments["iterations"])
        got = whole_grid(self.graph, self.blocks, "xy"[steps % 2], n)
        exact = np.zeros((got.shape[0] + 2, got.shape[1] + 2))
        for row, column in self._at:
            rows, columns = 1 + row * n, 1 + column * n
            exact[rows : rows + n, columns : columns + n] = self._drawn((row, column))
        for _ in range(steps):
            up, down = exact[:-2, 1:-1], exact[2:, 1:-1]
            left, right = exact[1:-1, :-2], exact[1:-1, 2:]
            exact[1:-1, 1:-1] = 0.25 * (((up + down) + left) + right)
        error = float(np.abs(got - exact[1:-1, 1:-1]).max())
        return Residual(
            error, DIFFERENCE_TOLERANCE, "largest difference from steps over the whole grid"
        )

    def _call(self, task: int) -> tuple[int, list[int]]:
        handles = [handle for handle, _ in self.graph.accesses_of(task)]
        at, kernel = self.blocks.addresses[handles].tolist(), self.graph.kernel_of(task)
        if kernel == "pack":
            return loops.pack().address, [*at, self._n]
        if kernel == "relax":
            halo = self._halo(handles)
            return loops.relax().address, [at[-1], at[0], *halo, self._n]
        raise InputError(f"graph {self.graph.name}: no kernel {kernel} to execute")


jacobi = executor_of(Jacobi)
"""The executor of graphs of the generator."""
