"""Whole figures: runs one above another on one time axis; and writing them to files."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from tasksim.base.errors import InputError, expect, unknown
from tasksim.base.files import refuse_existing, write_bytes
from tasksim.run.record import Run
from tasksim.view.gantt import colour_legend, gantt_height_inches, panel_gantt
from tasksim.view.memory import has_bandwidth, has_memory, panel_bandwidth, panel_memory
from tasksim.view.panels import (
    panel_kernel_distributions,
    panel_kernel_totals,
    panel_ready,
    panel_submitted,
)
from tasksim.view.style import (
    TEXT,
    WIDTH_INCHES,
    legend_columns,
    new_figure,
    run_names,
    run_title,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.gridspec import GridSpec

__all__ = ["FORMATS", "PANELS", "figure", "save_figure"]

_OF_DATA = {"memory": (panel_memory, has_memory), "bandwidth": (panel_bandwidth, has_bandwidth)}
_CURVES = {"ready": panel_ready, "submitted": panel_submitted}
_KERNELS = {
    "kernel-totals": panel_kernel_totals,
    "kernel-distributions": panel_kernel_distributions,
}
PANELS = ("gantt", *_OF_DATA, *_CURVES, *_KERNELS)
"""What :func:`figure` can draw; ``memory`` and ``bandwidth`` only of runs with several memories."""

FORMATS = {".png": "png", ".pdf": "pdf", ".svg": "svg"}
"""What :func:`save_figure` can write."""

# No dates and no names of programs: the same figure gives the same bytes.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
}
_TEXT_AS_TEXT: Any = {"svg.fonttype": "none", "svg.hashsalt": "tasksim", "pdf.fonttype": 42}


def figure(
    runs: Run | Sequence[Run], panels: Sequence[str] | None = None, *, arrows: bool = False
) -> Figure:
    """Draw one or several runs.

    Parameters
    ----------
    runs :
        A Gantt chart each, and panels of memory, one above another on one time axis; in the
        other panels they are together.
    panels :
        Names out of :data:`PANELS`; the panels over time are above those of kernels.
        Default: ``gantt``, ``memory`` and ``bandwidth`` of runs that have them, ``ready``.
    arrows :
        Whether the Gantt charts have an arrow per copy between memories.

    Raises
    ------
    InputError
        If there is no run or no panel, a panel is unknown, or no run has what it shows.
    """
    drawn = [runs] if isinstance(runs, Run) else list(runs)
    panels = _default_panels(drawn) if panels is None else panels
    _check(drawn, panels)
    rows = _row_heights(drawn, panels)
    below = [name for name in _KERNELS if name in panels]
    made = new_figure(sum(rows) + 0.6)
    grid = made.add_gridspec(len(rows), max(len(below), 1), height_ratios=rows)
    _draw_time_panels(made, grid, drawn, panels, arrows)
    for column, name in enumerate(below):
        _KERNELS[name](drawn, made.add_subplot(grid[-1, column]))
    if "gantt" in panels:
        _name_kernels(made, drawn)
    made.suptitle(_graphs(drawn), fontsize=TEXT["title"] + 1, fontweight="bold")
    return made


def save_figure(
    fig: Figure, path: str | Path, force: bool = False, *, dots_per_inch: float = 150.0
) -> None:
    """Write *fig* to *path*, all or nothing; the suffix says the format: png, pdf, svg.

    Raises
    ------
    InputError
        If the suffix is another, or *path* exists and *force* is not given.
    OutputError
        If the operating system refuses.
    """
    expect(fig, Figure, "fig")
    target = Path(path)
    format_ = FORMATS.get(target.suffix.lower())
    if format_ is None:
        raise InputError(
            f"{target}: cannot draw a '{target.suffix}' file (legal: {', '.join(FORMATS)})"
        )
    refuse_existing(target, force=force)
    # In memory first: where a disk is full, Matplotlib's PDF writer fails for other reasons.
    drawn = BytesIO()
    with mpl.rc_context(_TEXT_AS_TEXT):
        fig.savefig(drawn, format=format_, dpi=dots_per_inch, metadata=_METADATA[format_])
    write_bytes(target, drawn.getvalue())


def _default_panels(runs: Sequence[Run]) -> tuple[str, ...]:
    of_data = [name for name, (_, has) in _OF_DATA.items() if any(map(has, runs))]
    return ("gantt", *of_data, "ready")


def _check(runs: Sequence[Run], panels: Sequence[str]) -> None:
    for run in runs:
        expect(run, Run, "run")
    if isinstance(panels, str):
        raise InputError(f"panels: expected a list of names, got the text {panels!r}")
    if not runs or not panels:
        raise InputError(f"nothing to draw: {len(runs)} runs, {len(panels)} panels")
    for name in panels:
        if name not in PANELS:
            raise unknown("panel", name, PANELS)
        if name in _OF_DATA and not any(map(_OF_DATA[name][1], runs)):
            raise InputError(f"panel {name}: no run here recorded data in several memories")


def _row_heights(runs: Sequence[Run], panels: Sequence[str]) -> list[float]:
    """Return the heights of the rows of the figure in inches, from the top."""
    gantts = []
    for run in runs:
        gantts += [gantt_height_inches(run)] if "gantt" in panels else []
        gantts += [1.6 for _ in _panels_of_data(run, panels)]
    curves = [1.4 for name in _CURVES if name in panels]
    if curves and len(runs) > 1:
        curves[0] += _legend_inches(runs)
    kernels = [3.0] if any(name in panels for name in _KERNELS) else []
    return gantts + curves + kernels


def _panels_of_data(run: Run, panels: Sequence[str]) -> list[Callable[..., Axes]]:
    return [draw for name, (draw, has) in _OF_DATA.items() if name in panels and has(run)]


def _legend_inches(runs: Sequence[Run]) -> float:
    """Return the height of the legend of runs above the first curves."""
    names = run_names(runs)
    columns = legend_columns(names, 0.775 * WIDTH_INCHES * 72.0)
    return 0.1 + 0.17 * -(-len(names) // columns)


def _draw_time_panels(
    made: Figure, grid: GridSpec, runs: Sequence[Run], panels: Sequence[str], arrows: bool
) -> None:
    """Draw what has a time axis; only the last shows its labels."""
    until_s = max(max([run.makespan_s, *(run.bounds or {}).values()]) for run in runs)
    drawn: list[Axes] = []
    for run in runs:
        if "gantt" in panels:
            axes = made.add_subplot(grid[len(drawn), :])
            title = run_title(run) if len(_graph_labels(runs)) == 1 else _title_with_graph(run)
            look: Any = {"title": title, "legend": False, "arrows": arrows}
            drawn.append(panel_gantt(run, axes, until_s=until_s, **look))
        for draw in _panels_of_data(run, panels):
            axes = made.add_subplot(grid[len(drawn), :])
            drawn.append(draw(run, axes, until_s=until_s))
    curves = [name for name in _CURVES if name in panels]
    for name in curves:
        axes = made.add_subplot(grid[len(drawn), :])
        first = name == curves[0]
        drawn.append(_CURVES[name](runs, axes, until_s=until_s, legend=first))
    for axes in drawn[:-1]:
        axes.sharex(drawn[-1])
        axes.set_xlabel("")
        axes.tick_params(axis="x", labelbottom=False)


def _name_kernels(made: Figure, runs: Sequence[Run]) -> None:
    """Put the legend of colours below everything, in as many columns as fit."""
    handles = colour_legend(runs)
    names = [str(handle.get_label()) for handle in handles]
    made.legend(
        handles=handles,
        loc="outside lower center",
        ncols=legend_columns(names, made.get_figwidth() * 72.0),
        fontsize=TEXT["small"],
        frameon=False,
    )


def _graph_labels(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(run.graph_label for run in runs))


def _graphs(runs: Sequence[Run]) -> str:
    labels = _graph_labels(runs)
    return (
        shorten(labels[0], 120, placeholder=" …")
        if len(labels) == 1
        else f"{len(runs)} runs of {len(labels)} graphs"
    )


def _title_with_graph(run: Run) -> str:
    return f"{shorten(run.graph_label, 80, placeholder=' …')}: {run_title(run)}"
