"""The replay of a task graph: SimPy's clock, one event per thing that takes time.

At a task's end: the scheduler hears of it, its successors are released and pushed, and
once *all* tasks that end at this instant have done so, the workers that are awake are served in
order of their number. A worker that is served takes a task, or sleeps until it is woken.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from tasksim.engine.clock import Alarm, Clock, run
from tasksim.runtime.collector import no_garbage_collection
from tasksim.runtime.hooks import unless_default
from tasksim.runtime.release import Release
from tasksim.runtime.rules import DONE, READY, TAKEN, WAITING, dropped, illegal_pop
from tasksim.runtime.sleepers import Sleepers
from tasksim.runtime.view import Table, able_classes

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from simpy.events import Event

    from tasksim.engine.locality import FarCharge
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["Replay"]


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
        self.env = Clock()
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
        self._awake: list[int] = []
        self._sleepers = Sleepers(self.classes, self.class_of)
        self._asleep = self._sleepers.asleep
        self._started = unless_default(scheduler, "started")
        self._finished = unless_default(scheduler, "finished")

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
        worker = self._sleepers.first(self.able[task])
        if worker is not None:
            self.wake(worker)

    def wake_all(self, task: int) -> None:
        """Wake every sleeping worker that can run *task*."""
        for worker in self._sleepers.all(self.able[task]):
            self.wake(worker)

    # What happens

    def run(self, rng: random.Random) -> float:
        """Replay the graph; return the makespan in seconds.

        Raises :exc:`SchedulerError` when the scheduler breaks a rule.
        """
        with no_garbage_collection():
            self._scheduler.attach(self, rng)
            self._submit()
            self._serve()
            run(self.env)
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
                    self._sleepers.sleep(worker)
                else:
                    self._begin(task, worker)

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
