"""The native runtime: worker threads, real kernels, the wall clock.

One lock guards the scheduler and the dependencies; kernels run outside it, and outside
Python's global lock. A worker that finds no task waits on a bell of its own.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import TYPE_CHECKING

from tasksim.base.errors import TaskFailed
from tasksim.base.interruption import Interrupts
from tasksim.runtime.release import Release
from tasksim.runtime.rules import DONE, READY, TAKEN, WAITING, dropped, illegal_pop
from tasksim.runtime.view import Table

if TYPE_CHECKING:
    import random

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Program
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["Execution", "Progress", "pin_thread", "usable_cores"]

SWITCH_INTERVAL_S = 1e-4
"""How long a thread may keep Python's lock from one that asks for it. The default, 5 ms, is ten
times a typical task: a worker back from its kernel would wait for the submission to pause."""

LOOK_S = 0.2
"""How often the main thread, while it waits, looks for signals and tells the progress: often enough
for a person, too seldom to cost a run anything."""

PATIENCE_S = 2.0
"""How long an interrupted run waits for the scheduler to return from what it is doing."""

LEAVE_S = 0.3
"""How long an interrupted run waits for the tasks under way: what a person takes for at once. Many
times a usual task, so that threads are left behind only where tasks are long; a kernel in C cannot
be stopped from without."""

Progress = Callable[[int, int], None]
"""Called now and then with the number of tasks done and of all tasks."""


class Execution(Table):
    """One native run: the view that its *scheduler* sees, and the threads that execute.

    After :meth:`run`, the lists ``submitted, ready, start, end`` (seconds since the start of
    the submission), ``worker`` and ``released_by`` have an entry per task.
    """

    def __init__(
        self,
        graph: TaskGraph,
        platform: Platform,
        scheduler: Scheduler,
        program: Program,
        estimates: Sequence[Sequence[float]],
        able: Sequence[int],
    ) -> None:
        super().__init__(graph, platform, estimates, able)
        self._graph = graph
        self._scheduler = scheduler
        self._program = program
        self._release = Release(graph, submitted=False)
        tasks, workers = len(graph), len(platform.workers)
        self.submitted = [0.0] * tasks
        self.ready = [0.0] * tasks
        self.start = [0.0] * tasks
        self.end = [0.0] * tasks
        self.worker = [-1] * tasks
        self.released_by = [-1] * tasks
        self._state = [WAITING] * tasks
        self._left = tasks
        self._all_submitted = False
        self._lock = threading.Lock()
        self._bells = [threading.Condition(self._lock) for _ in range(workers)]
        self._asleep = [False] * workers
        self._over = threading.Event()
        self._error: BaseException | None = None
        self._origin = 0.0

    # What the scheduler sees and asks for; always under the lock

    @property
    def now(self) -> float:
        """The time in seconds since the start of the submission."""
        return perf_counter() - self._origin

    def sleeping(self, worker: int) -> bool:
        """Return whether *worker* sleeps."""
        return self._asleep[worker]

    def wake(self, worker: int) -> None:
        """Let *worker* ask for a task, if it sleeps."""
        worker = self.known_worker(worker, self._scheduler.name)
        if self._asleep[worker]:
            self._asleep[worker] = False
            self._bells[worker].notify()

    def wake_any(self, task: int) -> None:
        """Wake the sleeping worker of lowest number that can run *task*."""
        for worker, asleep in enumerate(self._asleep):
            if asleep and self.can_run(task, worker):
                self.wake(worker)
                return

    def wake_all(self, task: int) -> None:
        """Wake every sleeping worker that can run *task*."""
        for worker, asleep in enumerate(self._asleep):
            if asleep and self.can_run(task, worker):
                self.wake(worker)

    # The main thread

    def run(
        self, rng: random.Random, *, pin: bool = True, progress: Progress | None = None
    ) -> float:
        """Execute the graph; return the makespan in seconds.

        Raises :exc:`TaskFailed` when a kernel does, :exc:`SchedulerError` when the scheduler
        breaks a rule. However it ends, no thread is left behind, but for a scheduler that does
        not return, and, after an interruption, for tasks that take long: their threads end with
        these tasks, or with the process.
        """
        self._scheduler.attach(self, rng)
        start = threading.Barrier(len(self.workers) + 1, action=self._begin)
        cores = _cores_for(len(self.workers)) if pin else None
        threads = [
            threading.Thread(target=self._work, args=(w.id, start, cores), name=w.name, daemon=True)
            for w in self.workers
        ]
        # Interruptions wait until they are looked for: one that came while the main thread takes
        # or gives back the lock would leave it locked.
        patience_s: float | None = None
        with _undisturbed(), Interrupts(held=True) as interrupts:
            try:
                for thread in threads:
                    thread.start()
                start.wait()
                self._submit(interrupts)
                self._wait(progress, interrupts)
                interrupts.check()
            except KeyboardInterrupt:
                self._over.set()  # before anything else: no worker begins another task
                _interrupt(self._program)
                patience_s = LEAVE_S
                raise
            finally:
                start.abort()  # where the main thread was interrupted before it let them go
                if self._stop():
                    _join(threads, patience_s)
        if self._error is not None:
            raise self._error
        return max(self.end, default=0.0)

    def _begin(self) -> None:
        """Start the clock, once: before any thread goes on."""
        self._origin = perf_counter()

    def _submit(self, interrupts: Interrupts) -> None:
        for task in range(len(self._graph)):
            self._take_lock(interrupts)
            try:
                if self._over.is_set():
                    return
                self.submitted[task] = self.now
                self.pusher = None
                self._push_interruptibly(self._release.submit(task), interrupts)
            finally:
                self._lock.release()
        self._take_lock(interrupts)
        try:
            self._all_submitted = True
            self._stop_if_stuck_or_done()
        finally:
            self._lock.release()

    def _push_interruptibly(self, released: list[int], interrupts: Interrupts) -> None:
        """Push tasks; an interruption is raised even if the scheduler does not return."""
        try:
            interrupts.allow()
            self._push(released)
        finally:
            interrupts.hold()

    def _take_lock(self, interrupts: Interrupts) -> None:
        """Take the lock, unless that is interrupted: a scheduler may never give it back."""
        interrupts.check()
        while not self._lock.acquire(timeout=LOOK_S):
            interrupts.check()

    def _wait(self, progress: Progress | None, interrupts: Interrupts) -> None:
        total = len(self._graph)
        over = False
        while not over:
            over = self._over.wait(LOOK_S)
            interrupts.check()
            if progress is not None:
                progress(total - self._left, total)

    def _stop(self) -> bool:
        """End the run; return False if a scheduler that does not return holds the lock."""
        if not self._lock.acquire(timeout=PATIENCE_S):
            self._over.set()
            return False
        try:
            self._finish()
        finally:
            self._lock.release()
        return True

    # The worker threads

    def _work(self, worker: int, start: threading.Barrier, cores: list[int] | None) -> None:
        pin_thread(cores[worker] if cores else None)
        with suppress(threading.BrokenBarrierError):
            start.wait()
        try:
            with self._lock:
                task = self._next(worker)
            while task is not None:
                self._execute(task, worker)
                if self._over.is_set():
                    return
                with self._lock:
                    self._complete(task, worker)
                    task = self._next(worker)
        except BaseException as error:
            with self._lock:
                self._error = self._error or error
                self._finish()

    def _execute(self, task: int, worker: int) -> None:
        run, origin = self._program.run, self._origin
        begun = perf_counter()
        try:
            run(task, worker)
        except Exception as error:
            name = self.workers[worker].name
            label = self._graph.label(task)
            raise TaskFailed(f"{label} failed on worker {name}: {error}") from error
        ended = perf_counter()
        self.start[task] = begun - origin
        self.end[task] = ended - origin

    # Under the lock

    def _next(self, worker: int) -> int | None:
        """Return the next task of *worker*, sleeping until there is one; None when all is over."""
        while not self._over.is_set():
            task = self._scheduler.pop(worker)
            if task is not None:
                self._take(task, worker)
                return task
            self._asleep[worker] = True
            self._stop_if_stuck_or_done()
            while self._asleep[worker] and not self._over.is_set():
                self._bells[worker].wait()
        return None

    def _take(self, task: int, worker: int) -> None:
        if (
            task.__class__ is not int
            or not 0 <= task < len(self._state)
            or self._state[task] != READY
            or not self.can_run(task, worker)
        ):
            name = self.workers[worker].name
            raise illegal_pop(self._scheduler.name, self._graph, self._state, task, name)
        self._state[task] = TAKEN
        self.worker[task] = worker
        self._scheduler.started(task, worker)

    def _complete(self, task: int, worker: int) -> None:
        self._state[task] = DONE
        self._left -= 1
        self._scheduler.finished(task, worker)
        released = self._release.complete(task)
        if released:
            self.pusher = worker
            for successor in released:
                self.released_by[successor] = task
            self._push(released)
        if not self._left:
            self._stop_if_stuck_or_done()

    def _push(self, released: list[int]) -> None:
        for task in released:
            self.ready[task] = self.now
            self._state[task] = READY
            self._scheduler.push(task)

    def _stop_if_stuck_or_done(self) -> None:
        if not self._all_submitted:
            return
        if self._left and all(self._asleep) and self._error is None:
            self._error = dropped(self._scheduler.name, self._graph, self._state, self.now)
        if not self._left or self._error is not None:
            self._finish()

    def _finish(self) -> None:
        self._over.set()
        for bell in self._bells:
            bell.notify_all()


def _join(threads: Sequence[threading.Thread], patience_s: float | None) -> None:
    """Wait until *threads* have ended, but no longer than *patience_s* for all; None: for ever."""
    begun = perf_counter()
    for thread in filter(threading.Thread.is_alive, threads):
        left = None if patience_s is None else max(0.0, begun + patience_s - perf_counter())
        thread.join(left)


def _interrupt(program: Program) -> None:
    """Let the tasks under way end early, where *program* can do that."""
    interrupt = getattr(program, "interrupt", None)
    if interrupt is not None:
        interrupt()


def usable_cores() -> list[int]:
    """Return the numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def pin_thread(core: int | None) -> None:
    """Keep the calling thread on *core*, where the system allows it; None: anywhere."""
    if core is not None and hasattr(os, "sched_setaffinity"):
        with suppress(OSError):  # a container may forbid it; the run is as good
            os.sched_setaffinity(0, {core})


def _cores_for(workers: int) -> list[int] | None:
    """Return a core per worker, None where there are too few."""
    cores = usable_cores()
    return cores if workers <= len(cores) else None


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep the garbage collector and long turns of Python's lock out of the measurement."""
    interval = sys.getswitchinterval()
    was_enabled = gc.isenabled()
    gc.disable()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        if was_enabled:
            gc.enable()
