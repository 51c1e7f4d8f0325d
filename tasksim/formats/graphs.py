"""Graphs by generator or file, in any format that reads graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError, unknown
from tasksim.graph.apps import registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasksim.formats.registry import Format, GraphInput
    from tasksim.graph.taskgraph import TaskGraph

__all__ = [
    "file_format",
    "graph_format",
    "graph_in",
    "load_graph",
    "read_graph",
]


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
    from tasksim.formats.registry import GraphInput

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
    from tasksim.base.files import exists
    from tasksim.formats.registry import FORMATS, format_of, formats_that, looks_like_file

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
    raise InputError(f"{path}: not a format of task graphs; legal: {', '.join(legal)}")
