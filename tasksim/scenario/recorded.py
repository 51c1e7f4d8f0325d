"""Recorded runs, with their scenarios and graphs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tasksim.base.documents.json_document import FormatError
from tasksim.base.errors import InputError
from tasksim.run.samples import RecordedRun
from tasksim.scenario.document import decode
from tasksim.scenario.scenario import Scenario
from tasksim.schedulers import registry as schedulers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["recorded_runs", "scenario_of"]


def scenario_of(run: Run, where: Path, *, trust: bool = False) -> Scenario:
    """Return the scenario that a simulated *run*, read from *where*, answers.

    Files are looked for where they were, then by the names under which the libraries have them.

    Parameters
    ----------
    run : Run
    where : Path
        Of the run, for messages.
    trust : bool, default False
        Whether a generator or a scheduler that the run names as ``MODULE:NAME`` is imported.

    Raises
    ------
    InputError
        If the run is not simulated, does not say how to make it again, or names code to be
        imported and *trust* is not given.
    """
    if run.kind != "simulated":
        raise InputError(f"{where}: a {run.kind} run cannot be repeated, only a simulated one")
    try:
        found = decode(Scenario, run.config, where, trust=trust)
    except FormatError as error:
        raise InputError(
            f"{where}: it does not say how to repeat the run: {error}; "
            "'tasksim simulate -o' writes runs that do"
        ) from None
    if not trust:
        schedulers.refuse_foreign(run.scheduler, where)
    return found.vary(scheduler=run.scheduler, seed=run.seed or 0)


def recorded_runs(runs: Sequence[tuple[Path, Run]], *, trust: bool = False) -> list[RecordedRun]:
    """Return *runs*, and where each was read from, with their graphs.

    A graph that several runs have is made once. *trust* is as for
    :func:`~tasksim.formats.recorded.graph_of`, which says
    what is raised.
    """
    from tasksim.formats.recorded import graph_of

    graphs: dict[str, TaskGraph] = {}
    found = []
    for path, run in runs:
        if (
            run.graph is not None
        ):  # kept with the run: another run may have the same name for its own
            found.append(RecordedRun(path, run, graph_of(run, path, trust=trust)))
            continue
        key = json.dumps(
            [run.graph_name, run.graph_arguments, run.config.get("graph")], default=str
        )
        graphs[key] = graph = graph_of(run, path, graphs.get(key), trust=trust)
        found.append(RecordedRun(path, run, graph))
    return found
