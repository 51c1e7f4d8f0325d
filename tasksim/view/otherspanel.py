"""Panel of others: which share of the workers' cores others had over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.ticker import MaxNLocator

from tasksim.run.disturbance import has_processor_times
from tasksim.run.others import others_curve
from tasksim.run.record import Run
from tasksim.view.registry import Look, Panel
from tasksim.view.style import RUN_COLOURS, TEXT, name_runs, new_axes, run_names, time_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["OTHERS", "panel_others"]

_HEIGHT_INCHES: Final = 2.2
_SLICES: Final = 400  # two or three pixels each at the usual width: narrower ones look like noise
_LEAST_PERCENT: Final = 1.0
"""Upper end of the axis, at least: less than that is nothing, and should look like it."""


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
        Where; default: a new figure.
    until_s : float, optional
        The end of the time axis; default: the longest makespan.
    legend : bool, default True
        Whether the panel says which curve is which run, of several.
    """
    axes = new_axes(ax, _HEIGHT_INCHES)
    drawn = [runs] if isinstance(runs, Run) else list(runs)
    most = _LEAST_PERCENT
    for number, (run, name) in enumerate(zip(drawn, run_names(drawn), strict=True)):
        if not has_processor_times(run) or not run.makespan_s:
            continue
        edges = np.linspace(0.0, run.makespan_s, _SLICES + 1)
        percent = 100.0 * others_curve(run, edges)
        colour = RUN_COLOURS[number % len(RUN_COLOURS)]
        steps = edges, np.append(percent, percent[-1:])
        axes.plot(*steps, drawstyle="steps-post", color=colour, linewidth=1.0, label=name)
        if len(drawn) == 1:
            axes.fill_between(*steps, step="post", color=colour, alpha=0.2, linewidth=0)
        most = max(most, 1.05 * float(percent.max()))
    time_axis(axes, max((r.makespan_s for r in drawn), default=0.0) if until_s is None else until_s)
    axes.set_ylim(0.0, most)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.tick_params(labelsize=TEXT["small"])
    axes.set_ylabel("others had\n(% of cores)", fontsize=TEXT["normal"])
    axes.spines[["top", "right"]].set_visible(False)
    if legend and len(drawn) > 1:
        name_runs(axes, axes.lines)
    return axes


def _draw(runs: Sequence[Run], axes: Axes, look: Look) -> Axes:
    return panel_others(runs, axes, until_s=look.until_s, legend=look.legend)


OTHERS = Panel(
    summary="Which share of the cores others had during a native run, over time.",
    place="together",
    draw=_draw,
    height_inches=lambda _: 1.4,
    shows=has_processor_times,
    needs="the processor time of its tasks, as native runs do where the system tells",
)
