"""Panels of curves over time: how many tasks are ready, how many are submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import MaxNLocator

from tasksim.run.metrics import ready_curve, submitted_curve
from tasksim.run.record import Run
from tasksim.view.registry import Look, Panel
from tasksim.view.style import RUN_COLOURS, TEXT, name_runs, new_axes, run_names, time_axis
from tasksim.view.timeseries import thinned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Curve = tuple[NDArray[np.float64], NDArray[np.int64]]

__all__ = ["READY", "SUBMITTED", "panel_ready", "panel_submitted"]

_HEIGHT_INCHES = 2.6


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
    return _panel_curve(runs, ax, ready_curve, "ready tasks", until_s, legend)


def panel_submitted(
    runs: Run | Sequence[Run],
    ax: Axes | None = None,
    *,
    until_s: float | None = None,
    legend: bool = True,
) -> Axes:
    """Draw how many tasks are submitted and have not ended, over time, as :func:`panel_ready`."""
    return _panel_curve(runs, ax, submitted_curve, "submitted tasks", until_s, legend)


def _as_list(runs: Run | Sequence[Run]) -> list[Run]:
    return [runs] if isinstance(runs, Run) else list(runs)


def _panel_curve(
    runs: Run | Sequence[Run],
    ax: Axes | None,
    curve: Callable[[Run], Curve],
    label: str,
    until_s: float | None,
    legend: bool,
) -> Axes:
    axes, drawn = new_axes(ax, _HEIGHT_INCHES), _as_list(runs)
    for number, (run, name) in enumerate(zip(drawn, run_names(drawn), strict=True)):
        colour = RUN_COLOURS[number % len(RUN_COLOURS)]
        times, count = thinned(*curve(run))
        axes.plot(times, count, drawstyle="steps-post", color=colour, linewidth=1.0, label=name)
        if len(drawn) == 1:
            axes.fill_between(times, count, step="post", color=colour, alpha=0.2, linewidth=0)
    longest = max((run.makespan_s for run in drawn), default=0.0)
    time_axis(axes, longest if until_s is None else until_s)
    _count_axis(axes, label)
    if legend and len(drawn) > 1:
        name_runs(axes, axes.lines)
    return axes


def _count_axis(axes: Axes, label: str) -> None:
    axes.set_ylim(0.0, max(1.0, axes.get_ylim()[1]))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    axes.tick_params(labelsize=TEXT["small"])
    axes.set_ylabel(label, fontsize=TEXT["normal"])
    axes.spines[["top", "right"]].set_visible(False)


def _draw_ready(runs: Sequence[Run], axes: Axes, look: Look) -> Axes:
    return panel_ready(runs, axes, until_s=look.until_s, legend=look.legend)


def _draw_submitted(runs: Sequence[Run], axes: Axes, look: Look) -> Axes:
    return panel_submitted(runs, axes, until_s=look.until_s, legend=look.legend)


READY = Panel(
    summary="How many tasks are ready and have not started, over time.",
    place="together",
    draw=_draw_ready,
    height_inches=lambda _: 1.4,
    by_default=True,
)
SUBMITTED = Panel(
    summary="How many tasks are submitted and have not ended, over time.",
    place="together",
    draw=_draw_submitted,
    height_inches=lambda _: 1.4,
)
