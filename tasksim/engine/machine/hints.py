"""Hints that data will not be used any more, followed once their last writer so far has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.runtime.ledger import DONE

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    ) -> None:
        self.said = hints.said
        """The hints in order: how many tasks had been submitted before, and which datum."""
        self._hints = hints
        self._state, self._writing = ledger.state, writing
        self._memories = memories
        # Two pushes and a submission: StarPU submits a task for it (datawizard/coherency.c).
        self._cost = 2 * overheads.push + overheads.submission if overheads.push else 0
        self.waiting: dict[int, list[int]] = {}
        """Per task that has not ended, the data about which there was a hint after it."""

    def say(self, after: int, handle: int) -> Steps:
        """Say that *handle* will not be used any more, when *after* tasks had been submitted."""
        writer = self._hints.writer[after, handle]
        if writer < 0 or self._state[writer] == DONE:
            yield from self._follow((handle,))
        else:
            self.waiting.setdefault(writer, []).append(handle)

    def holds(self, handle: int) -> bool:
        """Return whether a hint about *handle* still holds.

        Else a task that comes after the hint is writing it already.
        """
        return not self._writing.is_written(handle)

    def follow_all(self, task: int) -> Steps:
        """Follow the hints that waited for the end of *task*."""
        return self._follow(self.waiting.get(task, ()))

    def _follow(self, handles: Iterable[int]) -> Steps:
        locks = self._memories.locks
        for handle in handles:
            if self._cost:
                yield self._cost
            while locks.until and (delay := locks.wait_ticks(handle)):
                yield delay
            if self.holds(handle):
                self._memories.mover.will_not_be_used(handle)
