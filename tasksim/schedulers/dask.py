"""The ``dask`` scheduler, with one stack for all workers.

The first worker to pop gets the newest task.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.base import Scheduler, View

if TYPE_CHECKING:
    import random

__all__ = ["Dask"]

QueuedTask = tuple[int, int, int, int]
"""Number of the end that released a task and its priority, both negated; number of the push; the
task."""


class Dask(Scheduler):
    """A central stack, as Dask's threads use it.

    Tasks released by the last end come first, by priority. Tasks that waited only for their
    submission are at the bottom, by priority. A push wakes one sleeping worker that can run the
    task. This is the policy of ``dask/local.py``. Priorities are Dask's order, which recorded
    graphs have.
    """

    name: ClassVar[str] = "dask"
    core: ClassVar[str] = "dask"

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with an empty stack."""
        super().attach(view, rng)
        self._lanes: dict[int, list[QueuedTask]] = {}  # one per set of classes that can run a task
        self._ended = [0] * len(view.workers)
        self._ends = 0
        self._pushed = 0

    def finished(self, task: int, worker: int) -> None:  # noqa: ARG002
        """Count the end; the tasks that it releases are pushed after this."""
        self._ends += 1
        self._ended[worker] = self._ends

    def push(self, task: int) -> None:
        """Put *task* on the stack and wake one worker for it."""
        pusher = self.view.pusher
        end = 0 if pusher is None else self._ended[pusher]
        self._pushed += 1
        entry = (-end, -self.view.priority[task], self._pushed, task)
        heappush(self._lanes.setdefault(self.view.able[task], []), entry)
        if (log := self.view.decisions) is not None:
            log.queued(task, log.shared(), *entry[:2])
        self.view.wake_any(task)

    def pop(self, worker: int) -> int | None:
        """Return the topmost task on the stack that *worker* can run."""
        bit = 1 << self.view.class_of[worker]
        lanes = [lane for able, lane in self._lanes.items() if lane and able & bit]
        if not lanes:
            return None
        return heappop(min(lanes, key=lambda lane: lane[0]))[3]
