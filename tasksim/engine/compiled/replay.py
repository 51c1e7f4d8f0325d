"""Replay on the compiled core, equal to SimPy's engine to the last bit and much faster.

Each call of the core processes some events; between two calls, an interruption by the user is
noticed.
"""

from __future__ import annotations

import ctypes
import random
import weakref
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.threadclock import no_garbage_collection
from tasksim.core import interface, library
from tasksim.engine.compiled.answers import (
    NotedCopies,
    ended,
    finished,
    numa_use,
    read_decisions,
    read_tasks,
)
from tasksim.engine.compiled.flat import (
    flat_alone,
    flat_contention,
    flat_far,
    flat_platform,
    scheduler_fields,
)
from tasksim.engine.outcome import Reports, records
from tasksim.engine.ticks import TICKS_PER_S
from tasksim.run.recordtables import task_table
from tasksim.runtime.flat import (
    Arrays,
    Ported,
    Refused,
    flat_graph,
    policy_fields,
    policy_structure,
    ported,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.base.progress import CountProgress
    from tasksim.engine.compiled.foreign import Called
    from tasksim.engine.compiled.plans import CompiledPlans
    from tasksim.engine.compiled.series import CoreInput, Series
    from tasksim.engine.compiled.view import KnownView
    from tasksim.engine.question import Question
    from tasksim.run.record import TaskTable

__all__ = ["CompiledReplay"]

REFUSAL_REASONS: Final[dict[int, str]] = {
    interface.CallStatus.BAD_ARRAYS: "the core does not take these numbers",
    interface.CallStatus.NO_MEMORY: "there is not enough memory for the core",
    interface.CallStatus.UNKNOWN: "the core does not have this scheduler",
    interface.CallStatus.TOO_LATE: "the core's clock ends after 292 years",
}
"""Reasons for the statuses with which the core refuses a replay."""


class CompiledReplay:
    """One simulated run on the compiled core.

    Parameters
    ----------
    question : Question
        The graph, the machine, the scheduler, and the costs of the tasks. The core has a policy of
        its own for the scheduler, or else calls the Python scheduler back.

    Raises
    ------
    Refused
        If the core does not support the replay.

    See Also
    --------
    tasksim.engine.replay.Replay : The reference engine.
    """

    def __init__(self, question: Question) -> None:
        core = interface.functions()
        if core is None:
            raise Refused(f"the core is {library.status().why}")
        graph, platform = question.graph, question.platform
        self._core, self._asked = core, question
        self._machine, self._threads = question.needs_machine, question.needs_threads
        its: Ported | Called | None = ported(question.scheduler)
        if its is None:
            if question.decisions:
                raise Refused(
                    "decisions of a scheduler written in Python are recorded in SimPy's engine"
                )
            from tasksim.engine.compiled.foreign import Called

            its = Called(question.scheduler, graph, platform, machine=self._machine)
        self._policy = its
        self._go_on = core.tasksim_replay_go_on if isinstance(its, Ported) else its.go_on
        self._costs = np.ascontiguousarray(question.costs, np.float64)
        self._estimates = np.ascontiguousarray(question.estimates, np.float64)
        self._flat = flat_graph(graph), flat_platform(platform)
        slowing = question.slowing
        self._contention = None if slowing is None else flat_contention(slowing, graph)
        self._outcome = interface.Outcome()
        self._handle: int | None = None
        self._columns: dict[str, NDArray[Any]] = {}
        self._copies: NotedCopies | None = None

    def run(self, seed: int, progress: CountProgress | None = None) -> float:
        """Replay the graph; return the makespan in seconds.

        *seed* is that of the scheduler's random choices. *progress* is called from time to time
        with the number of finished tasks and of all tasks.
        Raises :exc:`SchedulerError` when the scheduler breaks a rule or fails.
        """
        policy, rng = self._policy, random.Random(seed)
        if isinstance(policy, Ported):
            kept: list[Any] = []
            told = self._told(policy, rng, kept)
            handle = self._new(ctypes.byref(told), None)
            self._kept = [told, *kept]
            weakref.finalize(self, self._core.tasksim_replay_free, handle)
            self._run(progress)
        else:
            from tasksim.runtime.blame import blaming

            blame = blaming(policy.scheduler, self._asked.graph)
            with blame, no_garbage_collection(), closing(policy):
                called = policy.called()
                policy.show(self._new(None, ctypes.byref(called)))
                policy.scheduler.attach(policy.view, rng)
                self._run(progress)
        return float(self._columns["end_s"].max(initial=0.0))

    def _run(self, progress: CountProgress | None) -> None:
        count = len(self._asked.graph)
        read = partial(self._core.tasksim_replay_tasks, self._handle)
        look = None
        if progress is not None:
            look = Reports(progress, count, partial(finished, read, count)).look
        status = ended(self._go_on, self._handle, look)
        self._core.tasksim_replay_outcome(self._handle, ctypes.byref(self._outcome))
        self._columns = read_tasks(read, count)
        if status != interface.CallStatus.DONE:
            raise self._error(status)

    def records(self) -> dict[str, Any]:
        """Return the fields of a run with the records of the replay, by name."""
        noted = self._outcome
        if self._copies is None and noted.copies >= 0:
            take = partial(self._core.tasksim_replay_log, self._handle)
            self._copies = NotedCopies(take, noted)
        read = partial(self._core.tasksim_replay_numa, self._handle)
        decisions = None
        if self._asked.decisions:
            decisions = read_decisions(partial(self._core.tasksim_replay_decisions, self._handle))
        numa = numa_use(self._asked.slowing, read)
        graph, evictions = self._asked.graph, noted.evictions
        return records(graph, self.table(), self._copies, evictions, numa, decisions)

    @property
    def why(self) -> str:
        """Remark on the engine: empty, or that the scheduler is called back."""
        policy = self._policy
        return "" if isinstance(policy, Ported) else f"scheduler {policy.scheduler.name} is called"

    @property
    def events(self) -> int:
        """The number of events."""
        return int(self._outcome.events)

    def table(self) -> TaskTable:
        """Return the lives of the tasks as the task table of a run."""
        return task_table(self._asked.graph, self._columns)

    def series(self) -> Series:
        """Return a series of replays like this one with other seeds and costs; do not run it.

        Raises
        ------
        Refused
            If the core has no such policy: each replay is then a single one.
        """
        from tasksim.engine.compiled.series import Series

        return Series(self._given())

    def plans(self) -> CompiledPlans:
        """Return replays like this one, whose scheduler follows a plan, with other plans.

        Raises
        ------
        Refused
            If the core has no such policy.
        """
        from tasksim.engine.compiled.plans import CompiledPlans

        # The tables of the plan are written for each candidate, so none is made here.
        return CompiledPlans(self._known_view(), self._costs, self._given(tables=False))

    def as_data(self, seed: int) -> dict[str, Any]:
        """Return the input of the core as numbers, texts and arrays by name.

        Raises
        ------
        Refused
            If the core has no such policy.
        """
        policy = self._policy
        if not isinstance(policy, Ported):
            raise Refused(self.why)
        question = self._question()
        graph, platform = self._flat
        view = self._known_view() if policy.asks else None
        return {
            "graph": graph.fields(),
            "platform": platform.fields(),
            "question": self._column.fields(question),
            "scheduler": policy_fields(policy, view, random.Random(seed), seed),
        }

    def _given(self, *, tables: bool = True) -> CoreInput:
        """Return the input that all replays like this one share.

        Without *tables*, those of the policy are left out.
        """
        from tasksim.engine.compiled.series import CoreInput

        kept: list[Any] = [self]
        policy = self._policy
        if not isinstance(policy, Ported):
            raise Refused(self.why)
        # No tables of built-in policies depend on random numbers: each replay has a seed instead.
        rng = random.Random(0)
        told = (
            self._told(policy, rng, kept) if tables else policy_structure(policy, None, rng, kept)
        )
        told.twister = None
        graph, platform = (flat.handle for flat in self._flat)
        return CoreInput(self._asked.graph, graph, platform, self._question(), told, kept)

    def _told(self, policy: Ported, rng: random.Random, kept: list[Any]) -> interface.Scheduler:
        if not policy.asks:
            return policy_structure(policy, None, rng, kept)
        from tasksim.runtime.blame import blaming

        view = self._known_view()
        with blaming(policy.scheduler, self._asked.graph):
            return policy_structure(policy, view, rng, kept)

    def _known_view(self) -> KnownView:
        from tasksim.engine.compiled.view import KnownView

        asked = self._asked
        return KnownView(asked.graph, asked.platform, self._costs, self._estimates)

    def _new(self, policy: Any, called: Any) -> int:
        """Make the replay of the core, which checks its whole input; return its handle."""
        status = ctypes.c_int32()
        self._given_question = question = self._question()
        graph, platform = self._flat
        self._handle = self._core.tasksim_replay_new(
            graph.handle, platform.handle, ctypes.byref(question), policy, called,
            ctypes.byref(status), ctypes.byref(self._outcome),
        )  # fmt: skip
        if self._handle is None:
            raise self._error(status.value)
        return self._handle

    def _question(self) -> interface.Question:
        asked, due = self._asked, self._asked.submitted_s
        self._column = column = Arrays()
        return interface.Question(
            costs=column(self._costs, np.float64),
            estimates=column(self._estimates, np.float64),
            far=column.structure(None if asked.far is None else flat_far(asked.far)),
            alone=flat_alone(asked.platform, asked.graph.model_names, column),
            submitted=None if due is None else column(np.rint(due * TICKS_PER_S), np.int64),
            contention=column.structure(self._contention),
            machine=self._machine,
            blind=asked.simultaneous_pushes == "blind",
            threads=self._threads,
            **scheduler_fields(self._policy.scheduler),
            decisions=asked.decisions,
        )

    def _error(self, status: int) -> Exception:
        """Return the error that SimPy's engine would raise, or ``Refused`` where it shall try."""
        from tasksim.engine.data.accesses import COPIED_MODES
        from tasksim.engine.data.capacity import no_room, too_large
        from tasksim.runtime.ledger import nobody_can_run
        from tasksim.runtime.rules import dropped, illegal_pop, livelock

        graph, platform = self._asked.graph, self._asked.platform
        workers, scheduler = platform.workers, self._policy.scheduler
        outcome = self._outcome
        task = outcome.task
        if status == interface.CallStatus.NOBODY:
            return nobody_can_run(graph, task)
        if status == interface.CallStatus.TOO_LARGE:
            accesses = slice(graph.access_ptr[task], graph.access_ptr[task + 1])
            copied = np.isin(graph.access_mode[accesses], COPIED_MODES)
            sizes = graph.handle_size[graph.access_handle[accesses][copied]]
            return too_large(graph, task, int(sizes.sum()))
        if status == interface.CallStatus.STUCK:
            memory = platform.memories[outcome.worker].name
            return no_room(graph, task, memory, outcome.now_s)
        # There are no states if the replay has not begun.
        states = self._columns["state"].tolist() if self._columns else []
        if status == interface.CallStatus.ILLEGAL_POP:
            return illegal_pop(scheduler, graph, states, task, workers[outcome.worker].name)
        if status == interface.CallStatus.DROPPED:
            return dropped(scheduler, graph, states, outcome.now_s)
        if status == interface.CallStatus.LIVELOCK:
            return livelock(scheduler, graph, states, outcome.now_s, outcome.number)
        return Refused(REFUSAL_REASONS.get(status, f"the core has failed with status {status}"))
