"""Layout of figures of several runs: which panel of which runs is in which row, on which axis."""

from __future__ import annotations

from dataclasses import dataclass, replace
from textwrap import shorten
from typing import TYPE_CHECKING, Final

from tasksim.view.registry import Look
from tasksim.view.style import WIDTH_INCHES, legend_columns, run_names, run_title

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tasksim.run.record import Run
    from tasksim.view.registry import Panel, Place

__all__ = ["Cell", "figure_rows", "graph_labels"]

_ALIKE: Final = 3.0
"""Runs of which the longest is at most so many times the shortest share a time axis: a run that
takes less than a third of the width cannot be read."""
_AXIS_INCHES: Final = 0.4
"""The labels of a time axis."""
_MOST_BARS: Final = 10
"""Maximum number of bars or boxes beside another panel with readable names below them."""
_TITLE_LETTERS: Final = 80
"""Maximum length of the name of a graph in a title, before scheduler, platform and makespan, in
letters."""


@dataclass(frozen=True)
class Cell:
    """A panel, the runs that it draws, and the time axis that it is on; None: on none."""

    panel: Panel
    runs: Sequence[Run]
    look: Look
    height_inches: float
    axis: int | None = None


def figure_rows(runs: Sequence[Run], panels: Mapping[str, Panel]) -> list[list[Cell]]:
    """Return what a figure of *runs* consists of, row by row from the top."""
    if _own_axes(runs):
        blocks = [_on_one_axis([run], panels, runs, axis) for axis, run in enumerate(runs)]
    else:
        blocks = [_on_one_axis(runs, panels, runs, 0)]
    cells = [cell for block in blocks for cell in block]
    return [[cell] for cell in cells] + _below(runs, panels)


def graph_labels(runs: Sequence[Run]) -> list[str]:
    """Return the graphs of *runs*, each once."""
    return list(dict.fromkeys(run.graph_label for run in runs))


def _own_axes(runs: Sequence[Run]) -> bool:
    """Return whether one time axis would show one of the runs as a sliver."""
    lengths = [_until_s([run]) for run in runs]
    return max(lengths) > _ALIKE * min(lengths)


def _until_s(runs: Sequence[Run]) -> float:
    """Return the end of the time axis: the longest run, or the largest of its bounds."""
    return max(max([run.makespan_s, *(run.bounds or {}).values()]) for run in runs)


def _on_one_axis(
    runs: Sequence[Run], panels: Mapping[str, Panel], all_runs: Sequence[Run], axis: int
) -> list[Cell]:
    """Return the panels over time of *runs*, from the top; the last has the labels of the axis."""
    cells = [*_of_each_run(runs, panels, all_runs, axis), *_of_all_runs(runs, panels, axis)]
    if cells:
        last = cells[-1]
        cells[-1] = replace(last, height_inches=last.height_inches + _AXIS_INCHES)
    return cells


def _of_each_run(
    runs: Sequence[Run], panels: Mapping[str, Panel], all_runs: Sequence[Run], axis: int
) -> Iterator[Cell]:
    look = Look(_until_s(runs))
    for run in runs:
        titled = replace(look, title=_title(run, all_runs))
        for panel in _at("per run", panels):
            if panel.shows(run):
                yield Cell(panel, [run], titled, panel.height_inches(run), axis)


def _of_all_runs(runs: Sequence[Run], panels: Mapping[str, Panel], axis: int) -> Iterator[Cell]:
    shown = [panel for panel in _at("together", panels) if any(map(panel.shows, runs))]
    for number, panel in enumerate(shown):
        look = Look(_until_s(runs), legend=number == 0)
        legend = _legend_inches(runs) if number == 0 and len(runs) > 1 else 0.0
        yield Cell(panel, runs, look, panel.height_inches(runs[0]) + legend, axis)


def _below(runs: Sequence[Run], panels: Mapping[str, Panel]) -> list[list[Cell]]:
    """Return the panels without a time axis: beside each other, or where that is too narrow not."""
    legend = _legend_inches(runs) if len(runs) > 1 else 0.0
    look, more = Look(_until_s(runs)), len(runs) - 1
    cells = [
        Cell(panel, runs, look, panel.height_inches(runs[0]) + more * panel.more_inches + legend)
        for panel in _at("below", panels)
    ]
    kernels = {run.kernel_names[k] for run in runs for k in set(run.tasks.kernel.tolist())}
    narrow = len(kernels) * len(runs) > _MOST_BARS
    return [[cell] for cell in cells] if narrow or not cells else [cells]


def _legend_inches(runs: Sequence[Run]) -> float:
    """Return the height of the legend of runs above the first curves."""
    names = run_names(runs)
    columns = legend_columns(names, 0.775 * WIDTH_INCHES * 72.0)
    return 0.1 + 0.17 * -(-len(names) // columns)


def _title(run: Run, runs: Sequence[Run]) -> str:
    """Return the title of a run, with its graph where that differs."""
    if len(graph_labels(runs)) == 1:
        return run_title(run)
    graph = shorten(run.graph_label, _TITLE_LETTERS, placeholder=" \N{HORIZONTAL ELLIPSIS}")
    return f"{graph}: {run_title(run)}"


def _at(place: Place, panels: Mapping[str, Panel]) -> list[Panel]:
    return [panel for panel in panels.values() if panel.place == place]
