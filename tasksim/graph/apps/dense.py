"""Tiles, and tasks on tiles in columns, for the generators of dense linear algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.apps.parameters import Dtype
    from tasksim.graph.csr import Integers

__all__ = ["TOKEN_BYTES", "TileTasks", "grids", "item_bytes", "model_names"]

TOKEN_BYTES: Final = 8
"""Size in bytes of a datum that only orders tasks."""


class TileTasks(NamedTuple):
    """Tasks of a factorisation by tiles, with the step and the changed tile of each.

    Steps, rows and columns count from 0.
    """

    place: Integers
    step: Integers
    row: Integers
    column: Integers

    @classmethod
    def of(
        cls,
        step: Integers,
        row: Integers,
        column: Integers,
    ) -> TileTasks:
        """Return all tasks, in the order of their numbers."""
        return cls(np.arange(len(step)), step, row, column)

    def where(self, chosen: NDArray[np.bool_]) -> TileTasks:
        """Return the *chosen* tasks."""
        place = np.flatnonzero(chosen)
        return TileTasks(place, self.step[place], self.row[place], self.column[place])


def item_bytes(dtype: Dtype) -> int:
    """Return the size of a matrix element."""
    return 4 if dtype == "float32" else 8


def model_names(dtype: Dtype, *kernels: str, **renamed: str) -> dict[str, str]:
    """Return kernel -> kernel model; single precision has models of its own.

    >>> model_names("float32", "getrf", gemm="gemm_nn")
    {'getrf': 'getrf_float32', 'gemm': 'gemm_nn_float32'}
    """
    suffix = "_float32" if dtype == "float32" else ""
    return {kernel: name + suffix for kernel, name in ({k: k for k in kernels} | renamed).items()}


def grids(rows: Integers, columns: Integers) -> tuple[Integers, Integers, Integers]:
    """Return grid, row and column of every cell of grids with given *rows* and *columns*.

    Cells are ordered by grid, then by row.

    >>> [part.tolist() for part in grids(np.array([1, 2]), np.array([1, 2]))]
    [[0, 1, 1, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 0, 1]]
    """
    sizes = rows * columns
    grid = np.repeat(np.arange(len(sizes)), sizes)
    cell = np.arange(len(grid)) - (np.cumsum(sizes) - sizes)[grid]
    row, column = np.divmod(cell, columns[grid])
    return grid, row, column
