"""Task graphs of drawn runs, built once for all panels."""

from __future__ import annotations

import weakref
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tasksim.base.errors import TasksimError

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["graph_of_run"]

# By the identity of runs, which cannot be keys; an entry goes with its run.
_GRAPH_OF_RUN: dict[int, TaskGraph | None] = {}


def graph_of_run(run: Run, *, trust: bool = False) -> TaskGraph | None:
    """Return the graph of *run*, kept with it or made again; None where that cannot be.

    A generator that the run names as ``MODULE:NAME`` is imported if *trust* is given.
    """
    if _GRAPH_OF_RUN.get(id(run)) is None:
        from tasksim.formats.graphs import graph_of

        if id(run) not in _GRAPH_OF_RUN:
            weakref.finalize(run, _GRAPH_OF_RUN.pop, id(run), None)
            _GRAPH_OF_RUN[id(run)] = None
        with suppress(TasksimError):
            _GRAPH_OF_RUN[id(run)] = graph_of(run, Path("run"), trust=trust)
    return _GRAPH_OF_RUN[id(run)]
