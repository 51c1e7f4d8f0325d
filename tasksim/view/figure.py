"""Figures of runs, with panels above one another, drawn and saved to files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from io import BytesIO
from math import lcm
from numbers import Real
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from tasksim.base.arguments import flag, path_of
from tasksim.base.errors import InputError, expect, short
from tasksim.base.files import refuse_existing, write_bytes
from tasksim.formats.runs import as_run
from tasksim.view.gantt import colour_legend
from tasksim.view.names import given_runs, run_names
from tasksim.view.registry import PANELS, Look, Panel
from tasksim.view.style import TEXT_POINTS, WIDTH_INCHES, legend_columns, new_figure, run_title
from tasksim.view.timeseries import refuse_infinite_times

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

    from tasksim.run.record import Run
    from tasksim.view.registry import PanelPlace

    AnyRun = Run | str | Path

__all__ = ["FORMATS", "PANELS", "Cell", "figure", "figure_rows", "graph_labels", "save_figure"]


_MAX_SHARED_RATIO: Final = 3.0
"""Maximum ratio of the longest to the shortest run on a shared time axis: a run that takes less
than a third of the width cannot be read."""
_AXIS_INCHES: Final = 0.4
"""Height of the labels of a time axis, in inches."""
_LEGEND_LINES: Final = 3
"""Number of lines of the legend of colours that take little room from the panels."""
_LINE_INCHES: Final = 0.17
"""Height of a line of a legend, in inches."""
_MAX_BARS: Final = 10
"""Maximum number of bars or boxes beside another panel with readable names below them."""
_TITLE_LETTERS: Final = 80
"""Maximum length of the name of a graph in a title, before scheduler, platform and makespan, in
letters."""


@dataclass(frozen=True)
class Cell:
    """A panel, its runs, and its time axis, or None for a panel without one."""

    panel: Panel
    runs: Sequence[Run]
    look: Look
    height_inches: float
    axis: int | None = None


def figure_rows(runs: Sequence[Run], panels: Mapping[str, Panel]) -> list[list[Cell]]:
    """Return the cells of a figure of *runs*, row by row from the top."""
    lengths = [_until_s([run]) for run in runs]
    if max(lengths) > _MAX_SHARED_RATIO * min(lengths):
        blocks = [_on_one_axis([run], panels, runs, axis) for axis, run in enumerate(runs)]
    else:
        blocks = [_on_one_axis(runs, panels, runs, 0)]
    cells = [cell for block in blocks for cell in block]
    return [[cell] for cell in cells] + _below(runs, panels)


def kernels_that_ran(run: Run) -> list[str]:
    """Return the names of the kernels that tasks of *run* have, in the order of the run."""
    return [run.kernel_names[k] for k in np.unique(run.tasks.kernel).tolist()]


def graph_labels(runs: Sequence[Run]) -> list[str]:
    """Return the graphs of *runs*, each once."""
    return list(dict.fromkeys(run.graph_label for run in runs))


def _until_s(runs: Sequence[Run]) -> float:
    """Return the end of the time axis: the longest run, or the largest of its bounds."""
    return max(max([run.makespan_s, *(run.bounds or {}).values()]) for run in runs)


def _on_one_axis(
    runs: Sequence[Run], panels: Mapping[str, Panel], all_runs: Sequence[Run], axis: int
) -> list[Cell]:
    """Return the panels over time of *runs*, from the top; the last has the labels of the axis."""
    until_s = _until_s(runs)
    cells: list[Cell] = []
    for run, name in zip(runs, run_names(runs), strict=True):
        look = Look(until_s, title=_title(run, all_runs, name if len(runs) > 1 else ""))
        for panel in _at("per run", panels):
            if panel.shows(run):
                cells.append(Cell(panel, [run], look, panel.height_inches(run), axis))
    shown = [panel for panel in _at("together", panels) if any(map(panel.shows, runs))]
    for number, panel in enumerate(shown):
        look = Look(until_s, legend=number == 0)
        legend = _legend_inches(runs) if number == 0 and len(runs) > 1 else 0.0
        cells.append(Cell(panel, runs, look, panel.height_inches(runs[0]) + legend, axis))
    if cells:
        last = cells[-1]
        cells[-1] = replace(last, height_inches=last.height_inches + _AXIS_INCHES)
    return cells


def _below(runs: Sequence[Run], panels: Mapping[str, Panel]) -> list[list[Cell]]:
    """Return the rows of panels without a time axis.

    Narrow panels share a row if names of kernels are readable then; wide ones come last.
    """
    legend = _legend_inches(runs) if len(runs) > 1 else 0.0
    look, more = Look(_until_s(runs)), len(runs) - 1
    cells = [
        Cell(panel, runs, look, panel.height_inches(runs[0]) + more * panel.more_inches + legend)
        for panel in _at("below", panels)
    ]
    kernels = {name for run in runs for name in kernels_that_ran(run)}
    narrow = len(kernels) * len(runs) > _MAX_BARS
    beside = [cell for cell in cells if not (narrow or cell.panel.wide)]
    alone = [cell for cell in cells if narrow or cell.panel.wide]
    return [*([beside] if beside else []), *([cell] for cell in alone)]


def _legend_inches(runs: Sequence[Run]) -> float:
    """Return the height of the legend of runs above the first curves."""
    names = run_names(runs)
    columns = legend_columns(names, 0.775 * WIDTH_INCHES * 72.0)
    return 0.1 + _LINE_INCHES * -(-len(names) // columns)


def _title(run: Run, runs: Sequence[Run], name: str) -> str:
    """Return the title of a run, with its graph where that differs.

    The title begins with the *name* that curves of the run have, if that says something else.
    """
    title = run_title(run)
    if len(graph_labels(runs)) > 1:
        graph = shorten(run.graph_label, _TITLE_LETTERS, placeholder=" \N{HORIZONTAL ELLIPSIS}")
        title = f"{graph}: {title}"
    told = all(fact in title or fact in run.graph_label for fact in name.split(", "))
    return title if told else f"{name}: {title}"


def _at(place: PanelPlace, panels: Mapping[str, Panel]) -> list[Panel]:
    return [panel for panel in panels.values() if panel.place == place]


_EARLIER_NAMES = {"kernel-totals": "kernels", "kernel-distributions": "distributions"}

FORMATS = {".png": "png", ".pdf": "pdf", ".svg": "svg"}
"""Formats of :func:`save_figure` by suffix."""

# No dates and no names of programs: the same figure gives the same bytes.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
}
_MAX_DOTS_PER_INCH: Final = 1200.0
"""Maximum resolution in dots per inch, that of printers: drawing a chart of eight inches then
needs half a gigabyte."""

_TEXT_AS_TEXT: Any = {"svg.fonttype": "none", "svg.hashsalt": "tasksim", "pdf.fonttype": 42}


def figure(
    runs: AnyRun | Sequence[AnyRun],
    panels: Sequence[str] | None = None,
    *,
    arrows: bool = False,
) -> Figure:
    """Draw one or several runs.

    Parameters
    ----------
    runs : Run, str, Path or a sequence of these
        A Gantt chart each, and panels of memory, one above another on one time axis; in the
        other panels they are together. Runs of which one is more than three times as long as
        another have time axes of their own, and panels of their own.
    panels : sequence of str or None, default None
        Names out of :data:`PANELS`, or ``MODULE:NAME`` of a
        :class:`~tasksim.view.registry.Panel`; the panels over time are above those of kernels.
        None: ``gantt``, ``memory`` and ``bandwidth`` of runs that have them, ``ready``.
    arrows : bool, default False
        Whether the Gantt charts have an arrow per copy between memories; of more than 80 copies
        the longest of each 1/80 of the time.

    Returns
    -------
    matplotlib.figure.Figure
        A notebook shows it.

    Raises
    ------
    InputError
        If there is no run or no panel, a panel is unknown, no run has what it shows, or times of
        a run are not finite.

    See Also
    --------
    save_figure : Write it to a file.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> run = tasksim.simulate("cholesky tiles=4", workers=2, durations=seconds)
    >>> [axes.get_ylabel() for axes in tasksim.figure(run, ["gantt", "ready"]).axes]
    ['worker, idle %', 'ready tasks']
    """
    flag(arrows, "arrows")
    drawn = [as_run(run) for run in given_runs(runs)]
    if panels is not None:
        chosen = _chosen(drawn, panels)
    else:
        _check(drawn)
        known = PANELS.items()
        chosen = {n: p for n, p in known.items() if p.by_default and any(map(p.shows, drawn))}
    rows = figure_rows(drawn, chosen)
    heights = [max(cell.height_inches for cell in row) for row in rows]
    handles = colour_legend(drawn) if "gantt" in chosen else []
    made = new_figure(sum(heights) + 0.6 + _further_lines_inches(handles))
    # As many columns as both rows of one cell and rows of several divide into.
    columns = lcm(*(len(row) for row in rows))
    grid = made.add_gridspec(len(rows), columns, height_ratios=heights)
    on_axis: dict[int, list[Axes]] = {}
    kernels = tuple(dict.fromkeys(name for run in drawn for name in kernels_that_ran(run)))
    for number, row in enumerate(rows):
        width = columns // len(row)
        for place, cell in enumerate(row):
            axes = made.add_subplot(grid[number, place * width : (place + 1) * width])
            cell.panel.draw(cell.runs, axes, replace(cell.look, arrows=arrows, kernels=kernels))
            if cell.axis is not None:
                on_axis.setdefault(cell.axis, []).append(axes)
    for *above, last in on_axis.values():  # the last panel alone has the labels of the axis
        for axes in above:
            axes.sharex(last)
            axes.set_xlabel("")
            axes.tick_params(axis="x", labelbottom=False)
    if handles:
        _name_kernels(made, handles)
    labels = graph_labels(drawn)
    title = f"{len(drawn)} runs of {len(labels)} graphs"
    if len(labels) == 1:
        title = shorten(labels[0], 120, placeholder=" …")
    if len(on_axis) > 1:
        title += ", each on its own time axis"
    made.suptitle(title, fontsize=TEXT_POINTS["title"] + 1, fontweight="bold")
    return made


def save_figure(
    fig: Figure, path: str | Path, force: bool = False, *, dots_per_inch: float = 150.0
) -> None:
    """Write *fig* to *path*, all or nothing; the suffix says the format: png, pdf, svg.

    Parameters
    ----------
    fig : matplotlib.figure.Figure
        Figure to write; :func:`figure` draws it.
    path : str or Path
        File to write. In PDF and SVG up to 20 000 tasks are shapes that stay sharp.
    force : bool, default False
        Whether to replace a file that is there; give it in a script that is run again.
    dots_per_inch : float, default 150.0
        Resolution of PNG, and of the parts of the other formats that are drawn as pixels.

    Raises
    ------
    InputError
        If the suffix is another, *path* exists and *force* is not given, or an argument is illegal.
    OutputError
        If the operating system refuses.

    See Also
    --------
    figure : Draw runs.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> run = tasksim.simulate("cholesky tiles=4", workers=2, durations=seconds)
    >>> tasksim.save_figure(tasksim.figure(run), "cholesky.svg")  # doctest: +SKIP
    """
    expect(fig, Figure, "fig")
    target = path_of(path, "path")
    flag(force, "force")
    resolution: Any = dots_per_inch
    number = isinstance(resolution, Real) and not isinstance(resolution, bool)
    if not number or not 0 < resolution <= _MAX_DOTS_PER_INCH:
        legal = f"more than 0, {_MAX_DOTS_PER_INCH:g} at most"
        raise InputError(f"dots_per_inch: got {short(resolution)}; legal: {legal}")
    format_ = FORMATS.get(target.suffix.lower())
    if format_ is None:
        raise InputError(
            f"{target}: cannot draw a '{target.suffix}' file (legal: {', '.join(FORMATS)})"
        )
    refuse_existing(target, force=force)
    # In memory first: where a disk is full, Matplotlib's PDF writer fails for other reasons.
    drawn = BytesIO()
    # Without it, viewers of PDF and screen readers of SVG know a figure by its file name alone.
    title = " ".join(fig.get_suptitle().split())
    with mpl.rc_context(_TEXT_AS_TEXT):
        metadata = _METADATA[format_] | ({"Title": title} if title else {})
        fig.savefig(drawn, format=format_, dpi=float(resolution), metadata=metadata)
    write_bytes(target, drawn.getvalue(), force=force)


def _chosen(runs: Sequence[Run], names: Sequence[str]) -> dict[str, Panel]:
    """Return the panels of these names, in the order of :data:`PANELS`, a user's own last."""
    if isinstance(names, str):
        raise InputError(f"panels: got the text {names!r}; legal: a list of names")
    if not isinstance(names, Iterable):
        raise InputError(f"panels: got {short(names)}; legal: a list of names")
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
        refuse_infinite_times(run, f"of {run.graph_label}")
    if not runs or not panels:
        raise InputError(f"nothing to draw: {len(runs)} runs, {panels} panels")


def _further_lines_inches(handles: Sequence[Patch]) -> float:
    """Return the height of the lines of the legend of colours for which there is no room yet."""
    lines = -(-len(handles) // _legend_columns(handles)) if handles else 0
    return max(0, lines - _LEGEND_LINES) * _LINE_INCHES


def _legend_columns(handles: Sequence[Patch]) -> int:
    return legend_columns([str(handle.get_label()) for handle in handles], WIDTH_INCHES * 72.0)


def _name_kernels(made: Figure, handles: Sequence[Patch]) -> None:
    """Put the legend of colours below everything, in as many columns as fit."""
    made.legend(
        handles=list(handles),
        loc="outside lower center",
        ncols=_legend_columns(handles),
        fontsize=TEXT_POINTS["small"],
        frameon=False,
    )
