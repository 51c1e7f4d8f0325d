"""Means of makespans over seeds, on the grid of the other axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.study.report.axes import Axis
    from tasksim.study.report.table import StudyTable

__all__ = ["SettledMeans", "settled"]


@dataclass(frozen=True, eq=False)
class SettledMeans:
    """Mean ln(makespan) over seeds at each point of the grid that has a makespan.

    Parameters
    ----------
    axes : tuple of Axis
        All axes except the seed.
    codes : array of int, (points, axes)
        Index of each point's value on each axis.
    log_s : array of float, (points,)
        Means of ln(makespan).
    """

    axes: tuple[Axis, ...]
    codes: NDArray[np.int64]
    log_s: NDArray[np.float64]

    @property
    def grid_size(self) -> int:
        """Number of points of the grid, including points without makespans."""
        # As floats, which do not overflow for many axes.
        return int(np.prod([len(axis) for axis in self.axes], dtype=float))

    def place(self, name: str) -> int:
        """Return the index of the axis called *name*."""
        return [axis.name for axis in self.axes].index(name)

    def slices(self, *names: str) -> NDArray[np.float64]:
        """Return the means along the axes *names*, one row per combination of the other axes.

        The shape is (rows, values of the first of *names*, values of the second, ...); missing
        points are NaN.
        """
        places = [self.place(name) for name in names]
        others = np.delete(self.codes, places, axis=1)
        count, row = 1, np.zeros(len(self.codes), dtype=np.int64)
        if others.shape[1]:
            unique, row = np.unique(others, axis=0, return_inverse=True)
            count, row = len(unique), row.reshape(-1)
        found = np.full((count, *(len(self.axes[place]) for place in places)), np.nan)
        found[(row, *(self.codes[:, place] for place in places))] = self.log_s
        return found


def settled(table: StudyTable) -> SettledMeans:
    """Return the means over seeds of the makespans of *table*."""
    axes = tuple(axis for axis in table.axes if axis.name != "seed")
    rows = table.used
    columns = []
    for axis in axes:
        place = {value: number for number, value in enumerate(axis.values)}
        columns.append(rows[axis.name].map(place).to_numpy(dtype=np.int64))
    all_codes = np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), dtype=np.int64)
    if not columns or not len(rows):
        mean = np.log(rows["makespan_s"].to_numpy()).mean(keepdims=True) if len(rows) else []
        return SettledMeans(axes, all_codes[: len(mean)], np.asarray(mean, dtype=float))
    codes, point = np.unique(all_codes, axis=0, return_inverse=True)
    point = point.reshape(-1)
    counts = np.bincount(point)
    sums = np.bincount(point, weights=np.log(rows["makespan_s"].to_numpy()))
    return SettledMeans(axes, codes, sums / counts)
