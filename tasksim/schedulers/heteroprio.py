"""heteroprio: buckets of tasks by kernel, with an order of buckets for each architecture."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, ClassVar

from tasksim.base.errors import InputError
from tasksim.schedulers.base import Scheduler, View
from tasksim.schedulers.heteroprio_buckets import Buckets, GivenBuckets, LearnedBuckets

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from tasksim.platform.description import Worker

__all__ = ["Heteroprio", "architectures_of"]

HOST_ARCHITECTURE = "cpu"
"""Architecture of CPU workers; workers of all other architectures are accelerators."""
MAX_HELD_TASKS = 2
"""Largest number of tasks that a worker holds, including the next one to run: StarPU's default of
``STARPU_HETEROPRIO_MAX_PREFETCH``."""


class Heteroprio(Scheduler):
    """Tasks in buckets by kernel; CPUs and accelerators take from them in different orders.

    This is StarPU's ``heteroprio`` (``heteroprio.c``) without locality. A bucket is a stack: the
    newest task comes first. A worker that asks for a task fills up to two held tasks from the
    buckets, in the order of its architecture. If fewer tasks are left than there are workers, it
    takes one, and only if it holds none. It runs the held task of higher priority and keeps the
    other, whose data are prefetched. If it holds none, it steals from the next worker of its
    architecture. An architecture that is slower for a bucket than the fastest one by a factor takes
    from the bucket only if this has at least that many tasks per worker of the fastest
    architecture, unless CPUs are the fastest.

    The orders are learned during the run from measured durations
    (:mod:`tasksim.schedulers.heteroprio_statistics`) and updated every *interval* pushes, or given
    as one option per architecture: ``heteroprio:cpu=potrf/trsm/gemm@11,cuda=gemm/trsm/potrf``
    (:mod:`tasksim.schedulers.heteroprio_orders`). StarPU keeps learned durations in a file for the
    next run of the program. For the same effect, durations start from those of the kernel models,
    if there are any. With ``learned=0`` there are no durations at first, and the first tasks of
    every kernel go to all architectures to be measured.
    """

    name: ClassVar[str] = "heteroprio"
    uses_priorities: ClassVar[bool] = True

    def __init__(self, interval: int = 32, learned: int = 1, **orders: str) -> None:
        if not isinstance(interval, int) or interval < 1:
            raise InputError(
                f"scheduler '{self.name}': option 'interval' is {interval!r}, not a positive count"
            )
        if learned not in (0, 1):
            raise InputError(
                f"scheduler '{self.name}': option 'learned' is {learned!r}, not 0 or 1"
            )
        self.interval = interval
        self.learned = bool(learned)
        self.orders = {name: str(order) for name, order in orders.items()}

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty buckets."""
        super().attach(view, rng)
        architectures = architectures_of(view.workers)
        self._architecture = [architectures.index(w.architecture) for w in view.workers]
        self._host = 0 if HOST_ARCHITECTURE in architectures else -1
        self._buckets = self._make_buckets(view, architectures)
        count = len(architectures)
        self._workers = [
            [w for w, a in enumerate(self._architecture) if a == index] for index in range(count)
        ]
        self._told = [False] * len(view.workers)
        # A heap of workers that may sleep: at first all, later those whose pop returned None.
        self._resting = list(range(len(view.workers)))
        self._listed = [True] * len(view.workers)
        self._stacks: list[list[int]] = [[] for _ in self._buckets.takers]
        self._left = [0] * count
        self._held = [0] * count
        self._own: list[list[int]] = [[] for _ in view.workers]
        self._since = [0.0] * len(view.workers)

    def push(self, task: int) -> None:
        """Put *task* on top of its bucket and wake a worker that may take it."""
        self._buckets.pushed(task, by_submission=self.view.pusher is None)
        bucket = self._buckets.bucket_of[task]
        self._stacks[bucket].append(task)
        for architecture in self._buckets.takers[bucket]:
            self._left[architecture] += 1
        self._wake(task, bucket)

    def pop(self, worker: int) -> int | None:
        """Return the most urgent task that *worker* holds after it has filled up."""
        self._told[worker] = False
        architecture, own = self._architecture[worker], self._own[worker]
        added = self._top_up(worker, architecture) if self._left[architecture] else 0
        if not own:
            stolen = self._steal(worker, architecture) if self._held[architecture] else None
            if stolen is None and not self._listed[worker]:
                self._listed[worker] = True
                heappush(self._resting, worker)
            return stolen
        self._held[architecture] -= 1
        task = own.pop(0)
        if added and self._left[architecture]:
            for next_task in own[:added]:
                self.view.prefetch(next_task, self.view.workers[worker].memory)
        return task

    def started(self, task: int, worker: int) -> None:  # noqa: ARG002
        """Record the start of *task*."""
        self._since[worker] = self.view.now

    def finished(self, task: int, worker: int) -> None:
        """Learn the duration of *task*."""
        now = self.view.now
        self._buckets.executed(task, self._architecture[worker], now - self._since[worker])
        self._since[worker] = now

    def _make_buckets(self, view: View, architectures: list[str]) -> Buckets:
        if self.orders:
            return GivenBuckets(view, architectures, self.orders)
        of_class = [self._architecture[group.workers[0]] for group in view.classes]
        return LearnedBuckets(view, architectures, of_class, self.interval, learned=self.learned)

    def _wake(self, task: int, bucket: int) -> None:
        """Wake sleepers that can run *task*, by number, up to the first that may take it now."""
        view, told, resting = self.view, self._told, self._resting
        passed = []
        while resting:
            worker = heappop(resting)
            if not view.sleeping(worker) or told[worker] or not view.can_run(task, worker):
                passed.append(worker)
                continue
            told[worker], self._listed[worker] = True, False
            view.wake(worker)
            if self._may_take(bucket, self._architecture[worker]):
                break
        for worker in passed:
            heappush(resting, worker)

    def _may_take(self, bucket: int, architecture: int) -> bool:
        fastest = self._buckets.fastest[bucket]
        if fastest in (self._host, architecture):
            return True
        per_worker = len(self._stacks[bucket]) / len(self._workers[fastest])
        return per_worker >= self._buckets.slow[bucket][architecture]

    def _top_up(self, worker: int, architecture: int) -> int:
        """Let *worker* take tasks from the buckets; return their number."""
        own, left = self._own[worker], self._left[architecture]
        wanted = min(MAX_HELD_TASKS - len(own), left)
        if left < len(self._architecture):  # few are left: do not hold tasks that others could run
            wanted = 0 if own else 1
        added = 0
        for bucket in self._buckets.orders[architecture]:
            if added == wanted:
                break
            stack = self._stacks[bucket]
            while (
                stack
                and added < wanted
                and self._may_take(bucket, architecture)
                and self.view.can_run(stack[-1], worker)
            ):
                self._hold(worker, stack.pop())
                added += 1
                for taker in self._buckets.takers[bucket]:
                    self._left[taker] -= 1
        self._held[architecture] += added
        return added

    def _hold(self, worker: int, task: int) -> None:
        """Put *task* before the held tasks of *worker* of the same priority."""
        own, priority = self._own[worker], self.view.priority
        before = (i for i, held in enumerate(own) if priority[held] <= priority[task])
        own.insert(next(before, len(own)), task)

    def _steal(self, worker: int, architecture: int) -> int | None:
        ring = self._workers[architecture]
        mine = ring.index(worker)
        for victim in ring[mine + 1 :] + ring[:mine]:
            for index, task in enumerate(self._own[victim]):
                if self.view.can_run(task, worker):
                    del self._own[victim][index]
                    self._held[architecture] -= 1
                    return task
        return None


def architectures_of(workers: Sequence[Worker]) -> list[str]:
    """Return the distinct architectures of *workers*: CPUs first, then the others as they come."""
    names = dict.fromkeys(worker.architecture for worker in workers)
    return sorted(names, key=lambda name: name != HOST_ARCHITECTURE)
