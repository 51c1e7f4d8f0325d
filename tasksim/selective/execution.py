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

    from tasksim.base.interruption import Interrupts
    from tasksim.kernels.program import Program
    from tasksim.native.processor_time import ThreadAccount
    from tasksim.run.record import TaskTable
    from tasksim.runtime.pathrecords import PathRecords
    from tasksim.runtime.view import Facts
    from tasksim.selective.policies import Chooser

__all__ = ["SKIPPED_BEFORE", "AccountView", "Effort", "Executes", "SelectiveExecution"]


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
        graph, platform = facts.graph, facts.platform
        workers = len(platform.workers)
        self._facts = facts
        self._scheduler = facts.scheduler
        self._tasks = tasks
        self._chooses = chooses
        self._paths = paths
        self._company = company
        self._release = Release(graph, submitted=False)
        self.left = len(graph)
        self._lock = threading.Lock()
        self._bell = threading.Condition(self._lock)
        self._over = threading.Event()
        self._error: BaseException | None = None
        self._view = AccountView(facts)
        self.ledger = Ledger(graph, platform, facts.able)
        self._patience = Patience(facts, self.ledger, self.ledger.idle)
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

    def run(self, rng: random.Random, program: Program, *, pin: bool = True) -> float:
        """Run the graph; return the makespan on the account in seconds."""
        with blaming(self._scheduler, self._facts.graph):
            self._scheduler.attach(self._view, rng)
        names = [worker.name for worker in self._facts.platform.workers]
        self.accounts = conduct(self, names, program, pin=pin, progress=None)
        if self._error is not None:
            raise self._error
        return self.ledger.makespan_s()

    def run_at_once(self, rng: random.Random) -> float:
        """Run the graph in this thread; return the makespan on the account in seconds.

        For tasks that take no time to execute, whatever they take on the account.
        """
        with blaming(self._scheduler, self._facts.graph):
            self._scheduler.attach(self._view, rng)
            self._submit_all()
        self.work(0)
        if self._error is not None:
            raise self._error
        return self.ledger.makespan_s()

    def table(self) -> TaskTable:
        """Return the task table, with times on the account."""
        return self.ledger.table()

    def begin(self) -> None:
        """Do nothing: the account begins at 0."""

    def submit(self, interrupts: Interrupts) -> None:
        """Submit all tasks at time 0 of the account."""
        interrupts.check()
        with self._lock:
            try:
                interrupts.allow()
                with blaming(self._scheduler, self._facts.graph):
                    self._submit_all()
            finally:
                interrupts.hold()
            self._bell.notify()

    def _submit_all(self) -> None:
        self._view.pusher = None
        for task in range(len(self._facts.graph)):
            self._push(self._release.submit(task), -1)
        self.ledger.all_submitted = True

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
                self._error = self._error or blamed(error, self._scheduler, self._facts.graph)
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
        end_s = max(self._measuring.pop(worker) + seconds, self._view.now)
        heappush(self._ends, (end_s, self._begun[worker], worker))
        self._chooses.measured(self._task[worker], seconds)
        self.effort.executed_s += seconds
        self._measured_s[worker] += seconds
        self.effort.busiest_s = max(self.effort.busiest_s, self._measured_s[worker])

    def _advance(self) -> float | None:
        """Advance the account as far as possible; return the time to wait for a measured task.

        None: the thread that returns first from a task advances it.
        """
        elapsed_s = self._tasks.elapsed_s
        while not self._over.is_set():
            # As in a replay: first all ends at an instant, then the workers in order.
            if not self._ends or self._ends[0][0] > self._view.now:
                self._serve()
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

    def _serve(self) -> None:
        """Let all awake workers ask for tasks."""
        view = self._view
        while view.awake:
            awake, view.awake = sorted(view.awake), []
            for worker in awake:
                popped = self._scheduler.pop(worker)
                if popped is None:
                    view.fall_asleep(worker)
                    self._patience.left -= 1
                    if not self._patience.left:
                        self._patience.look(view.now)
                    continue
                task = self.ledger.take(popped, worker, self._scheduler)
                self._scheduler.started(task, worker)
                self._start(task, worker)

    def _start(self, task: int, worker: int) -> None:
        now = self._view.now
        self.ledger.popped[task] = self.ledger.start[task] = now
        self._task[worker] = task
        self._executed[worker] = False
        self._begun[worker] = self._starts = self._starts + 1
        before = self._paths.before(task, worker, self.ledger.ready[task])
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
        task, ledger, view = self._task[worker], self.ledger, self._view
        view.go_on(end_s)
        ledger.end[task] = end_s
        ledger.finish(task)
        self.left -= 1
        self._scheduler.finished(task, worker)
        released = self._release.complete(task)
        times = ledger.ready[task], ledger.start[task], end_s
        self._paths.ended(task, worker, times, released)
        view.pusher = worker
        self._push(released, task)
        view.awake.append(worker)

    def _push(self, released: list[int], released_by: int) -> None:
        for task in released:
            self.ledger.release(task, self._view.now, released_by)
            self._scheduler.push(task)

    def _stop_if_stuck_or_done(self) -> None:
        ledger = self.ledger
        if not ledger.all_submitted or self._measuring:
            return
        if self.left and self._error is None:
            self._error = dropped(self._scheduler, self._facts.graph, ledger.state, self._view.now)
        self._finish()

    def _finish(self) -> None:
        self._over.set()
        self._bell.notify_all()
