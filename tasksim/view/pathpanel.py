"""Panel of paths: what the practical critical path of each run is made of, beside its workers."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Final

from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from tasksim.base.times import time_unit
from tasksim.run.idleness import idle_time
from tasksim.run.metrics import kernel_statistics
from tasksim.run.pathprofile import path_profile
from tasksim.run.record import Run
from tasksim.view.registry import Look, Panel
from tasksim.view.style import TEXT, kernel_colours, legend_columns, new_axes, run_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["PATH", "panel_path"]

_WAITING: Final = "waiting"
_GREY: Final = "#d9d9d9"
_ROW_INCHES: Final = 0.3
_LEGEND_INCHES: Final = 1.1
"""For the legend above and the axis below."""


def panel_path(runs: Run | Sequence[Run], ax: Axes | None = None) -> Axes:
    """Draw two bars per run: the practical critical path, and the mean of the workers.

    Both are as long as the makespan. A kernel that has more of the upper than of the lower bar
    holds the run up; what is grey in the upper one nobody computes.
    """
    several = [runs] if isinstance(runs, Run) else list(runs)
    axes = new_axes(ax, _height_inches(several))
    rows = [row for run in several for row in (_path_parts(run), _worker_parts(run))]
    kernels = dict.fromkeys(name for row in rows for name in row if name != _WAITING)
    colours = {**kernel_colours(kernels), _WAITING: _GREY}
    for place, row in enumerate(rows):
        left = 0.0
        for name in (*kernels, _WAITING):
            width = row.get(name, 0.0)
            axes.barh(place, width, 0.75, left, color=colours[name], edgecolor="#333333", lw=0.5)
            left += width
    _name_rows(axes, several)
    _time_axis(axes, max((run.makespan_s for run in several), default=0.0))
    shown = [Patch(facecolor=colours[name], edgecolor="#333333", label=name) for name in colours]
    columns = legend_columns(list(colours), axes.get_window_extent().width * 72 / axes.figure.dpi)
    axes.legend(
        handles=shown,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=columns,
        fontsize=TEXT["small"],
        frameon=False,
    )
    return axes


def _path_parts(run: Run) -> dict[str, float]:
    profile = path_profile(run, None)
    parts = {kernel.kernel: kernel.total_s for kernel in profile.kernels}
    return {**parts, _WAITING: sum(profile.waited_s.values())}


def _worker_parts(run: Run) -> dict[str, float]:
    count = max(1, len(run.workers))
    parts = {s.kernel: s.total_s / count for s in kernel_statistics(run)}
    return {**parts, _WAITING: sum(idle_time(run).totals().values()) / count}


def _name_rows(axes: Axes, runs: Sequence[Run]) -> None:
    names = [fill(name, 28) + ":\n" for name in run_names(runs)] if len(runs) > 1 else [""]
    labels = [text for name in names for text in (f"{name}path", "mean worker")]
    axes.set_yticks(range(len(labels)), labels, fontsize=TEXT["small"])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.spines[["top", "right"]].set_visible(False)


def _time_axis(axes: Axes, until_s: float) -> None:
    factor, unit = time_unit(until_s)
    axes.set_xlim(0.0, until_s * 1.01 or 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x * factor:.6g}"))
    axes.tick_params(axis="x", labelsize=TEXT["small"])
    axes.set_xlabel(f"time ({unit})", fontsize=TEXT["normal"])


def _height_inches(runs: Sequence[Run]) -> float:
    return _LEGEND_INCHES + 2 * _ROW_INCHES * max(1, len(runs))


def _draw(runs: Sequence[Run], axes: Axes, look: Look) -> Axes:  # noqa: ARG001
    return panel_path(runs, axes)


PATH = Panel(
    summary="What the practical critical path of each run is made of, and the mean of its workers.",
    place="below",
    draw=_draw,
    height_inches=lambda _: 2.6,  # of three runs; bars of more are thinner
)
