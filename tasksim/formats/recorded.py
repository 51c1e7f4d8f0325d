"""Graph and platform of a recorded run, stored with it or made again from its record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError, option
from tasksim.base.files import exists, is_file
from tasksim.base.registry import is_own
from tasksim.formats.graphs import graph_in
from tasksim.formats.registry import format_of
from tasksim.graph.apps import registry
from tasksim.graph.csr import transpose
from tasksim.platform.costs import Overheads
from tasksim.platform.description import Platform
from tasksim.platform.parts import Memory, Worker
from tasksim.run.foldernames import PLATFORM, RUN_JSON

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = [
    "graph_if_any",
    "graph_of",
    "platform_of",
    "platform_of_workers",
    "predecessors",
]


def graph_of(
    run: Run, where: Path, made: TaskGraph | None = None, *, trust: bool = False
) -> TaskGraph:
    """Return the graph of a *run* that was read from *where*.

    The graph is stored with the run, or made again by its generator with its arguments, or read
    from the file that the run names, or *made* already. A generator ``MODULE:FUNCTION`` is imported
    only with *trust*.

    Raises
    ------
    InputError
        If none of these is left, or it is not the graph of these tasks.
    """
    made = run.graph if made is None else made
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
            f"{where}: {run.graph_label} is no longer the graph of this run: {difference}"
        )
    return graph


def graph_if_any(run: Run, where: Path | None = None) -> TaskGraph | None:
    """Return the result of :func:`graph_of`, or None if the graph is gone."""
    try:
        return graph_of(run, where or Path(run.graph_name))
    except InputError:
        return None


def platform_of(
    run: Run,
    where: Path,
    library: Path | None = None,
    settings: Sequence[str] = (),
    *,
    alone: bool = False,
) -> Platform:
    """Return the platform of a *run* read from *where*, with its own changes and *settings*.

    Parameters
    ----------
    run : Run
    where : Path
        A folder with a platform file in it, or any other place, for messages.
    library : Path, optional
        A folder whose ``platforms/`` is searched first for the name of the platform.
    settings : sequence of str, default ()
        Changes as for ``--set``; only platform files can be changed.
    alone : bool, default False
        Whether overheads leave out times in which other programs had the cores.

    Returns
    -------
    Platform
        The platform in the file beside the run, or the one that the run names; else its workers,
        with overheads derived from its times (:mod:`tasksim.run.account`).

    Raises
    ------
    InputError
        If the platform was made in Python, or had several memories and is no file.
    """
    from tasksim.platform.load import load  # writers of traces do not need readers of YAML

    beside = (where.parent if where.name == RUN_JSON else where) / PLATFORM
    if is_file(beside):
        return load(beside, library, settings)
    said: Any = run.config.get("platform")
    said = said if isinstance(said, dict) else {}
    # The path, if the file still exists, else the name.
    path, name = said.get("path"), said.get("name")
    if isinstance(path, str) and (not isinstance(name, str) or exists(Path(path))):
        name = path
    if isinstance(name, str):
        changes = [text for text in said.get("set") or () if isinstance(text, str)]
        own = [text for text in changes if not text.startswith(("engine.", "network."))]
        return load(name, library, [*own, *settings])
    if "object" in said or len(run.memories) > 1:
        what = "was made in Python" if "object" in said else "has several memories, and no file"
        raise InputError(
            f"{where}: the platform of this run, {run.platform}, {what}; "
            f"give {option('platform', 'NAME')}"
        )
    if settings:
        raise InputError(
            f"{option('set')} changes a platform file; {where} ran on {run.platform}, which has"
            " none"
        )
    return platform_of_workers(run, graph_if_any(run, where), alone=alone)


def platform_of_workers(run: Run, graph: TaskGraph | None, *, alone: bool = False) -> Platform:
    """Return a platform of the workers of *run*, all on one memory.

    Its overheads are those of the native run, if the *graph* still exists; with *alone*, without
    the time that other programs took.
    """
    workers = tuple(
        Worker(number, it.name, it.architecture, 0, 0) for number, it in enumerate(run.workers)
    )
    costs = Overheads()
    if graph is not None and run.kind == "native":
        from tasksim.run.account import runtime_costs

        costs = runtime_costs(run, graph, alone=alone)
    return Platform(run.platform or "recorded", workers, (Memory(0, "ram"),), overheads=costs)


def _made_again(run: Run, where: Path, *, trust: bool) -> TaskGraph:
    """Return the graph of *run*, read from its file or generated."""
    name = run.graph_name
    config: Any = run.config.get("graph")
    config = config if isinstance(config, dict) else {}
    text = config.get("path") or config.get("name")
    if isinstance(text, str) and text not in registry.names() and not text.endswith(".py"):
        path = Path(text)
        found = format_of(path, "reads_graph")
        if found is not None and found.brings_platform:
            raise InputError(f"it was read from {text}, costs of tasks that have no parameters")
        if path.suffix == ".npz" or exists(path):
            return graph_in(path).graph
    if not (trust or name in registry.GENERATORS):
        if is_own(name):
            registry.refuse_foreign(name, where)
        known = ", ".join(registry.names())
        raise InputError(f"there is no generator '{name}' (known: {known})")
    return registry.generate(name, **run.graph_arguments)


def _difference(run: Run, graph: TaskGraph) -> str:
    """Return the difference between the tasks of *run* and of *graph*, in words; empty if none."""
    if len(run) != len(graph):
        return f"{len(graph)} tasks, the run has {len(run)}"
    ran = np.array(run.kernel_names, dtype=object)[run.tasks.kernel]
    made = np.array(graph.kernels, dtype=object)[graph.kernel[run.tasks.task]]
    other = np.flatnonzero(ran != made)
    if not len(other):
        return ""
    first = int(other[0])
    return f"task {run.tasks.task[first]} is {made[first]}, but in the run it is {ran[first]}"


def predecessors(run: Run) -> Callable[[int], list[int]] | None:
    """Return a function that gives the predecessors of a task; None if the graph is gone."""
    graph = graph_if_any(run)
    if graph is None:
        return None
    ptr, indices = transpose(graph.successor_ptr, graph.successors, len(graph))
    bounds, before = ptr.tolist(), indices.tolist()

    def of(task: int) -> list[int]:
        found: list[int] = before[bounds[task] : bounds[task + 1]]
        return found

    return of
