"""Observed cells of a tensor, with the means of their measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasksim.models.groups import group_means
from tasksim.models.rows import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.models.tensor.grid import Axis

__all__ = ["Cells", "Slices", "cell_indices", "observed", "slices"]


@dataclass(frozen=True)
class Cells:
    """The cells that contain measurements; the others are unknown, not zero.

    Attributes
    ----------
    index
        intp [observed, modes]: their indices, in lexicographic order.
    values
        float64 [observed]: the mean of the measurements in each.
    owner
        intp [n]: the cell of each measurement.
    shape
        The number of cells of each mode.
    """

    index: NDArray[np.intp]
    values: NDArray[np.float64]
    owner: NDArray[np.intp]
    shape: tuple[int, ...]

    @property
    def density(self) -> float:
        """The share of observed cells."""
        return float(len(self.values) / np.prod(np.array(self.shape, dtype=np.float64)))


@dataclass(frozen=True)
class Slices:
    """Observations sorted by their row of one mode; rows without observations are left out.

    Attributes
    ----------
    order
        The observations, row by row.
    rows
        The rows with observations.
    starts, counts
        Per row, the offset of its observations in *order*, and their number.
    """

    order: NDArray[np.intp]
    rows: NDArray[np.intp]
    starts: NDArray[np.intp]
    counts: NDArray[np.intp]


def cell_indices(axes: Sequence[Axis], table: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the cell of each row of parameters, intp [n, modes]."""
    if not axes:
        return np.zeros((len(table), 0), dtype=np.intp)
    return np.stack([axis.cell(table[:, mode]) for mode, axis in enumerate(axes)], axis=1)


def observed(axes: Sequence[Axis], indices: NDArray[np.intp], values: NDArray[np.float64]) -> Cells:
    """Return the cells that contain the *values* at *indices*, each with the mean of its values."""
    distinct, owner = distinct_rows(indices.astype(np.float64))
    shape = tuple(len(axis) for axis in axes)
    return Cells(distinct.astype(np.intp), group_means(values, owner), owner, shape)


def slices(cells: Cells) -> list[Slices]:
    """Return the observed cells sorted by each mode in turn."""
    result = []
    for mode, length in enumerate(cells.shape):
        counts = np.bincount(cells.index[:, mode], minlength=length)
        rows = np.flatnonzero(counts)
        starts = (np.cumsum(counts) - counts)[rows]
        order = np.argsort(cells.index[:, mode], kind="stable")
        result.append(Slices(order, rows, starts, counts[rows]))
    return result
