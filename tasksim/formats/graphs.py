"""Graphs by generator or file, in any format that reads graphs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError, unknown
from tasksim.graph.apps import registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasksim.formats.registry import Format, GraphInput
    from tasksim.graph.taskgraph import TaskGraph

__all__ = [
    "graph_format",
    "graph_in",
    "load_graph",
    "read_graph",
    "refuse_unknown",
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
    read_graph : also the platform and models of a file.
    tasksim.graph.graph_file.save : writes a graph to a file.

    Examples
    --------
    >>> load_graph("cholesky", ["tiles=4"])
    <TaskGraph cholesky: 20 tasks, 30 edges>
    """
    if registry.names_generator(text):
        return registry.parse(text, settings)
    if graph_format(text).brings_platform:
        raise InputError(
            f"{text}: a file of costs per processor brings its own platform; legal"
            " here: a graph alone"
        )
    return read_graph(text, settings).graph


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
    load_graph : the graph alone.

    Examples
    --------
    >>> read_graph("cholesky", ["tiles=4"]).platform is None
    True
    """
    from tasksim.base.files import is_file
    from tasksim.formats.registry import GraphInput, format_of, refuse_missing

    if registry.names_generator(text):
        return GraphInput(registry.parse(text, settings))
    path = Path(text)
    if not is_file(path) and os.sep not in text and format_of(path, "reads_graph") is None:
        refuse_missing(text)
        raise unknown("task graph", text, registry.names())
    if given := list(settings):
        raise InputError(f"{text}: a file takes no settings, got {', '.join(given)}")
    return graph_in(path)


def graph_in(path: Path) -> GraphInput:
    """Return the task graph in the file at *path*, with its platform and models.

    Raises
    ------
    InputError
        If it is of no format of graphs, or malformed.
    """
    from tasksim.base.files import is_file
    from tasksim.formats.registry import format_of, formats_that

    if is_file(path) and format_of(path, "reads_graph") is None:
        known = formats_that("reads_graph").items()
        legal = [
            f"{name} ({', '.join(it.suffixes)})" if it.suffixes else name for name, it in known
        ]
        raise InputError(f"{path}: not a format of task graphs; legal: {', '.join(legal)}")
    reader = graph_format(str(path)).reads_graph
    assert reader is not None  # chosen for this ability
    return reader(path)


def refuse_unknown(text: str) -> None:
    """Raise :exc:`InputError` if *text* names neither a generator nor an existing file."""
    from tasksim.base.files import exists
    from tasksim.formats.registry import refuse_missing

    if not registry.names_generator(text) and not exists(Path(text)):
        refuse_missing(text)
        raise unknown("task graph", text, registry.names())


def graph_format(text: str) -> Format:
    """Return the format of a file of a graph; by default tasksim's own."""
    from tasksim.formats.registry import FORMATS, format_of

    return format_of(Path(text), "reads_graph") or FORMATS.find("graph")
