"""Hatching of a Gantt chart: how much of each task's time others had its core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from tasksim.run.others import others_s

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tasksim.run.record import Run

__all__ = ["draw_hatching", "hatching_legend"]

LEAST_SHARE: Final = 1 / 2500
"""Share of the makespan below which nothing is hatched: half a pixel of a chart on a screen."""
# Pale below and dark above: seen on every colour of a kernel.
_LOOK: Final[dict[str, Any]] = {
    "facecolor": (1.0, 1.0, 1.0, 0.55), "edgecolor": "#222222", "linewidth": 0.0, "hatch": "////",
}  # fmt: skip
_RECTANGLE: Final = (Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY)


def draw_hatching(axes: Axes, run: Run, half_row: float) -> None:
    """Hatch the end of each task's box, as long as others had the core.

    It is known how much of its time a task had no core, not when. Nothing is drawn of runs that
    do not know, nor what is too short to be seen.
    """
    taken_s = others_s(run)
    seen = _seen(run, taken_s)
    if not seen.any():
        return
    right, row = run.tasks.end_s[seen], run.tasks.worker[seen]
    left, low, high = right - taken_s[seen], row - half_row, row + half_row
    corners = np.array([[left, low], [right, low], [right, high], [left, high], [left, low]])
    # One path for all: each path of its own would draw its hatches anew.
    codes = np.tile(_RECTANGLE, len(right))
    axes.add_artist(PathPatch(Path(corners.T.swapaxes(1, 2).reshape(-1, 2), codes), **_LOOK))


def hatching_legend(runs: Iterable[Run]) -> list[Patch]:
    """Return a legend entry if something is hatched in any of *runs*."""
    drawn = any(_seen(run, others_s(run)).any() for run in runs)
    return [Patch(label="others had the core", **_LOOK)] if drawn else []


def _seen(run: Run, taken_s: NDArray[np.float64]) -> NDArray[np.bool_]:
    return taken_s > LEAST_SHARE * run.makespan_s
