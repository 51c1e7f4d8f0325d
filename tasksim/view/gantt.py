"""The space-time panel: which worker ran which task when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from tasksim.run.bounds import Bounds
from tasksim.run.metrics import idleness_percent
from tasksim.view.marks import Mark, draw_marks
from tasksim.view.style import TEXT, kernel_colours, new_axes, run_title, time_axis
from tasksim.view.times import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tasksim.run.record import Run

__all__ = ["gantt_height_inches", "kernel_legend", "panel_gantt"]

_FIGURE_SPACE = "\N{FIGURE SPACE}"
_BOUNDS = {
    "critical_path_s": ("critical path", "--"),
    "area_s": ("area bound", ":"),
}


def panel_gantt(
    run: Run,
    ax: Axes | None = None,
    *,
    bounds: Bounds | Mapping[str, float] | None = None,
    until_s: float | None = None,
    title: str | None = None,
    legend: bool = True,
) -> Axes:
    """Draw the tasks of *run*: a row per worker, the first on top, a colour per kernel.

    Left of each row are the worker and how much of the makespan it was idle; the makespan and
    the lower bounds are marked. Tasks are drawn without borders, as pixels even in PDF
    and SVG: 100 000 of them take about a second. One thinner than a pixel is seen
    if it covers the middle of one, so a row shows the true shares of the kernels.

    Parameters
    ----------
    run :
        What to draw.
    ax :
        Where; default: a new figure.
    bounds :
        Lower bounds on the makespan; default: those kept in the run. ``{}`` draws none.
    until_s :
        The end of the time axis; default: the makespan, or the largest bound if that is larger.
    title :
        Default: kind, scheduler, platform, makespan.
    legend :
        Whether to name the colours of the kernels beside the panel.
    """
    axes = new_axes(ax, gantt_height_inches(run))
    _draw_tasks(axes, run)
    _worker_rows(axes, run)
    marks = _marks(run, bounds)
    time_axis(axes, max(mark.at_s for mark in marks) if until_s is None else until_s)
    height = draw_marks(axes, marks)
    axes.set_title(
        run_title(run) if title is None else title,
        loc="left",
        fontsize=TEXT["title"],
        pad=height + 6.0,
    )
    if legend:
        handles = kernel_legend([run])
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return axes


def gantt_height_inches(run: Run) -> float:
    """Return a height that shows the rows: generous for few workers, thin rows for many."""
    return 0.9 + min(max(0.25 * len(run.workers), 0.9), 3.0 + 0.035 * len(run.workers), 12.0)


def kernel_legend(runs: Iterable[Run]) -> list[Patch]:
    """Return a legend entry per kernel that ran in any of *runs*."""
    names = [run.kernel_names[k] for run in runs for k in np.unique(run.tasks.kernel)]
    return [Patch(color=colour, label=name) for name, colour in kernel_colours(names).items()]


def _draw_tasks(axes: Axes, run: Run) -> None:
    kernels = np.unique(run.tasks.kernel)
    colours = kernel_colours(run.kernel_names[k] for k in kernels)
    # Thin rows touch, so that no grey of anti-aliased gaps covers them.
    half = 0.42 if len(run.workers) <= 40 else 0.5
    for kernel in kernels:
        collection = PolyCollection(
            _rectangles(run, run.tasks.kernel == kernel, half),
            facecolors=colours[run.kernel_names[kernel]],
            edgecolors="none",
            linewidths=0,
            rasterized=True,
        )
        axes.add_collection(collection, autolim=False)


def _rectangles(run: Run, chosen: NDArray[np.bool_], half: float) -> Any:
    """Return the corners of the chosen tasks, of shape (tasks, 4, 2)."""
    tasks = run.tasks
    start, end, row = tasks.start_s[chosen], tasks.end_s[chosen], tasks.worker[chosen]
    x = np.stack((start, end, end, start), axis=1)
    y = np.stack((row - half, row - half, row + half, row + half), axis=1)
    return np.stack((x, y), axis=2)


def _worker_rows(axes: Axes, run: Run) -> None:
    """Label the rows, every one or as many as there is room for."""
    workers = len(run.workers)
    axes.set_ylim(workers - 0.5, -0.5)
    points = axes.get_window_extent().height * 72.0 / axes.figure.dpi
    size = TEXT["small"] if workers <= 40 else TEXT["small"] - 1.5
    step = max(1, int(np.ceil(workers * 1.25 * size / points)))
    shown = range(0, workers, step)
    idle = idleness_percent(run).tolist()
    labels = [_row_label(run.workers[row].name, idle[row]) for row in shown]
    axes.set_yticks(list(shown), labels, fontsize=size)
    axes.tick_params(axis="y", length=0 if step == 1 else 2)
    axes.tick_params(axis="x", labelsize=TEXT["small"])
    axes.set_ylabel("worker, idle %", fontsize=TEXT["normal"])
    axes.spines[["top", "right"]].set_visible(False)


def _row_label(name: str, idle_percent: float) -> str:
    # Rounding may leave -0 %.
    percent = f"{abs(round(idle_percent))}".rjust(3, _FIGURE_SPACE)
    return f"{name} {percent} %"


def _marks(run: Run, bounds: Bounds | Mapping[str, float] | None) -> list[Mark]:
    if isinstance(bounds, Bounds):
        bounds = bounds.to_json()
    values = (run.bounds or {}) if bounds is None else bounds
    marks = [
        Mark(values[key], f"{name} {duration_text(values[key])}", "#555555", line)
        for key, (name, line) in _BOUNDS.items()
        if key in values
    ]
    return [*marks, Mark(run.makespan_s, f"makespan {duration_text(run.makespan_s)}")]
