"""Turns at Python's lock of the kernels that were measured to hold it.

Only one of them runs at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.files.store import ModelLibrary

__all__ = ["lock_holders", "taking_turns"]


def lock_holders(graph: TaskGraph, models: ModelLibrary, architectures: Sequence[str]) -> set[str]:
    """Return the kernels of *graph* that hold Python's lock, as the files of *models* tell."""
    known = models.kernels()
    return {
        kernel
        for kernel, name in zip(graph.kernels, graph.model_names, strict=True)
        if name in known
        for found in [models.file(name).architectures]
        if any(found[a].holds_lock for a in architectures if a in found)
    }


def taking_turns(graph: TaskGraph, models: ModelLibrary, architectures: Sequence[str]) -> TaskGraph:
    """Return *graph* with the tasks in turns that hold Python's lock."""
    holders = lock_holders(graph, models, architectures)
    if not holders:
        return graph
    from tasksim.graph.commutation import taking_turns as in_turns

    return in_turns(graph, holders)
