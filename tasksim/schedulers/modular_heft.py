"""modular-heft: bounded queues below a sorted one; tasks are bound to a worker late."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.modular_dmda import ModularDmdas
from tasksim.schedulers.modular_queue import WorkerQueue
from tasksim.schedulers.weights import GAMMA, number

if TYPE_CHECKING:
    import random

    from tasksim.schedulers.base import View

__all__ = ["ModularHeft"]


class ModularHeft(ModularDmdas):
    """As ``modular-dmdas`` with bounded queues: what finds one full waits centrally.

    A worker's queue takes no task when it holds *tasks* of them (30, StarPU's default of
    ``STARPU_NTASKS_THRESHOLD``), or when its expected work would reach *seconds* (1000 s, that of
    ``STARPU_EXP_LEN_THRESHOLD``; a queue that is empty takes any). The task then stays first in
    the central queue, sorted by priority, and holds back those behind it; whenever a worker asks
    for a task, as many as fit are decided anew. As StarPU's ``modular-heft``
    (``modular_heft.c``, ``modular_ez.c``). Decisions while a worker takes a task do not count
    that task: it has left the queue and is not yet in the worker's hands.
    """

    name: ClassVar[str] = "modular-heft"

    def __init__(
        self,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = GAMMA,
        idle_power: float | None = None,
        tasks: int = 30,
        seconds: float = 1000.0,
    ) -> None:
        super().__init__(alpha, beta, gamma, idle_power)
        self.tasks = number(self.name, "tasks", tasks, 1.0)
        self.seconds = number(self.name, "seconds", seconds)

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues."""
        super().attach(view, rng)
        self._above = WorkerQueue(view, by_priority=True, ready_first=False)

    def push(self, task: int) -> None:
        """Queue *task* centrally, then bind what can be bound."""
        self._above.push(task)
        self._bind()

    def pop(self, worker: int) -> int | None:
        """Return the next task of *worker*'s queue; the room that it leaves is filled."""
        task = super().pop(worker)
        if task is None and self._above:
            self._bind()
            task = super().pop(worker)
        return task

    def _bind(self) -> None:
        """Decide for tasks of the central queue until one finds no room."""
        above = self._above
        while above:
            task = above.pop()
            if task is not None and not self._place(task):
                above.give_back(task)
                return

    def _left(self, worker: int) -> None:  # noqa: ARG002
        self._bind()

    def _full(self, worker: int, duration: float) -> bool:
        queue = self._queues[worker]
        if not queue:
            return False
        return len(queue) >= self.tasks or self._expected[worker].queued + duration >= self.seconds
