"""How tasks come to the scheduler: the main thread submits them, ends of others release them."""

from __future__ import annotations

from array import array
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from tasksim.engine.clock import Routine, Steps, ticks
from tasksim.engine.data.accesses import Hints, writers
from tasksim.engine.data.turns import turns_of
from tasksim.engine.machine.driver import COMMIT, PUSH, Driver
from tasksim.engine.machine.machineview import MachineView
from tasksim.runtime.hooks import chooses_apart, unless_default
from tasksim.runtime.release import Release
from tasksim.runtime.rules import DONE, READY, TAKEN, WAITING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["Releasing", "SimultaneousPushes"]

SimultaneousPushes = Literal["serial", "blind"]
"""Whether a push sees the others of its instant that came before it."""


class Releasing(MachineView):
    """A replay as far as tasks are submitted, released and pushed, and hints followed."""

    def __init__(
        self,
        graph: TaskGraph,
        platform: Platform,
        scheduler: Scheduler,
        costs: Sequence[Sequence[float]],
        estimates: Sequence[Sequence[float]],
        simultaneous_pushes: SimultaneousPushes,
    ) -> None:
        super().__init__(graph, platform, scheduler, costs, estimates)
        self._submission = ticks(platform.overheads.submission_s)
        self._push_cost = ticks(platform.overheads.push_s)
        self._blind = simultaneous_pushes == "blind" and chooses_apart(scheduler)
        self._looks = scheduler.looks_at_data
        self._locks = self.transfers.locks
        self._main = Routine(self.env)
        tasks = len(graph)
        self._release = Release(graph, submitted=not self._submission)
        self._state = [WAITING] * tasks
        self.worker = [-1] * tasks
        self.released_by = [-1] * tasks
        self.submitted, self.ready, self.popped, self.start, self.end = (
            array("q", bytes(8 * tasks)) for _ in range(5)
        )
        self._hints = Hints.of(graph)
        self._hints_of: list[list[int] | None] = [None] * tasks
        self._left = tasks
        self._turns = turns_of(self.transfers.copies, self._drivers)
        self._finished = unless_default(scheduler, "finished")

    @cached_property
    def _writers(self) -> list[list[int]]:
        return writers(self.graph)

    def prefetch_handle(self, handle: int, memory: int) -> None:
        """Start to bring one datum, as it is now, to *memory*; nothing while a task writes it."""
        if not any(self._state[task] == TAKEN for task in self._writers[handle]):
            super().prefetch_handle(handle, memory)

    def _submit(self) -> Steps:
        """The main thread: submit task after task, each with the hints that come before it."""
        release, env = self._release, self.env
        hints = self._hints.said
        if not self._submission:
            for task in release.sources():
                yield from self._push(task, None, -1)
            for after, handle in hints:
                yield from self._hint(after, handle)
            return
        position = 0
        due = env._now
        for task in range(len(self.graph)):
            while position < len(hints) and hints[position][0] <= task:
                due += self._submission
                if self._something_by(due):
                    yield due - env._now
                yield from self._hint(*hints[position])
                due = max(due, env._now)
                position += 1
            if self._something_by(due):
                yield due - env._now
            self.submitted[task] = max(due, self.env._now)
            for ready in release.submit(task):
                if due > env._now:
                    yield due - env._now
                yield from self._push(ready, None, -1)
                due = env._now
            due += self._submission
        for after, handle in hints[position:]:
            due += self._submission
            yield due - env._now
            yield from self._hint(after, handle)
            due = env._now

    def _something_by(self, due: int) -> bool:
        """Return whether anything else happens until *due*: then the submission must wait for it.

        While nothing does, a million tasks are submitted without an event.
        """
        queue = self.env._queue
        return bool(queue) and queue[0][0] <= due

    def _hint(self, after: int, handle: int) -> Steps:
        """Say that *handle* will not be used any more: once its last writer so far has ended."""
        writer = self._hints.writer[after, handle]
        if writer < 0 or self._state[writer] == DONE:
            yield from self._drop_hint(handle)
        else:
            waiting = self._hints_of[writer]
            if waiting is None:
                self._hints_of[writer] = [handle]
            else:
                waiting.append(handle)

    def _drop_hint(self, handle: int) -> Steps:
        cost = 2 * self._push_cost + self._submission if self._push_cost else 0
        if cost:
            yield cost
        while self._locks and (delay := self.transfers.wait_ticks(handle)):
            yield delay
        if not any(self._state[task] == TAKEN for task in self._hints.writers[handle]):
            # Else a task that comes after the hint is writing it already.
            self.transfers.will_not_be_used(handle)

    def _push(self, task: int, pusher: int | None, released_by: int) -> Steps:
        """Push *task*, which *pusher*'s task released, to the scheduler."""
        routine = self._main if pusher is None else self._drivers[pusher].routine
        if self._push_cost or self._blind:
            routine.rank = PUSH
            yield self._push_cost
        if self._locks and self._looks:
            yield from self._unlocked(task)
        if not self._blind:
            self._give(task, pusher, released_by)
            return
        self._ready(task, pusher, released_by)
        choice = self._scheduler.choose(task)
        routine.rank = COMMIT
        yield 0
        self.pusher = pusher
        self._scheduler.commit(task, choice)

    def _unlocked(self, task: int) -> Steps:
        """Wait until none of the data of *task* is being handed to a copy engine."""
        for handle, _, _ in self._needs[task]:
            while delay := self.transfers.wait_ticks(handle):
                yield delay

    def _give(self, task: int, pusher: int | None, released_by: int) -> None:
        self._ready(task, pusher, released_by)
        self._scheduler.push(task)

    def _ready(self, task: int, pusher: int | None, released_by: int) -> None:
        self.released_by[task] = released_by
        self.ready[task] = self.env._now
        self._state[task] = READY
        self.pusher = pusher

    def _finish(self, driver: Driver, task: int) -> Steps:
        """Release what *task* used and the tasks that waited for it."""
        self._state[task] = DONE
        self._left -= 1
        memory, worker = driver.memory, driver.worker
        if self._locks:
            yield from self._unlocked(task)
        if not self._one_memory:
            self.transfers.release(self._needs[task], memory)
            turns = self._turns[memory]
            if turns is not None:
                turns.leave([handle for handle, _, _ in self._needs[task]])
        if self._finished is not None:
            self._finished(task, worker)
        for successor in self._release.complete_in_turn(task):
            if self._blind:
                yield from self._push(successor, worker, task)
                continue
            if self._push_cost:
                driver.routine.rank = PUSH
                yield self._push_cost
            if self._locks and self._looks:
                yield from self._unlocked(successor)
            self._give(successor, worker, task)
        hints = self._hints_of[task]
        if hints is not None:
            for handle in hints:
                yield from self._drop_hint(handle)
