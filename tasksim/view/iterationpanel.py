"""Panel of iterations, which shows when the tasks of each iteration ran, as in StarVZ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from tasksim.graph.iterations import iterations
from tasksim.view.bands import Boxes, add_bands
from tasksim.view.colours import kernel_colours
from tasksim.view.registry import Panel
from tasksim.view.rungraph import graph_of_run
from tasksim.view.style import name_axes, new_axes, time_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tasksim.run.record import Run

__all__ = ["ITERATIONS", "has_iterations", "panel_iterations"]

_HEIGHT_INCHES = 2.6


def panel_iterations(
    run: Run,
    ax: Axes | None = None,
    *,
    until_s: float | None = None,
    kernels: Sequence[str] = (),
) -> Axes:
    """Draw when the tasks of each iteration ran: a row per iteration, the first on top.

    Lines join when iterations began and when they ended: their slope shows how iterations follow
    each other, their distance how many run at once. Where several tasks of an iteration ran at
    once, pixels have the mean of their colours.

    Parameters
    ----------
    run :
        The run; the panel is empty if its tasks belong to no iteration
        (:func:`tasksim.graph.iterations.iterations`).
    ax :
        Axes to draw on; default: those of a new figure.
    until_s :
        End of the time axis in seconds; default: the makespan.
    kernels :
        Kernels of other runs that are drawn with the same colours.
    """
    axes = new_axes(ax, _HEIGHT_INCHES)
    number = _of_tasks(run)
    if number is not None:
        known, names = number >= 0, list(run.kernel_names)
        ran = [names[k] for k in np.unique(run.tasks.kernel).tolist()]
        colours = kernel_colours([*ran, *kernels])
        in_order = [colours.get(name, "#000000") for name in names]
        tasks, row = run.tasks, number[known]
        start, end, kernel = (c[known] for c in (tasks.start_s, tasks.end_s, tasks.kernel))
        add_bands(axes, Boxes.of(start, end, (row - 0.4, row + 0.4), kernel, in_order))
        first_s = np.full(int(number.max()) + 1, np.inf)
        last_s = np.full(len(first_s), -np.inf)
        np.minimum.at(first_s, row, start)
        np.maximum.at(last_s, row, end)
        there = np.flatnonzero(np.isfinite(first_s))
        look: Any = {"color": "#222222", "linewidth": 0.9, "alpha": 0.8}
        axes.plot(first_s[there], there, **look)
        axes.plot(last_s[there], there, linestyle="--", **look)
        axes.set_ylim(float(number.max()) + 0.5, -0.5)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
    name_axes(axes, y="iteration")
    time_axis(axes, run.makespan_s if until_s is None else until_s)
    return axes


def has_iterations(run: Run) -> bool:
    """Return whether the iterations of the tasks of *run* are known."""
    return _of_tasks(run) is not None


def _of_tasks(run: Run) -> NDArray[np.int64] | None:
    """Return the iteration of each task, -1 for a task of none; None if none is known."""
    graph = graph_of_run(run)
    found = None if graph is None else iterations(graph)
    return None if found is None else found[run.tasks.task]


ITERATIONS = Panel(
    summary="When the tasks of each iteration ran, a row per iteration.",
    place="per run",
    draw=lambda runs, axes, look: panel_iterations(
        runs[0], axes, until_s=look.until_s, kernels=look.kernels
    ),
    height_inches=lambda _: 2.2,
    shows=has_iterations,
    needs="tasks whose iteration is known",
)
