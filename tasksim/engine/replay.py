"""The replay of a task graph: SimPy's clock, one event per thing that takes time.

At a task's end: the scheduler hears of it, its successors are released and pushed, and
once *all* tasks that end at this instant have done so, the workers that are awake are served in
order of their number. A worker that is served takes a task, or sleeps until it is woken.
"""

from __future__ import annotations

import gc
from array import array
from contextlib import contextmanager
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from simpy.core import Environment, SimTime
from simpy.events import NORMAL, Event

from tasksim.graph.release import Release
from tasksim.schedulers.base import Scheduler
from tasksim.schedulers.rules import DONE, READY, TAKEN, WAITING, dropped, illegal_pop
from tasksim.schedulers.view import Table, able_classes

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Sequence

    from tasksim.engine.locality import FarCharge
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform

__all__ = ["Replay"]


class Alarm(Event):
    """An event that happens after *delay* and hands *value* to one *callback*.

    SimPy's :class:`~simpy.events.Timeout` without what a replay does not use.
    """

    def __init__(
        self, env: Environment, delay: SimTime, value: int, callback: Callable[[Any], None]
    ) -> None:
        self.env = env
        self.callbacks = [callback]
        self._value = value
        self._ok = True
        env.schedule(self, NORMAL, delay)


class Replay(Table):
    """One simulated run: the view that its *scheduler* sees, and what happens when.

    *costs* and *estimates* have a row per class of workers and a column per task, in seconds;
    infinite where a class cannot run a task. *far* adds to a task's cost when it starts. After
    :meth:`run`, ``ready, start, end`` (seconds), ``worker`` and ``released_by`` have an entry per
    task.
    """

    def __init__(
        self,
        graph: TaskGraph,
        platform: Platform,
        scheduler: Scheduler,
        costs: Sequence[Sequence[float]],
        estimates: Sequence[Sequence[float]] | None = None,
        far: FarCharge | None = None,
    ) -> None:
        super().__init__(
            graph, platform, costs if estimates is None else estimates, able_classes(graph, costs)
        )
        self.env = Environment()
        self._graph = graph
        self._scheduler = scheduler
        self._overheads = platform.overheads
        self._costs = [costs[group] for group in self.class_of]
        self._far = far
        self._release = Release(graph, submitted=not self._overheads.submission_s)
        tasks = len(graph)
        # Arrays, not lists: for a million tasks, three million float objects that stay alive cost
        # more than all the rest of the replay.
        self.ready = array("d", bytes(8 * tasks))
        self.start = array("d", bytes(8 * tasks))
        self.end = array("d", bytes(8 * tasks))
        self.worker = [-1] * tasks
        self.released_by = [-1] * tasks
        self._state = [WAITING] * tasks
        self._running = [-1] * len(self.workers)
        self._asleep = [True] * len(self.workers)
        self._awake: list[int] = []
        # Per class, the numbers of its sleeping workers; one woken by name stays in the
        # heap until it comes up, hence `_listed`.
        self._sleepers: list[list[int]] = [list(group.workers) for group in self.classes]
        self._listed = [True] * len(self.workers)
        self._started = _unless_default(scheduler, "started")
        self._finished = _unless_default(scheduler, "finished")

    # What the scheduler sees and asks for

    @property
    def now(self) -> float:
        """The simulated time in seconds."""
        return self.env._now  # the property env.now costs a call more, on the hottest path

    def sleeping(self, worker: int) -> bool:
        """Return whether *worker* sleeps."""
        return self._asleep[worker]

    def wake(self, worker: int) -> None:
        """Let *worker* ask for a task, if it sleeps."""
        if worker.__class__ is not int or not 0 <= worker < len(self._asleep):
            worker = self.known_worker(worker, self._scheduler.name)
        if self._asleep[worker]:
            self._asleep[worker] = False
            if self._overheads.wakeup_s:
                Alarm(self.env, self._overheads.wakeup_s, worker, self._on_awake)
            else:
                self._awake.append(worker)

    def wake_any(self, task: int) -> None:
        """Wake the sleeping worker of lowest number that can run *task*."""
        able = self.able[task]
        best: list[int] | None = None
        for index, sleepers in enumerate(self._sleepers):
            if able >> index & 1:
                while sleepers and not self._asleep[sleepers[0]]:
                    self._listed[heappop(sleepers)] = False
                if sleepers and (best is None or sleepers[0] < best[0]):
                    best = sleepers
        if best is not None:
            worker = heappop(best)
            self._listed[worker] = False
            self.wake(worker)

    def wake_all(self, task: int) -> None:
        """Wake every sleeping worker that can run *task*."""
        able = self.able[task]
        for index, sleepers in enumerate(self._sleepers):
            if sleepers and able >> index & 1:
                for worker in sorted(sleepers):
                    self._listed[worker] = False
                    if self._asleep[worker]:
                        self.wake(worker)
                sleepers.clear()

    # What happens

    def run(self, rng: random.Random) -> float:
        """Replay the graph; return the makespan in seconds.

        Raises :exc:`SchedulerError` when the scheduler breaks a rule.
        """
        with _no_garbage_collection():
            self._scheduler.attach(self, rng)
            self._submit()
            self._serve()
            self.env.run()
        if not all(state == DONE for state in self._state):
            raise dropped(self._scheduler.name, self._graph, self._state, self.now)
        return max(self.end, default=0.0)

    def _submit(self) -> None:
        """Submit all tasks now, or one after another where a submission takes time."""
        if self._overheads.submission_s and len(self._graph):
            Alarm(self.env, self._overheads.submission_s, 0, self._on_submission)
        else:
            for task in self._release.sources():
                self._push(task)

    def _on_submission(self, event: Event) -> None:
        task: int = event._value
        self.pusher = None
        for released in self._release.submit(task):
            self._push(released)
        if task + 1 < len(self._graph):
            due = (task + 2) * self._overheads.submission_s
            Alarm(self.env, max(0.0, due - self.env._now), task + 1, self._on_submission)
        self._serve_at_the_end_of_this_instant()

    def _push(self, task: int) -> None:
        self.ready[task] = self.env._now
        self._state[task] = READY
        self._scheduler.push(task)

    def _on_awake(self, event: Event) -> None:
        self._awake.append(event._value)
        self._serve_at_the_end_of_this_instant()

    def _on_end(self, event: Event) -> None:
        worker: int = event._value
        task = self._running[worker]
        self.end[task] = self.env._now
        self._state[task] = DONE
        if self._finished is not None:
            self._finished(task, worker)
        released = self._release.complete(task)
        if released:
            self.pusher = worker
            for successor in released:
                self.released_by[successor] = task
                self._push(successor)
        self._awake.append(worker)
        self._serve_at_the_end_of_this_instant()

    def _serve_at_the_end_of_this_instant(self) -> None:
        queue = self.env._queue
        if not queue or queue[0][0] > self.env._now:
            self._serve()

    def _serve(self) -> None:
        """Let the workers that are awake ask for tasks, in order of their number."""
        while self._awake:
            awake, self._awake = self._awake, []
            awake.sort()
            for worker in awake:
                task = self._scheduler.pop(worker)
                if task is None:
                    self._sleep(worker)
                else:
                    self._begin(task, worker)

    def _sleep(self, worker: int) -> None:
        self._asleep[worker] = True
        if not self._listed[worker]:
            self._listed[worker] = True
            heappush(self._sleepers[self.class_of[worker]], worker)

    def _begin(self, task: int, worker: int) -> None:
        if (
            task.__class__ is not int
            or not 0 <= task < len(self._state)
            or self._state[task] != READY
            or not self.able[task] >> self.class_of[worker] & 1
        ):
            name = self.workers[worker].name
            raise illegal_pop(self._scheduler.name, self._graph, self._state, task, name)
        self._state[task] = TAKEN
        self._running[worker] = task
        self.worker[task] = worker
        overhead = self._overheads.task_s
        self.start[task] = self.env._now + overhead
        if self._started is not None:
            self._started(task, worker)
        cost = self._costs[worker][task]
        if self._far is not None:
            cost += self._far.extra_s(task, self.class_of[worker])
        Alarm(self.env, overhead + cost, worker, self._on_end)


def _unless_default(scheduler: Scheduler, hook: str) -> Callable[[int, int], None] | None:
    """Return the scheduler's own *hook*, None if it has but the one that does nothing."""
    own = getattr(type(scheduler), hook, None)
    return None if own is getattr(Scheduler, hook) else getattr(scheduler, hook)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Keep the collector from walking a million tasks' lists again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
