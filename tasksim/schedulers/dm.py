"""Each task to the worker that is expected to end it first."""

from __future__ import annotations

from collections import deque
from math import inf, isnan
from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.base import Scheduler, View
from tasksim.schedulers.expected import ExpectedEnds

if TYPE_CHECKING:
    import random

__all__ = ["DequeModel"]


class DequeModel(Scheduler):
    """Expected end times from kernel models decide at push; each worker runs its own queue.

    As StarPU's ``dm`` (``sched_policies/deque_modeling_policy_data_aware.c``). Per worker it
    keeps what it believes: when the tasks handed out are done (``expected_start``), how long
    those in the queue take (``expected_length``), and how long those handed out
    and not finished take (``pipeline``). Real durations never enter: a task that ends
    early leaves the expected start late until the worker's next pop or start.
    Equal expected ends go to the worker of lowest number.
    """

    name: ClassVar[str] = "dm"
    needs_estimates: ClassVar[bool] = True

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues."""
        super().attach(view, rng)
        workers = len(view.workers)
        self._queues: list[deque[int]] = [deque() for _ in range(workers)]
        self._expected_start = [0.0] * workers
        self._expected_length = [0.0] * workers
        self._pipeline = [0.0] * workers
        self._waiting = [0] * workers
        self._believed = [0.0] * len(view.priority)
        self._ends = [
            ExpectedEnds(group.workers, self._expected_start, self._expected_length)
            for group in view.classes
        ]

    def push(self, task: int) -> None:
        """Decide for *task*: the worker with the earliest expected end."""
        worker, length = self._decide(task)
        now = self.view.now
        if self._expected_start[worker] < now:
            self._expected_start[worker] = now
        self._expected_length[worker] += length
        self._changed(worker)
        self._believed[task] = length
        self._waiting[worker] += 1
        self._queues[worker].append(task)
        self.view.prefetch(task, self.view.workers[worker].memory)
        self.view.wake(worker)

    def pop(self, worker: int) -> int | None:
        """Return the oldest task of *worker*'s own queue."""
        now = self.view.now
        queue = self._queues[worker]
        if queue:
            self._expected_start[worker] = now + self._pipeline[worker]
        elif self._expected_start[worker] < now:
            self._expected_start[worker] = now
        self._changed(worker)
        return queue.popleft() if queue else None

    def started(self, task: int, worker: int) -> None:
        """Move *task* from what is queued to what is handed out."""
        length = self._believed[task]
        self._expected_length[worker] = max(0.0, self._expected_length[worker] - length)
        self._pipeline[worker] += length
        self._expected_start[worker] = self.view.now + self._pipeline[worker]
        self._changed(worker)

    def finished(self, task: int, worker: int) -> None:
        """Forget *task*."""
        self._waiting[worker] -= 1
        self._pipeline[worker] = max(0.0, self._pipeline[worker] - self._believed[task])
        start = self.view.now + self._pipeline[worker]
        if self._expected_start[worker] < start:
            self._expected_start[worker] = start
            self._changed(worker)

    def _changed(self, worker: int) -> None:
        self._ends[self.view.class_of[worker]].changed(worker)

    def _decide(self, task: int) -> tuple[int, float]:
        """Return the worker and the expected duration of *task* there.

        A task whose duration is not known somewhere goes to the able worker with the fewest
        tasks waiting, and counts for nothing.
        """
        view, now = self.view, self.view.now
        best, best_end, best_length = -1, inf, 0.0
        for ends, estimates in zip(self._ends, view.estimates, strict=True):
            length = estimates[task]
            if length == inf:
                continue
            if isnan(length) or length == 0.0:
                return self._least_loaded(task), 0.0
            end, worker = ends.earliest(now)
            end += length
            if end < best_end or (end == best_end and worker < best):
                best, best_end, best_length = worker, end, length
        return best, best_length

    def _least_loaded(self, task: int) -> int:
        able = [w.id for w in self.view.workers if self.view.can_run(task, w.id)]
        return min(able, key=lambda worker: (self._waiting[worker], worker))
