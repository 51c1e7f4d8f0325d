"""Updates of a completed tensor by further samples, from the means and counts of its cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.models.rows import distinct_rows
from tasksim.models.tensor.fitting import Fitted, completed
from tasksim.models.tensor.grid import Cells, cell_indices, observed, support_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Floats, Indices, Ints
    from tasksim.base.documents.json_document import Node
    from tasksim.models.tensor.fitting import Recipe
    from tasksim.models.tensor.grid import Axis

__all__ = ["CellSums", "cell_sums", "read_cell_sums", "updated"]

UPDATE_SWEEPS: Final = 6
"""Maximum number of sweeps from the factors so far: a fit itself converges after 2 to 6."""
PASSES: Final = 2
"""Number of times that new samples are moved to the points of their cells: in a cell without
earlier samples, the first time is along an extrapolated tensor."""


@dataclass(frozen=True, eq=False)
class CellSums:
    """What a tensor keeps of its samples: their mean and number in each observed cell.

    Attributes
    ----------
    index
        intp [observed, modes]: the indices of the cells, in lexicographic order.
    means
        float64 [observed]: the mean of the logarithms, without the base, moved to the points of the
        cells.
    counts
        int [observed]: the number of configurations in each.
    """

    index: Indices
    means: Floats
    counts: Ints

    @property
    def count(self) -> int:
        """The number of configurations."""
        return int(self.counts.sum())

    def with_values(self, index: Indices, values: Floats) -> CellSums:
        """Return the sums with further *values* in the cells of *index*, intp [n, modes]."""
        every = np.concatenate([self.index, index])
        distinct, owner = distinct_rows(every.astype(np.float64))
        weights = np.concatenate([self.counts, np.ones(len(index), dtype=np.int64)])
        totals = np.concatenate([self.means * self.counts, values])
        counts = np.bincount(owner, weights=weights)
        means = np.bincount(owner, weights=totals) / counts
        return CellSums(distinct.astype(np.intp), means, counts.astype(np.int64))

    def cells(self, axes: Sequence[Axis]) -> Cells:
        """Return the observed cells, each with its mean."""
        shape = tuple(len(axis) for axis in axes)
        return Cells(self.index, self.means, np.arange(len(self.means)), shape)

    def to_json(self) -> dict[str, Any]:
        """Return the sums as plain data."""
        return {"cells": self.index, "means": self.means, "counts": self.counts}


def read_cell_sums(node: Node, axes: Sequence[Axis]) -> CellSums:
    """Read what :meth:`CellSums.to_json` returned for a tensor with these *axes*."""
    rows = list(node["cells"])
    index = np.array([row.vector(len(axes)) for row in rows]).reshape(len(rows), len(axes))
    lengths = [len(axis) for axis in axes]
    if not len(rows) or (index % 1 != 0).any() or (index < 0).any() or (index >= lengths).any():
        raise node["cells"].expected("the indices of cells of the grid")
    counts = node["counts"].vector(len(rows))
    if (counts % 1 != 0).any() or (counts < 1).any():
        raise node["counts"].expected("whole numbers above 0")
    means = node["means"].vector(len(rows))
    return CellSums(index.astype(np.intp), means, counts.astype(np.int64))


def cell_sums(fitted: Fitted, rows: Floats, logs: Floats) -> CellSums:
    """Return the sums of the logarithms of durations that a tensor was fitted to at *rows*."""
    index = cell_indices(fitted.axes, rows)
    cells = observed(fitted.axes, index, _moved(fitted, rows, logs, index))
    return CellSums(cells.index, cells.values, np.bincount(cells.owner))


def _moved(fitted: Fitted, rows: Floats, logs: Floats, index: Indices) -> Floats:
    """Return the logarithms without the base, moved along the tensor to the points of cells."""
    rest = logs - fitted.base.values(fitted.axes, rows)
    if fitted.tensor is None:
        return rest
    return rest - fitted.tensor.values(rows) + fitted.tensor.elements(index)


def updated(
    fitted: Fitted, sums: CellSums, rows: Floats, logs: Floats, recipe: Recipe
) -> tuple[Fitted, CellSums]:
    """Return a tensor that has learnt the *logs* at *rows*, too, and its sums.

    The factors are solved for again, from those so far, in a few sweeps over all cells: each takes
    as long as there are observed cells, however many samples they had.
    """
    index = cell_indices(fitted.axes, rows)
    rest = logs - fitted.base.values(fitted.axes, rows)
    recipe = replace(recipe, sweeps=UPDATE_SWEEPS)
    found, new = fitted, sums
    for _ in range(PASSES):
        new = sums.with_values(index, _moved(found, rows, logs, index))
        if found.tensor is None:
            continue
        low, high = found.tensor.bounds
        bounds = (min(low, float(rest.min())), max(high, float(rest.max())))
        cells = new.cells(fitted.axes)
        support = support_of(fitted.axes, cells)
        tensor = completed(fitted.axes, cells, support, recipe, bounds, found.tensor.factors)
        found = Fitted(fitted.axes, fitted.base, tensor, support)
    return found, new
