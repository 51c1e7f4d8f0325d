"""Work stealing: a queue per worker, and idle workers help themselves from the others'."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.base import Scheduler, View
from tasksim.schedulers.queues import PriorityQueue

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

__all__ = ["LocalityWorkStealing", "WorkStealing"]


class WorkStealing(Scheduler):
    """A priority queue per worker; victims are asked in turn.

    A task goes to the worker that released it, if that one can run it, else round robin
    (starting with worker 1). The owner takes the oldest task of its highest priority, a thief the
    newest. A victim must be busy: its own last pop gave it a task, which protects a task just
    pushed to an idle worker. As StarPU's ``ws`` (``sched_policies/work_stealing_policy.c``).
    """

    name: ClassVar[str] = "ws"

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues, nobody busy."""
        super().attach(view, rng)
        workers = len(view.workers)
        self._queues = [PriorityQueue(view) for _ in range(workers)]
        self._busy = [False] * workers
        # Who has tasks in the queue: most thieves of many find that nobody can be robbed.
        self._loaded: set[int] = set()
        self._next_victim = [0] * workers
        self._next_owner = 1 % workers

    def push(self, task: int) -> None:
        """Put *task* on the queue of the worker that released it, and wake everybody."""
        owner = self._owner(task)
        self._queues[owner].push(task)
        self._loaded.add(owner)
        self.view.wake_all(task)

    def pop(self, worker: int) -> int | None:
        """Return a task of *worker*'s own, or a stolen one."""
        self._busy[worker] = False
        task = self._take(worker) if self._loaded else None
        if task is not None:
            self._busy[worker] = True
        return task

    def _owner(self, task: int) -> int:
        pusher = self.view.pusher
        if pusher is not None and self.view.can_run(task, pusher):
            return pusher
        workers = len(self._queues)
        owner = self._next_owner
        while not self.view.can_run(task, owner):
            owner = (owner + 1) % workers
        self._next_owner = (owner + 1) % workers
        return owner

    def _take(self, worker: int) -> int | None:
        if worker in self._loaded:
            task = self._queues[worker].pop(worker)
            if task is not None:
                self._note_taken(worker)
                return task
        busy, loaded = self._busy, self._loaded
        if not any(busy[victim] for victim in loaded):
            return None
        for victim in self._victims(worker):
            if busy[victim] and victim in loaded:
                task = self._queues[victim].pop_newest(worker)
                if task is not None:
                    self._next_victim[worker] = (victim + 1) % len(self._queues)
                    self._note_taken(victim)
                    return task
        return None

    def _note_taken(self, owner: int) -> None:
        if not len(self._queues[owner]):
            self._loaded.discard(owner)

    def _victims(self, worker: int) -> Iterable[int]:
        """Yield all workers, from just after the one that *worker* last robbed."""
        first = self._next_victim[worker]
        yield from range(first, len(self._queues))
        yield from range(first)


class LocalityWorkStealing(WorkStealing):
    """Work stealing from the nearest victim first. As StarPU's ``lws``, its default.

    Near is the same memory, then the same node; among equals, the workers that follow
    the thief, wrapping round. On a machine with one memory that is the order of worker numbers.
    """

    name: ClassVar[str] = "lws"

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues; the order of victims is settled once."""
        super().attach(view, rng)
        self._nearest = [self._by_distance(worker) for worker in range(len(view.workers))]

    def _victims(self, worker: int) -> Iterable[int]:
        return self._nearest[worker]

    def _by_distance(self, worker: int) -> list[int]:
        workers = self.view.workers
        count = len(workers)
        thief = workers[worker]
        others = [(worker + step) % count for step in range(1, count)]
        return sorted(  # stable: equal distances keep their circular order
            others,
            key=lambda w: (workers[w].node != thief.node, workers[w].memory != thief.memory),
        )
