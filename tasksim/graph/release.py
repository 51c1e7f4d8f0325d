"""Which tasks become ready when one ends: the same rule for simulated and native runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["Release"]


class Release:
    """Counts what each task still waits for.

    A task is released when it is submitted, its predecessors are done, and it holds all its
    commutative handles: these it takes together, when nothing else is missing and no
    other released task holds one of them. Tasks that wait for a handle get it in order of
    submission (StarPU's arbiter does the same, before the push to the scheduler).
    """

    def __init__(self, graph: TaskGraph, *, submitted: bool) -> None:
        # Not being submitted yet is one more thing to wait for.
        self.missing: list[int] = (graph.predecessor_count + (not submitted)).tolist()
        pointer: list[int] = graph.successor_ptr.tolist()
        self._first = pointer
        self._successors: list[int] = graph.successors.tolist()
        self._exclusive = commutative_handles(graph)
        self._held: set[int] = set()
        self._queue: list[int] = []

    def sources(self) -> list[int]:
        """Return the tasks that wait for nothing, in order of submission."""
        return self._granted([task for task, missing in enumerate(self.missing) if not missing])

    def submit(self, task: int) -> list[int]:
        """Note the submission of *task*; return the tasks that this releases."""
        return self._granted(self._count_down((task,)))

    def complete(self, task: int) -> list[int]:
        """Note the end of *task*; return the tasks that this releases, in order of submission."""
        first = self._first
        freed = self._count_down(self._successors[first[task] : first[task + 1]])
        if not self._exclusive:
            return freed
        self._held.difference_update(self._exclusive.get(task, ()))
        return self._granted(freed)

    def complete_in_turn(self, task: int) -> Iterator[int]:
        """Note the end of *task*; yield the tasks that this releases, in order of submission.

        As :meth:`complete` does, but a successor hears of it only when those before it have been
        dealt with: where a push takes time, another task may release it meanwhile.
        """
        if self._exclusive:
            self._held.difference_update(self._exclusive.get(task, ()))
            yield from self._granted([])
        missing, first = self.missing, self._first
        for successor in self._successors[first[task] : first[task + 1]]:
            left = missing[successor] - 1
            missing[successor] = left
            if not left:
                if self._exclusive:
                    yield from self._granted([successor])
                else:
                    yield successor

    def _count_down(self, tasks: list[int] | tuple[int, ...]) -> list[int]:
        missing = self.missing
        freed = []
        for task in tasks:
            left = missing[task] - 1
            missing[task] = left
            if not left:
                freed.append(task)
        return freed

    def _granted(self, freed: list[int]) -> list[int]:
        """Return those of *freed*, and of the tasks that waited, that hold all their handles."""
        if not self._exclusive:
            return freed
        candidates = sorted(self._queue + freed)
        granted, self._queue = [], []
        for task in candidates:
            handles = self._exclusive.get(task, ())
            if self._held.isdisjoint(handles):
                self._held.update(handles)
                granted.append(task)
            else:
                self._queue.append(task)
        return granted


def commutative_handles(graph: TaskGraph) -> dict[int, tuple[int, ...]]:
    """Return the handles that each task accesses commutatively; tasks without any are left out."""
    import numpy as np

    from tasksim.graph.taskgraph import AccessMode

    positions = np.flatnonzero(graph.access_mode == AccessMode.COMMUTATIVE)
    tasks = np.searchsorted(graph.access_ptr, positions, side="right") - 1
    handles: dict[int, list[int]] = {}
    for task, handle in zip(tasks.tolist(), graph.access_handle[positions].tolist(), strict=True):
        handles.setdefault(task, []).append(handle)
    return {task: tuple(held) for task, held in handles.items()}
