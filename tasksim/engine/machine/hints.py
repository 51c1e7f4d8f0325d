"""Hints that data will not be used any more, followed once those that they wait for have ended."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from tasksim.runtime.ledger import DONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.clock import Steps
    from tasksim.engine.data.accesses import Hints
    from tasksim.engine.data.memories import Memories
    from tasksim.engine.machine.writing import Writing
    from tasksim.engine.ticks import OverheadTicks
    from tasksim.runtime.ledger import Ledger

__all__ = ["HintFollower"]


class HintFollower:
    """What becomes of the *hints* of a graph: each lets its datum leave first, and go home.

    Hints are known by their numbers.
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
        """The hints in order: how many tasks had been submitted before, and which datum."""
        self._waits, self._drops = hints.waits, hints.drops
        self._left = [0] * len(hints.said)
        self._state, self._writing = ledger.state, writing
        self._memories = memories
        # Two pushes and a submission: StarPU submits a task for it (datawizard/coherency.c). What
        # was received is only dropped, for which none is submitted.
        self._drop_cost = 2 * overheads.push
        self._cost = 2 * overheads.push + overheads.submission if overheads.push else 0
        self.waiting: dict[int, list[int]] = {}
        """Per task that has not ended, the hints that wait for it."""
        self._order = order
        self._places: list[int] = []

    def say(self, number: int) -> Steps:
        """Say hint *number*, when so many tasks had been submitted."""
        waits = [task for task in self._waits[number] if self._state[task] != DONE]
        self._left[number] = len(waits)
        for task in waits:
            self.waiting.setdefault(task, []).append(number)
        if not waits:
            yield from self.follow(number)

    def count_down(self, number: int) -> bool:
        """Note an end that hint *number* waits for; return whether it waits for no other."""
        self._left[number] -= 1
        return not self._left[number]

    def drops(self, number: int) -> bool:
        """Return whether hint *number* drops a copy that was received."""
        return self._drops[number]

    def handle(self, number: int) -> int:
        """Return the datum that hint *number* is about."""
        return self.said[number][1]

    def holds(self, number: int) -> bool:
        """Return whether hint *number* still holds.

        Else a task that comes after it is writing the datum already.
        """
        return not self._writing.is_written(self.handle(number))

    def among(self, task: int, successors: Sequence[int]) -> list[int]:
        """Return, for each hint that waits for *task*, before how many of its *successors* it was.

        Who hears of the end of *task* does so in the order of submission, hints among them.
        """
        places = [self._place(successor) for successor in successors]
        return [bisect_left(places, self.said[number][0]) for number in self.waiting.get(task, ())]

    def hear(self, number: int) -> Steps:
        """Follow hint *number* if the end that it has heard of now is the last it waits for."""
        if self.count_down(number):
            yield from self.follow(number)

    def follow(self, number: int) -> Steps:
        """Follow hint *number*: what it waits for has ended."""
        locks, handle = self._memories.locks, self.handle(number)
        cost = self._drop_cost if self._drops[number] else self._cost
        if cost:
            yield cost
        while locks.until and (delay := locks.wait_ticks(handle)):
            yield delay
        if self.holds(number):
            self._memories.mover.will_not_be_used(handle)

    def _place(self, task: int) -> int:
        """Return how many tasks are submitted before *task*."""
        if isinstance(self._order, range):
            return task
        if not self._places:
            self._places = [0] * len(self._order)
            for place, each in enumerate(self._order):
                self._places[each] = place
        return self._places[task]
