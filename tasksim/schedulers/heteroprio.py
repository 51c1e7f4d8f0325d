"""The ``heteroprio`` scheduler, with buckets of tasks by kernel and an order per architecture.

The orders are given by the user, or learned from :mod:`tasksim.schedulers.heteroprio_statistics`.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from tasksim.base.arguments import switch, whole_number
from tasksim.base.errors import InputError, nearest, unknown
from tasksim.schedulers.base import HOST_ARCHITECTURE, Scheduler, View, option_of, rows
from tasksim.schedulers.heteroprio_statistics import BucketStatistics

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from tasksim.graph.csr import Int64
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Worker

__all__ = [
    "BucketOrders",
    "Buckets",
    "GivenBuckets",
    "Heteroprio",
    "LearnedBuckets",
    "architectures_of",
    "given_orders",
    "model_numbers",
    "parse",
]

MISSPELLING_SIMILARITY: Final = 0.75
"""Least similarity (difflib's ratio) of a misspelt name to the right one: ``cuda`` with two letters
swapped has 0.75, the two architectures ``cuda`` and ``cpu`` have 0.57."""


@dataclass(frozen=True)
class BucketOrders:
    """Buckets of kernels, and the order of buckets of each architecture.

    ``slow[bucket][architecture]`` is the slowdown of an architecture relative to the bucket's
    fastest one, and 0 for the fastest one itself.
    """

    bucket_of: Mapping[str, int]
    orders: tuple[tuple[int, ...], ...]
    slow: tuple[tuple[float, ...], ...]
    fastest: tuple[int, ...]


def parse(
    given: Mapping[str, str], architectures: Sequence[str], kernels: Sequence[str]
) -> BucketOrders:
    """Return the orders of ``{"cpu": "potrf/trsm/gemm@11", "cuda": "gemm/trsm/potrf"}``.

    A list has the kernels of one architecture from first to last. The kernels of ``syrk+gemm``
    share a bucket. ``gemm@11`` means that this architecture takes 11 times as long as the fastest
    one, which is the first of *architectures* that lists the bucket without a factor. Lists of
    architectures that are not in *architectures* are ignored.

    Raises :exc:`InputError` for a misspelt architecture, an architecture without a list, a kernel
    in no list or in two buckets, and a factor that is not a number.

    >>> parse({"cpu": "potrf/gemm@11", "cuda": "gemm"}, ["cpu", "cuda"], ["potrf", "gemm"]).orders
    ((0, 1), (1,))
    """
    legal = ["interval", "learned", *architectures]
    for option in given:
        # Other unknown options are orders of architectures that this platform lacks: what-if
        # scenarios remove devices.
        if option not in architectures and get_close_matches(
            option, legal, n=1, cutoff=MISSPELLING_SIMILARITY
        ):
            raise unknown("option", option, legal, "scheduler 'heteroprio'")
    bucket_of: dict[str, int] = {}
    factors: list[dict[int, float]] = []
    for architecture in architectures:
        if architecture not in given:
            wrong = [option for option in given if option not in legal]
            hint = f"; unknown option '{wrong[0]}'{nearest(wrong[0], legal)}" if wrong else ""
            raise InputError(
                f"scheduler 'heteroprio': architecture '{architecture}' has no order{hint}"
                f" (options: {', '.join(legal)})"
            )
        entries = given[architecture].split("/")
        factors.append(dict(_entry(entry, architecture, bucket_of) for entry in entries))
    for kernel in kernels:
        if kernel not in bucket_of:
            raise InputError(
                f"scheduler 'heteroprio': no order has kernel '{kernel}'"
                f"{nearest(kernel, bucket_of)} (kernels in orders: {', '.join(bucket_of)})"
            )
    buckets = range(max(bucket_of.values()) + 1)
    slow = tuple(tuple(row.get(bucket, 0.0) for row in factors) for bucket in buckets)
    return BucketOrders(
        bucket_of,
        tuple(tuple(row) for row in factors),
        slow,
        tuple(_fastest(bucket, factors) for bucket in buckets),
    )


def _entry(text: str, architecture: str, bucket_of: dict[str, int]) -> tuple[int, float]:
    names, at, factor = text.partition("@")
    kernels = names.split("+")
    if not all(kernels):
        raise InputError(
            f"scheduler 'heteroprio': option '{architecture}': '{text}' names no kernel;"
            " legal: KERNEL/KERNEL+KERNEL/KERNEL@FACTOR"
        )
    bucket = bucket_of.get(kernels[0], max(bucket_of.values(), default=-1) + 1)
    for kernel in kernels:
        if bucket_of.setdefault(kernel, bucket) != bucket:
            raise InputError(
                f"scheduler 'heteroprio': option '{architecture}':"
                f" kernel '{kernel}' is in two buckets"
            )
    if not at:
        return bucket, 0.0
    try:
        slow = float(factor)
    except ValueError:
        slow = -1.0
    if not slow >= 0.0:
        raise InputError(
            f"scheduler 'heteroprio': option '{architecture}': got slow factor '{factor}';"
            " legal: a number of at least 0"
        )
    return bucket, slow


def _fastest(bucket: int, factors: Sequence[Mapping[int, float]]) -> int:
    listing = [index for index, row in enumerate(factors) if bucket in row]
    return next((index for index in listing if not factors[index][bucket]), listing[0])


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
        # A bucket has the tasks of one kernel model that the same classes can run.
        model = model_numbers(view.graph)
        masks = sorted(set(view.able))
        place = {mask: index for index, mask in enumerate(masks)}
        mask = np.array([place[able] for able in view.able], dtype=np.int64)
        kinds, bucket_of = np.unique(
            np.stack([model[view.graph.kernel], mask]), axis=1, return_inverse=True
        )
        self.bucket_of: list[int] = bucket_of.ravel().tolist()
        self._masks = [masks[index] for index in kinds[1].tolist()]
        count = len(architectures)
        able = [_able(mask, architecture_of, count) for mask in self._masks]
        self.takers = [[index for index, can in enumerate(row) if can] for row in able]
        self._statistics = BucketStatistics(able, count)
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


def given_orders(
    view: View, architectures: Sequence[str], given: Mapping[str, str]
) -> BucketOrders:
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


MAX_TASKS: Final = 2**31
"""Limit of the number of tasks of a graph in the compiled core."""
MAX_HELD_TASKS = 2
"""Largest number of tasks that a worker holds, including the next one to run: StarPU's default of
``STARPU_HETEROPRIO_MAX_PREFETCH``."""


class Heteroprio(Scheduler):
    """Buckets of tasks by kernel, in a different order for CPUs and accelerators.

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
    (:func:`parse`). StarPU keeps learned durations in a file for the
    next run of the program. For the same effect, durations start from those of the kernel models,
    if there are any. With ``learned=0`` there are no durations at first, and the first tasks of
    every kernel go to all architectures to be measured.
    """

    name: ClassVar[str] = "heteroprio"
    core: ClassVar[str] = "heteroprio"
    uses_priorities: ClassVar[bool] = True

    def __init__(self, interval: int = 32, learned: int = 1, **orders: str) -> None:
        self.interval = whole_number(interval, option_of(self, "interval"), 1)
        self.learned = switch(learned, option_of(self, "learned"))
        self.orders = {name: str(order) for name, order in orders.items()}

    def core_options(self) -> dict[str, float]:
        """Return the interval of updates, and whether orders are given or durations learned."""
        return {
            # A graph has fewer tasks than the limit: a longer interval has the same effect.
            "interval": min(self.interval, MAX_TASKS),
            "learned": self.learned,
            "given": bool(self.orders),
        }

    def core_tables(self, view: View, rng: random.Random) -> dict[str, Int64]:  # noqa: ARG002
        """Return the workers' architectures, and the buckets of the kernels."""
        names = architectures_of(view.workers)
        architecture = [names.index(worker.architecture) for worker in view.workers]
        hosts = [worker.architecture == HOST_ARCHITECTURE for worker in view.workers]
        tables = {
            "host": np.array(hosts, dtype=np.int64),
            "architecture": np.array(architecture, dtype=np.int64),
        }
        if not self.orders:
            return {**tables, "model": model_numbers(view.graph)}
        orders = given_orders(view, names, self.orders)
        of_kernel = [orders.bucket_of.get(kernel, -1) for kernel in view.graph.kernels]
        return {
            **tables,
            "bucket_of_kernel": np.array(of_kernel, dtype=np.int64),
            **rows("order", orders.orders),
            "fastest": np.array(orders.fastest, dtype=np.int64),
            "slow": np.array(orders.slow, dtype=np.float64).ravel().view(np.int64),  # bit by bit
        }

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty buckets."""
        super().attach(view, rng)
        architectures = architectures_of(view.workers)
        self._architecture = [architectures.index(w.architecture) for w in view.workers]
        self._host = 0 if HOST_ARCHITECTURE in architectures else -1
        if self.orders:
            self._buckets: Buckets = GivenBuckets(view, architectures, self.orders)
        else:
            of_class = [self._architecture[group.workers[0]] for group in view.classes]
            self._buckets = LearnedBuckets(
                view, architectures, of_class, self.interval, learned=self.learned
            )
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
        if (log := self.view.decisions) is not None:
            log.queued_at(task, log.shared(bucket), 0)
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
        place = next(before, len(own))
        own.insert(place, task)
        if (log := self.view.decisions) is not None:
            log.queued_at(task, worker, place)

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
