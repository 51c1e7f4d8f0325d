"""modular-heft: bounded queues of workers below a sorted central queue, which bind tasks late."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.modular_dmda import ModularDmdas
from tasksim.schedulers.modular_queue import WorkerQueue
from tasksim.schedulers.weights import DEFAULT_GAMMA_US_PER_J, number

if TYPE_CHECKING:
    import random

    from tasksim.schedulers.base import View

__all__ = ["ModularHeft"]


class ModularHeft(ModularDmdas):
    """The ``modular-dmdas`` policy with bounded queues below a central queue.

    This is StarPU's ``modular-heft`` (``modular_heft.c``, ``modular_ez.c``). The queue of a worker
    is full when it has *tasks* tasks (30, StarPU's default of ``STARPU_NTASKS_THRESHOLD``), or when
    its expected work would reach *seconds* (1000 s, the default of ``STARPU_EXP_LEN_THRESHOLD``).
    An empty queue takes any task. A task that finds its queue full stays first in the central
    queue, which is sorted by priority, and holds back the tasks behind it. Whenever a worker asks
    for a task, the policy decides again for as many tasks as fit. Decisions during the pop of a
    task do not count that task: it has left the queue and is not handed out yet.
    """

    name: ClassVar[str] = "modular-heft"

    def __init__(
        self,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = DEFAULT_GAMMA_US_PER_J,
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
        """Add *task* to the central queue, then bind as many tasks as fit."""
        self._above.push(task)
        self._bind()

    def pop(self, worker: int) -> int | None:
        """Return the next task of *worker*'s queue, and fill the room that it leaves."""
        task = super().pop(worker)
        if task is None and self._above:
            self._bind()
            task = super().pop(worker)
        return task

    def _bind(self) -> None:
        """Bind tasks of the central queue to workers until one finds no room."""
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
