"""The ``eager`` and ``prio`` schedulers, with one queue for all workers.

The first worker to pop gets the first task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.base import Scheduler, View
from tasksim.schedulers.queues import FifoQueue, PriorityQueue

if TYPE_CHECKING:
    import random

__all__ = ["Central", "Eager", "Prio"]


class Central(Scheduler):
    """A central queue; a push wakes one sleeping worker that can run the task."""

    queue: ClassVar[type[FifoQueue] | type[PriorityQueue]]
    """The kind of the queue, which decides the order of tasks."""

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with an empty queue."""
        super().attach(view, rng)
        self._queue = self.queue(view)

    def push(self, task: int) -> None:
        """Queue *task* and wake one worker for it."""
        self.put(task)
        self.view.wake_any(task)

    def put(self, task: int) -> None:
        """Queue *task* without waking a worker."""
        self._queue.push(task)

    def waiting(self) -> int:
        """Return the number of waiting tasks."""
        return len(self._queue)

    def pop(self, worker: int) -> int | None:
        """Return the first task in the queue that *worker* can run."""
        return self._queue.pop(worker)


class Eager(Central):
    """A central first-in first-out queue, without regard to priorities and kernel models.

    A push wakes one sleeping worker that can run the task. This is StarPU's ``eager``
    (``sched_policies/eager_central_policy.c``).
    """

    name: ClassVar[str] = "eager"
    core: ClassVar[str] = "eager"
    as_threads: ClassVar[bool] = True
    queue = FifoQueue


class Prio(Central):
    """A central queue by priority, first-in first-out within a priority.

    A push wakes one sleeping worker that can run the task. This is StarPU's ``prio``
    (``sched_policies/eager_central_priority_policy.c``).
    """

    name: ClassVar[str] = "prio"
    core: ClassVar[str] = "prio"
    as_threads: ClassVar[bool] = True
    uses_priorities: ClassVar[bool] = True
    queue = PriorityQueue
