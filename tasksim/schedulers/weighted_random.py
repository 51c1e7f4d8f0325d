"""The ``random`` scheduler, which draws workers in proportion to their speed."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.base import NOMINAL_SPEED, Scheduler, View

if TYPE_CHECKING:
    import random

__all__ = ["Random"]


class Random(Scheduler):
    """A random worker per task, drawn at push with odds in proportion to nominal speeds.

    This is StarPU's ``random`` (``sched_policies/random_policy.c``). It draws *r* uniformly from
    [0, Σ speedup) over the workers that can run the task, and takes the first worker in order of
    number whose cumulated speedup reaches *r*. Each worker runs its own queue in order.
    """

    name: ClassVar[str] = "random"
    core: ClassVar[str] = "random"

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues."""
        super().attach(view, rng)
        self._queues: list[deque[int]] = [deque() for _ in view.workers]
        self._odds: dict[int, tuple[list[int], list[float]]] = {}

    def push(self, task: int) -> None:
        """Draw a worker for *task*."""
        workers, cumulated = self._able_workers(self.view.able[task])
        chosen = workers[bisect_left(cumulated, self.rng.random() * cumulated[-1])]
        self._queues[chosen].append(task)
        if (log := self.view.decisions) is not None:
            log.decided(task, chosen)
            log.queued(task, chosen)
        self.view.wake(chosen)

    def pop(self, worker: int) -> int | None:
        """Return the oldest task of *worker*'s own queue."""
        queue = self._queues[worker]
        return queue.popleft() if queue else None

    def _able_workers(self, able: int) -> tuple[list[int], list[float]]:
        if able not in self._odds:
            view = self.view
            workers = [w.id for w in view.workers if able >> view.class_of[w.id] & 1]
            speeds = [NOMINAL_SPEED.get(view.workers[w].architecture, 0.5) for w in workers]
            self._odds[able] = workers, list(accumulate(speeds))
        return self._odds[able]
