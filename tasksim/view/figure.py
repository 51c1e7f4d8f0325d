"""Whole figures: runs one above another on one time axis; and writing them to files."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from tasksim.base.errors import InputError, expect
from tasksim.base.files import refuse_existing, write_bytes
from tasksim.run.record import Run
from tasksim.view.gantt import colour_legend
from tasksim.view.registry import PANELS, Look, Panel
from tasksim.view.style import (
    TEXT,
    WIDTH_INCHES,
    legend_columns,
    new_figure,
    run_names,
    run_title,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.gridspec import GridSpec

    from tasksim.view.registry import Place

__all__ = ["FORMATS", "PANELS", "figure", "save_figure"]

_EARLIER_NAMES = {"kernel-totals": "kernels", "kernel-distributions": "distributions"}

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
        Names out of :data:`PANELS`, or ``MODULE:NAME`` of a
        :class:`~tasksim.view.registry.Panel`; the panels over time are above those of kernels.
        Default: ``gantt``, ``memory`` and ``bandwidth`` of runs that have them, ``ready``.
    arrows :
        Whether the Gantt charts have an arrow per copy between memories.

    Raises
    ------
    InputError
        If there is no run or no panel, a panel is unknown, or no run has what it shows.
    """
    drawn = [runs] if isinstance(runs, Run) else list(runs)
    chosen = _default_panels(drawn) if panels is None else _chosen(drawn, panels)
    rows = _row_heights(drawn, chosen)
    below = _at("below", chosen)
    made = new_figure(sum(rows) + 0.6)
    grid = made.add_gridspec(len(rows), max(len(below), 1), height_ratios=rows)
    look = Look(max(max([run.makespan_s, *(run.bounds or {}).values()]) for run in drawn))
    _draw_time_panels(made, grid, drawn, chosen, replace(look, arrows=arrows))
    for column, panel in enumerate(below):
        panel.draw(drawn, made.add_subplot(grid[-1, column]), look)
    if "gantt" in chosen:
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


def _default_panels(runs: Sequence[Run]) -> dict[str, Panel]:
    _check(runs)
    known = PANELS.items()
    return {n: p for n, p in known.items() if p.by_default and any(map(p.shows, runs))}


def _chosen(runs: Sequence[Run], names: Sequence[str]) -> dict[str, Panel]:
    """Return the panels of these names, in the order of :data:`PANELS`, a user's own last."""
    if isinstance(names, str):
        raise InputError(f"panels: expected a list of names, got the text {names!r}")
    found = {_EARLIER_NAMES.get(name, name): None for name in names}
    _check(runs, len(found))
    chosen = {name: PANELS.resolve(name) for name in found}
    for name, panel in chosen.items():
        if not any(map(panel.shows, runs)):
            raise InputError(f"panel {name}: no run here recorded {panel.needs}")
    order = [*(name for name in PANELS if name in chosen), *chosen]
    return {name: chosen[name] for name in order}


def _check(runs: Sequence[Run], panels: int = 2) -> None:
    for run in runs:
        expect(run, Run, "run")
    if not runs or not panels:
        raise InputError(f"nothing to draw: {len(runs)} runs, {panels} panels")


def _at(place: Place, panels: Mapping[str, Panel]) -> list[Panel]:
    return [panel for panel in panels.values() if panel.place == place]


def _row_heights(runs: Sequence[Run], panels: Mapping[str, Panel]) -> list[float]:
    """Return the heights of the rows of the figure in inches, from the top."""
    of_runs = [
        panel.height_inches(run)
        for run in runs
        for panel in _at("per run", panels)
        if panel.shows(run)
    ]
    together = [panel.height_inches(runs[0]) for panel in _at("together", panels)]
    if together and len(runs) > 1:
        together[0] += _legend_inches(runs)
    below = [panel.height_inches(runs[0]) for panel in _at("below", panels)]
    return of_runs + together + ([max(below)] if below else [])


def _legend_inches(runs: Sequence[Run]) -> float:
    """Return the height of the legend of runs above the first curves."""
    names = run_names(runs)
    columns = legend_columns(names, 0.775 * WIDTH_INCHES * 72.0)
    return 0.1 + 0.17 * -(-len(names) // columns)


def _draw_time_panels(
    made: Figure, grid: GridSpec, runs: Sequence[Run], panels: Mapping[str, Panel], look: Look
) -> None:
    """Draw what has a time axis; only the last shows its labels."""
    drawn: list[Axes] = []
    for run in runs:
        title = run_title(run) if len(_graph_labels(runs)) == 1 else _title_with_graph(run)
        for panel in _at("per run", panels):
            if panel.shows(run):
                drawn.append(made.add_subplot(grid[len(drawn), :]))
                panel.draw([run], drawn[-1], replace(look, title=title))
    for number, panel in enumerate(_at("together", panels)):
        drawn.append(made.add_subplot(grid[len(drawn), :]))
        panel.draw(runs, drawn[-1], replace(look, legend=number == 0))
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
