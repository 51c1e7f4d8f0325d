"""Execution of a graph in Python, with worker threads, kernels and the wall clock.

One lock guards the scheduler and the dependencies; kernels run without it, and without Python's
global lock. An idle worker waits on a condition variable of its own.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from tasksim.base.errors import TaskFailed
from tasksim.base.threadclock import has_thread_clock
from tasksim.native.processor_time import ProcessorTime, ProcessorUses
from tasksim.native.pulse import idle_cores, relative_pulse
from tasksim.native.threads import POLL_INTERVAL_S, conduct, finish_under
from tasksim.native.view import ThreadsView
from tasksim.runtime.blame import blamed, blaming
from tasksim.runtime.ledger import Ledger
from tasksim.runtime.livelock import Patience
from tasksim.runtime.release import Release
from tasksim.runtime.rules import dropped

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from tasksim.base.interruption import Interrupts
    from tasksim.base.progress import CountProgress
    from tasksim.kernels.program import Program
    from tasksim.native.processor_time import ThreadAccount
    from tasksim.native.pulse import Idle
    from tasksim.native.threads import EndedTask, OutsideTasks
    from tasksim.run.record import TaskTable
    from tasksim.runtime.pathrecords import PathRecords
    from tasksim.runtime.view import Facts

__all__ = ["Execution"]


class Execution:
    """One native run, with its threads and the record of its tasks.

    ``ledger`` holds the times of each task, in seconds since the start of the submission. *paths*,
    if given, are updated after each task.
    """

    def __init__(
        self,
        facts: Facts,
        program: Program,
        paths: PathRecords | None = None,
        outside: OutsideTasks | None = None,
        processor_time: bool = True,
    ) -> None:
        graph, platform = facts.graph, facts.platform
        self._graph = graph
        self._platform = platform
        self._scheduler = facts.scheduler
        self._program = program
        self._release = Release(graph, submitted=False)
        self.left = len(graph)
        self._lock = threading.Lock()
        self._outside = outside
        self._handed_out: list[int] = []
        self._released_outside = threading.Condition(self._lock)
        self._over = threading.Event()
        self._error: BaseException | None = None
        self.ledger = Ledger(graph, platform, facts.able)
        self._view = ThreadsView(facts, self._lock)
        self._patience = Patience(facts, self.ledger, self.ledger.idle)
        self._paths = paths
        self.accounts: list[ThreadAccount | None] = []
        """Account of each worker's thread, filled in when the thread ends."""
        self._uses = ProcessorUses(len(graph)) if processor_time and has_thread_clock() else None
        self._idle: list[Idle] | None = None
        """Idle state of each worker's core, if pulses are taken."""

    # Called by the main thread

    def run(
        self, rng: random.Random, *, pin: bool = True, progress: CountProgress | None = None
    ) -> float:
        """Execute the graph; return the makespan in seconds.

        Raise :exc:`TaskFailed` if a kernel fails, :exc:`SchedulerError` if the scheduler breaks a
        rule.
        """
        if pin and self._uses is not None:
            self._idle = idle_cores(len(self._platform.workers))
        with blaming(self._scheduler, self._graph):
            self._scheduler.attach(self._view, rng)
        self.accounts = conduct(self, self._platform, self._program, pin=pin, progress=progress)
        if self._error is not None:
            raise self._error
        return self.ledger.makespan_s()

    def table(self) -> TaskTable:
        """Return the task table of the run."""
        table, uses = self.ledger.table(), self._uses
        if uses is None:
            return table
        names = ("cpu_s", "preemptions", "pulse", "beat")
        return replace(table, **{name: getattr(uses, name) for name in names})

    def begin(self) -> None:
        """Start the clock once, before any thread proceeds."""
        self._view.origin = perf_counter()
        if self._outside is not None:
            self._outside.begin(self)

    def submit(self, interrupts: Interrupts) -> None:
        """Submit all tasks in order."""
        for task in range(len(self._graph)):
            self._take_lock(interrupts)
            try:
                if self._over.is_set():
                    return
                self.ledger.submitted[task] = self._view.now
                self._view.pusher = None
                self._push_interruptibly(self._release.submit(task), interrupts)
            finally:
                self._lock.release()
        self._take_lock(interrupts)
        try:
            self.ledger.all_submitted = True
            self._stop_if_stuck_or_done()
        finally:
            self._lock.release()

    def _push_interruptibly(self, released: list[int], interrupts: Interrupts) -> None:
        """Push tasks; let signals interrupt a scheduler that does not return."""
        try:
            interrupts.allow()
            with blaming(self._scheduler, self._graph):
                self._push(released, -1)
        finally:
            interrupts.hold()

    def _take_lock(self, interrupts: Interrupts) -> None:
        """Take the lock, or raise an interruption: a scheduler may never release it."""
        interrupts.check()
        while not self._lock.acquire(timeout=POLL_INTERVAL_S):
            interrupts.check()

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

    def work(self, worker: int) -> None:
        """Execute tasks as *worker* until the run is over."""
        account: ProcessorTime | None = None
        try:  # also around the account: nobody else ends a run whose worker has failed
            if self._uses is not None:
                idle = self._idle
                pulse = None if idle is None else relative_pulse(idle[worker])
                account = ProcessorTime(self._uses, pulse=pulse)
                account.begin(perf_counter())
            with self._lock:
                task = self._next(worker)
            while task is not None:
                self._execute(task, worker, account)
                if self._over.is_set():
                    break
                with self._lock:
                    self._complete(task, worker)
                    task = self._next(worker)
        except BaseException as error:
            with self._lock:
                self._error = self._error or blamed(error, self._scheduler, self._graph)
                self._finish()
        if account is not None:
            account.finish(perf_counter())

    def _execute(self, task: int, worker: int, account: ProcessorTime | None) -> None:
        run, origin = self._program.run, self._view.origin
        begun = perf_counter()
        # Reading the clocks takes time that belongs to no task: start again after it.
        if account is not None and account.look_after_pause(begun):
            begun = perf_counter()
        try:
            run(task, worker)
        except (Exception, SystemExit) as error:
            name = self._platform.workers[worker].name
            label = (self._outside or self._graph).label(task)
            raise TaskFailed(f"{label} failed on worker {name}: {error}") from error
        ended = perf_counter()
        if account is not None:
            account.ended(task, begun, ended)
        self.ledger.start[task] = begun - origin
        self.ledger.end[task] = ended - origin

    # Called by the outside thread

    @property
    def origin_s(self) -> float:
        """Start of the run's clock, as a time of :func:`time.perf_counter`."""
        return self._view.origin

    def handed_out(self, busy_s: float, idle_s: float) -> list[int] | None:
        """Return newly released outside tasks, each once; None at the end of the run.

        If there are none, wait up to *idle_s* if a worker sleeps, otherwise up to *busy_s*.
        """
        with self._lock:
            if not self._handed_out and not self._over.is_set():
                self._released_outside.wait(idle_s if self._view.any_asleep() else busy_s)
            found, self._handed_out = self._handed_out, []
            return None if self._over.is_set() else found

    def completed(self, ended: Sequence[EndedTask]) -> None:
        """Note that the outside tasks *ended*."""
        with self._lock:
            if self._over.is_set():
                return
            try:
                for task, start_s, end_s in ended:
                    self.ledger.start[task], self.ledger.end[task] = start_s, end_s
                    self.ledger.finish(task)
                    self.left -= 1
                    self._release_successors(task, None)
                self._stop_if_stuck_or_done()
            except BaseException as error:
                self._error = self._error or blamed(error, self._scheduler, self._graph)
                self._finish()

    # Called with the lock held

    def _next(self, worker: int) -> int | None:
        """Return the next task of *worker*, after a sleep if needed; None when the run is over."""
        while not self._over.is_set():
            popped = self._scheduler.pop(worker)
            if popped is not None:
                task = self.ledger.take(popped, worker, self._scheduler)
                self._scheduler.started(task, worker)
                return task
            self._sleep(worker)
        return None

    def _sleep(self, worker: int) -> None:
        """Wait until *worker* is woken or the run is over."""
        patience, view = self._patience, self._view
        patience.left -= 1
        if not patience.left:
            patience.look(view.now)
        view.fall_asleep(worker)
        self._stop_if_stuck_or_done()
        while view.sleeping(worker) and not self._over.is_set():
            view.wait(worker)

    def _complete(self, task: int, worker: int) -> None:
        self.ledger.finish(task)
        self.left -= 1
        self._scheduler.finished(task, worker)
        self._release_successors(task, worker)
        if not self.left:
            self._stop_if_stuck_or_done()

    def _release_successors(self, task: int, worker: int | None) -> None:
        released = self._release.complete(task)
        if self._paths is not None and worker is not None:
            ledger = self.ledger
            times = ledger.ready[task], ledger.start[task], ledger.end[task]
            self._paths.ended(task, worker, times, released)
        if released:
            self._view.pusher = worker
            self._push(released, task)

    def _push(self, released: list[int], released_by: int) -> None:
        outside = self._outside
        for task in released:
            self.ledger.release(task, self._view.now, released_by)
            if outside is not None and outside.tasks[task]:
                self.ledger.hand_over(task)
                self._handed_out.append(task)
                self._released_outside.notify()
            else:
                self._scheduler.push(task)

    def _stop_if_stuck_or_done(self) -> None:
        ledger = self.ledger
        if not ledger.all_submitted:
            return
        # Without submissions, running tasks or awake workers nothing can release the remaining
        # tasks.
        stuck = self._view.all_asleep() and not ledger.taken
        if self.left and stuck and self._error is None:
            self._error = dropped(self._scheduler, self._graph, ledger.state, self._view.now)
        if not self.left or self._error is not None:
            self._finish()

    def _finish(self) -> None:
        self._over.set()
        self._view.ring_all()
        self._released_outside.notify()
