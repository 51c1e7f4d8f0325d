"""eager: one queue for all workers; the first worker to ask gets the oldest task."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.base import Scheduler, View
from tasksim.schedulers.queues import FifoQueue

if TYPE_CHECKING:
    import random

__all__ = ["Eager"]


class Eager(Scheduler):
    """A central first-in first-out queue, without regard to priorities and kernel models.

    A push wakes one sleeping worker that can run the task. This is StarPU's ``eager``
    (``sched_policies/eager_central_policy.c``).
    """

    name: ClassVar[str] = "eager"

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with an empty queue."""
        super().attach(view, rng)
        self._queue = FifoQueue(view)

    def push(self, task: int) -> None:
        """Append *task* and wake one worker for it."""
        self.put(task)
        self.view.wake_any(task)

    def put(self, task: int) -> None:
        """Queue *task* without waking a worker."""
        self._queue.push(task)

    def waiting(self) -> int:
        """Return the number of waiting tasks."""
        return len(self._queue)

    def pop(self, worker: int) -> int | None:
        """Return the oldest task that *worker* can run."""
        return self._queue.pop(worker)
