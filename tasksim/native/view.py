"""View of a native run: the wall clock, and bells on which worker threads sleep."""

from __future__ import annotations

import threading
from time import perf_counter
from typing import TYPE_CHECKING

from tasksim.native.workers_view import WorkersView

if TYPE_CHECKING:
    from tasksim.runtime.facts import Facts

__all__ = ["ThreadsView"]


class ThreadsView(WorkersView):
    """What the scheduler of *facts* sees of the threads that execute; all of it under *lock*."""

    def __init__(self, facts: Facts, lock: threading.Lock) -> None:
        super().__init__(facts, asleep=False)
        self._bells = [threading.Condition(lock) for _ in facts.platform.workers]
        self.origin = 0.0
        """When the clock was started, on the system's."""

    @property
    def now(self) -> float:
        """The time in seconds since the start of the submission."""
        return perf_counter() - self.origin

    def rouse(self, worker: int) -> None:
        """Ring the bell of *worker*, which has been woken."""
        self._bells[worker].notify()

    # For the threads, not the scheduler

    def wait(self, worker: int) -> None:
        """Wait, as *worker*, for its bell, once."""
        self._bells[worker].wait()

    def ring_all(self) -> None:
        """Let all workers look whether the run is over."""
        for bell in self._bells:
            bell.notify_all()
