"""Tables of the runs in a page, with data from their graphs and kernel models.

Each column holds only what the others do not: the start of a task after the end of the previous one
on its worker, or the time until it became ready after the end of the task that released it. Most of
these differences are zero and take no room. ``script/rundata.js`` restores the times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import CheckFailed, InputError, TasksimError
from tasksim.graph.csr import transpose
from tasksim.graph.flop import task_flop
from tasksim.graph.iterations import iterations
from tasksim.run.copystatistics import data_arrival_s
from tasksim.run.critical import practical_critical_path
from tasksim.run.decisions import TERMS, DecisionStep
from tasksim.run.disturbance import blocking_kernels, has_processor_times, lost_s
from tasksim.run.others import crowded_s, others_between_s, others_s
from tasksim.view.rungraph import graph_of_run
from tasksim.view.timeseries import pairs, refuse_infinite_times, thinned, used_curve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run
    from tasksim.view.page.columns import PackedColumns, Ticks

    Int64 = NDArray[np.int64]

__all__ = [
    "PageRun",
    "add_copies",
    "add_decisions",
    "add_memory",
    "add_messages",
    "add_others",
    "add_tasks",
    "critical_tasks",
    "data_names",
    "subject_of",
]

_EXPECTED_BY_MODEL = "the kernel models"
_EXPECTED_BY_MEDIAN = "the median of its kind"


@dataclass(frozen=True, eq=False)
class PageRun:
    """A run in a page.

    Attributes
    ----------
    run : Run
    name : str
        Name of the run on the page.
    graph : TaskGraph or None
        Its graph; None: it cannot be made again, and only what released each task is known.
    expected_s : ndarray, float64 [tasks]
        Expected duration of each task where it ran; NaN if it is unknown.
    expected_by : str
        Source of the expected durations: the kernel models of the run, or the median of tasks of
        its kind.
    """

    run: Run
    name: str
    graph: TaskGraph | None
    expected_s: NDArray[np.float64]
    expected_by: str


def subject_of(run: Run, name: str, *, trust: bool = False) -> PageRun:
    """Return *run* with what can be found out about it.

    Parameters
    ----------
    run : Run
    name : str
        Name of the run on the page.
    trust : bool, default False
        Whether a generator that the run names as ``MODULE:NAME`` is imported.

    Raises
    ------
    InputError
        If times of tasks are not finite.
    """
    refuse_infinite_times(run, name)
    graph = graph_of_run(run, trust=trust)
    modelled = None if graph is None else _modelled_s(run, graph, trust=trust)
    if modelled is not None:
        return PageRun(run, name, graph, modelled, _EXPECTED_BY_MODEL)
    return PageRun(run, name, graph, _median_s(run, graph), _EXPECTED_BY_MEDIAN)


def critical_tasks(run: Run) -> NDArray[np.int64]:
    """Return the practical critical path, first task first; nothing of impossible runs."""
    try:
        steps = practical_critical_path(run).steps
    except (CheckFailed, InputError):
        return np.zeros(0, dtype=np.int64)
    return np.array([step.task for step in steps], dtype=np.int64)


def _modelled_s(run: Run, graph: TaskGraph, *, trust: bool) -> NDArray[np.float64] | None:
    """Return the means of the kernel models that the run names, if they are still there."""
    from tasksim.engine.durations import durations
    from tasksim.scenario.document import decode
    from tasksim.scenario.resolved import Resolver
    from tasksim.scenario.scenario import Scenario

    try:
        recorded = decode(Scenario, run.config, "run", trust=trust)
        # With the graph that is there already: to make one of a million tasks takes seconds.
        scenario = replace(recorded, graph=graph, settings=(), clock="simulated")
        found = Resolver().resolve(scenario)
        if found.models is None:
            return None
        of_classes = durations(graph, found.platform, found.models)
    except TasksimError:
        return None
    class_of = np.full(len(run.workers), -1)
    for index, group in enumerate(found.platform.classes):
        workers = [worker for worker in group.workers if worker < len(run.workers)]
        class_of[workers] = index
    of_task = class_of[run.tasks.worker]
    if (of_task < 0).any():  # by a worker that the platform does not have
        return None
    expected = of_classes[of_task, np.arange(len(run))]
    return np.where(np.isfinite(expected), expected, np.nan)


def _median_s(run: Run, graph: TaskGraph | None) -> NDArray[np.float64]:
    """Return per task the median of those of the same configuration and architecture."""
    names = [worker.architecture for worker in run.workers]
    _, architecture = np.unique(names, return_inverse=True)
    kinds = [run.tasks.kernel.astype(np.int64), architecture[run.tasks.worker]]
    if graph is not None:
        kinds.append(graph.row.astype(np.int64))
    duration = run.tasks.duration_s
    order = np.lexsort((duration, *kinds))
    changed = np.zeros(max(len(order) - 1, 0), dtype=bool)
    for kind in kinds:
        changed |= np.diff(kind[order]) != 0
    first = np.concatenate(([0], np.flatnonzero(changed) + 1, [len(order)]))
    counts = np.diff(first)
    sorted_s = duration[order]
    low, high = first[:-1] + (counts - 1) // 2, first[:-1] + counts // 2
    expected = np.empty(len(order))
    if len(order):
        expected[order] = np.repeat((sorted_s[low] + sorted_s[high]) / 2, counts)
    return expected


def add_tasks(columns: PackedColumns, subject: PageRun, ticks: Ticks) -> None:
    """Add the columns of the tasks of a run.

    Those in the order in which workers ran them are ``worker_tasks`` (how many each had),
    ``task``, ``gap`` and ``duration``; all others are in the order of the tasks.
    """
    tasks = subject.run.tasks
    start, end = ticks.of(tasks.start_s), ticks.of(tasks.end_s)
    order = np.lexsort((tasks.task, end, start, tasks.worker))
    worker = tasks.worker[order]
    before = np.zeros(len(order), dtype=np.int64)
    same = worker[1:] == worker[:-1]
    before[1:][same] = end[order][:-1][same]
    counts = np.bincount(tasks.worker, minlength=len(subject.run.workers))
    columns.whole("worker_tasks", counts)
    columns.whole("task", order, differences=True)
    columns.whole("gap", start[order] - before)
    columns.whole("duration", (end - start)[order])
    # The others are in the order of the tasks.
    columns.whole("kernel", tasks.kernel)
    columns.whole("priority", tasks.priority, differences=True)
    columns.whole("number", tasks.task.astype(np.int64) - np.arange(len(tasks)))
    submitted, ready = ticks.of(tasks.submitted_s), ticks.of(tasks.ready_s)
    columns.whole("submitted", submitted, differences=True)
    released_by = tasks.released_by.astype(np.int64)
    released = (released_by >= 0) & (released_by < len(tasks))
    itself = np.arange(len(tasks))
    columns.whole("released", np.where(released, itself - released_by, 0))
    since = np.where(released, end[np.where(released, released_by, 0)], submitted)
    columns.whole("ready", ready - since)
    if not np.isnan(tasks.popped_s).all():
        columns.whole("taken", start - ticks.of(tasks.taken_s))
    columns.real("expected", subject.expected_s)
    columns.whole("critical", critical_tasks(subject.run), differences=True)
    if subject.run.transfers is not None:
        # Time between the arrival of a task's data and its start, plus 1 tick; 0 if none arrived.
        arrival_s = data_arrival_s(subject.run)
        came = np.isfinite(arrival_s)
        arrival = np.minimum(ticks.of(np.where(came, arrival_s, 0.0)), start)
        columns.whole("arrival", np.where(came, start - arrival + 1, 0))
    if subject.graph is not None:
        _add_graph(columns, subject.graph)


def _add_graph(columns: PackedColumns, graph: TaskGraph) -> None:
    """Add the predecessors of each task, its iteration, and its flop."""
    pointers, predecessors = transpose(graph.successor_ptr, graph.successors, len(graph))
    counts = np.diff(pointers)
    columns.whole("predecessors", counts)
    columns.whole("predecessor", np.repeat(np.arange(len(graph)), counts) - predecessors)
    found = iterations(graph)
    if found is not None:
        columns.whole("iteration", found, differences=True)
    flop = task_flop(graph)
    if np.isfinite(flop).any():
        columns.real("flop", flop)


_MOST_SLICES: Final = 20_000
"""Maximum number of slices of a memory curve: finer than the pixels of a screen zoomed in ten
times."""


def add_copies(columns: PackedColumns, run: Run, ticks: Ticks) -> list[dict[str, int]]:
    """Add the copies by link and start; return per link its memories and how many copies."""
    copies = run.transfers
    if copies is None or not len(copies):
        return []
    links = pairs(copies)
    rows = [part[np.argsort(copies.start_s[part], kind="stable")] for _, _, part in links]
    order = np.concatenate(rows)
    start = ticks.of(copies.start_s[order])
    columns.whole("copy_start", start, differences=True)
    columns.whole("copy_duration", ticks.of(copies.end_s[order]) - start)
    columns.whole("copy_requested", start - ticks.of(copies.requested_s[order]))
    columns.whole("copy_bytes", copies.size_bytes[order], differences=True)
    columns.whole("copy_handle", copies.handle[order], differences=True)
    columns.whole("copy_task", copies.task[order], differences=True)
    columns.whole("copy_reason", copies.reason[order])
    return [
        {"source": source, "target": target, "copies": len(part)} for source, target, part in links
    ]


def add_memory(columns: PackedColumns, run: Run, ticks: Ticks) -> list[int]:
    """Add how full the memories were; return those of which it is known."""
    if run.memory is None or not len(run.memory):
        return []
    known: list[int] = np.unique(run.memory.memory).tolist()
    for memory in known:
        times, used = thinned(*used_curve(run.memory, memory, run.makespan_s), _MOST_SLICES)
        columns.whole(f"memory_time_{memory}", ticks.of(times), differences=True)
        columns.whole(f"memory_used_{memory}", used, differences=True)
    return known


def add_decisions(columns: PackedColumns, subject: PageRun, ticks: Ticks) -> None:
    """Add the decisions of the scheduler, with terms for candidates, and the accesses of tasks."""
    decisions, graph = subject.run.decisions, subject.graph
    if decisions is None:
        return
    columns.whole("decision_time", ticks.of(decisions.time_s), differences=True)
    for name in ("task", "step", "worker", "queue", "position"):
        columns.whole(f"decision_{name}", getattr(decisions, name))
    has_terms = decisions.step <= DecisionStep.CHOSEN
    for name in TERMS:
        values = getattr(decisions, name)[has_terms]
        columns.exact(f"decision_{name.removesuffix('_s')}", values)
    if graph is not None and len(subject.run.memories) > 1:
        columns.whole("access_counts", np.diff(graph.access_ptr))
        columns.whole("access_handle", graph.access_handle)
        columns.whole("access_mode", graph.access_mode)
        columns.whole("home", graph.handle_home)


def data_names(graph: TaskGraph | None) -> list[dict[str, Any]]:
    """Return what the data of a graph are called, block by block."""
    blocks = () if graph is None else graph.handle_blocks
    return [block._asdict() for block in blocks]


def add_messages(columns: PackedColumns, run: Run, ticks: Ticks) -> int:
    """Add the messages by start; return how many there are."""
    messages = run.messages
    if messages is None or not len(messages):
        return 0
    order = np.argsort(messages.start_s, kind="stable")
    start = ticks.of(messages.start_s[order])
    columns.whole("message_start", start, differences=True)
    columns.whole("message_duration", ticks.of(messages.end_s[order]) - start)
    columns.whole("message_ready", start - ticks.of(messages.ready_s[order]))
    columns.whole("message_source", messages.source[order])
    columns.whole("message_target", messages.target[order])
    columns.whole("message_bytes", messages.size_bytes[order], differences=True)
    columns.whole("message_handle", messages.handle[order], differences=True)
    # The rows of their first readers in the table of tasks; -1: in none.
    reader, known = messages.task[order], np.append(run.tasks.task, -2)
    row = np.searchsorted(known[:-1], reader)
    columns.whole("message_task", np.where(known[row] == reader, row, -1), differences=True)
    return len(messages)


def add_others(columns: PackedColumns, run: Run, ticks: Ticks) -> dict[str, Any] | None:
    """Add how long tasks had no core, and why; return the rest, or None if nobody knows.

    The column ``lost`` is a tick more; 0: not known of the task. Undisturbed tasks have small
    numbers in all columns, which take no room.
    """
    if not has_processor_times(run):
        return None
    known = np.isfinite(run.tasks.cpu_s)
    columns.whole("lost", np.where(known, ticks.of(lost_s(run)) + 1, 0))
    columns.whole("others", ticks.of(others_s(run)))
    if np.isfinite(run.tasks.pulse).any():
        columns.whole("crowded", ticks.of(crowded_s(run)))
    columns.whole("preemptions", run.tasks.preemptions)
    told = run.disturbance
    return {
        "blocking": blocking_kernels(run),
        "between_s": others_between_s(run).tolist(),
        "waited_s": None if told is None else told.waited_s,
        "preemptions": None if told is None else told.preemptions,
    }
