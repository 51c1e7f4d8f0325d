"""Recorded runs: the scenario that a run answers, and its graph made again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.files import is_file
from tasksim.base.registry import is_own
from tasksim.formats.graphs import graph_format, graph_in
from tasksim.graph.apps import registry
from tasksim.models.document import FormatError
from tasksim.run.runfolder import graph_beside
from tasksim.run.samples import RecordedRun
from tasksim.scenario.document import decode
from tasksim.scenario.scenario import Scenario
from tasksim.schedulers import registry as schedulers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["graph_of", "recorded_runs", "scenario_of"]


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

    A graph that several runs have is made once. *trust* is as for :func:`graph_of`, which says
    what is raised.
    """
    graphs: dict[str, TaskGraph] = {}
    found = []
    for path, run in runs:
        key = json.dumps(
            [run.graph_name, run.graph_arguments, run.config.get("graph"), graph_beside(path)],
            default=str,
        )
        graphs[key] = graph = graph_of(run, path, graphs.get(key), trust=trust)
        found.append(RecordedRun(path, run, graph))
    return found


def graph_of(
    run: Run, where: Path, made: TaskGraph | None = None, *, trust: bool = False
) -> TaskGraph:
    """Return the graph of a *run* that was read from *where*, made again.

    From the file that is kept with the run; else by its generator with its arguments, or from the
    file that the run names; or it is *made* already. A generator ``MODULE:FUNCTION`` is imported
    if *trust* is given.

    Raises
    ------
    InputError
        If neither is there any more, or what is there is not the graph of these tasks.
    """
    try:
        graph = _made_again(run, where, trust=trust) if made is None else made
    except InputError as error:
        raise InputError(
            f"{where}: the graph of this run, {run.graph_label}, cannot be made again, and with "
            f"it the parameters of its tasks: {error}"
        ) from error
    difference = _difference(run, graph)
    if difference:
        raise InputError(
            f"{where}: {run.graph_label} is not the graph that was run any more: {difference}"
        )
    return graph


def _made_again(run: Run, where: Path, *, trust: bool) -> TaskGraph:
    path = graph_beside(where) or _file_of(run)
    if path is not None:
        return graph_in(path).graph
    if not (trust or run.graph_name in registry.GENERATORS):
        if is_own(run.graph_name):
            registry.refuse_foreign(run.graph_name, where)
        known = ", ".join(registry.names())
        raise InputError(f"no generator is called '{run.graph_name}' here (known: {known})")
    return registry.generate(run.graph_name, **run.graph_arguments)


def _file_of(run: Run) -> Path | None:
    """Return the file that the graph was read from, None if it was generated.

    Raises :exc:`InputError` for files of costs per processor.
    """
    config: Any = run.config.get("graph")
    if not isinstance(config, dict):
        return None
    text = config.get("path") or config.get("name")
    if not isinstance(text, str) or text in registry.names():
        return None
    path = Path(text)
    if graph_format(text).brings_platform:
        raise InputError(f"it was read from {text}, costs of tasks that have no parameters")
    return path if path.suffix == ".npz" or is_file(path) else None


def _difference(run: Run, graph: TaskGraph) -> str:
    """Return how the tasks of *run* are not those of *graph*; nothing if they are."""
    if len(run) != len(graph):
        return f"{len(graph)} tasks, the run has {len(run)}"
    ran = np.array(run.kernel_names, dtype=object)[run.tasks.kernel]
    made = np.array(graph.kernels, dtype=object)[graph.kernel[run.tasks.task]]
    other = np.flatnonzero(ran != made)
    if not len(other):
        return ""
    first = int(other[0])
    return f"task {run.tasks.task[first]} is {made[first]}, in the run it is {ran[first]}"
