"""modular-eager and modular-prio: one central queue, and every push wakes all workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.base import Scheduler, View
from tasksim.schedulers.modular_queue import WorkerQueue

if TYPE_CHECKING:
    import random

__all__ = ["ModularEager", "ModularPrio"]


class ModularEager(Scheduler):
    """A central first-in first-out queue whose first task holds back the tasks behind it.

    This is StarPU's ``modular-eager`` (``modular_eager.c``, ``component_eager.c``). A push wakes
    all workers. A worker can take only the first task; if it cannot run that task, it wakes a
    worker that can and gets nothing.
    """

    name: ClassVar[str] = "modular-eager"
    by_priority: ClassVar[bool] = False

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with an empty queue."""
        super().attach(view, rng)
        self._queue = WorkerQueue(view, by_priority=self.by_priority, ready_first=False)
        self._everybody = [worker.id for worker in view.workers]

    def push(self, task: int) -> None:
        """Append *task* and wake all workers."""
        self._queue.push(task)
        for worker in self._everybody:
            self.view.wake(worker)

    def pop(self, worker: int) -> int | None:
        """Return the first task if *worker* can run it."""
        task = self._queue.first()
        if task is None:
            return None
        if not self.view.can_run(task, worker):
            self.view.wake_any(task)
            return None
        return self._queue.pop()


class ModularPrio(ModularEager):
    """The ``modular-eager`` policy with the central queue sorted by priority."""

    name: ClassVar[str] = "modular-prio"
    uses_priorities: ClassVar[bool] = True
    by_priority: ClassVar[bool] = True
