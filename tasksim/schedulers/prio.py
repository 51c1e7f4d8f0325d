"""prio: one queue for all workers, sorted by priority."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.base import Scheduler, View
from tasksim.schedulers.queues import PriorityQueue

if TYPE_CHECKING:
    import random

__all__ = ["Prio"]


class Prio(Scheduler):
    """A central queue: highest priority first, first-in first-out within a priority.

    A push wakes one sleeping worker that can run the task. This is StarPU's ``prio``
    (``sched_policies/eager_central_priority_policy.c``).
    """

    name: ClassVar[str] = "prio"
    uses_priorities: ClassVar[bool] = True

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with an empty queue."""
        super().attach(view, rng)
        self._queue = PriorityQueue(view)

    def push(self, task: int) -> None:
        """Insert *task* at its priority and wake one worker for it."""
        self.put(task)
        self.view.wake_any(task)

    def put(self, task: int) -> None:
        """Queue *task* without waking a worker."""
        self._queue.push(task)

    def waiting(self) -> int:
        """Return the number of waiting tasks."""
        return len(self._queue)

    def pop(self, worker: int) -> int | None:
        """Return the oldest of the most urgent tasks that *worker* can run."""
        return self._queue.pop(worker)
