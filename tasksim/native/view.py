"""View of a native run: the wall clock, and bells on which worker threads sleep."""

from __future__ import annotations

import threading
from time import perf_counter
from typing import TYPE_CHECKING

from tasksim.runtime.view import RunView

if TYPE_CHECKING:
    from tasksim.runtime.facts import Facts

__all__ = ["ThreadsView"]


class ThreadsView(RunView):
    """What the scheduler of *facts* sees of the threads that execute; all of it under *lock*."""

    def __init__(self, facts: Facts, lock: threading.Lock) -> None:
        super().__init__(facts)
        workers = facts.platform.workers
        self._bells = [threading.Condition(lock) for _ in workers]
        self._asleep = [False] * len(workers)
        self.origin = 0.0
        """When the clock was started, on the system's."""

    @property
    def now(self) -> float:
        """The time in seconds since the start of the submission."""
        return perf_counter() - self.origin

    def sleeping(self, worker: int) -> bool:
        """Return whether *worker* sleeps."""
        return self._asleep[worker]

    def wake(self, worker: int) -> None:
        """Let *worker* ask for a task, if it sleeps."""
        worker = self.known_worker(worker)
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

    # For the threads, not the scheduler

    def fall_asleep(self, worker: int) -> None:
        """Note that *worker* sleeps: its pop gave nothing."""
        self._asleep[worker] = True

    def wait(self, worker: int) -> None:
        """Wait, as *worker*, for its bell, once."""
        self._bells[worker].wait()

    def all_asleep(self) -> bool:
        """Return whether all workers sleep."""
        return all(self._asleep)

    def any_asleep(self) -> bool:
        """Return whether a worker sleeps."""
        return any(self._asleep)

    def ring_all(self) -> None:
        """Let all workers look whether the run is over."""
        for bell in self._bells:
            bell.notify_all()
