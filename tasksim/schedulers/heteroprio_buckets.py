"""Buckets of heteroprio and their order per architecture, learned or given."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tasksim.schedulers.heteroprio_orders import parse
from tasksim.schedulers.heteroprio_statistics import Statistics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.graph.csr import Int64
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.schedulers.base import View
    from tasksim.schedulers.heteroprio_orders import Orders

__all__ = ["Buckets", "GivenBuckets", "LearnedBuckets", "given_orders", "model_numbers"]


class Buckets:
    """The buckets of a run; architectures are numbered."""

    bucket_of: Sequence[int]
    """Per task, its bucket."""
    takers: Sequence[Sequence[int]]
    """Per bucket, the architectures that take from it."""
    orders: Sequence[Sequence[int]]
    """Per architecture, the buckets from first to last."""
    fastest: Sequence[int]
    """Per bucket, the fastest architecture."""
    slow: Sequence[Sequence[float]]
    """Per bucket and architecture, its slowdown relative to the fastest architecture."""

    def pushed(self, task: int, *, by_submission: bool) -> None:
        """Note that *task* is about to be pushed."""

    def executed(self, task: int, architecture: int, duration: float) -> None:
        """Note that *task* took *duration* seconds on *architecture*."""


class GivenBuckets(Buckets):
    """Buckets and orders given by the user, which never change."""

    def __init__(self, view: View, architectures: Sequence[str], given: Mapping[str, str]) -> None:
        kernels = view.graph.kernels
        orders = given_orders(view, architectures, given)
        self.bucket_of = [orders.bucket_of[kernels[kernel]] for kernel in view.graph.kernel]
        self.orders = orders.orders
        self.fastest = orders.fastest
        self.slow = orders.slow
        self.takers = [
            [index for index, order in enumerate(orders.orders) if bucket in order]
            for bucket in range(len(orders.slow))
        ]


class LearnedBuckets(Buckets):
    """Buckets by kernel model and set of able architectures, with orders learned during the run.

    Orders are updated after each *interval* pushes, and slow factors at every push. A bucket found
    in between comes last. With *learned*, durations start from those of the kernel models, if
    there are any.
    """

    def __init__(
        self,
        view: View,
        architectures: Sequence[str],
        architecture_of: Sequence[int],
        interval: int,
        *,
        learned: bool,
    ) -> None:
        self._interval = interval
        self._pushes = 0
        self._number(view)
        count = len(architectures)
        able = [_able(mask, architecture_of, count) for mask in self._masks]
        self.takers = [[index for index, can in enumerate(row) if can] for row in able]
        self._statistics = Statistics(able, count)
        self._orders: list[list[int]] = [[] for _ in range(count)]
        self.orders = self._orders
        self.fastest = self._fastest = [row[0] for row in self.takers]
        self.slow = self._slow = [[1.0] * count for _ in able]
        graph = view.graph
        self._successors: list[int] = graph.successors.tolist()
        self._first: list[int] = graph.successor_ptr.tolist()
        self._weight: list[float] = (1.0 / np.maximum(1, graph.predecessor_count)).tolist()
        self._stale: list[int] = []
        if learned:
            self._start_from_models(view, architecture_of)

    def pushed(self, task: int, *, by_submission: bool) -> None:
        """Learn from the push of *task*; one *by_submission* has no known successors yet."""
        statistics, bucket = self._statistics, self.bucket_of[task]
        self._find(bucket)
        if self._pushes % self._interval == 0:
            self.orders = self._orders = statistics.orders()
        self._pushes += 1
        released: dict[int, float] = {}
        if not by_submission:
            for after in self._successors[self._first[task] : self._first[task + 1]]:
                other = self.bucket_of[after]
                released[other] = released.get(other, 0.0) + self._weight[after]
        for other in released:
            self._find(other)
        statistics.pushed(bucket, released.items())
        for stale in self._stale:
            self._fastest[stale], self._slow[stale] = statistics.slowness(stale)
        self._stale.clear()

    def executed(self, task: int, architecture: int, duration: float) -> None:
        """Learn the duration of *task*."""
        bucket = self.bucket_of[task]
        self._statistics.executed(bucket, architecture, duration)
        if bucket not in self._stale:
            self._stale.append(bucket)

    def _start_from_models(self, view: View, architecture_of: Sequence[int]) -> None:
        """Start from the mean estimate of each bucket's tasks in the first class that has one."""
        tasks = np.bincount(self.bucket_of, minlength=len(self._masks))
        for index in range(len(view.classes) - 1, -1, -1):
            total = np.bincount(self.bucket_of, view.estimates[index], len(self._masks))
            for bucket, mean in enumerate((total / tasks).tolist()):
                if 0.0 < mean < inf:
                    self._statistics.know(bucket, architecture_of[index], mean)
        self._stale = list(range(len(self._masks)))

    def _find(self, bucket: int) -> None:
        if self._statistics.find(bucket):
            for architecture in self.takers[bucket]:
                self._orders[architecture].append(bucket)

    def _number(self, view: View) -> None:
        """Number the buckets: one per kernel model and set of classes that can run its tasks."""
        model = model_numbers(view.graph)
        masks = sorted(set(view.able))
        place = {mask: index for index, mask in enumerate(masks)}
        mask = np.array([place[able] for able in view.able], dtype=np.int64)
        kinds, bucket_of = np.unique(
            np.stack([model[view.graph.kernel], mask]), axis=1, return_inverse=True
        )
        self.bucket_of: list[int] = bucket_of.ravel().tolist()
        self._masks = [masks[index] for index in kinds[1].tolist()]


def given_orders(view: View, architectures: Sequence[str], given: Mapping[str, str]) -> Orders:
    """Return the orders *given* for the kernels that have tasks in the graph."""
    kernels = view.graph.kernels
    present = [kernels[kernel] for kernel in np.unique(view.graph.kernel)]
    return parse(given, architectures, present)


def model_numbers(graph: TaskGraph) -> Int64:
    """Return, per kernel, the number of its model; kernels may share a model."""
    names = {name: index for index, name in enumerate(dict.fromkeys(graph.model_names))}
    return np.array([names[name] for name in graph.model_names], dtype=np.int64)


def _able(mask: int, architecture_of: Sequence[int], count: int) -> list[bool]:
    """Return, per architecture, whether one of its classes is in *mask*."""
    able = [False] * count
    for index, architecture in enumerate(architecture_of):
        able[architecture] |= bool(mask >> index & 1)
    return able
