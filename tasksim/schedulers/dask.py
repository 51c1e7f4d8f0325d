"""dask: one stack for all; the worker that asks first gets what became ready last."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.base import Scheduler, View

if TYPE_CHECKING:
    import random

__all__ = ["Dask"]

Entry = tuple[int, int, int, int]
"""The end that released a task and its priority, both negated; the push's number; the task."""


class Dask(Scheduler):
    """A central stack: what the last end released comes first, by priority; as Dask's threads.

    What waited for its submission alone is at the bottom, by priority. A push wakes one sleeping
    worker that can run the task. As ``dask/local.py``, with Dask's order as priorities, which
    recorded graphs have.
    """

    name: ClassVar[str] = "dask"

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with an empty stack."""
        super().attach(view, rng)
        self._lanes: dict[int, list[Entry]] = {}  # tasks that the same classes can run share one
        self._ended = [0] * len(view.workers)
        self._ends = 0
        self._pushed = 0

    def finished(self, task: int, worker: int) -> None:  # noqa: ARG002
        """Count the end; what it releases is pushed after this."""
        self._ends += 1
        self._ended[worker] = self._ends

    def push(self, task: int) -> None:
        """Put *task* on the stack and wake somebody for it."""
        pusher = self.view.pusher
        end = 0 if pusher is None else self._ended[pusher]
        self._pushed += 1
        entry = (-end, -self.view.priority[task], self._pushed, task)
        heappush(self._lanes.setdefault(self.view.able[task], []), entry)
        self.view.wake_any(task)

    def pop(self, worker: int) -> int | None:
        """Return the first of the tasks on the stack that *worker* can run."""
        bit = 1 << self.view.class_of[worker]
        lanes = [lane for able, lane in self._lanes.items() if lane and able & bit]
        if not lanes:
            return None
        return heappop(min(lanes, key=lambda lane: lane[0]))[3]
