"""Selective execution of a graph, in which some tasks are executed and the others only charged.

The account is a simulated clock per run. Events are ends of tasks on the account, in the order of a
replay. The end of a skipped task is known when it starts. The end of an executed task is known when
it is over, and until then is no earlier than the time that it has run so far. So the account
proceeds at once while no task executes, and with the wall clock while one does. If all tasks are
executed, this is a native run; if none is, a simulation.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Final, Protocol

from tasksim.base.errors import TaskFailed
from tasksim.native.threads import conduct, finish_under
from tasksim.native.view import WorkersView
from tasksim.runtime.blame import blamed, blaming
from tasksim.runtime.ledger import Ledger
from tasksim.runtime.livelock import Patience
from tasksim.runtime.release import Release
from tasksim.runtime.rules import dropped

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tasksim.base.interruption import Interrupts
    from tasksim.kernels.program import Program
    from tasksim.native.processor_time import ThreadAccount
    from tasksim.run.record import TaskTable
    from tasksim.runtime.pathrecords import PathRecords
    from tasksim.runtime.view import Facts
    from tasksim.selective.policies import Chooser

__all__ = [
    "SKIPPED_BEFORE",
    "AccountMember",
    "AccountView",
    "Effort",
    "Executes",
    "SelectiveExecution",
]


class AccountView(WorkersView):
    """The scheduler's view of a run whose clock is an account.

    Attributes
    ----------
    awake : list of int
        Workers that are about to ask for a task.
    """

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts, asleep=True)
        self._now = 0.0
        self.awake: list[int] = []

    @property
    def now(self) -> float:
        """Time on the account in seconds."""
        return self._now

    def go_on(self, now: float) -> None:
        """Advance the account to *now*, unless it is later already."""
        self._now = max(self._now, now)

    def rouse(self, worker: int) -> None:
        """Note that *worker*, which has been woken, is to ask for a task."""
        self.awake.append(worker)


class AccountMember:
    """One scheduler on an account, with its tasks and workers: all of a node, or those of a rank.

    Parameters
    ----------
    facts : Facts
    idle : callable, optional
        Returns whether nothing is in progress; by default looks at this member alone.

    Attributes
    ----------
    view : AccountView
    ledger : Ledger
    left : int
        Number of tasks that have not ended.
    """

    def __init__(self, facts: Facts, idle: Callable[[], bool] | None = None) -> None:
        self.facts: Final = facts
        self.view = AccountView(facts)
        self.ledger = Ledger(facts.graph, facts.platform, facts.able)
        self.left = len(facts.graph)
        self._release = Release(facts.graph, submitted=False)
        self._patience = Patience(facts, self.ledger, idle or self.ledger.idle)

    def submit(self, push: Callable[[list[int], int], None]) -> None:
        """Submit all tasks, and *push* those that each of them releases."""
        self.view.pusher = None
        for task in range(len(self.facts.graph)):
            push(self._release.submit(task), -1)
        self.ledger.all_submitted = True

    def serve(self, start: Callable[[int, int], None]) -> None:
        """Let awake workers ask for tasks, while there are any, and *start* these: task, worker."""
        view, scheduler, patience = self.view, self.facts.scheduler, self._patience
        while view.awake and self.left:
            awake, view.awake = sorted(view.awake), []
            for worker in awake:
                popped = scheduler.pop(worker)
                if popped is None:
                    view.fall_asleep(worker)
                    patience.left -= 1
                    if not patience.left:
                        patience.look(view.now)
                    continue
                task = self.ledger.take(popped, worker, scheduler)
                scheduler.started(task, worker)
                start(task, worker)

    def end(self, task: int, worker: int | None, end_s: float) -> list[int]:
        """Note that *task* ended on *worker* (None: a message); return the released tasks."""
        view = self.view
        view.go_on(end_s)
        self.ledger.end[task] = end_s
        self.ledger.finish(task)
        self.left -= 1
        if worker is not None:
            self.facts.scheduler.finished(task, worker)
            view.awake.append(worker)
        view.pusher = worker
        return self._release.complete(task)


MIN_WAIT_S: Final = 1e-5
"""Shortest wait for a measured task, in seconds: the time to wake a thread."""


SKIPPED_BEFORE: Final = "; tasks before it were skipped, so that its data are not computed"


class Executes(Protocol):
    """Executor of tasks on the calling thread."""

    def expect(self, worker: int) -> None:
        """Note that *worker* is about to execute a task that has not started yet."""

    def elapsed_s(self, worker: int) -> float:
        """Return the time that the task of *worker* has run so far, or its duration at the end."""

    def run(self, task: int, worker: int, *, safe: bool) -> None:
        """Execute *task* as *worker*; *safe*: on data that it cannot fail on."""


@dataclass
class Effort:
    """Amount of work that a selective run executed.

    Attributes
    ----------
    executed : int
        Number of measured tasks.
    accompanied : int
        Number of tasks that were charged but executed all the same, beside measured ones.
    skipped : int
        Number of tasks that were only charged.
    executed_s : float
        Total duration of the measured tasks in seconds.
    rehearsed : int
        Number of charged tasks that were executed before a measured one, to fill the caches.
    busiest_s : float
        Largest total duration of the measured tasks of one worker in seconds.
    """

    executed: int = 0
    accompanied: int = 0
    skipped: int = 0
    executed_s: float = 0.0
    rehearsed: int = 0
    busiest_s: float = 0.0


class SelectiveExecution:
    """One selective run, with its threads and its account.

    Parameters
    ----------
    facts : Facts
    tasks : Executes
    chooses : Chooser
    paths : PathRecords
        Updated with every task that ends.
    company : bool, default True
        Whether the neighbours of a measured task execute too, as they would in a full run: two
        cores are often two threads of one core, and all cores share memory.
    """

    def __init__(
        self,
        facts: Facts,
        tasks: Executes,
        chooses: Chooser,
        paths: PathRecords,
        *,
        company: bool = True,
    ) -> None:
        workers = len(facts.platform.workers)
        self._facts = facts
        self.member = AccountMember(facts)
        self._tasks = tasks
        self._chooses = chooses
        self._paths = paths
        self._company = company
        self._lock = threading.Lock()
        self._bell = threading.Condition(self._lock)
        self._over = threading.Event()
        self._error: BaseException | None = None
        self.effort = Effort()
        self.accounts: list[ThreadAccount | None] = []
        self._task = [-1] * workers
        self._jobs: deque[int] = deque()  # workers whose tasks wait for execution by any thread
        # Known ends of tasks: time on the account, number of the start, worker.
        self._ends: list[tuple[float, int, int]] = []
        self._begun = [0] * workers
        self._starts = 0
        self._measuring: dict[int, float] = {}  # worker -> start of its task on the account
        self._accompanying: set[int] = set()  # workers that execute a charged task
        self._measured_s = [0.0] * workers
        self._executed = [False] * workers  # whether each worker's task is or was executed

    # Called by the main thread

    @property
    def left(self) -> int:
        """Number of tasks that have not ended."""
        return self.member.left

    def run(self, rng: random.Random, program: Program, *, pin: bool = True) -> float:
        """Run the graph; return the makespan on the account in seconds."""
        self._attach(rng)
        self.accounts = conduct(self, self._facts.platform, program, pin=pin)
        return self._makespan_s()

    def run_at_once(self, rng: random.Random) -> float:
        """Run the graph in this thread; return the makespan on the account in seconds.

        For tasks that take no time to execute, whatever they take on the account.
        """
        self._attach(rng)
        self._submit_all()
        self.work(0)
        return self._makespan_s()

    def _attach(self, rng: random.Random) -> None:
        with blaming(self._facts.scheduler, self._facts.graph):
            self._facts.scheduler.attach(self.member.view, rng)

    def _makespan_s(self) -> float:
        if self._error is not None:
            raise self._error
        return self.member.ledger.makespan_s()

    def table(self) -> TaskTable:
        """Return the task table, with times on the account."""
        return self.member.ledger.table()

    def begin(self) -> None:
        """Do nothing: the account begins at 0."""

    def submit(self, interrupts: Interrupts) -> None:
        """Submit all tasks at time 0 of the account."""
        interrupts.check()
        with self._lock:
            try:
                interrupts.allow()
                self._submit_all()
            finally:
                interrupts.hold()
            self._bell.notify()

    def _submit_all(self) -> None:
        with blaming(self._facts.scheduler, self._facts.graph):
            self.member.submit(self._push)

    def wait(self, timeout_s: float) -> bool:
        """Wait up to *timeout_s* for the end of the run; return whether it is over."""
        return self._over.wait(timeout_s)

    def give_up(self) -> None:
        """Keep workers from starting another task."""
        self._over.set()

    def stop(self) -> bool:
        """End the run; return False if a scheduler that does not return holds the lock."""
        return finish_under(self._lock, self._over, self._finish)

    # Called by the worker threads

    def work(self, _: int) -> None:
        """Keep the account and execute tasks until the run is over.

        The thread that keeps the account executes the next task itself, for whichever worker: a
        hand-over to another thread takes as long as a small task. Only tasks that run beside it are
        handed over.
        """
        try:
            while (worker := self._next_job()) is not None:
                self._execute(self._task[worker], worker)
                with self._lock:
                    self._returned(worker)
        except BaseException as error:
            with self._lock:
                self._error = self._error or blamed(error, self._facts.scheduler, self._facts.graph)
                self._finish()

    def _next_job(self) -> int | None:
        """Return the worker whose task is to be executed next; None when the run is over."""
        with self._lock:
            while not self._over.is_set():
                wait_s = self._advance()
                if self._jobs and not self._over.is_set():
                    worker = self._jobs.popleft()
                    self._bell.notify(len(self._jobs))
                    return worker
                if not self._over.is_set():
                    self._bell.wait(wait_s)
        return None

    def _execute(self, task: int, worker: int) -> None:
        skipped = self.effort.skipped + self.effort.accompanied > 0
        try:
            self._tasks.run(task, worker, safe=skipped)
        except (Exception, SystemExit) as error:
            name, graph = self._facts.platform.workers[worker].name, self._facts.graph
            why = SKIPPED_BEFORE
            raise TaskFailed(
                f"{graph.label(task)} failed on worker {name}: {error}{why if skipped else ''}"
            ) from error

    # Called with the lock held

    def _returned(self, worker: int) -> None:
        """Note that the task of *worker* has been executed."""
        if worker not in self._measuring:
            self._accompanying.discard(worker)
            return
        seconds = self._tasks.elapsed_s(worker)
        # The account may be ahead of this thread's clock.
        end_s = max(self._measuring.pop(worker) + seconds, self.member.view.now)
        heappush(self._ends, (end_s, self._begun[worker], worker))
        self._chooses.measured(self._task[worker], seconds)
        self.effort.executed_s += seconds
        self._measured_s[worker] += seconds
        self.effort.busiest_s = max(self.effort.busiest_s, self._measured_s[worker])

    def _advance(self) -> float | None:
        """Advance the account as far as possible; return the time to wait for a measured task.

        None: the thread that returns first from a task advances it.
        """
        elapsed_s, member = self._tasks.elapsed_s, self.member
        while not self._over.is_set():
            # As in a replay: first all ends at an instant, then the workers in order.
            if not self._ends or self._ends[0][0] > member.view.now:
                member.serve(self._start)
            if not self._ends:
                self._stop_if_stuck_or_done()
                return None
            end_s, _, worker = self._ends[0]
            # No measured task ends before this time on the account.
            horizon_s = min((s + elapsed_s(w) for w, s in self._measuring.items()), default=inf)
            if end_s >= horizon_s:
                return max(end_s - horizon_s, MIN_WAIT_S)
            if worker in self._accompanying:
                return None
            heappop(self._ends)
            self._end(worker, end_s)
        return None

    def _start(self, task: int, worker: int) -> None:
        now, ledger = self.member.view.now, self.member.ledger
        ledger.popped[task] = ledger.start[task] = now
        self._task[worker] = task
        self._executed[worker] = False
        self._begun[worker] = self._starts = self._starts + 1
        before = self._paths.before(task, worker, ledger.ready[task])
        charge_s = self._chooses.charge_s(task, worker, before, now)
        if charge_s is None:
            self.effort.executed += 1
            self._measuring[worker] = now
            self._hand_out(worker)
            for _, _, other in self._ends:
                self._accompany(other)
        else:
            self.effort.skipped += 1
            heappush(self._ends, (now + charge_s, self._begun[worker], worker))
            if self._measuring:
                self._accompany(worker)

    def _accompany(self, worker: int) -> None:
        """Have *worker* execute its charged task, unless it did so already."""
        if not self._company or self._executed[worker]:
            return
        self._accompanying.add(worker)
        self.effort.skipped -= 1
        self.effort.accompanied += 1
        self._hand_out(worker)

    def _hand_out(self, worker: int) -> None:
        """Queue the task of *worker* for execution."""
        self._executed[worker] = True
        self._tasks.expect(worker)
        self._jobs.append(worker)

    def _end(self, worker: int, end_s: float) -> None:
        """Note the end of the task of *worker* on the account, and push released tasks."""
        task, ledger = self._task[worker], self.member.ledger
        released = self.member.end(task, worker, end_s)
        times = ledger.ready[task], ledger.start[task], end_s
        self._paths.ended(task, worker, times, released)
        self._push(released, task)

    def _push(self, released: list[int], released_by: int) -> None:
        member = self.member
        for task in released:
            member.ledger.release(task, member.view.now, released_by)
            member.facts.scheduler.push(task)

    def _stop_if_stuck_or_done(self) -> None:
        facts, ledger = self._facts, self.member.ledger
        if not ledger.all_submitted or self._measuring:
            return
        if self.left and self._error is None:
            now_s = self.member.view.now
            self._error = dropped(facts.scheduler, facts.graph, ledger.state, now_s)
        self._finish()

    def _finish(self) -> None:
        self._over.set()
        self._bell.notify_all()
