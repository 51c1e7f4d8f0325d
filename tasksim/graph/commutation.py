"""Commutative accesses: which tasks exclude each other without an order between them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.graph.access_mode import AccessMode
from tasksim.graph.taskgraph import HandleBlock

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from tasksim.graph.csr import Integers
    from tasksim.graph.taskgraph import TaskGraph

__all__ = [
    "PYTHON_LOCK",
    "commutative_handles",
    "ready_at_first",
    "runs_of_updates",
    "taking_turns",
]

PYTHON_LOCK: Final = "Python's lock"
"""The name of a datum without bytes, which tasks that hold the lock take turns at."""


def commutative_handles(graph: TaskGraph) -> dict[int, tuple[int, ...]]:
    """Return the handles that each task accesses commutatively; tasks without any are left out."""
    positions = np.flatnonzero(graph.access_mode == AccessMode.COMMUTATIVE)
    tasks = np.searchsorted(graph.access_ptr, positions, side="right") - 1
    handles: dict[int, list[int]] = {}
    for task, handle in zip(tasks.tolist(), graph.access_handle[positions].tolist(), strict=True):
        handles.setdefault(task, []).append(handle)
    return {task: tuple(held) for task, held in handles.items()}


def runs_of_updates(
    graph: TaskGraph, order: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield tasks that update a datum commutatively, several in a row, and who accesses it next.

    *order* has the tasks as they are submitted. Runs that nobody follows are left out.
    """
    users = np.repeat(np.arange(len(graph)), np.diff(graph.access_ptr))
    places = np.empty(len(graph), np.int64)
    places[np.asarray(order)] = np.arange(len(graph))
    by_handle = np.lexsort((places[users], graph.access_handle))
    users, handle = users[by_handle], graph.access_handle[by_handle]
    commutes = graph.access_mode[by_handle] == AccessMode.COMMUTATIVE
    for begin, end in _stretches(commutes, handle):
        if end < len(users) and handle[end] == handle[begin] and end > begin + 1:
            yield tuple(users[begin:end].tolist()), int(users[end])


def _stretches(chosen: NDArray[np.bool_], handle: Integers) -> Iterator[tuple[int, int]]:
    """Yield where stretches of *chosen* accesses to one datum begin and end."""
    changes = np.ones(len(chosen) + 1, bool)
    changes[1:-1] = (chosen[1:] != chosen[:-1]) | (handle[1:] != handle[:-1])
    bounds = np.flatnonzero(changes)
    for begin, end in pairwise(bounds.tolist()):
        if chosen[begin]:
            yield begin, end


def taking_turns(graph: TaskGraph, kernels: Collection[str]) -> TaskGraph:
    """Return *graph* with the tasks of *kernels* one at a time, in any order.

    Each accesses a datum without bytes, :data:`PYTHON_LOCK`, commutatively: the one that the graph
    has, or a new one.
    """
    numbers = [number for number, name in enumerate(graph.kernels) if name in kernels]
    tasks = np.isin(graph.kernel, numbers)
    lock = next((b.first for b in graph.handle_blocks if b.name == PYTHON_LOCK), None)
    if lock is not None:
        holders = np.searchsorted(
            graph.access_ptr, np.flatnonzero(graph.access_handle == lock), side="right"
        )
        tasks[holders - 1] = False  # they do already
    if not tasks.any():
        return graph
    ends = graph.access_ptr[1:][tasks]
    fields = {
        "access_ptr": graph.access_ptr + np.concatenate([[0], np.cumsum(tasks)]),
        "access_handle": np.insert(
            graph.access_handle, ends, graph.handles if lock is None else lock
        ),
        "access_mode": np.insert(graph.access_mode, ends, AccessMode.COMMUTATIVE),
    }
    if lock is None:
        fields["handle_size"] = np.append(graph.handle_size, 0)
        fields["handle_home"] = np.append(graph.handle_home, np.int32(0))
        block = HandleBlock(PYTHON_LOCK, 0, 0, graph.handles)
        return replace(graph, **fields, handle_blocks=(*graph.handle_blocks, block))
    return replace(graph, **fields)


def ready_at_first(graph: TaskGraph) -> list[int]:
    """Return the tasks that can be ready together before any has run, in order of submission.

    Those without predecessors, but of two that exclude each other only the first.
    """
    exclusive = commutative_handles(graph)
    held: set[int] = set()
    ready = []
    for task in np.flatnonzero(graph.predecessor_count == 0).tolist():
        handles = exclusive.get(task, ())
        if held.isdisjoint(handles):
            held.update(handles)
            ready.append(task)
    return ready
