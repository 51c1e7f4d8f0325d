"""Submission by the main thread, task after task while earlier tasks run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.clock import Routine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.clock import Steps
    from tasksim.engine.machine.node import Node
    from tasksim.runtime.release import Release

__all__ = ["Submission"]


class Submission:
    """The main thread of a replay.

    Task *i* is submitted at ``i * cost`` ticks, or later if earlier tasks were ready and had to be
    pushed first; a hint costs as much as a task. Without a cost, all tasks are submitted at once.
    If the submission of each task is *due* at a known tick, no task is submitted earlier, and there
    is no other cost. On a node of a cluster, communication is submitted among the tasks and costs
    nothing.
    """

    def __init__(
        self, node: Node, release: Release, cost: int, due: Sequence[int] | None = None
    ) -> None:
        self._clock = node.clock
        self._node = node
        self._release = release
        self._hints = node.hints
        self._said = node.hints.said
        self._due = due
        self._cost = cost if due is None else 0
        self._order, self._own = node.order, node.own_tasks
        self._routine = Routine(node.clock)

    def begin(self) -> None:
        """Submit the first task now, and the others in time."""
        self._routine.begin(self._steps())

    def _steps(self) -> Steps:
        """Submit all tasks, each after the hints before it."""
        if self._cost or self._due is not None:
            yield from self._one_by_one()
        else:
            for task in self._release.sources():
                yield from self._node.push(task, self._routine)
            for number in range(len(self._said)):
                yield from self._hints.say(number, self._routine)
        self._node.ledger.all_submitted = True

    def _one_by_one(self) -> Steps:
        clock, submitted = self._clock, self._node.ledger.submitted
        position = 0
        due = clock.now
        for place, task in enumerate(self._order):
            while position < len(self._said) and self._said[position][0] <= place:
                due += self._cost
                if self._something_by(due):
                    yield self._routine.wait(due - clock.now)
                yield from self._hints.say(position, self._routine)
                due = max(due, clock.now)
                position += 1
            if self._due is not None:
                due = max(due, self._due[task])
            if self._something_by(due):
                yield self._routine.wait(due - clock.now)
            submitted[task] = max(due, clock.now)
            for ready in self._release.submit(task):
                if due > clock.now:
                    yield self._routine.wait(due - clock.now)
                yield from self._node.push(ready, self._routine)
                due = clock.now
            if task < self._own:
                due += self._cost
        for number in range(position, len(self._said)):
            due += self._cost
            yield self._routine.wait(due - clock.now)
            yield from self._hints.say(number, self._routine)
            due = clock.now

    def _something_by(self, due: int) -> bool:
        """Return whether anything else happens until *due*, for which the submission must wait.

        As long as nothing else happens, even a million tasks are submitted without an event.
        """
        return self._clock.peek() <= due
