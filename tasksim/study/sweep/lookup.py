"""Search for a cell by the start of its identity, with its scenario and makespan."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tasksim.base.errors import InputError, nearest
from tasksim.scenario.document import refuse_foreign
from tasksim.study.sweep.plan import scenario_from
from tasksim.study.sweep.store import read_cells, read_column

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.run.record import Run
    from tasksim.scenario.scenario import Scenario

__all__ = ["StoredCell", "difference", "find_cell", "scenarios_of"]

MAX_LISTED_CELLS = 5
"""Maximum number of cells that a message lists if several begin alike."""


class StoredCell(NamedTuple):
    """A cell of a store."""

    cell: str
    scenario: Scenario
    makespan_s: float | None


def find_cell(folder: Path, text: str, *, trust: bool = False) -> StoredCell:
    """Return the cell whose identity begins with *text*.

    Raises
    ------
    InputError
        If there is no such cell, or several; or if its scenario names something that would have to
        be imported, and *trust* is false.
    """
    table = read_cells(folder)
    cells = table.column("cell").to_pylist()
    places = [place for place, cell in enumerate(cells) if cell.startswith(text)]
    if len(places) != 1:
        named = ", ".join(cells[place] for place in places[:MAX_LISTED_CELLS])
        what = f"several begin so: {named}" if places else f"no such cell{nearest(text, cells)}"
        raise InputError(f"{folder}: cell '{text}': {what}")
    row = table.slice(places[0], 1).to_pylist()[0]
    scenario = scenario_from(row["scenario"])
    if not trust:
        refuse_foreign(scenario, folder)
    return StoredCell(row["cell"], scenario, row["makespan_s"])


def scenarios_of(
    folder: Path, cells: Sequence[str], *, scheduler: str | None = None, trust: bool = False
) -> list[Scenario]:
    """Return the scenarios of *cells*, all under *scheduler* if it is given.

    Raises
    ------
    InputError
        If a scenario names something that would have to be imported, and *trust* is false.
    """
    texts = read_column(folder, "scenario")
    found = []
    for cell in cells:
        scenario = scenario_from(texts[cell])
        if scheduler is not None:
            scenario = scenario.vary(scheduler=scheduler)
        if not trust:
            refuse_foreign(scenario, folder)
        found.append(scenario)
    return found


def difference(found: StoredCell, run: Run) -> str:
    """Return the difference between a cell's stored makespan and its new *run*; ``""`` if none."""
    measured = found.scenario.clock == "native"  # measured makespans differ from run to run
    if measured or found.makespan_s in (None, run.makespan_s):
        return ""
    return (
        f"the result differs from the study: makespan {run.makespan_s:.9g} s, then "
        f"{found.makespan_s:.9g} s: files or the program have changed"
    )
