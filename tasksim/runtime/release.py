"""Release of the tasks that become ready at the end of another one."""

from __future__ import annotations

from bisect import insort
from heapq import merge
from typing import TYPE_CHECKING, Final

from tasksim.graph.commutation import commutative_handles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["PAUSE", "Release"]

PAUSE: Final = -1
"""Placeholder for a task: the caller has something else to do before the next task."""


class Release:
    """A counter, per task, of the conditions that it still waits for.

    A task is released when it is submitted, its predecessors are done, and it holds all its
    commutative handles. It takes these handles together, after all other conditions are met and
    when no other released task holds one of them. Tasks that wait for a handle get it in order of
    submission (StarPU's arbiter does the same, before the push to the scheduler).
    """

    def __init__(self, graph: TaskGraph, *, submitted: bool) -> None:
        # The submission is one more condition, besides the predecessors.
        self.missing: list[int] = (graph.predecessor_count + (not submitted)).tolist()
        pointer: list[int] = graph.successor_ptr.tolist()
        self._first = pointer
        self._successors: list[int] = graph.successors.tolist()
        self._exclusive = commutative_handles(graph)
        self.commutes = bool(self._exclusive)
        """Whether any task has commutative handles."""
        self._held: set[int] = set()
        # Per commutative handle, the tasks that need it and lack nothing but handles, ascending.
        self._waiting: dict[int, list[int]] = {}

    def sources(self) -> list[int]:
        """Return the tasks without a condition to wait for, in order of submission."""
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
        returned = self._exclusive.get(task, ())
        self._held.difference_update(returned)
        return self._granted(freed, returned)

    def complete_in_turn(self, task: int, pauses: Sequence[int] = ()) -> Iterator[int]:
        """Note the end of *task*; yield the tasks that this releases, in order of submission.

        This is :meth:`complete` with one difference: a successor is counted down only after the
        caller has handled the successors before it. A push may take time, and another task may
        release the successor meanwhile. The iterator yields ``PAUSE`` before each successor whose
        index is in *pauses*, an ascending sequence, and at the end for each larger index.
        """
        if self._exclusive:
            returned = self._exclusive.get(task, ())
            self._held.difference_update(returned)
            yield from self._granted([], returned)
        missing, first = self.missing, self._first
        paused = 0
        for index, successor in enumerate(self._successors[first[task] : first[task + 1]]):
            while paused < len(pauses) and pauses[paused] <= index:
                paused += 1
                yield PAUSE
            left = missing[successor] - 1
            missing[successor] = left
            if not left:
                if self._exclusive:
                    yield from self._granted([successor])
                else:
                    yield successor
        for _ in pauses[paused:]:
            yield PAUSE

    def _count_down(self, tasks: list[int] | tuple[int, ...]) -> list[int]:
        missing = self.missing
        freed = []
        for task in tasks:
            left = missing[task] - 1
            missing[task] = left
            if not left:
                freed.append(task)
        return freed

    def _granted(self, freed: list[int], returned: Iterable[int] = ()) -> list[int]:
        """Return the tasks, among *freed* and the waiting ones, that now hold all their handles.

        Every waiting task lacks a handle that another task holds, so only tasks that wait for a
        handle just *returned* need a check.
        """
        exclusive, held = self._exclusive, self._held
        if not exclusive:
            return freed
        granted = []
        # A task that waits for two returned handles comes twice; the second time it holds them
        # already and fails the test.
        for task in merge(freed, *map(self._hopeful, returned)):
            handles = exclusive.get(task, ())
            if held.isdisjoint(handles):
                held.update(handles)
                granted.append(task)
        for task in set(freed).difference(granted):
            for handle in exclusive[task]:
                insort(self._waiting.setdefault(handle, []), task)
        for task in set(granted).difference(freed):
            for handle in exclusive[task]:
                self._waiting[handle].remove(task)
        return granted

    def _hopeful(self, handle: int) -> Iterator[int]:
        """Yield the tasks that wait for *handle* while no task holds it."""
        for task in self._waiting.get(handle, ()):
            if handle in self._held:
                return
            yield task
