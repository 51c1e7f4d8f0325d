"""Gantt charts of tasks per worker, and of copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from tasksim.base.shortnames import shortened
from tasksim.base.units import duration_text
from tasksim.run.bounds import Bounds
from tasksim.run.metrics import idleness_percent, kernel_statistics
from tasksim.run.others import others_percent, others_s
from tasksim.view.bands import Boxes, add_bands
from tasksim.view.colours import IDLE_COLOURS, is_light, kernel_colours
from tasksim.view.lanes import (
    Lane,
    draw_arrows,
    draw_lanes,
    draw_message_arrows,
    lanes,
    transfer_legend,
)
from tasksim.view.registry import Panel
from tasksim.view.style import (
    TEXT_POINTS,
    most_of,
    new_axes,
    run_title,
    time_axis,
    width_points,
    worker_label,
    write_note,
)
from tasksim.view.timeseries import idle_spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tasksim.run.record import Run

__all__ = [
    "GANTT",
    "Mark",
    "colour_legend",
    "gantt_height_inches",
    "panel_gantt",
]


_LINE_POINTS = TEXT_POINTS["small"] + 3.5
_WIDTH_OF_A_CHARACTER = 0.6  # of the font size; DejaVu Sans has 0.55 on average


@dataclass(frozen=True, slots=True)
class Mark:
    """A time that is marked by a line across the panel."""

    at_s: float
    text: str
    colour: str = "#222222"
    line: str = "-"


def draw_marks(axes: Axes, marks: Sequence[Mark]) -> float:
    """Draw *marks* and their texts above *axes*; return the height of the texts in points.

    Marks outside the limits of the axis are left out.
    """
    low, high = axes.get_xlim()
    shown = sorted((m for m in marks if low <= m.at_s <= high), key=lambda m: m.at_s)
    levels = _levels(axes, shown)
    for mark, (level, anchor) in zip(shown, levels, strict=True):
        if mark.line != "-":
            axes.axvline(mark.at_s, color="white", alpha=0.6, linewidth=2.4)
        axes.axvline(mark.at_s, color=mark.colour, linestyle=mark.line, linewidth=1.2)
        axes.annotate(
            mark.text,
            xy=(mark.at_s, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-3.0 if anchor == "right" else 3.0, 3.0 + level * _LINE_POINTS),
            textcoords="offset points",
            ha=anchor,
            va="bottom",
            fontsize=TEXT_POINTS["small"],
            color=mark.colour,
            annotation_clip=False,
        )
        axes.annotate(
            "",
            xy=(mark.at_s, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0.0, (level + 1) * _LINE_POINTS),
            textcoords="offset points",
            arrowprops={"arrowstyle": "-", "color": mark.colour, "linewidth": 0.8, "shrinkB": 0},
            annotation_clip=False,
        )
    return _LINE_POINTS * (1 + max((level for level, _ in levels), default=-1))


def _levels(axes: Axes, marks: Sequence[Mark]) -> list[tuple[int, str]]:
    """Return per mark, in order of time, the line its text goes to and which end is at the mark.

    No text is over another, or over the line that leads from another text down to its mark.
    """
    low, high = axes.get_xlim()
    points = width_points(axes)
    at = [(mark.at_s - low) / (high - low) * points for mark in marks]
    widths = [len(m.text) * TEXT_POINTS["small"] * _WIDTH_OF_A_CHARACTER + 8.0 for m in marks]
    # The right end of a text is at its mark where there is room to the left of that.
    anchors: list[str] = []
    taken = 0.0
    for x, width in zip(at, widths, strict=True):
        anchors.append("right" if x - width > taken else "left")
        if anchors[-1] == "left":
            taken = max(taken, x)
    levels = [0] * len(marks)
    placed: list[tuple[float, float, int]] = []
    # From the lowest text up, such that no line to a mark crosses a text: texts that end at their
    # marks rise from left to right; above them, texts that begin at theirs, from right to left.
    ends = [index for index, anchor in enumerate(anchors) if anchor == "right"]
    begins = [index for index, anchor in enumerate(anchors) if anchor == "left"]
    for index in ends + begins[::-1]:
        left = at[index] - (widths[index] if anchors[index] == "right" else 0.0)
        right = left + widths[index]
        over = [level for a, b, level in placed if a < right and left < b]
        levels[index] = max(over, default=-1) + 1
        placed.append((left, right, levels[index]))
    return list(zip(levels, anchors, strict=True))


MAX_NAMED_TASKS: Final = 60
"""Maximum number of tasks of a chart with their names: it is read as an example, task by task."""
TASK_NAME: Final = "task name"
"""Identity of the texts with names of tasks among the others of the chart."""
MIN_ROW_POINTS: Final = TEXT_POINTS["small"] + 1.0
"""Minimum height of a row whose tasks have names, in points."""


def draw_names(axes: Axes, run: Run, others: Sequence[str] = ()) -> None:
    """Write the name of each task into its box where it fits, if there are few tasks.

    The colours are those of the kernels of *run* and *others* together.
    """
    tasks = run.tasks
    if not 0 < len(tasks) <= MAX_NAMED_TASKS:
        return
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    points = width_points(axes)
    height = axes.get_window_extent().height * 72.0 / axes.figure.dpi
    row = height / abs(top - bottom) * 2.0 * _half_row(run)
    if row < MIN_ROW_POINTS or high <= low:
        return
    kernels = tasks.kernel.tolist()
    colours = kernel_colours([*(run.kernel_names[k] for k in dict.fromkeys(kernels)), *others])
    columns = (tasks.task, kernels, tasks.worker, tasks.start_s, tasks.end_s)
    for task, kernel, worker, start, end in zip(*map(list, columns), strict=True):
        name = run.kernel_names[kernel]
        text = f"#{task}" if kernels.count(kernel) > 1 else name
        width = len(text) * TEXT_POINTS["small"] * _WIDTH_OF_A_CHARACTER
        if width <= (end - start) / (high - low) * points:
            axes.text(
                (start + end) / 2.0,
                worker,
                text,
                ha="center",
                va="center",
                fontsize=TEXT_POINTS["small"],
                color="black" if is_light(colours[name]) else "white",
                gid=TASK_NAME,
            )


MAX_NAMED_KERNELS: Final = 40
"""Maximum number of kernels in a legend: their colours are hardly told apart, and more names would
leave no room to the chart."""
LEAST_SHARE: Final = 1 / 2500
"""Share of the makespan below which nothing is hatched: half a pixel of a chart on a screen."""
# Pale below and dark above: seen on every colour of a kernel.
_HATCHING_LOOK: Final[dict[str, Any]] = {
    "facecolor": (1.0, 1.0, 1.0, 0.55), "edgecolor": "#222222", "linewidth": 0.0, "hatch": "////",
}  # fmt: skip
_RECTANGLE: Final = (Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY)


def draw_hatching(axes: Axes, run: Run, half_row: float) -> None:
    """Hatch the end of each task's box, as long as others made it.

    It is known how much of its time others took from a task, not when. Nothing is drawn of runs
    that do not know, nor what is too short to be seen.
    """
    of_tasks_s = others_s(run)
    seen = _seen(run, of_tasks_s)
    if not seen.any():
        return
    right, row = run.tasks.end_s[seen], run.tasks.worker[seen]
    left, low, high = right - of_tasks_s[seen], row - half_row, row + half_row
    corners = np.array([[left, low], [right, low], [right, high], [left, high], [left, low]])
    # One path for all: each path of its own would draw its hatches anew.
    codes = np.tile(_RECTANGLE, len(right))
    axes.add_artist(
        PathPatch(Path(corners.T.swapaxes(1, 2).reshape(-1, 2), codes), **_HATCHING_LOOK)
    )


def hatching_legend(runs: Iterable[Run]) -> list[Patch]:
    """Return a legend entry if something is hatched in any of *runs*."""
    drawn = any(_seen(run, others_s(run)).any() for run in runs)
    return [Patch(label="taken by others", **_HATCHING_LOOK)] if drawn else []


def _seen(run: Run, of_tasks_s: NDArray[np.float64]) -> NDArray[np.bool_]:
    return of_tasks_s > LEAST_SHARE * run.makespan_s


_TITLE_LETTERS = 100  # so many fit above a panel of the usual width
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
    arrows: bool = False,
    kernels: Sequence[str] = (),
) -> Axes:
    """Draw the tasks of *run*: a row per worker, the first on top, a colour per kernel.

    Left of each row are the worker and how much of the makespan it was idle; the makespan and
    the lower bounds are marked. Each pixel has the mean of the colours of its time, however short
    the tasks are; where there is room, tasks have thin borders, and of up to 60 tasks each has its
    name: that of its kernel, or its number if others have the same kernel. In PDF and SVG up to
    20 000 tasks are vectors.

    Where data were copied between memories, a row per pair of memories follows, with the copies
    in shades of red by their reason, and how much was copied; copies at the same time are above
    each other. Then also the time that workers were idle is coloured, by what they waited for
    before their next task: that it was ready, its data, or the scheduler and the runtime.

    In a native run that knows what others took of its cores, the end of a task's box is hatched:
    as long as others had the core, or made the task longer on the same processor; the system does
    not tell when they did. Beside its idleness each worker has the share of the makespan that
    others took from it: in such tasks, and while its thread was ready and others had its core,
    during tasks or between them.

    Parameters
    ----------
    run :
        The run to draw.
    ax :
        Axes to draw on; default: those of a new figure.
    bounds :
        Lower bounds on the makespan; default: those kept in the run. ``{}`` draws none.
    until_s :
        The end of the time axis; default: the makespan, or the largest bound if that is larger.
    title :
        Default: kind, scheduler, platform, makespan.
    legend :
        Whether to name the colours beside the panel.
    arrows :
        Whether to draw an arrow per copy, to the worker whose task waited for it, and per message
        between nodes; of more than 80 the longest ones, and the title says which.
    kernels :
        Kernels of other runs that are drawn with the same colours.
    """
    axes = new_axes(ax, gantt_height_inches(run))
    below = lanes(run)
    add_bands(axes, _boxes(run, kernels))
    draw_hatching(axes, run, _half_row(run))
    draw_lanes(axes, run, below)
    _rows(axes, run, below)
    marks = _marks(run, bounds)
    time_axis(axes, max(mark.at_s for mark in marks) if until_s is None else until_s)
    note = draw_arrows(axes, run) if arrows else ""
    if arrows:
        note = "; ".join(filter(None, [note, draw_message_arrows(axes, run)]))
    height = draw_marks(axes, marks)
    draw_names(axes, run, kernels)
    if len(run.tasks) and run.makespan_s <= 0:
        write_note(axes, "all tasks took no time")
    named = run_title(run) if title is None else title
    long = len(named) + len(note) > _TITLE_LETTERS
    axes.set_title(
        ("\n" if long else "; ").join(filter(None, [named, note])),
        loc="left",
        fontsize=TEXT_POINTS["title"],
        pad=height + 6.0,
    )
    if legend:
        handles = colour_legend([run])
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return axes


def gantt_height_inches(run: Run) -> float:
    """Return a height that shows the rows: generous for few workers, thin rows for many."""
    below = lanes(run)
    rows = len(run.workers) + sum(lane.height for lane in below)
    return 0.9 + min(max(0.25 * rows, 0.9), 3.0 + 0.035 * rows + 0.1 * len(below), 12.0)


def colour_legend(runs: Sequence[Run]) -> list[Patch]:
    """Return a legend entry per kernel that ran in any of *runs*, for all else that is drawn.

    Of many kernels only those of most time have entries, and one entry counts the others.
    """
    total_s: dict[str, float] = {}
    for run in runs:
        for s in kernel_statistics(run):
            total_s[s.kernel] = total_s.get(s.kernel, 0.0) + s.total_s
    named = set(most_of(total_s, MAX_NAMED_KERNELS))
    kernels = [
        Patch(color=colour, label=shortened(name))
        for name, colour in kernel_colours(total_s).items()
        if name in named
    ]
    if len(total_s) > len(named):
        others = f"and {len(total_s) - len(named)} other kernels"
        kernels.append(Patch(facecolor="none", edgecolor="#8a8a8a", label=others))
    copies = transfer_legend(runs)
    drawn = [idle_spans(run) for run in runs if lanes(run)] if copies else []
    waits = [
        Patch(color=colour, label=name)
        for reason, (name, colour) in IDLE_COLOURS.items()
        if any(len(spans[reason][0]) for spans in drawn)
    ]
    return kernels + hatching_legend(runs) + waits + copies


def _boxes(run: Run, kernels: Sequence[str]) -> Boxes:
    """Return the tasks, and where data were moved what workers waited for in between."""
    tasks, names = run.tasks, list(run.kernel_names)
    spans = [(tasks.worker, tasks.start_s, tasks.end_s, tasks.kernel)]
    ran = [names[k] for k in np.unique(tasks.kernel).tolist()]
    known = kernel_colours([*ran, *kernels])
    colours = [known.get(name, "#000000") for name in names]
    if lanes(run):
        for reason, (worker, begin, end) in idle_spans(run).items():
            spans.append((worker, begin, end, np.full(len(worker), len(colours))))
            colours.append(IDLE_COLOURS[reason][1])
    worker, start, end, state = (np.concatenate(column) for column in zip(*spans, strict=True))
    row, half = worker.astype(np.float64), _half_row(run)
    return Boxes.of(start, end, (row - half, row + half), state, colours)


def _half_row(run: Run) -> float:
    # Thin rows touch, so that no grey of anti-aliased gaps covers them.
    return 0.42 if len(run.workers) <= 40 else 0.5


def _rows(axes: Axes, run: Run, below: Sequence[Lane]) -> None:
    """Label the rows, every one or as many as there is room for."""
    workers = len(run.workers)
    end = below[-1].top + below[-1].height if below else workers - 0.5
    axes.set_ylim(end, -0.5)
    points = axes.get_window_extent().height * 72.0 / axes.figure.dpi / (end + 0.5)
    size = TEXT_POINTS["small"] if workers <= 40 else TEXT_POINTS["small"] - 1.5
    step = max(1, int(np.ceil(1.25 * size / points)))
    idle, others, shown = idleness_percent(run), others_percent(run), range(0, workers, step)
    labels = [_row_label(run, row, idle[row], others[row]) for row in shown]
    every = max(1, int(np.ceil(1.25 * size / points / below[0].height))) if below else 1
    named = below[::every]
    places = [lane.top + lane.height / 2 for lane in named]
    labels += [lane.label(run) for lane in named]
    axes.set_yticks([*shown, *places], labels, fontsize=size)
    axes.tick_params(axis="y", length=0 if step == every == 1 else 2)
    axes.tick_params(axis="x", labelsize=TEXT_POINTS["small"])
    told = ", others %" if np.isfinite(others).any() else ""
    axes.set_ylabel(f"worker, idle %{told}", fontsize=TEXT_POINTS["normal"])
    axes.spines[["top", "right"]].set_visible(False)


def _row_label(run: Run, row: int, *percent: float) -> str:
    # abs, because rounding may leave -0 %.
    rounded = [f"{abs(round(each))}" for each in percent if np.isfinite(each)]
    known = (f"{text.rjust(3, _FIGURE_SPACE)} %" for text in rounded)
    return " ".join([worker_label(run, row), *known])


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


GANTT = Panel(
    summary="Which worker ran which task when, and the copies between memories.",
    place="per run",
    draw=lambda runs, axes, look: panel_gantt(
        runs[0],
        axes,
        until_s=look.until_s,
        title=look.title,
        legend=False,
        arrows=look.arrows,
        kernels=look.kernels,
    ),
    height_inches=gantt_height_inches,
    by_default=True,
)
