"""Conversion of the records of a trace to a run, with its graph and notes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.progress import reached
from tasksim.formats.traces.tracegraph import (
    Ran,
    dependencies,
    graph_of_trace,
    submission_order,
    through,
)
from tasksim.graph.csr import owner_of_each
from tasksim.run.account import WORKER_STATES
from tasksim.run.record import MemoryInfo, Run, TaskTable, WorkerInfo
from tasksim.run.tablechecks import check_references

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.formats.traces.records import Records
    from tasksim.graph.csr import Int64
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import TransferTable

__all__ = ["RecordedTrace", "assembled"]


@dataclass(frozen=True, eq=False)
class RecordedTrace:
    """Contents of a trace.

    Attributes
    ----------
    run : Run
        With its graph; time starts at the first submission.
    notes : tuple of str
        Gaps of the trace, assumptions, and remarkable contents.
    skipped : tuple of str
        Malformed records that were skipped.
    """

    run: Run
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


def assembled(found: Records) -> RecordedTrace:
    """Return the run of the *found* records.

    Raises
    ------
    InputError
        If no task ran, two ran at once on a worker, or tasks depend on each other in a cycle.
    """
    ran = np.array([bool(worker) for worker in found.worker], dtype=bool)
    _refuse_overlaps(found, ran)
    if not ran.any():
        found.skip_bad = False
        found.bad("no task ran on a worker")
    if found.copies is not None:
        found.copies.register(found)
    before, after = dependencies(found)
    reached(0.8)
    order = submission_order(found, before, after)
    reached(0.9)
    if not ran.all():
        found.note(
            f"{len(ran) - int(ran.sum())} tasks ran on no worker (synchronisation, acquiring and"
            " unregistering data): their dependencies are passed on to the tasks that depend on"
            " them"
        )
    before, after = through(ran, order, before, after)
    kept = order[ran[order]]
    graph = graph_of_trace(found, Ran(kept, before, after))
    run = _run(found, kept, graph)
    check_references(run, dict.fromkeys(("task table", "transfer table"), found.path))
    return RecordedTrace(run, tuple(found.notes), tuple(found.skipped))


def _refuse_overlaps(found: Records, ran: NDArray[np.bool_]) -> None:
    """Report tasks that ran at once on a worker to *found*; the later one is skipped."""
    names = {name: number for number, name in enumerate(dict.fromkeys(found.worker))}
    worker = np.array([names[name] for name in found.worker], dtype=np.int64)
    start, end = np.array(found.start_s), np.array(found.end_s)
    tasks = np.flatnonzero(ran)
    tasks = tasks[np.lexsort((end[tasks], start[tasks], worker[tasks]))]
    # Times of files are decimal: an end and the next start may differ in the last bit.
    rounding = 1e-12 * float(end[tasks].max(initial=0.0))
    same = worker[tasks][1:] == worker[tasks][:-1]
    if not bool((same & (start[tasks][1:] < end[tasks][:-1] - rounding)).any()):
        return
    ids = list(found.number)
    last = -1  # the last task that stays, on this worker
    for task in tasks.tolist():
        if last < 0 or worker[last] != worker[task] or start[task] >= end[last] - rounding:
            last = task
            continue
        found.bad(
            f"task {ids[task]} starts at {start[task]:.9g} s on {found.worker[task]}, before "
            f"task {ids[last]} there ends ({end[last]:.9g} s)",
            found.line[task],
        )
        ran[task] = False


def _run(found: Records, kept: Int64, graph: TaskGraph) -> Run:
    """Return the run of the *kept* tasks, with its times since the first submission or start."""
    names = [found.worker[task] for task in kept.tolist()]
    workers = tuple(sorted({*names, *found.known_workers}, key=_natural))
    number = {name: place for place, name in enumerate(workers)}
    start, end = np.array(found.start_s)[kept], np.array(found.end_s)[kept]
    submitted = np.array(found.submitted_s)[kept]
    zero = float(np.nanmin(submitted)) if not np.isnan(submitted).all() else float(start.min())
    if np.isnan(submitted).any():
        found.note("the trace lacks times of submission: these tasks count as submitted at first")
        submitted = np.where(np.isnan(submitted), zero, submitted)
    transfers, zero = _transfers(found, kept, min(zero, float(start.min())))
    start, end, submitted = start - zero, end - zero, np.maximum(submitted - zero, 0.0)
    late = int((submitted > start).sum())
    if late:
        found.note(
            f"{late} tasks start before their recorded submission: the start counts as the"
            " submission"
        )
        submitted = np.minimum(submitted, start)
    ready, released = _readiness(graph, submitted, start, end)
    noted, popped = np.array(found.ready_s)[kept] - zero, np.array(found.popped_s)[kept] - zero
    ready = np.where(np.isnan(noted), ready, np.clip(noted, ready, start))
    popped = np.clip(popped, ready, start)  # unknown times stay unknown
    memories, memory_of = _memories(found, workers)
    most = np.iinfo(np.int16).max  # the kernels of runs have 16 bits
    if len(graph.kernels) > most:
        raise InputError(f"{graph.name}: {len(graph.kernels)} kernels; legal: at most {most}")
    origin: dict[str, Any] = {"from": str(found.path.resolve()), "zero_s": zero}
    if found.worker_states:
        origin[WORKER_STATES] = found.worker_states
    run = Run(
        kind="native",
        graph_name=found.name,
        graph_arguments={},
        kernel_names=graph.kernels,
        workers=tuple(
            WorkerInfo(name, found.architecture(name), found.node_of.get(name, 0), memory_of[name])
            for name in workers
        ),
        platform=found.name,
        scheduler="recorded",
        seed=None,
        tasks=TaskTable(
            task=np.arange(len(kept), dtype=np.int32),
            kernel=graph.kernel.astype(np.int16),
            worker=np.array([number[name] for name in names], dtype=np.int32),
            priority=graph.priority,
            submitted_s=submitted,
            ready_s=ready,
            start_s=start,
            end_s=end,
            released_by=released,
            popped_s=popped,
        ),
        config={"recorded": origin},
        transfers=transfers,
        memories=memories,
        graph=graph,
    )
    return replace(run, bounds=_bounds(run, graph))


def _transfers(found: Records, kept: Int64, zero: float) -> tuple[TransferTable | None, float]:
    """Return the copies of a trace, and the time 0 of the run: that of the first request or *zero*.

    The times of the copies are since then.
    """
    transfers = found.transfers
    if found.copies is not None:  # by names, which have numbers now
        index = np.full(len(found), -1, dtype=np.int64)
        index[kept] = np.arange(len(kept))
        transfers = found.copies.table(found, index)
    if transfers is None:
        return None, zero
    zero = min(zero, float(transfers.requested_s.min(initial=np.inf)))
    columns = ("requested_s", "start_s", "end_s")
    times = {name: getattr(transfers, name) - zero for name in columns}
    return replace(transfers, **times) if zero else transfers, zero


def _readiness(
    graph: TaskGraph,
    submitted: NDArray[np.float64],
    start: NDArray[np.float64],
    end: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return when each task was ready, and which task released it (-1: its submission)."""
    released = np.full(len(graph), -1, dtype=np.int32)
    ready = submitted.copy()
    source = owner_of_each(graph.successor_ptr)
    target = graph.successors
    order = np.lexsort((source, end[source], target))
    target, source = target[order], source[order]
    last = np.flatnonzero(np.append(target[1:] != target[:-1], np.ones(min(1, len(target)), bool)))
    by_task = end[source[last]] > submitted[target[last]]
    tasks, by = target[last][by_task], source[last][by_task]
    released[tasks] = by
    ready[tasks] = np.minimum(end[by], start[tasks])
    return ready, released


def _memories(
    found: Records, workers: tuple[str, ...]
) -> tuple[tuple[MemoryInfo, ...], dict[str, int]]:
    """Return the memories, if there are several, and the number of each worker's."""
    known = names = list(found.memories)
    if not names:
        used = {found.memory_of.get(worker, "0") for worker in workers}
        known = sorted(used | {"0"}, key=_natural)
        names = ["ram", *(f"memory{name}" if name.isdigit() else name for name in known[1:])]
    index = {name: place for place, name in enumerate(known)}
    memory_of = {worker: index.get(found.memory_of.get(worker, "0"), 0) for worker in workers}
    copied = found.transfers is not None or found.copies is not None
    if len(names) > 1 and not copied:
        found.note("the trace has no copies between memories, so memories are left out")
        return (), dict.fromkeys(workers, 0)
    if len(names) < 2:
        return (), memory_of
    if found.numbered_memories:
        # The memories of accelerators are called as in an imported platform.
        at_cpus = {memory_of[name] for name in workers if found.architecture(name) == "cpu"}
        devices = sorted(set(memory_of.values()) - at_cpus - {0})
        names = [
            f"gpu{devices.index(place)}" if place in devices else name
            for place, name in enumerate(names)
        ]
    return tuple(MemoryInfo(name, _node(name)) for name in names), memory_of


def _node(memory: str) -> int:
    """Return the node in the name of a memory, or 0."""
    found = re.match(r"node(\d{1,6})/", memory)
    return int(found[1]) if found else 0


def _bounds(run: Run, graph: TaskGraph) -> dict[str, float]:
    """Return the lower bounds for the recorded durations."""
    from tasksim.run.bounds import bounds

    kinds = list(dict.fromkeys(worker.architecture for worker in run.workers))
    where = np.array([kinds.index(worker.architecture) for worker in run.workers])[run.tasks.worker]
    table = np.full((len(kinds), len(run)), np.inf)
    table[where, np.arange(len(run))] = run.tasks.duration_s
    counts = [sum(worker.architecture == kind for worker in run.workers) for kind in kinds]
    return bounds(graph, table, counts).to_json()


def _natural(name: str) -> list[Any]:
    """Return a key by which CPU2 comes before CPU10."""
    parts = re.split(r"(\d+)", name)
    return [(len(part.lstrip("0")), part) if part.isdecimal() else part for part in parts]
