"""Graphs by what the command line calls them: the name of a generator, or a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError, expect, unknown
from tasksim.base.registry import is_own
from tasksim.graph.apps import registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["load_graph", "names_generator"]


def names_generator(text: str) -> bool:
    """Return whether *text* names a generator, registered or ``MODULE:FUNCTION``, and no file."""
    return text in registry.GENERATORS or (is_own(text) and not Path(text).is_file())


def load_graph(text: str, settings: Iterable[str] = ()) -> TaskGraph:
    """Return the task graph that *text* names.

    Parameters
    ----------
    text
        The name of a generator, ``MODULE:FUNCTION`` of one's own, or the path of a file written
        by :func:`tasksim.graph.graph_file.save`.
    settings
        ``KEY=VALUE`` for a generator; a file takes none.

    Raises
    ------
    InputError
        If there is no such generator (with the nearest name) or file, a setting is wrong, or
        the file is not a task graph.

    Examples
    --------
    >>> load_graph("cholesky", ["tiles=4"])
    <TaskGraph cholesky: 20 tasks, 30 edges>
    """
    expect(text, str, "task graph")
    if names_generator(text):
        return registry.parse(text, settings)
    path = Path(text)
    if not (path.suffix == ".npz" or os.sep in text or path.is_file()):
        raise unknown("task graph", text, registry.names())
    if path.suffix == ".csv":
        raise InputError(f"{text}: a file of costs per processor; legal here: a graph by itself")
    from tasksim.graph.graph_file import load

    if given := list(settings):
        raise InputError(f"{text}: a file takes no settings; got {', '.join(given)}")
    return load(path)
