"""Static scheduling problem, with tasks, their durations per class of workers, and data flows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tasksim.base.errors import InputError, expect
from tasksim.graph.access_mode import FETCHING_MODES, AccessMode
from tasksim.platform.copyestimates import copy_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from tasksim.base.arrays import Floats, Ints
    from tasksim.graph.csr import Int64
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform, Worker, WorkerClass
    from tasksim.schedulers.base import View

__all__ = [
    "DataFlows",
    "Edges",
    "Initial",
    "Problem",
    "backward",
    "edges_of",
    "flows_of",
    "memory_of_class",
]

_IS_FETCHED = np.array([mode in FETCHING_MODES for mode in range(8)])

_FIELDS = ("graph", "costs_s", "class_of", "memory_of", "latency_s", "seconds_per_byte")
_GRAPH_ATTRIBUTES = (*_FIELDS, "flows", "edges", "initial", "commuting", "_compiled_graph")
"""Attributes of a problem that do not depend on durations: those of its graph and workers."""


class DataFlows(NamedTuple):
    """The flows of a graph in columns, in which a *target* reads a *handle* that a *source* wrote.

    A *source* of -1 means that no task wrote the datum, which is at its home. Data of size zero do
    not flow.
    """

    source: Int64
    target: Int64
    handle: Int64


class Edges(NamedTuple):
    """The dependencies of a graph with the data that flow along them, one row per pair of tasks.

    ``copies`` is the number of data and ``size_bytes`` their total size; both are 0 for a
    dependency without data. Rows are sorted by source, then target, with ``ptr`` as in CSR.
    ``by_target`` is the order of the rows by target, and ``target_ptr`` has the first row of each
    target in that order.
    """

    source: Int64
    target: Int64
    copies: Floats
    size_bytes: Floats
    ptr: Int64
    by_target: Int64
    target_ptr: Int64


def flows_of(graph: TaskGraph) -> DataFlows:
    """Return all flows of *graph*.

    The accesses of a handle in submission order form runs of reads, of commutative accesses, of
    reductions, or of a single write. A run that reads gets the data of the last writing run before
    it, from each task of that run.
    """
    from tasksim.graph.csr import spans
    from tasksim.graph.dependencies import MODE_WRITES, last_writer

    task, handle, mode = _accesses_by_handle(graph)
    if not len(task):
        none = np.zeros(0, dtype=np.int64)
        return DataFlows(none, none, none)
    starts = _runs(handle, mode)
    ends = np.append(starts[1:], len(task))
    first_mode = mode[starts]
    writer = last_writer(handle[starts], MODE_WRITES[first_mode])
    reads = np.flatnonzero(_IS_FETCHED[first_mode])
    homeless = reads[writer[reads] < 0]
    fed = reads[writer[reads] >= 0]
    # All pairs of an access in a writing run and one in a run that reads its data.
    rows, columns = starts[writer[fed]], starts[fed]
    heights, widths = ends[writer[fed]] - rows, ends[fed] - columns
    which = np.repeat(np.arange(len(fed)), heights)
    before = np.repeat(spans(rows, heights), widths[which])
    here = spans(columns[which], widths[which])
    alone = spans(starts[homeless], ends[homeless] - starts[homeless])
    return DataFlows(
        np.concatenate((task[before], np.full(len(alone), -1, dtype=np.int64))),
        np.concatenate((task[here], task[alone])),
        np.concatenate((handle[here], handle[alone])),
    )


def edges_of(graph: TaskGraph, flows: DataFlows) -> Edges:
    """Return the dependencies of *graph* and those implied by *flows*, with their data."""
    from tasksim.graph.csr import owner_of_each, pointers_of_counts

    between = flows.source >= 0
    tasks = len(graph)
    source = owner_of_each(graph.successor_ptr)
    waits = (source << 32) | graph.successors
    data = (flows.source[between] << 32) | flows.target[between]
    keys, where = np.unique(np.concatenate((waits, data)), return_inverse=True)
    size = graph.handle_size[flows.handle[between]]
    nothing = np.zeros(len(waits))
    copies, size_bytes = (
        np.bincount(where, np.concatenate((nothing, weights)), len(keys)).astype(np.float64)
        for weights in (np.ones(len(size)), size)
    )
    target = keys & 0xFFFFFFFF
    return Edges(
        keys >> 32,
        target,
        copies,
        size_bytes,
        pointers_of_counts(np.bincount(keys >> 32, minlength=tasks)),
        np.argsort(target, kind="stable"),
        pointers_of_counts(np.bincount(target, minlength=tasks)),
    )


def _accesses_by_handle(graph: TaskGraph) -> tuple[Int64, Int64, NDArray[np.int8]]:
    """Return task, handle and mode of accesses to data of nonzero size, sorted by handle."""
    from tasksim.graph.csr import owner_of_each

    task = owner_of_each(graph.access_ptr)
    handle, mode = graph.access_handle.astype(np.int64), graph.access_mode
    kept = np.flatnonzero((mode != AccessMode.SCRATCH) & (graph.handle_size[handle] > 0))
    order = kept[np.argsort(handle[kept], kind="stable")]
    return task[order], handle[order], mode[order]


def _runs(handle: Int64, mode: NDArray[np.int8]) -> Int64:
    """Return the index of the first access of each run."""
    write = (mode == AccessMode.W) | (mode == AccessMode.RW)
    new = np.ones(len(handle), dtype=bool)
    new[1:] = (handle[1:] != handle[:-1]) | (mode[1:] != mode[:-1]) | write[1:]
    return np.flatnonzero(new)


class Initial(NamedTuple):
    """Data that a task reads and no task wrote, which are at their homes at the start."""

    task: Int64
    home: Int64
    size_bytes: Floats


@dataclass(frozen=True, eq=False)
class Problem:
    """A task graph on unrelated machines with communication.

    Communication takes ``copies * latency + size / bandwidth`` between two memories, without
    contention, and no time within one. Make a problem with :meth:`of_view` or :meth:`of`.

    Parameters
    ----------
    graph : TaskGraph
        The tasks, their data and dependencies.
    costs_s : ndarray, shape (tasks, classes)
        Durations in seconds; infinite if a class cannot run a task.
    class_of : ndarray of int, shape (workers,)
        The class of each worker.
    memory_of : ndarray of int, shape (workers,)
        The memory of each worker.
    latency_s : ndarray, shape (memories, memories)
        Latency of copies from the first memory to the second, in seconds.
    seconds_per_byte : ndarray, shape (memories, memories)
        Inverse bandwidth of copies from the first memory to the second.

    See Also
    --------
    tasksim.schedulers.static.plan : Make a plan by the name of an algorithm.

    Examples
    --------
    >>> import tasksim
    >>> graph = tasksim.generate("chain", length=3)
    >>> problem = Problem.of(graph, tasksim.Platform.identical(2), [[1.0, 1.0, 1.0]])
    >>> problem.tasks, problem.workers, problem.memories
    (3, 2, 1)
    """

    graph: TaskGraph
    costs_s: NDArray[np.float64]
    class_of: NDArray[np.int64]
    memory_of: NDArray[np.int64]
    latency_s: NDArray[np.float64]
    seconds_per_byte: NDArray[np.float64]

    @classmethod
    def of_view(cls, view: View, *, known: bool = True) -> Problem:
        """Return the problem that a scheduler sees, with its estimates of durations and copies.

        Parameters
        ----------
        view : View
            The view of the run that begins.
        known : bool, default True
            Whether all durations must be known; else they may be NaN.
        """
        from tasksim.schedulers.base import View

        expect(view, View, "view")
        return cls._made(
            view.graph, view.workers, view.classes, view.estimates, view.copy_estimate, known
        )

    @classmethod
    def of(cls, graph: TaskGraph, platform: Platform, costs_s: ArrayLike) -> Problem:
        """Return the problem of running *graph* on *platform*.

        Parameters
        ----------
        graph : TaskGraph
            The tasks to run.
        platform : Platform
            The machine to run them on.
        costs_s : array_like
            Durations of shape (classes, tasks) in seconds, such as the result of
            :func:`tasksim.engine.durations.durations`.

        Raises
        ------
        InputError
            If a duration is negative or unknown.
        """
        from tasksim.graph.taskgraph import TaskGraph
        from tasksim.platform.description import Platform

        expect(graph, TaskGraph, "graph")
        expect(platform, Platform, "platform")
        copy_estimate = partial(copy_seconds, platform)
        return cls._made(
            graph, platform.workers, platform.classes, costs_s, copy_estimate, known=True
        )

    @classmethod
    def _made(
        cls,
        graph: TaskGraph,
        workers: Sequence[Worker],
        classes: Sequence[WorkerClass],
        estimates: ArrayLike,
        copy_estimate: Callable[[float, int, int], float],
        known: bool,
    ) -> Problem:
        class_of = np.zeros(len(workers), dtype=np.int64)
        for index, group in enumerate(classes):
            class_of[list(group.workers)] = index
        memory_of = np.array([worker.memory for worker in workers], dtype=np.int64)
        costs = np.asarray(estimates, dtype=np.float64).reshape(len(classes), len(graph)).T
        if known:
            unknown = np.isnan(costs).any(axis=1)
            if unknown.any():
                raise InputError(
                    f"{graph.label(int(unknown.argmax()))}: unknown duration;"
                    " a static schedule needs an estimate for every task and class of workers"
                )
            nowhere = ~np.isfinite(costs).any(axis=1)
            if nowhere.any():
                raise InputError(f"no worker can run {graph.label(int(nowhere.argmax()))}")
        latency, inverse = _copies(graph, memory_of, copy_estimate)
        return cls(graph, np.ascontiguousarray(costs), class_of, memory_of, latency, inverse)

    def with_costs(self, costs_s: NDArray[np.float64]) -> Problem:
        """Return the same problem with other durations, of shape (tasks, classes).

        What is known of the graph and its data is not looked up again.
        """
        return self._with(costs_s=costs_s)

    def with_edges(self, edges: Edges) -> Problem:
        """Return the same problem for planners, with other dependencies between its tasks.

        The graph keeps its own.
        """
        kept = {name: getattr(self, name) for name in ("initial", "commuting")}
        return Problem(**{name: vars(self)[name] for name in _FIELDS})._with(edges=edges, **kept)

    def with_values(
        self,
        costs_s: NDArray[np.float64],
        size_bytes: NDArray[np.float64],
        seconds_per_byte: NDArray[np.float64],
    ) -> Problem:
        """Return the same problem for planners, with other durations, sizes and bandwidths.

        Sizes are those of the rows of :attr:`edges`; the graph keeps its own.
        """
        edges = self.edges._replace(size_bytes=size_bytes)
        return self._with(costs_s=costs_s, seconds_per_byte=seconds_per_byte, edges=edges)

    def _with(self, **changed: Any) -> Problem:
        """Return a copy with some attributes *changed*, which knows what depends on the graph."""
        made = object.__new__(Problem)  # without a dozen calls, each of which takes as long
        known = vars(self)
        vars(made).update(
            {name: known[name] for name in _GRAPH_ATTRIBUTES if name in known} | changed
        )
        return made

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return len(self.graph)

    @property
    def workers(self) -> int:
        """The number of workers."""
        return len(self.class_of)

    @property
    def memories(self) -> int:
        """The number of memories, up to the last one that has workers or data."""
        return len(self.latency_s)

    @cached_property
    def flows(self) -> DataFlows:
        """The data flows between tasks."""
        return flows_of(self.graph)

    @cached_property
    def edges(self) -> Edges:
        """The dependencies, with the data that flow along them."""
        return edges_of(self.graph, self.flows)

    @cached_property
    def initial(self) -> Initial:
        """The data that tasks read from their homes, sorted by task."""
        flows = self.flows
        rows = np.flatnonzero(flows.source < 0)
        rows = rows[np.argsort(flows.target[rows], kind="stable")]
        handle = flows.handle[rows]
        home = self.graph.handle_home[handle].astype(np.int64)
        return Initial(flows.target[rows], home, self.graph.handle_size[handle].astype(np.float64))

    @cached_property
    def commuting(self) -> dict[int, list[int]]:
        """Map from each task with commutative accesses to the data that it accesses so."""
        places = np.flatnonzero(self.graph.access_mode == AccessMode.COMMUTATIVE)
        tasks = np.searchsorted(self.graph.access_ptr, places, side="right") - 1
        found: dict[int, list[int]] = {}
        handles = self.graph.access_handle[places].tolist()
        for task, handle in zip(tasks.tolist(), handles, strict=True):
            found.setdefault(task, []).append(handle)
        return found

    @cached_property
    def mean_costs_s(self) -> NDArray[np.float64]:
        """Per task, its mean duration over the workers that can run it, in seconds."""
        count = np.bincount(self.class_of, minlength=self.costs_s.shape[1]).astype(np.float64)
        able = np.isfinite(self.costs_s)
        total = (np.where(able, self.costs_s, 0.0) * count).sum(axis=1)
        workers: Floats = (able * count).sum(axis=1)
        mean: Floats = total / workers
        return mean

    def mean_communication_s(self, *, apart: bool = False) -> NDArray[np.float64]:
        """Return, per row of :attr:`edges`, its mean time over all pairs of workers, in seconds.

        With *apart*, the mean is over the pairs of workers with different memories.
        """
        known: Floats | None = vars(self).get(f"_communication_{apart}")
        if known is None:
            known = vars(self)[f"_communication_{apart}"] = self._mean_communication_s(apart=apart)
            known.setflags(write=False)  # all callers get the same array
        return known

    def _mean_communication_s(self, *, apart: bool) -> Floats:
        count = np.bincount(self.memory_of, minlength=self.memories).astype(np.float64)
        weight = np.outer(count, count)
        np.fill_diagonal(weight, 0.0)
        pairs = float(weight.sum()) if apart else float(self.workers * (self.workers - 1))
        if not pairs or not weight.any():
            return np.zeros(len(self.edges.source))
        latency = float((weight * self.latency_s).sum()) / pairs
        inverse = float((weight * self.seconds_per_byte).sum()) / pairs
        times: Floats = self.edges.copies * latency + self.edges.size_bytes * inverse
        return times


def backward(problem: Problem) -> Iterator[tuple[int, slice]]:
    """Yield each task that has successors, the last one first, and its rows of the edges."""
    bounds = list(pairwise(problem.edges.ptr.tolist()))
    for task in range(problem.tasks - 1, -1, -1):
        begin, end = bounds[task]
        if begin < end:
            yield task, slice(begin, end)


def memory_of_class(problem: Problem) -> Int64:
    """Return the memory of each class of workers; 0 for a class without workers."""
    memory = np.zeros(problem.costs_s.shape[1], dtype=np.int64)
    memory[problem.class_of] = problem.memory_of
    return memory


def _copies(
    graph: TaskGraph,
    memory_of: Ints,
    copy_estimate: Callable[[float, int, int], float],
) -> tuple[Floats, Floats]:
    """Return latencies and times per byte from two estimates for each pair of memories.

    Estimates are linear in the size. They are evaluated at the largest size of the graph and at
    twice that size, where rounding matters least.
    """
    ends = sorted({*memory_of.tolist(), *graph.handle_home.tolist()} if len(graph) else {0})
    memories = 1 + max(*ends, *memory_of.tolist())
    latency, inverse = np.zeros((2, memories, memories))
    used = sorted(set(memory_of.tolist()))
    if len(used) == 1 and ends == used:
        return latency, inverse
    size = float(max(1, graph.handle_size.max(initial=1)))
    for source in ends:
        for target in used:
            if source != target:
                once, twice = (copy_estimate(n * size, source, target) for n in (1, 2))
                if not np.isfinite(once):
                    raise InputError(f"no route from memory {source} to memory {target}")
                inverse[source, target] = (twice - once) / size
                latency[source, target] = max(0.0, 2 * once - twice)
    return latency, inverse
