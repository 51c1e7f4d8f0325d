"""Replay of a task graph on a machine, with a clock, a ledger, a node and a submission.

A core runs one task at a time. A device has a worker that does nothing else: it fetches the data of
one task while the device runs another, and queues kernels ahead. Both run loops like those of
StarPU's workers, but sleep instead of polling.

Within one instant, ends come first, then the pops of workers, in order of their numbers, then the
pushes that take time, in the order of their begin.
"""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tasksim.base.threadclock import no_garbage_collection
from tasksim.engine.clock import Clock
from tasksim.engine.machine.node import Charges, Node
from tasksim.engine.machine.submission import Submission
from tasksim.engine.machine.workers import begin
from tasksim.engine.outcome import Reports, records
from tasksim.engine.ticks import TICKS_PER_S, OverheadTicks, ticks
from tasksim.runtime.blame import blaming
from tasksim.runtime.ledger import Ledger, able_classes
from tasksim.runtime.livelock import AllDone
from tasksim.runtime.release import Release
from tasksim.runtime.rules import dropped
from tasksim.runtime.view import Facts
from tasksim.schedulers.decisions import Decisions

if TYPE_CHECKING:
    from tasksim.base.progress import CountProgress
    from tasksim.engine.question import Question

__all__ = ["Replay"]


class Replay:
    """One simulated run on a machine.

    Parameters
    ----------
    question : Question
        The graph, the machine, the scheduler, and the costs of the tasks.

    Attributes
    ----------
    ledger : Ledger
        The life of each task.
    node : Node
        The scheduler's view, the workers, the memories.
    view : NodeView
        The view of the scheduler.
    """

    def __init__(self, question: Question) -> None:
        graph, platform, scheduler = question.graph, question.platform, question.scheduler
        self._graph = graph
        self._scheduler = scheduler
        self._clock = Clock()
        overheads = OverheadTicks.of(platform.overheads)
        costs: list[list[float]] = question.costs.tolist()
        alike = question.costs is question.estimates
        estimates = costs if alike else question.estimates.tolist()
        able = able_classes(graph, costs)
        due = None
        if question.submitted_s is not None:
            due = [ticks(time_s) for time_s in question.submitted_s.tolist()]
        release = Release(graph, submitted=not overheads.submission and due is None)
        self.ledger = Ledger(graph, platform, able)
        self.node = Node(
            Facts(graph, platform, scheduler, estimates, able),
            self._clock,
            self.ledger,
            release,
            overheads,
            Charges(platform, costs, question.far),
            blind=question.simultaneous_pushes == "blind",
            slowing=question.slowing,
        )
        self.view = self.node.view
        if question.decisions:
            clock = self._clock
            self.view.decisions = Decisions(len(platform.workers), lambda: clock.now)
        self._submission = Submission(self.node, release, overheads.submission, due)

    def run(self, seed: int, progress: CountProgress | None = None) -> float:
        """Replay the graph; return the makespan in seconds.

        *seed* is that of the scheduler's random choices. *progress* is called from time to time
        with the number of finished tasks and of all tasks.
        Raises :exc:`SchedulerError` if the scheduler breaks a rule or fails.
        """
        look = None
        with no_garbage_collection(), blaming(self._scheduler, self._graph):
            begin(self.node, random.Random(seed))
            self._submission.begin()
            if progress is not None:
                look = Reports(progress, len(self._graph), self.ledger.finished).look
            with suppress(AllDone):
                self._clock.run_watched(look)
        self.ledger.close(TICKS_PER_S)
        if not self.ledger.over():
            self.node.refuse_what_is_stuck()
            raise dropped(self._scheduler, self._graph, self.ledger.state, self.node.view.now)
        return self.ledger.makespan_s()

    def records(self) -> dict[str, Any]:
        """Return the fields of a run with the records of the replay, by name."""
        memories = self.node.memories
        several = len(memories.copies.stores) > 1
        rate, log = self.node.rate, memories.log if several else None
        numa = None if rate is None else rate.use()
        noted = self.view.decisions
        decisions = None if noted is None else noted.table(TICKS_PER_S)
        evictions = memories.copies.evictions
        return records(self._graph, self.ledger.table(), log, evictions, numa, decisions)
