"""View of a native run: the wall clock, and condition variables of sleeping worker threads."""

from __future__ import annotations

import threading
from time import perf_counter
from typing import TYPE_CHECKING

from tasksim.native.workers_view import WorkersView

if TYPE_CHECKING:
    from tasksim.runtime.facts import Facts

__all__ = ["ThreadsView"]


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
