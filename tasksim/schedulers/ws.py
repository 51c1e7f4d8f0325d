"""ws and lws: work stealing from a queue per worker."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.base import Scheduler, View

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

    from tasksim.schedulers.queues import PriorityQueue

__all__ = ["LocalityWorkStealing", "WorkStealing"]


class _Queues(dict[int, "PriorityQueue"]):
    """A queue per worker, made at its first use: most of many workers never have a task."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view

    def __missing__(self, worker: int) -> PriorityQueue:
        from tasksim.schedulers.queues import PriorityQueue

        self[worker] = queue = PriorityQueue(self._view)
        return queue


class WorkStealing(Scheduler):
    """Work stealing from the other workers in turn, with a priority queue per worker.

    This is StarPU's ``ws`` (``sched_policies/work_stealing_policy.c``). A task goes to the worker
    that released it if that worker can run it, else round robin (starting with worker 1). The owner
    takes the oldest task of its highest priority, a thief the newest. A victim must be busy, that
    is, its own last pop gave it a task; this protects a task just pushed to an idle worker.
    """

    name: ClassVar[str] = "ws"
    uses_priorities: ClassVar[bool] = True

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues and idle workers."""
        from tasksim.schedulers.victims import Victims

        super().attach(view, rng)
        workers = len(view.workers)
        self._queues = _Queues(view)
        self._waiting = [0] * workers
        self._busy = [False] * workers
        self._victims = Victims(view.workers)
        self._robbable = self._victims.among
        """Per worker, whether it is busy and has tasks in its queue."""
        self._next_victim: dict[int, int] = {}
        self._next_owner = 1 % workers
        self._able_workers: dict[int, list[int]] = {}

    @property
    def robbable(self) -> list[bool]:
        """Per worker, whether it is busy and has tasks in its queue."""
        return self._robbable

    def push(self, task: int) -> None:
        """Put *task* on the queue of its owner, and wake all workers that can run it."""
        self.put(task, self.owner_of(task))
        self.view.wake_all(task)

    def put(self, task: int, owner: int) -> None:
        """Put *task* on the queue of *owner* without waking a worker."""
        self._queues[owner].push(task)
        self._waiting[owner] += 1
        if self._busy[owner] and not self._robbable[owner]:
            self._victims.add(owner)

    def pop(self, worker: int) -> int | None:
        """Return a task of *worker*'s own queue, or a stolen one."""
        task = self.take_own(worker)
        return self._stolen(worker) if task is None and self._victims.all else task

    def take_own(self, worker: int) -> int | None:
        """Return a task of *worker*'s own queue; if there is none, the worker becomes idle."""
        if self._waiting[worker]:
            task = self._queues[worker].pop(worker)
            if task is not None:
                self._took(worker)
                self._busy[worker] = True
                if self._waiting[worker] and not self._robbable[worker]:
                    self._victims.add(worker)
                return task
        self._busy[worker] = False
        if self._robbable[worker]:
            self._victims.discard(worker)
        return None

    def steal(self, victim: int, thief: int) -> int | None:
        """Return the newest task of *victim* that *thief* can run; the thief becomes busy."""
        task = self._queues[victim].pop_newest(thief)
        if task is not None:
            self._took(victim)
            self._busy[thief] = True
            if self._waiting[thief]:
                self._victims.add(thief)
        return task

    def owner_of(self, task: int) -> int:
        """Return the worker whose queue *task* goes to."""
        pusher = self.view.pusher
        if pusher is not None and self.view.can_run(task, pusher):
            return pusher
        able = self._able_to(self.view.able[task])
        owner = able[bisect_left(able, self._next_owner) % len(able)]
        self._next_owner = (owner + 1) % len(self._busy)
        return owner

    def _able_to(self, mask: int) -> list[int]:
        """Return the workers of the classes in *mask*, in order of their number."""
        found = self._able_workers.get(mask)
        if found is None:
            groups = [g.workers for c, g in enumerate(self.view.classes) if mask >> c & 1]
            found = self._able_workers[mask] = sorted(w for group in groups for w in group)
        return found

    def _stolen(self, thief: int) -> int | None:
        """Return the newest task of the first victim that has one for *thief*."""
        for victim in self._in_order(thief):
            task = self.steal(victim, thief)
            if task is not None:
                self._next_victim[thief] = (victim + 1) % len(self._busy)
                return task
        return None

    def _took(self, owner: int) -> None:
        """Note that a task has left the queue of *owner*."""
        self._waiting[owner] -= 1
        if self._robbable[owner] and not self._waiting[owner]:
            self._victims.discard(owner)

    def _in_order(self, thief: int) -> Iterable[int]:
        """Return the victims, from just after the last victim of *thief*."""
        return self._victims.from_number(self._next_victim.get(thief, 0))


class LocalityWorkStealing(WorkStealing):
    """Work stealing from the nearest victim first, StarPU's ``lws``, which is its default.

    Victims with the thief's memory come first, then those of its node; ties are in order of number
    from the thief on, wrapping round. On a machine with one memory, this is the order of worker
    numbers.
    """

    name: ClassVar[str] = "lws"

    def _in_order(self, thief: int) -> Iterable[int]:
        return self._victims.from_nearest(thief)
