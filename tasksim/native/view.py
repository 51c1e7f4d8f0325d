"""Schedulers' views of runs on this machine, with sleeping workers and the wall clock.

:class:`WorkersView` keeps the sleepers, also for selective runs, whose clock is an account.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from time import perf_counter
from typing import TYPE_CHECKING

from tasksim.runtime.view import RunView

if TYPE_CHECKING:
    from tasksim.runtime.view import Facts

__all__ = ["ThreadsView", "WorkersView"]


class WorkersView(RunView):
    """The scheduler's view of workers, which are all *asleep* at first, or all awake.

    Subclasses define in :meth:`rouse` how a woken worker asks for a task.
    """

    def __init__(self, facts: Facts, *, asleep: bool) -> None:
        super().__init__(facts)
        self._asleep = [asleep] * len(facts.platform.workers)

    @abstractmethod
    def rouse(self, worker: int) -> None:
        """Let *worker*, which slept until now, ask for a task."""

    def sleeping(self, worker: int) -> bool:
        """Return whether *worker* sleeps."""
        return self._asleep[worker]

    def wake(self, worker: int) -> None:
        """Let *worker* ask for a task, if it sleeps."""
        worker = self.known_worker(worker)
        if self._asleep[worker]:
            self._asleep[worker] = False
            self.rouse(worker)

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

    # Called by the code that runs the workers, not by the scheduler

    def fall_asleep(self, worker: int) -> None:
        """Note that *worker* sleeps: its pop returned no task."""
        self._asleep[worker] = True

    def all_asleep(self) -> bool:
        """Return whether all workers sleep."""
        return all(self._asleep)

    def any_asleep(self) -> bool:
        """Return whether a worker sleeps."""
        return any(self._asleep)


class ThreadsView(WorkersView):
    """The scheduler's view of the worker threads; every call holds *lock*."""

    def __init__(self, facts: Facts, lock: threading.Lock) -> None:
        super().__init__(facts, asleep=False)
        self._bells = [threading.Condition(lock) for _ in facts.platform.workers]
        self.origin = 0.0
        """Start of the run's clock, as a time of :func:`time.perf_counter`."""

    @property
    def now(self) -> float:
        """Time in seconds since the start of the submission."""
        return perf_counter() - self.origin

    def rouse(self, worker: int) -> None:
        """Notify *worker*, which has been woken."""
        self._bells[worker].notify()

    # Called by the worker threads, not by the scheduler

    def wait(self, worker: int) -> None:
        """Wait once for a notification, as *worker*."""
        self._bells[worker].wait()

    def ring_all(self) -> None:
        """Make all workers check whether the run is over."""
        for bell in self._bells:
            bell.notify_all()
