"""Tables of a recording, with its log as a graph and a run, and its threads as workers."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.threadclock import has_thread_clock
from tasksim.graph.builder import GraphBuilder, R, W
from tasksim.graph.csr import owner_of_each
from tasksim.graph.taskgraph import MAIN_THREAD, WORKER_START
from tasksim.native.this_machine import machine_name
from tasksim.recording.asyncio_tasks import TaskPlace
from tasksim.recording.dask_clusters import ClusterThread, Transfer
from tasksim.recording.log import DASK, DASK_CLUSTER
from tasksim.run.bounds import bounds
from tasksim.run.record import Run, WorkerInfo
from tasksim.run.recordtables import TaskTable

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.recording.log import RecordedDatum, RecordedTask, RecordingLog

__all__ = [
    "CPU",
    "EVENT",
    "MAIN",
    "NOTHING_RECORDED",
    "ended",
    "graph_of",
    "kernel_names",
    "ready_times",
    "run_of",
    "workers_of",
]


CPU, MAIN, EVENT = "cpu", "main", "event"
"""Architectures of pool workers, of submitting threads for their own work, and of the places of
events that OpenMP's detached tasks wait for, and of transfers between Dask's workers."""
ARCHITECTURES: Final = (CPU, MAIN, EVENT)
"""Architectures in the order of the workers of a run."""

SCHEDULER_OF_SOURCE: Final = {DASK: "dask", DASK_CLUSTER: "prio"}
"""Schedulers of libraries with an order of their own, in which their tasks are numbered; all others
have queues."""


def workers_of(tasks: Sequence[RecordedTask]) -> tuple[tuple[WorkerInfo, ...], list[int]]:
    """Return the workers that *tasks* ran on, and per task which one.

    A pool that is used after another takes its places: what never ran at once counts once. Threads
    that submit are workers of their own, of the architecture ``main``.
    """
    spans: dict[tuple[int, Hashable], list[float]] = {}
    pools: dict[tuple[int, Hashable], int] = {}
    for task in tasks:
        key = _key(task)
        span = spans.setdefault(key, [task.start_s, task.end_s])
        span[0], span[1] = min(span[0], task.start_s), max(span[1], task.end_s)
        pools.setdefault(key, task.pool)
    slots = _slots(spans, pools)
    order = sorted(dict.fromkeys(slots.values()))
    number = {slot: worker for worker, slot in enumerate(order)}
    first = {slot: key for key, slot in reversed(slots.items())}
    names = _unique([_name(first[slot]) for slot in order])
    workers = tuple(
        WorkerInfo(name, ARCHITECTURES[slot[0]]) for name, slot in zip(names, order, strict=True)
    )
    return workers, [number[slots[_key(task)]] for task in tasks]


def _key(task: RecordedTask) -> tuple[int, Hashable]:
    """Return the worker of a task, with the place of its architecture in :data:`ARCHITECTURES`."""
    if isinstance(task.worker, Transfer):
        return ARCHITECTURES.index(EVENT), task.worker
    return ARCHITECTURES.index(MAIN if task.kernel[0] == MAIN_THREAD else CPU), task.worker


def _slots(
    spans: dict[tuple[int, Hashable], list[float]], pools: dict[tuple[int, Hashable], int]
) -> dict[tuple[int, Hashable], tuple[int, int]]:
    """Return per thread its architecture, as a place in :data:`ARCHITECTURES`, and its slot."""
    slots: dict[tuple[int, Hashable], tuple[int, int]] = {}
    used: dict[int, list[tuple[float, set[int]]]] = {at: [] for at in range(len(ARCHITECTURES))}
    for key in sorted(spans, key=lambda key: spans[key][0]):
        start, end = spans[key]
        is_main, pool = ARCHITECTURES[key[0]] == MAIN, pools[key]
        kind = used[key[0]]
        # Two threads of one pool are two, however little there was to do for them.
        free = (n for n, (until, there) in enumerate(kind) if until <= start and pool not in there)
        slot = next(free, len(kind)) if not is_main else len(kind)
        if slot == len(kind):
            kind.append((end, {pool}))
        else:
            kind[slot] = (end, {*kind[slot][1], pool})
        slots[key] = (key[0], slot)
    return slots


def _name(key: tuple[int, Hashable]) -> str:
    is_main, worker = ARCHITECTURES[key[0]] == MAIN, key[1]
    if isinstance(worker, TaskPlace):
        return f"asyncio {worker.number}"
    if isinstance(worker, ClusterThread):
        return worker.address
    if isinstance(worker, Transfer):
        return "transfer"
    if isinstance(worker, threading.Thread):
        return f"{worker.name}, submitting" if is_main else worker.name
    return f"process {worker}"


def _unique(names: list[str]) -> list[str]:
    """Return *names* with numbers where two are the same."""
    found: list[str] = []
    for name in names:
        count = sum(other.partition(" #")[0] == name for other in found)
        found.append(f"{name} #{count + 1}" if count else name)
    return found


NOTHING_RECORDED = (
    "no task was recorded: submit to an executor of concurrent.futures or a pool of "
    "multiprocessing, call joblib.Parallel, start processes, or compute with Dask, while the "
    "recording is open, and let the tasks end before it does"
)


def ended(log: RecordingLog) -> list[RecordedTask]:
    """Return the tasks whose times are known, in order of submission.

    Raises :exc:`InputError` if there are none.
    """
    found = sorted((task for task in log.tasks if task.has_ended), key=lambda task: task.place)
    if not found:
        raise InputError(f"{NOTHING_RECORDED}{''.join(f' ({note})' for note in log.notes)}")
    return found


def graph_of(tasks: Sequence[RecordedTask], name: str) -> TaskGraph:
    """Return the graph of *tasks*, with their data and the tasks that each waited for."""
    number = {task: index for index, task in enumerate(tasks)}
    names = kernel_names(tasks)
    data = list(dict.fromkeys(d for task in tasks for d in (*_readable(task), task.result)))
    g = GraphBuilder(name)
    g.announce(len(tasks))
    vector = g.vector("result", len(data), size_bytes=0)
    handle = dict(zip(data, vector, strict=True))
    for task in tasks:
        reads = [R(handle[datum]) for datum in _readable(task)]
        after = sorted({number[other] for other in task.after if other in number})
        # In Dask's order; a worker starts before it takes a task.
        priority = len(tasks) - 1 - number[task] if task.source in SCHEDULER_OF_SOURCE else 0
        if task.kernel[0] == WORKER_START:
            priority = len(tasks)
        writes = W(handle[task.result])
        g.insert(names[task.kernel], *reads, writes, priority=priority, after=after)
    sizes = np.array([datum.size_bytes for datum in data], dtype=np.int64)
    return replace(g.build(), handle_size=sizes)


def kernel_names(tasks: Iterable[RecordedTask]) -> dict[tuple[str, str], str]:
    """Return the names of kernels: those of functions, with the module where two are the same."""
    known = dict.fromkeys(task.kernel for task in tasks)
    short = Counter(name for name, _ in known)
    return {kernel: kernel[0] if short[kernel[0]] == 1 else kernel[1] for kernel in known}


def run_of(
    tasks: Sequence[RecordedTask], graph: TaskGraph, config: dict[str, Any], wall_s: float
) -> Run:
    """Return the run that was recorded; its clock starts with the first submission."""
    origin = min(task.submitted_s for task in tasks)
    workers, worker = workers_of(tasks)
    submitted, handed, start, end = (
        np.array([getattr(task, f"{name}_s") for task in tasks]) - origin
        for name in ("submitted", "handed", "start", "end")
    )
    ready, released_by = ready_times(graph, submitted, end)
    processor: dict[str, NDArray[Any]] = {}
    if has_thread_clock():  # else the system's times are too coarse
        counts = np.array([task.preemptions for task in tasks], dtype=np.int32)
        cpu_s = np.array([task.cpu_s for task in tasks])
        processor = {"cpu_s": np.where(counts < 0, np.nan, cpu_s), "preemptions": counts}
    table = TaskTable(
        task=np.arange(len(tasks), dtype=np.int32),
        kernel=graph.kernel,  # type: ignore[arg-type]  # the table sees whether it fits
        worker=np.array(worker),
        priority=graph.priority,
        submitted_s=submitted,
        ready_s=ready,
        start_s=start,
        end_s=end,
        released_by=released_by,
        popped_s=np.where(handed < ready, ready, handed),
        **processor,
    )
    sources = {task.source for task in tasks}
    return Run(
        kind="native",
        graph_name=graph.name,
        graph_arguments={},
        kernel_names=graph.kernels,
        workers=workers,
        platform=machine_name(),
        scheduler=next(
            (SCHEDULER_OF_SOURCE[each] for each in SCHEDULER_OF_SOURCE if each in sources), "eager"
        ),
        seed=None,
        tasks=table,
        config=config,
        wall_s=wall_s,
        bounds=_bounds(graph, workers, worker, end - start),
        graph=graph,
    )


def _readable(task: RecordedTask) -> list[RecordedDatum]:
    """Return the data that *task* read and that were there when it started.

    A future given to a task that then waits for it is no dependency, as both ran at once.
    """
    return [
        datum
        for datum in dict.fromkeys(task.reads)
        if (made_by := datum.task) is None
        or not task.has_ended
        or (made_by.has_ended and made_by.end_s <= task.start_s)
    ]


def ready_times(
    graph: TaskGraph, submitted: NDArray[np.float64], end: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return the time when each task was ready, and the task that released it; -1: none."""
    before = owner_of_each(graph.successor_ptr)
    after = graph.successors
    ready = submitted.copy()
    np.maximum.at(ready, after, end[before])
    last = end[before] >= ready[after]
    released_by = np.full(len(graph), -1, dtype=np.int32)
    released_by[after[last]] = before[last]
    return ready, released_by


def _bounds(
    graph: TaskGraph,
    workers: Sequence[WorkerInfo],
    worker: Sequence[int],
    durations_s: NDArray[np.float64],
) -> dict[str, float]:
    """Return the lower bounds for the durations that the tasks had, where they can run."""
    kinds = np.array([each.architecture for each in workers])
    counts = {kind: int((kinds == kind).sum()) for kind in ARCHITECTURES}
    there = [kind for kind in ARCHITECTURES if counts[kind]]
    table = np.array([np.where(kinds[worker] == kind, durations_s, np.inf) for kind in there])
    return bounds(graph, table, [counts[kind] for kind in there]).to_json()
