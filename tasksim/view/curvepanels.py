"""Panels of curves over time, with ready and submitted tasks, GFlop/s and cores used by others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.ticker import MaxNLocator

from tasksim.graph.flop import task_flop
from tasksim.run.disturbance import has_processor_times
from tasksim.run.metrics import ready_curve, submitted_curve
from tasksim.run.others import others_curve
from tasksim.run.slices import flop_rate
from tasksim.view.colours import RUN_COLOURS
from tasksim.view.names import listed_runs, run_names
from tasksim.view.registry import Look, Panel
from tasksim.view.rungraph import graph_of_run
from tasksim.view.slicepanels import slice_edges
from tasksim.view.style import RUN_DASHES, name_axes, name_runs, new_axes, time_axis, write_note
from tasksim.view.timeseries import thinned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tasksim.run.record import Run

    Curve = tuple[NDArray[np.float64], NDArray[Any]]

__all__ = [
    "GFLOPS",
    "OTHERS",
    "READY",
    "SUBMITTED",
    "has_flop",
    "panel_gflops",
    "panel_others",
    "panel_ready",
    "panel_submitted",
]

_HEIGHT_INCHES: Final = 2.6
_OTHERS_INCHES: Final = 2.2
_MIN_OTHERS_PERCENT: Final = 1.0
"""Minimum upper end of the axis of cores used by others, in percent: a smaller share is negligible,
and should look like it."""


def panel_ready(
    runs: Run | Sequence[Run],
    ax: Axes | None = None,
    *,
    until_s: float | None = None,
    legend: bool = True,
) -> Axes:
    """Draw how many tasks are ready and have not started, over time.

    A curve per run; with several, *legend* says which is which.
    """
    axes = new_axes(ax, _HEIGHT_INCHES)
    curves = _draw_curves(runs, axes, lambda run: thinned(*ready_curve(run)), until_s)
    if not any(np.any(curve > 0) for curve in curves):
        write_note(axes, "every task started as soon as it was ready")
    return _finished(axes, runs, "ready tasks", max(1.0, axes.get_ylim()[1]), legend, whole=True)


def panel_submitted(
    runs: Run | Sequence[Run],
    ax: Axes | None = None,
    *,
    until_s: float | None = None,
    legend: bool = True,
) -> Axes:
    """Draw how many tasks are submitted and have not ended, over time, as :func:`panel_ready`."""
    axes = new_axes(ax, _HEIGHT_INCHES)
    _draw_curves(runs, axes, lambda run: thinned(*submitted_curve(run)), until_s)
    return _finished(
        axes, runs, "submitted tasks", max(1.0, axes.get_ylim()[1]), legend, whole=True
    )


def panel_gflops(
    runs: Run | Sequence[Run],
    ax: Axes | None = None,
    *,
    until_s: float | None = None,
    legend: bool = True,
) -> Axes:
    """Draw how many GFlop/s the tasks did whose kernels know their flop, over time.

    Means over 400 slices of each run, those of a task evenly over its time. A curve per run; with
    several, *legend* says which is which.
    """

    def curve(run: Run) -> Curve | None:
        graph = graph_of_run(run)
        if graph is None or not run.makespan_s:
            return None
        edges = slice_edges(run)
        return edges[:-1], flop_rate(run, task_flop(graph)[run.tasks.task], edges) / 1e9

    axes = new_axes(ax, _HEIGHT_INCHES)
    _draw_curves(runs, axes, curve, until_s, fill=False)
    return _finished(axes, runs, "GFlop/s", max(axes.get_ylim()[1], 1e-12), legend)


def panel_others(
    runs: Run | Sequence[Run],
    ax: Axes | None = None,
    *,
    until_s: float | None = None,
    legend: bool = True,
) -> Axes:
    """Draw which share of the workers' cores others had, as means over 400 slices of time.

    What others took from a task is spread evenly over its time, what they took from a worker
    between its tasks over the time between them: the system tells how much it was, not when.

    Parameters
    ----------
    runs : Run or a sequence of Run
        A curve per run that knows the processor time of its tasks.
    ax : Axes, optional
        Axes to draw on; default: those of a new figure.
    until_s : float, optional
        The end of the time axis; default: the longest makespan.
    legend : bool, default True
        Whether the panel says which curve is which run, of several.
    """

    def curve(run: Run) -> Curve | None:
        if not has_processor_times(run) or not run.makespan_s:
            return None
        edges = slice_edges(run)
        percent = 100.0 * others_curve(run, edges)
        return edges, np.append(percent, percent[-1:])

    axes = new_axes(ax, _OTHERS_INCHES)
    drawn = _draw_curves(runs, axes, curve, until_s)
    most = max([_MIN_OTHERS_PERCENT, *(1.05 * float(values.max()) for values in drawn)])
    return _finished(axes, runs, "others had\n(% of cores)", most, legend)


def _draw_curves(
    runs: Run | Sequence[Run],
    axes: Axes,
    curve: Callable[[Run], Curve | None],
    until_s: float | None,
    *,
    fill: bool = True,
) -> list[NDArray[Any]]:
    """Draw the curve of each run that has one; return their values."""
    drawn = listed_runs(runs)
    found = []
    for number, (run, name) in enumerate(zip(drawn, run_names(drawn), strict=True)):
        steps = curve(run)
        if steps is None:
            continue
        colour = RUN_COLOURS[number % len(RUN_COLOURS)]
        look: Any = {"color": colour, "linestyle": RUN_DASHES[number % len(RUN_DASHES)]}
        axes.plot(*steps, drawstyle="steps-post", linewidth=1.0, label=name, **look)
        if fill and len(drawn) == 1:
            axes.fill_between(*steps, step="post", color=colour, alpha=0.2, linewidth=0)
        found.append(steps[1])
    longest = max((run.makespan_s for run in drawn), default=0.0)
    time_axis(axes, longest if until_s is None else until_s)
    return found


def _finished(
    axes: Axes,
    runs: Run | Sequence[Run],
    label: str,
    most: float,
    legend: bool,
    *,
    whole: bool = False,
) -> Axes:
    """Finish the axis of the values; several *runs* have a *legend*."""
    axes.set_ylim(0.0, most)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=whole))
    name_axes(axes, y=label)
    if legend and len(listed_runs(runs)) > 1:
        name_runs(axes, axes.lines)
    return axes


def has_flop(run: Run) -> bool:
    """Return whether the flop of some task of *run* is known."""
    graph = graph_of_run(run)
    return graph is not None and bool(np.isfinite(task_flop(graph)).any())


def _draw(panel: Callable[..., Axes]) -> Callable[[Sequence[Run], Axes, Look], Axes]:
    """Return what draws a *panel* of all runs as its figure looks."""
    return lambda runs, axes, look: panel(runs, axes, until_s=look.until_s, legend=look.legend)


READY = Panel(
    summary="How many tasks are ready and have not started, over time.",
    place="together",
    draw=_draw(panel_ready),
    height_inches=lambda _: 1.4,
    by_default=True,
)
SUBMITTED = Panel(
    summary="How many tasks are submitted and have not ended, over time.",
    place="together",
    draw=_draw(panel_submitted),
    height_inches=lambda _: 1.4,
)
GFLOPS = Panel(
    summary="How many GFlop/s were done, where kernels know their flop, over time.",
    place="together",
    draw=_draw(panel_gflops),
    height_inches=lambda _: 1.4,
    shows=has_flop,
    needs="tasks whose flop is known",
)
OTHERS = Panel(
    summary="Which share of the cores others had during a native run, over time.",
    place="together",
    draw=_draw(panel_others),
    height_inches=lambda _: 1.4,
    shows=has_processor_times,
    needs="the processor time of its tasks, as native runs do where the system tells",
)
