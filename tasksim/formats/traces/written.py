"""Graph of a run as writers of traces ask for it, task by task, where there is one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError
from tasksim.graph.csr import transpose

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["MODE_NAMES", "edge_bytes", "graph_if_any", "predecessors", "required_graph"]

MODE_NAMES = {1: "R", 2: "W", 3: "RW", 4: "RWC", 5: "X", 6: "S"}
"""Access modes as StarPU's files have them."""


def graph_if_any(run: Run) -> TaskGraph | None:
    """Return the graph of *run*: kept with it, or made again; None if there is none any more."""
    try:
        return required_graph(run)
    except InputError:
        return None


def required_graph(run: Run) -> TaskGraph:
    """Return the graph of *run*, as :func:`tasksim.formats.recorded.graph_of` does."""
    from tasksim.formats.recorded import graph_of

    return graph_of(run, Path(run.graph_name))


def predecessors(run: Run) -> Callable[[int], list[int]] | None:
    """Return what gives the predecessors of a task; None if the graph is not there any more."""
    graph = graph_if_any(run)
    if graph is None:
        return None
    ptr, indices = transpose(graph.successor_ptr, graph.successors, len(graph))
    bounds, before = ptr.tolist(), indices.tolist()

    def of(task: int) -> list[int]:
        found: list[int] = before[bounds[task] : bounds[task + 1]]
        return found

    return of


def edge_bytes(graph: TaskGraph) -> dict[tuple[int, int], int]:
    """Return the bytes that each dependency passes on: of what one writes and the other reads."""
    size = graph.handle_size.tolist()
    passed: dict[tuple[int, int], int] = {}
    last: dict[int, int] = {}
    owner = np.repeat(np.arange(len(graph)), np.diff(graph.successor_ptr)).tolist()
    edges = set(zip(owner, graph.successors.tolist(), strict=True))
    for task in range(len(graph)):
        accesses = graph.accesses_of(task)
        for handle, mode in accesses:
            before = last.get(handle)
            if mode in (1, 3, 4) and before is not None and (before, task) in edges:
                passed[before, task] = passed.get((before, task), 0) + size[handle]
        for handle, mode in accesses:
            if mode in (2, 3, 4, 5):
                last[handle] = task
    return passed
