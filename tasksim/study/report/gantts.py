"""Gantt charts of the worst cell of a study and of the best cell of its group."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import TasksimError
from tasksim.study.report.blocks import show_command
from tasksim.view.pages import Image, Listing, Text

if TYPE_CHECKING:
    from tasksim.run.record import Run
    from tasksim.study.report.findings import Findings
    from tasksim.study.report.table import StudyTable
    from tasksim.view.pages import PageBlock

__all__ = ["gantt_blocks"]

MAX_SIMULATED_TASKS: Final = 20_000
"""Maximum number of tasks of a run that is simulated again for a chart: it takes a second or two,
as long as all other figures together."""


def gantt_blocks(findings: Findings) -> list[PageBlock]:
    """Return a Gantt chart of the worst cell of a study and of the best cell of its group.

    The worst cell is the one furthest from the best of its group.

    Parameters
    ----------
    findings : Findings
        Findings of a study with a folder, whose cells can be simulated again.

    Returns
    -------
    list of blocks
        The chart with its texts; a sentence with the reason if a simulation fails; empty if there
        are no such cells, or if they are too large.

    See Also
    --------
    tasksim.study.sweep.lookup.find_cell : Find a cell of a store.
    """
    cells, rows = _two_cells(findings), findings.table.used
    if not cells or not findings.table.folder or "tasks" not in rows:
        return []
    if rows.loc[rows["cell"].isin(cells), "tasks"].max() > MAX_SIMULATED_TASKS:
        return []
    try:
        runs = [_run(findings.table, cell) for cell in cells]
    except TasksimError as error:
        return [Text(f"Two cells could not be simulated again for a Gantt chart: {error}")]
    known = [run for run in runs if run is not None]
    if len(known) < len(cells):
        return []
    from tasksim.view.figure import figure

    best, worst = (run.scheduler for run in known)
    return [
        Image("gantt", figure(known, ["gantt"]), f"Gantt charts of {best} and {worst}"),
        Text(
            f"Above: {best}, the best of its group. Below: {worst}, whose makespan is furthest "
            "from the best of its group in the whole study."
        ),
        Listing([show_command(findings.table, cell) for cell in cells]),
    ]


def _two_cells(findings: Findings) -> list[str]:
    """Return the worst cell of the study, after the best cell of its group."""
    pairs = findings.pairs
    if not len(pairs) or len(pairs.schedulers) < 2:
        return []
    ratios = pairs.ratios
    group, worst = np.unravel_index(int(ratios.argmax()), ratios.shape)
    best = int(ratios[group].argmin())
    return [] if best == worst else [str(pairs.cells[group, k]) for k in (best, worst)]


def _run(table: StudyTable, cell: str) -> Run | None:
    """Return the run of a cell, simulated again; None for a cell with native runs."""
    from tasksim.scenario.resolved import resolve
    from tasksim.scenario.solving import solve
    from tasksim.study.sweep.lookup import find_cell

    scenario = find_cell(Path(table.folder), cell, trust=table.trust).scenario
    return None if scenario.clock == "native" else solve(resolve(scenario), digests=False)
