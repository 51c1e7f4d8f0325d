"""The ``ws`` and ``lws`` schedulers, which steal work from a queue per worker."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.base import Scheduler, View

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator, Sequence

    from tasksim.platform.description import Worker
    from tasksim.schedulers.queues import PriorityQueue

__all__ = ["LocalityWorkStealing", "Victims", "WorkStealing"]


class Victims:
    """The set of workers that tasks can be stolen from; at first, it is empty."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._workers = workers
        self.among = [False] * len(workers)
        """Per worker, whether it is a victim."""
        self.all: list[int] = []
        """The victims in order of number."""
        places = {(worker.node, worker.memory) for worker in workers}
        nodes = {node for node, _ in places}
        # Levels share a list if there is only one node, or only one memory per node.
        self._of_node = {node: self.all if len(nodes) == 1 else [] for node in nodes}
        one_each = len(places) == len(nodes)
        self._of_place = {p: self._of_node[p[0]] if one_each else [] for p in places}
        self._several = len(places) > 1
        self._shared = len({memory for _, memory in places}) < len(places)
        """Whether workers of several nodes share a memory."""

    def add(self, worker: int) -> None:
        """Add *worker*, which is not a victim yet."""
        self.among[worker] = True
        insort(self.all, worker)
        if self._several:
            for members in self._others(worker):
                insort(members, worker)

    def discard(self, worker: int) -> None:
        """Remove *worker*, which is a victim."""
        self.among[worker] = False
        del self.all[bisect_left(self.all, worker)]
        if self._several:
            for members in self._others(worker):
                del members[bisect_left(members, worker)]

    def from_number(self, first: int) -> Iterator[int]:
        """Return all victims in order of number, from *first* on, wrapping round."""
        return _around(self.all, first)

    def from_nearest(self, thief: int) -> Iterator[int]:
        """Return all victims by their distance from *thief*.

        Victims with the same memory and node come first, then those of the same node, then those
        with the same memory, then the others. Ties are in order of number from *thief* on, wrapping
        round.
        """
        return self._by_distance(thief) if self._several else _around(self.all, thief + 1)

    def _by_distance(self, thief: int) -> Iterator[int]:
        own = self._workers[thief]
        place = self._of_place[own.node, own.memory]
        yield from _around(place, thief + 1)
        node = self._of_node[own.node]
        if node is not place:
            for worker in _around(node, thief + 1):
                if self._workers[worker].memory != own.memory:
                    yield worker
        if node is not self.all:
            workers = self._workers
            others = (w for w in _around(self.all, thief + 1) if workers[w].node != own.node)
            if self._shared:  # the sort is stable, so it keeps the order of ties
                yield from sorted(others, key=lambda w: workers[w].memory != own.memory)
            else:
                yield from others

    def _others(self, worker: int) -> list[list[int]]:
        """Return the distinct lists of *worker*'s node and memory, without the list of all."""
        own = self._workers[worker]
        node, place = self._of_node[own.node], self._of_place[own.node, own.memory]
        return [node] * (node is not self.all) + [place] * (place is not node)


def _around(members: list[int], first: int) -> Iterator[int]:
    """Yield the sorted *members* from *first* on, then those before it."""
    start = bisect_left(members, first)
    for index in range(start, len(members)):
        yield members[index]
    for index in range(start):
        yield members[index]


class _Queues(dict[int, "PriorityQueue"]):
    """Queues per worker, each made at its first use, as many workers may never have a task."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view

    def __missing__(self, worker: int) -> PriorityQueue:
        from tasksim.schedulers.queues import PriorityQueue

        self[worker] = queue = PriorityQueue(self._view, owner=worker)
        return queue


class WorkStealing(Scheduler):
    """Work stealing from the other workers in turn, with a priority queue per worker.

    This is StarPU's ``ws`` (``sched_policies/work_stealing_policy.c``). A task goes to the worker
    that released it if that worker can run it, else round robin (starting with worker 1). The owner
    takes the oldest task of its highest priority, a thief the newest. A victim must be busy, that
    is, its own last pop gave it a task; this protects a task just pushed to an idle worker.
    """

    name: ClassVar[str] = "ws"
    core: ClassVar[str] = "ws"
    as_threads: ClassVar[bool] = True
    uses_priorities: ClassVar[bool] = True

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues and idle workers."""
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
        """Per set of classes, their workers in order of number."""

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
        mask = self.view.able[task]
        able = self._able_workers.get(mask)
        if able is None:
            groups = [g.workers for c, g in enumerate(self.view.classes) if mask >> c & 1]
            able = self._able_workers[mask] = sorted(w for group in groups for w in group)
        owner = able[bisect_left(able, self._next_owner) % len(able)]
        self._next_owner = (owner + 1) % len(self._busy)
        return owner

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
    core: ClassVar[str] = "lws"

    def _in_order(self, thief: int) -> Iterable[int]:
        return self._victims.from_nearest(thief)
