"""Hints that data will not be used any more, followed once their last writer so far has ended."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from tasksim.runtime.ledger import DONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.clock import Steps
    from tasksim.engine.data.accesses import Hints
    from tasksim.engine.data.memories import Memories
    from tasksim.engine.machine.ticks import OverheadTicks
    from tasksim.engine.machine.writing import Writing
    from tasksim.runtime.ledger import Ledger

__all__ = ["HintFollower"]


class HintFollower:
    """What becomes of the *hints* of a graph: each lets its datum leave first, and go home."""

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
        self._hints = hints
        self._state, self._writing = ledger.state, writing
        self._memories = memories
        # Two pushes and a submission: StarPU submits a task for it (datawizard/coherency.c).
        self._cost = 2 * overheads.push + overheads.submission if overheads.push else 0
        self.waiting: dict[int, list[tuple[int, int]]] = {}
        """Per task that has not ended, the hints after it: how many tasks had been submitted
        before, and which datum."""
        self._order = order
        self._places: list[int] = []

    def say(self, after: int, handle: int) -> Steps:
        """Say that *handle* will not be used any more, when *after* tasks had been submitted."""
        writer = self._hints.writer[after, handle]
        if writer < 0 or self._state[writer] == DONE:
            yield from self.follow(handle)
        else:
            self.waiting.setdefault(writer, []).append((after, handle))

    def holds(self, handle: int) -> bool:
        """Return whether a hint about *handle* still holds.

        Else a task that comes after the hint is writing it already.
        """
        return not self._writing.is_written(handle)

    def among(self, task: int, successors: Sequence[int]) -> list[int]:
        """Return, for each hint that waits for *task*, before how many of its *successors* it was.

        Who hears of the end of *task* does so in the order of submission, hints among them.
        """
        places = [self._place(successor) for successor in successors]
        return [bisect_left(places, after) for after, _ in self.waiting.get(task, ())]

    def follow(self, handle: int) -> Steps:
        """Follow a hint about *handle*, whose last writer has ended."""
        locks = self._memories.locks
        if self._cost:
            yield self._cost
        while locks.until and (delay := locks.wait_ticks(handle)):
            yield delay
        if self.holds(handle):
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
