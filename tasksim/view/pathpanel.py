"""Panel of the practical critical path of each run and its parts, beside its workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from matplotlib.patches import Patch

from tasksim.base.shortnames import shortened
from tasksim.run.metrics import idle_s, kernel_statistics
from tasksim.run.network import path_messages
from tasksim.run.pathprofile import path_profile
from tasksim.view.colours import kernel_colours
from tasksim.view.names import listed_runs, run_names
from tasksim.view.registry import Panel
from tasksim.view.style import (
    TEXT_POINTS,
    fitting,
    legend_columns,
    name_axes,
    new_axes,
    time_axis,
    width_points,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from tasksim.run.record import Run

__all__ = ["PATH", "panel_path"]

_MESSAGES: Final = "messages"
_WAITING: Final = "waiting"
_NOT_COMPUTING: Final = {_MESSAGES: "#8fb8de", _WAITING: "#d9d9d9"}
_OTHERS: Final = "other kernels"
_OTHERS_COLOUR: Final = "#777777"
_MAX_KERNELS: Final = 24
"""Maximum number of kernels with parts of their own: narrower parts cannot be seen, and the legend
has three lines at most."""
_ROW_INCHES: Final = 0.3
_LEGEND_INCHES: Final = 1.1
"""Height of the legend above and the axis below, in inches."""
_RUN_INCHES: Final = 0.55
"""Height of each further run in inches: two bars and a line of text above them."""
_NAME_WIDTH_SHARE: Final = 0.85
"""Share of the width for names, beside the labels of rows."""


def panel_path(runs: Run | Sequence[Run], ax: Axes | None = None) -> Axes:
    """Draw two bars per run: the practical critical path, and the mean of the workers.

    Both are as long as the makespan. A kernel that has more of the upper than of the lower bar
    holds the run up; nobody computes during the grey parts of the upper one. For several nodes, the
    time of messages on the path is separate from other waiting.
    """
    several = listed_runs(runs)
    further_inches = max(0, len(several) - 1) * _RUN_INCHES
    axes = new_axes(ax, _LEGEND_INCHES + 2 * _ROW_INCHES + further_inches)
    rows: list[dict[str, float]] = []
    for run in several:
        count = max(1, len(run.workers))
        parts = {s.kernel: s.total_s / count for s in kernel_statistics(run)}
        parts[_WAITING] = float(idle_s(run).sum()) / count
        rows += [_path_parts(run), parts]
    kernels = dict.fromkeys(name for row in rows for name in row if name not in _NOT_COMPUTING)
    known = {**kernel_colours(kernels), _OTHERS: _OTHERS_COLOUR, **_NOT_COMPUTING}
    rows = _largest(rows)
    named = {name for row in rows for name in row}
    colours = {name: colour for name, colour in known.items() if name in named}
    # Of several runs each has a row for its name.
    pair = (1, 2) if len(several) > 1 else (0, 1)
    places = [3 * number + row for number in range(len(several)) for row in pair]
    for place, row in zip(places, rows, strict=True):
        left = 0.0
        for name in colours:
            width = row.get(name, 0.0)
            axes.barh(place, width, 0.75, left, color=colours[name], edgecolor="#333333", lw=0.5)
            left += width
    points = width_points(axes)
    axes.set_yticks(places, ["path", "mean worker"] * len(several), fontsize=TEXT_POINTS["small"])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(max(places, default=0) + 0.5, -0.5)
    names = fitting(run_names(several), _NAME_WIDTH_SHARE * points) if len(several) > 1 else []
    for number, name in enumerate(names):
        axes.text(0.0, 3 * number + 0.1, name, va="center", fontsize=TEXT_POINTS["small"])
    until_s = max((run.makespan_s for run in several), default=0.0)
    time_axis(axes, until_s)
    name_axes(axes)
    labels = fitting([shortened(name) for name in colours], _NAME_WIDTH_SHARE * points)
    axes.legend(
        handles=[Patch(facecolor=c, edgecolor="#333333") for c in colours.values()],
        labels=labels,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=legend_columns(labels, points),
        fontsize=TEXT_POINTS["small"],
        frameon=False,
    )
    return axes


def _largest(rows: Sequence[dict[str, float]]) -> list[dict[str, float]]:
    """Return *rows* with the kernels that have little of any row in one part."""
    shares: dict[str, float] = {}
    for row in rows:
        for name in row.keys() - _NOT_COMPUTING.keys():
            shares[name] = max(shares.get(name, 0.0), row[name])
    if len(shares) <= _MAX_KERNELS:
        return list(rows)
    ranked = sorted(shares, key=lambda name: (-shares[name], name))
    small = set(ranked[_MAX_KERNELS - 1 :])
    kept = [{name: s for name, s in row.items() if name not in small} for row in rows]
    sums = (sum(row.get(name, 0.0) for name in sorted(small)) for row in rows)
    return [{**row, _OTHERS: total} for row, total in zip(kept, sums, strict=True)]


def _path_parts(run: Run) -> dict[str, float]:
    profile = path_profile(run, None)
    parts = {kernel.kernel: kernel.total_s for kernel in profile.kernels}
    waited_s = sum(profile.waited_s.values())
    if run.messages is None:
        return {**parts, _WAITING: waited_s}
    moving_s = min(path_messages(run).moving_s, waited_s)
    return {**parts, _MESSAGES: moving_s, _WAITING: waited_s - moving_s}


PATH = Panel(
    summary="What the practical critical path of each run is made of, and the mean of its workers.",
    place="below",
    draw=lambda runs, axes, _: panel_path(runs, axes),
    height_inches=lambda _: 2.6,
    more_inches=_RUN_INCHES,
)
