"""Conjugate gradients on a grid in blocks as a program, with a random right-hand side."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError
from tasksim.kernels.grids import loops
from tasksim.kernels.grids.blocks import GridComputation, executor_of, whole_grid
from tasksim.kernels.program import Residual

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats
    from tasksim.graph.taskgraph import TaskGraph


__all__ = ["conjugate_gradient"]

DIFFERENCE_TOLERANCE = 1e-8
"""Tolerance of the relative difference from conjugate gradients on the whole grid. Another order of
the sums changes the result by 1e-15 after ten iterations, and by 1e-10 after some hundred."""


class ConjugateGradient(GridComputation):
    """Conjugate gradients for the five-point stencil, from zero, with a random right-hand side.

    The square of the residual, which the next step needs, follows the elements of each block of p,
    so that it needs no message of its own.
    """

    matrix = "p"
    more_bytes = MappingProxyType({"p": 8})

    def __init__(self, graph: TaskGraph, seed: int, held: NDArray[np.integer] | None) -> None:
        super().__init__(graph, seed, held)
        self._square = sum(float(np.vdot(b, b)) for b in map(self._drawn, self._at))

    def fill(self) -> None:
        """Set x to zero, and the residual and the first direction to the right-hand side."""
        for row, column in self._at:
            right = self._drawn((row, column)).ravel()
            for name in "rp":
                data = self.blocks.array(self.blocks.handle(name, row, column))
                if data is not None:
                    data[: len(right)] = right
                    data[len(right) :] = self._square

    def check(self) -> Residual:
        """Return the difference of the solution from conjugate gradients on the whole grid."""
        n, got = self._n, whole_grid(self.graph, self.blocks, "x", self._n)
        right = np.empty_like(got)
        for row, column in self._at:
            place = np.s_[row * n : (row + 1) * n, column * n : (column + 1) * n]
            right[place] = self._drawn((row, column))
        exact = _solved(right, int(self.graph.arguments["iterations"]))
        error = float(np.linalg.norm(got - exact) / (np.linalg.norm(exact) or 1.0))
        what = "relative difference from conjugate gradients on the whole grid"
        return Residual(error, DIFFERENCE_TOLERANCE, what)

    def _call(self, task: int) -> tuple[int, list[int]]:
        n, count = self._n, self._n**2
        handles = [handle for handle, _ in self.graph.accesses_of(task)]
        at = self.blocks.addresses[handles].tolist()
        kernel = self.graph.kernel_of(task)
        if kernel == "pack":
            return loops.pack().address, [*at, n]
        if kernel == "stencil":
            return loops.stencil().address, [at[-1], at[0], *self._halo(handles), n]
        if kernel == "dot":
            return loops.dot().address, [at[-1], at[0], at[-2], count]
        if kernel == "add":
            return loops.add().address, [at[1], at[0]]
        if kernel == "axpy":
            product, along, image, x, r = at
            return loops.axpy().address, [x, r, along, image, product, count]
        if kernel == "update":
            return loops.update().address, [at[2], at[1], at[0], count]
        raise InputError(f"graph {self.graph.name}: no kernel {kernel} to execute")


conjugate_gradient = executor_of(ConjugateGradient)
"""The executor of graphs of the generator."""


def _solved(right: Floats, iterations: int) -> Floats:
    """Return the result of conjugate gradients on the whole grid, from zero."""
    x, r, p = np.zeros_like(right), right.copy(), right.copy()
    square = float(np.vdot(r, r))
    for _ in range(iterations):
        q = 4.0 * p
        q[1:] -= p[:-1]
        q[:-1] -= p[1:]
        q[:, 1:] -= p[:, :-1]
        q[:, :-1] -= p[:, 1:]
        product = float(np.vdot(p, q))
        alpha = square / product if product > 0 else 0.0
        x += alpha * p
        r -= alpha * q
        before, square = square, float(np.vdot(r, r))
        p = r + (square / before if before > 0 else 0.0) * p
    return x
