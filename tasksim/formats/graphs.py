"""Graphs by generator, in files of any format that reads graphs, and of recorded runs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.base.files import exists, reading
from tasksim.base.progress import part
from tasksim.base.registry import is_own
from tasksim.formats.registry import FORMATS, GraphInput, format_of, formats_that, looks_like_file
from tasksim.graph.apps import registry
from tasksim.graph.csr import transpose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tasksim.formats.registry import Format
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = [
    "file_format",
    "graph_format",
    "graph_if_any",
    "graph_in",
    "graph_of",
    "load_graph",
    "predecessors",
    "read_graph",
]


NETWORKX_READERS: Final = {".graphml": "read_graphml", ".gml": "read_gml"}
"""Suffix of graphs that networkx reads -> its function."""
ELF_MAGIC: Final = b"\x7fELF"
"""First bytes of a compiled program."""
MADE_AGAIN_SHARE: Final = 0.2
"""Share of the time of work on a run's graph, such as writing it, after which it is made."""


def load_graph(text: str, settings: Iterable[str] = ()) -> TaskGraph:
    """Return the task graph that *text* names.

    Parameters
    ----------
    text : str
        The name of a generator, ``MODULE:FUNCTION`` of one's own, or the path of a file.
    settings : iterable of str, default ()
        ``KEY=VALUE`` for a generator; a file takes none.

    Raises
    ------
    InputError
        If there is no such generator (with the nearest name) or file, a setting is wrong, the file
        is not a task graph, or brings its own platform.

    See Also
    --------
    read_graph : Read also the platform and models of a file.
    tasksim.graph.graph_file.save : Write a graph to a file.

    Examples
    --------
    >>> load_graph("cholesky", ["tiles=4"])
    <TaskGraph cholesky: 20 tasks, 30 edges>
    """
    found = read_graph(text, settings)
    if found.platform is not None:
        raise InputError(
            f"{text}: a file of costs per processor brings its own platform; legal"
            " here: a graph alone"
        )
    return found.graph


def read_graph(text: str, settings: Iterable[str] = ()) -> GraphInput:
    """Return the task graph that *text* names, with the platform and models of its file.

    Parameters
    ----------
    text, settings
        As for :func:`load_graph`.

    Returns
    -------
    GraphInput
        With the platform and the models of a file of costs per processor.

    Raises
    ------
    InputError
        As :func:`load_graph`.

    See Also
    --------
    load_graph : The graph alone.

    Examples
    --------
    >>> read_graph("cholesky", ["tiles=4"]).platform is None
    True
    """
    found = graph_format(text)
    if found is None:
        return GraphInput(registry.parse(text, settings))
    return graph_in(Path(text), found, settings)


def graph_in(path: Path, found: Format | None = None, settings: Iterable[str] = ()) -> GraphInput:
    """Return the task graph in the file at *path*, with its platform and models.

    Parameters
    ----------
    path : Path
        A file, or the folder of a run; no generator.
    found : Format, optional
        Its format, if it is known already.
    settings : iterable of str, default ()
        As for :func:`load_graph`: a file takes none.

    Raises
    ------
    InputError
        If it is of no format of graphs, or malformed, or there are settings.
    """
    if given := list(settings):
        raise InputError(f"{path}: a file takes no settings, got {', '.join(given)}")
    reader = (found or file_format(path)).reads_graph
    assert reader is not None  # chosen for this ability
    return reader(path)


def graph_format(text: str) -> Format | None:
    """Return the format of the file or run that *text* names; None for a generator.

    All code that takes the name of a graph decides here what it names.

    Raises
    ------
    InputError
        If *text* names neither a generator (with the nearest name) nor a file, or the file is of no
        format of graphs.
    """
    return None if registry.names_generator(text) else file_format(text)


def file_format(where: str | Path) -> Format:
    """Return the format of the graph in the file *where*; raises as :func:`graph_format`."""
    path = Path(where)
    if not exists(path):
        if looks_like_file(str(where)):
            raise InputError(f"{where}: no such task graph file")
        raise unknown("task graph", str(where), registry.names())
    if (found := format_of(path, "reads_graph")) is not None:
        return found
    if path.is_dir():
        return FORMATS.find("graph")  # whose reader says that it is a folder
    known = formats_that("reads_graph").items()
    legal = [f"{name} ({', '.join(it.suffixes)})" if it.suffixes else name for name, it in known]
    head = b""
    with suppress(InputError), reading(path) as file:
        head = file.read(len(ELF_MAGIC))
    if head == ELF_MAGIC:
        raise InputError(
            f"{path}: is a compiled program, not a task graph; 'tasksim record -o RUN {path}' "
            "runs one that uses OpenMP, and records its tasks"
        )
    # Any compressed file may be Chrome's JSON, by its suffix.
    if path.suffix != ".gz" and format_of(path, "reads_trace") is not None:
        raise InputError(
            f"{path}: a run of another tool, not a task graph: 'tasksim import trace {path} -o RUN'"
            " imports it, with a graph of its tasks"
        )
    if reader := NETWORKX_READERS.get(path.suffix.lower()):
        raise InputError(
            f"{path}: not in a format of task graphs; networkx reads it, in Python: "
            f"tasksim.from_networkx(networkx.{reader}({path.name!r})), whose nodes may have "
            "'kernel' and 'duration', in seconds"
        )
    raise InputError(
        f"{path}: not in a format of task graphs; legal: {', '.join(legal)}; by hand, DOT is the "
        "shortest: digraph g { a [duration_s=3]; b [duration_s=2]; a -> b; }"
    )


# Graphs of recorded runs


def graph_of(
    run: Run,
    where: Path,
    made: TaskGraph | None = None,
    *,
    trust: bool = False,
    until: float = MADE_AGAIN_SHARE,
) -> TaskGraph:
    """Return the graph of a *run* that was read from *where*.

    The graph is stored with the run, or made again by its generator with its arguments, or read
    from the file that the run names, or *made* already. A generator ``MODULE:FUNCTION`` is imported
    only with *trust*. *until* is the share of the work around it that is complete with the graph.

    Raises
    ------
    InputError
        If none of these is left, or it is not the graph of these tasks.
    """
    made = run.graph if made is None else made
    try:
        with part(until):
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
            return graph_in(path, found).graph
    if is_own(name) and not trust:
        registry.GENERATORS.refuse_foreign(name, where)
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


def predecessors(graph: TaskGraph | None) -> Callable[[int], list[int]]:
    """Return a function that gives the predecessors of a task of *graph*; none without a graph."""
    if graph is None:
        return lambda _task: []
    ptr, indices = transpose(graph.successor_ptr, graph.successors, len(graph))
    bounds, before = ptr.tolist(), indices.tolist()

    def of(task: int) -> list[int]:
        found: list[int] = before[bounds[task] : bounds[task + 1]]
        return found

    return of
