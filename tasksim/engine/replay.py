"""Replay of a task graph on one memory: SimPy's clock, one event per thing that takes time.

At a task's end: the scheduler hears of it, its successors are released and pushed, and
once *all* tasks that end at this instant have done so, the workers that are awake are served in
order of their number. A worker that is served takes a task, or sleeps until it is woken.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from tasksim.base.memory import no_garbage_collection
from tasksim.engine.clock import Alarm, Clock, run
from tasksim.engine.outcome import Outcome
from tasksim.engine.view import ReplayView
from tasksim.platform.description import class_of
from tasksim.runtime.blame import blaming
from tasksim.runtime.facts import Facts
from tasksim.runtime.ledger import Ledger, able_classes
from tasksim.runtime.livelock import AllDone, Patience
from tasksim.runtime.release import Release
from tasksim.runtime.rules import dropped
from tasksim.schedulers.base import unless_default

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

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
    submitted_s : sequence of float, optional
        When each task is submitted, none before the one before it; by default as the platform says.

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
        *,
        submitted_s: Sequence[float] | None = None,
    ) -> None:
        able = able_classes(graph, costs)
        believed = costs if estimates is None else estimates
        facts = Facts(graph, platform, scheduler, believed, able)
        self._clock = Clock()
        self._graph = graph
        self._scheduler = scheduler
        self._submission_s = platform.overheads.submission_s
        self._task_s = platform.overheads.task_s
        self._class_of = class_of(platform)
        self._costs = [costs[group] for group in self._class_of]
        self._far = far
        self._due = submitted_s
        self._one_by_one = bool(self._submission_s) or submitted_s is not None
        self._release = Release(graph, submitted=not self._one_by_one)
        self.ledger = Ledger(graph, platform, able)
        self.view = ReplayView(facts, self._clock, self._on_awake)
        # What the hot loop looks up, without the way to it.
        self._start, self._end = self.ledger.start, self.ledger.end
        self._make_ready = self.ledger.release
        self._take, self._finish = self.ledger.take, self.ledger.finish
        self._sleep = self.view.sleepers.sleep
        self._running = [-1] * len(platform.workers)
        self._started = unless_default(scheduler, "started")
        self._finished = unless_default(scheduler, "finished")
        self._patience = Patience(facts, self.ledger, self.ledger.idle)

    def run(self, rng: random.Random) -> float:
        """Replay the graph; return the makespan in seconds.

        Raises :exc:`SchedulerError` when the scheduler breaks a rule or fails.
        """
        with no_garbage_collection(), blaming(self._scheduler, self._graph):
            self._scheduler.attach(self.view, rng)
            with suppress(AllDone):
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
        """Submit all tasks now, or the first of them where they are submitted one by one."""
        if not self._one_by_one:
            self.ledger.all_submitted = True
            self._push(self._release.sources())
        elif len(self._graph):
            if self._due is not None and self._due[0] > 0.0:
                Alarm(self._clock, self._due[0], 0, self._on_submission)
            else:
                self._submit_from(0)

    def _submit_from(self, task: int) -> None:
        """Submit *task* and those after it, each when it is time.

        While a task is not ready, no worker waits to be served at this instant, and nothing else
        happens before the next is submitted, no event is needed.
        """
        clock, submitted_s, cost_s = self._clock, self.ledger.submitted, self._submission_s
        last, queue, submit = len(self._graph) - 1, clock._queue, self._release.submit
        dues = self._due
        while True:
            submitted_s[task] = clock._now
            released = submit(task)
            due = (task + 1) * cost_s if dues is None or task == last else dues[task + 1]
            if released or task == last or self.view.awake or (queue and queue[0][0] <= due):
                break
            task += 1
            clock._now = due
        self.view.pusher = None
        self._push(released)
        if task == last:
            self.ledger.all_submitted = True
        else:
            Alarm(clock, max(0.0, due - clock._now), task + 1, self._on_submission)

    def _on_submission(self, event: Alarm) -> None:
        self._submit_from(event.value)
        self._serve_at_the_end_of_this_instant()

    def _push(self, released: list[int]) -> None:
        now = self._clock._now
        for task in released:
            self.ledger.release(task, now, -1)
            self._scheduler.push(task)

    def _on_awake(self, event: Alarm) -> None:
        self.view.awake.append(event.value)
        self._serve_at_the_end_of_this_instant()

    def _on_end(self, event: Alarm) -> None:
        worker: int = event.value
        task = self._running[worker]
        now = self._clock._now
        view = self.view
        self._end[task] = now
        self._finish(task)
        if self._finished is not None:
            self._finished(task, worker)
        released = self._release.complete(task)
        if released:
            view.pusher = worker
            for successor in released:
                self._make_ready(successor, now, task)
                self._scheduler.push(successor)
        view.awake.append(worker)
        queue = self._clock._queue
        if not queue or queue[0][0] > now:  # the last event of this instant
            self._serve()

    def _serve_at_the_end_of_this_instant(self) -> None:
        queue = self._clock._queue
        if not queue or queue[0][0] > self._clock._now:
            self._serve()

    def _serve(self) -> None:
        """Let the workers that are awake ask for tasks, in order of their number.

        What they begin is written out here: this is the hottest loop of a replay.
        """
        view, scheduler, take = self.view, self._scheduler, self._take
        running, clock, task_s = self._running, self._clock, self._task_s
        while view.awake:
            awake, view.awake = view.awake, []
            if len(awake) > 1:
                awake.sort()
            for worker in awake:
                popped = scheduler.pop(worker)
                if popped is None:
                    self._let_sleep(worker)
                    continue
                task = take(popped, worker, scheduler)
                running[worker] = task
                self._start[task] = clock._now + task_s
                if self._started is not None:
                    self._started(task, worker)
                cost_s = self._costs[worker][task]
                if self._far is not None:
                    cost_s += self._far.extra_s(task, self._class_of[worker])
                Alarm(clock, task_s + cost_s, worker, self._on_end)

    def _let_sleep(self, worker: int) -> None:
        self._sleep(worker)
        patience = self._patience
        patience.left -= 1
        if not patience.left:
            patience.look(self._clock._now)
