"""Replay of a task graph on one memory: SimPy's clock, one event per thing that takes time.

At a task's end: the scheduler hears of it, its successors are released and pushed, and
once *all* tasks that end at this instant have done so, the workers that are awake are served in
order of their number. A worker that is served takes a task, or sleeps until it is woken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.clock import Alarm, Clock, run
from tasksim.engine.outcome import Outcome
from tasksim.engine.view import ReplayView
from tasksim.runtime.blame import blaming
from tasksim.runtime.collector import no_garbage_collection
from tasksim.runtime.hooks import unless_default
from tasksim.runtime.ledger import Ledger, able_classes, class_of
from tasksim.runtime.livelock import Patience
from tasksim.runtime.release import Release
from tasksim.runtime.rules import dropped

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from simpy.events import Event

    from tasksim.engine.locality import FarCharge
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["Replay"]


class Replay:
    """One simulated run where all workers share a memory.

    Parameters
    ----------
    graph, platform, scheduler : TaskGraph, Platform, Scheduler
        What is run, where, and who decides.
    costs : sequence of sequences of float
        What tasks take, seconds, ``[class][task]``; infinite where a class cannot run a task.
    estimates : sequence of sequences of float, optional
        What the scheduler believes of that; by default the truth.
    far : FarCharge, optional
        What is added to a task's cost when it starts, for data that left the cache.

    Attributes
    ----------
    ledger : Ledger
        What became of each task.
    view : ReplayView
        What the scheduler sees.

    See Also
    --------
    tasksim.engine.machine.machine.MachineReplay : The replay for all other platforms.
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
        able = able_classes(graph, costs)
        believed = costs if estimates is None else estimates
        self._clock = Clock()
        self._graph = graph
        self._scheduler = scheduler
        self._overheads = platform.overheads
        self._class_of = class_of(platform)
        self._costs = [costs[group] for group in self._class_of]
        self._far = far
        self._release = Release(graph, submitted=not self._overheads.submission_s)
        self.ledger = Ledger(graph, platform, able)
        self.view = ReplayView(
            self._clock, graph, platform, scheduler, believed, able, self._on_awake
        )
        self._running = [-1] * len(platform.workers)
        self._started = unless_default(scheduler, "started")
        self._finished = unless_default(scheduler, "finished")
        workers = len(platform.workers)
        self._patience = Patience(scheduler, graph, self.ledger, workers, self.ledger.idle)

    def run(self, rng: random.Random) -> float:
        """Replay the graph; return the makespan in seconds.

        Raises :exc:`SchedulerError` when the scheduler breaks a rule or fails.
        """
        with no_garbage_collection(), blaming(self._scheduler, self._graph):
            self._scheduler.attach(self.view, rng)
            self._submit()
            self._serve()
            run(self._clock)
        if not self.ledger.over():
            raise dropped(self._scheduler, self._graph, self.ledger.state, self.view.now)
        return self.ledger.makespan_s()

    def outcome(self) -> Outcome:
        """Return what happened."""
        return Outcome(self.ledger)

    def _submit(self) -> None:
        """Submit all tasks now, or the first of them where a submission takes time."""
        if not self._overheads.submission_s:
            self.ledger.all_submitted = True
            self._push(self._release.sources(), -1)
        elif len(self._graph):
            self._submit_task(0)

    def _submit_task(self, task: int) -> None:
        """Submit *task*, and the next when that has taken its time."""
        now = self._clock._now
        self.view.pusher = None
        self.ledger.submitted_s[task] = now
        self._push(self._release.submit(task), -1)
        following = task + 1
        if following < len(self._graph):
            due = following * self._overheads.submission_s
            Alarm(self._clock, max(0.0, due - now), following, self._on_submission)
        else:
            self.ledger.all_submitted = True

    def _on_submission(self, event: Event) -> None:
        self._submit_task(event._value)
        self._serve_at_the_end_of_this_instant()

    def _push(self, released: list[int], released_by: int) -> None:
        now, release, push = self._clock._now, self.ledger.release, self._scheduler.push
        for task in released:
            release(task, now, released_by)
            push(task)

    def _on_awake(self, event: Event) -> None:
        self.view.awake.append(event._value)
        self._serve_at_the_end_of_this_instant()

    def _on_end(self, event: Event) -> None:
        worker: int = event._value
        task = self._running[worker]
        ledger, view = self.ledger, self.view
        ledger.end_s[task] = self._clock._now
        ledger.finish(task)
        if self._finished is not None:
            self._finished(task, worker)
        released = self._release.complete(task)
        if released:
            view.pusher = worker
            self._push(released, task)
        view.awake.append(worker)
        self._serve_at_the_end_of_this_instant()

    def _serve_at_the_end_of_this_instant(self) -> None:
        queue = self._clock._queue
        if not queue or queue[0][0] > self._clock._now:
            self._serve()

    def _serve(self) -> None:
        """Let the workers that are awake ask for tasks, in order of their number."""
        view, scheduler, take = self.view, self._scheduler, self.ledger.take
        while view.awake:
            awake, view.awake = view.awake, []
            awake.sort()
            for worker in awake:
                popped = scheduler.pop(worker)
                if popped is None:
                    self._let_sleep(worker)
                else:
                    self._begin(take(popped, worker, scheduler), worker)

    def _let_sleep(self, worker: int) -> None:
        self.view.sleepers.sleep(worker)
        patience = self._patience
        patience.left -= 1
        if not patience.left:
            patience.look(self._clock._now)

    def _begin(self, task: int, worker: int) -> None:
        self._running[worker] = task
        overhead = self._overheads.task_s
        self.ledger.start_s[task] = self._clock._now + overhead
        if self._started is not None:
            self._started(task, worker)
        cost = self._costs[worker][task]
        if self._far is not None:
            cost += self._far.extra_s(task, self._class_of[worker])
        Alarm(self._clock, overhead + cost, worker, self._on_end)
