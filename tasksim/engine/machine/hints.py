"""Hints that data will not be used again, followed after the tasks that they wait for."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING

from tasksim.engine.data.accesses import writers
from tasksim.runtime.rules import DONE, TAKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.clock import Routine, Steps
    from tasksim.engine.data.accesses import Hints, Needs
    from tasksim.engine.data.memories import Memories
    from tasksim.engine.ticks import OverheadTicks
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.runtime.ledger import Ledger

__all__ = ["HintFollower", "Writing"]


class HintFollower:
    """Follower of the *hints* of a graph; each makes its datum leave first, and writes it home.

    Hints are identified by their numbers.
    """

    def __init__(
        self,
        hints: Hints,
        ledger: Ledger,
        writing: Writing,
        memories: Memories,
        overheads: OverheadTicks,
        order: Sequence[int],
    ) -> None:
        self.said = hints.said
        """The hints in order, with the number of tasks submitted before, and the datum."""
        self._waits, self._drops = hints.waits, hints.drops
        self._left = [0] * len(hints.said)
        self._state, self._writing = ledger.state, writing
        self._memories = memories
        # Two pushes and a submission: StarPU submits a task for a hint (datawizard/coherency.c),
        # but not for a received datum, which is only dropped.
        self._drop_cost = 2 * overheads.push
        self._cost = 2 * overheads.push + overheads.submission if overheads.push else 0
        self.waiting: dict[int, list[int]] = {}
        """The hints that wait for each unfinished task."""
        self._order = order

    def say(self, number: int, routine: Routine) -> Steps:
        """Submit hint *number* in the time of *routine*."""
        waits = [task for task in self._waits[number] if self._state[task] != DONE]
        self._left[number] = len(waits)
        for task in waits:
            self.waiting.setdefault(task, []).append(number)
        if not waits:
            yield from self._follow(number, routine)

    def among(self, task: int, successors: Sequence[int]) -> list[int]:
        """Return the position among the *successors* of *task* of each hint that waits for it.

        The end of *task* reaches its successors in the order of submission, hints among them.
        """
        places = [self._places[successor] for successor in successors]
        return [bisect_left(places, self.said[number][0]) for number in self.waiting.get(task, ())]

    def hear(self, number: int, routine: Routine) -> Steps:
        """Follow hint *number*, in the time of *routine*, if it waits for no other task."""
        self._left[number] -= 1
        if not self._left[number]:
            yield from self._follow(number, routine)

    def _follow(self, number: int, routine: Routine) -> Steps:
        """Follow hint *number*, in the time of *routine*, after the tasks that it waits for."""
        locks, (_, handle) = self._memories.locks, self.said[number]
        cost = self._drop_cost if self._drops[number] else self._cost
        if cost:
            yield routine.wait(cost)
        yield from locks.free(handle, routine)
        if not self._writing.is_written(handle):  # by a task behind the hint
            self._memories.mover.will_not_be_used(handle)

    @cached_property
    def _places(self) -> Sequence[int]:
        """The number of tasks submitted before each task."""
        if isinstance(self._order, range):
            return self._order
        places = [0] * len(self._order)
        for place, task in enumerate(self._order):
            places[task] = place
        return places


class Writing:
    """The data of *graph* that running tasks write.

    *needs* has the accesses of the tasks.
    """

    def __init__(self, graph: TaskGraph, needs: Sequence[Needs], ledger: Ledger) -> None:
        self._graph, self._needs = graph, needs
        self._state, self._taken = ledger.state, ledger.taken

    def is_written(self, handle: int) -> bool:
        """Return whether a task is writing *handle*.

        It checks all writers of the datum, or all running tasks, whichever are fewer.
        """
        ever, taken = self._writers[handle], self._taken
        if len(ever) <= len(taken):
            return any(self._state[task] == TAKEN for task in ever)
        return any(
            written and datum == handle for task in taken for datum, _, written in self._needs[task]
        )

    @cached_property
    def _writers(self) -> list[list[int]]:
        return writers(self._graph)
