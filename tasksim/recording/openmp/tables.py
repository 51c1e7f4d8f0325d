"""Tables of an OpenMP recording: its pieces as a graph and a run, threads as workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.graph.access_mode import AccessMode
from tasksim.graph.csr import from_pairs, pointers_of_counts
from tasksim.graph.taskgraph import THREAD_START, HandleBlock, TaskGraph
from tasksim.models.rows import RECORDED_SIZE
from tasksim.native.this_machine import machine_name
from tasksim.recording.openmp.history import INTERRUPTED_NS
from tasksim.recording.openmp.names import UNKNOWN_PLACE
from tasksim.recording.openmp.pieces import FIRST_EVENT_THREAD, Phase, Role
from tasksim.recording.tables import CPU, EVENT, ready_times
from tasksim.run.bounds import bounds
from tasksim.run.disturbance import BLOCKING_SHARE
from tasksim.run.record import Run, WorkerInfo
from tasksim.run.recordtables import TaskTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.recording.openmp.data_map import DescribedData
    from tasksim.recording.openmp.pieces import Pieces
    from tasksim.recording.openmp.trace import ThreadRecords

__all__ = ["graph_of_pieces", "kernel_label", "run_of_pieces"]

REPLAY_SCHEDULER: Final = "libomp"
"""Scheduler of replays: that of the runtime that ran the program."""
GOES_ON: Final = 1
"""Priority of a piece that continues a task: its thread does not leave the task for others."""
_SUFFIX: Final = {Phase.FIRST: "", Phase.CREATED: " (creating)", Phase.WAITED: " (resumed)"}


def kernel_label(role: int, phase: int, place: str) -> str:
    """Return the name of the kernel of a piece.

    >>> kernel_label(Role.TASK, Phase.WAITED, "fib:6")
    'fib:6 (resumed)'
    """
    if role == Role.BARRIER:
        return "barrier"
    if role == Role.START:
        return THREAD_START
    if role == Role.TASKWAIT:
        return "taskwait"
    if role == Role.SERIAL:
        return "serial part"
    if role == Role.EVENT:
        return f"{place} (event)"
    word = "parallel " if role == Role.PARALLEL else ""
    return f"{word}{place}{_SUFFIX[Phase(phase)]}"


def graph_of_pieces(
    pieces: Pieces, names: Mapping[int, str], name: str, described: DescribedData
) -> TaskGraph:
    """Return the graph of *pieces*; *names* has the names of places in the program."""
    kernels, kernel = _kernels(pieces, names)
    successor_ptr, successors = from_pairs(pieces.before, pieces.after, len(pieces))
    count = len(pieces)
    goes_on = (pieces.phase != Phase.FIRST) | np.isin(
        pieces.role, (Role.PARALLEL, Role.SERIAL, Role.BARRIER, Role.TASKWAIT, Role.START)
    )
    data = len(pieces.address)
    sizes = described.sizes
    blocks: tuple[HandleBlock, ...] = (HandleBlock("data", data, 0, 0),) if data else ()
    if described.names:
        blocks = tuple(HandleBlock(each, 0, 0, at) for at, each in enumerate(described.names))
    names_of_parameters, parameters, row = _parameters(pieces, kernel, len(kernels), sizes)
    graph = TaskGraph(
        name=name,
        arguments={},
        kernels=kernels,
        parameter_names=names_of_parameters,
        parameters=parameters,
        model_names=kernels,
        kernel=kernel,
        row=row,
        priority=np.where(goes_on, GOES_ON, 0).astype(np.int32),
        access_ptr=pointers_of_counts(np.bincount(pieces.access_piece, minlength=count)),
        access_handle=pieces.access_datum.astype(np.int32),
        access_mode=pieces.access_mode.astype(np.int8),
        successor_ptr=successor_ptr,
        successors=successors,
        handle_size=sizes,
        handle_home=np.zeros(data, np.int32),
        handle_blocks=blocks,
        continues=pieces.continues.astype(np.int32),
        creator=pieces.creator.astype(np.int32),
        binding=pieces.binding.astype(np.int8),
    )
    graph.validate()
    return graph


def _kernels(pieces: Pieces, names: Mapping[int, str]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Return the names of the kernels in order of first use, and the kernel of each piece."""
    key = np.stack([pieces.role, pieces.phase, pieces.site])
    rows, first, inverse = np.unique(key, axis=1, return_index=True, return_inverse=True)
    label = [
        kernel_label(role, phase, names.get(site, UNKNOWN_PLACE))
        for role, phase, site in rows.T.tolist()
    ]
    index: dict[str, int] = {}
    for row in np.argsort(first).tolist():
        index.setdefault(label[row], len(index))
    number = np.array([index[text] for text in label], np.int32)
    return tuple(index), number[inverse.reshape(-1)]


def _parameters(
    pieces: Pieces, kernel: NDArray[np.int32], kernels: int, sizes: NDArray[np.int64]
) -> tuple[tuple[tuple[str, ...], ...], tuple[NDArray[np.float64], ...], NDArray[np.int32]]:
    """Return per kernel its parameters and a table of their values, and per piece its row.

    A kernel whose tasks all name data has the size of these as its parameter.
    """
    total = np.bincount(
        pieces.access_piece, weights=sizes[pieces.access_datum], minlength=len(kernel)
    )
    row = np.zeros(len(kernel), np.int32)
    names: list[tuple[str, ...]] = [()] * kernels
    tables: list[NDArray[np.float64]] = [np.zeros((1, 0))] * kernels
    unnamed = np.zeros(kernels, bool)
    unnamed[kernel[total == 0]] = True
    order = np.argsort(kernel, kind="stable")
    limits = np.searchsorted(kernel[order], np.arange(kernels + 1))
    for number in np.flatnonzero(~unnamed).tolist():
        mine = order[limits[number] : limits[number + 1]]
        values, row[mine] = np.unique(total[mine], return_inverse=True)
        names[number], tables[number] = (RECORDED_SIZE,), values.astype(np.float64)[:, None]
    return tuple(names), tuple(tables), row


def run_of_pieces(
    pieces: Pieces,
    graph: TaskGraph,
    config: dict[str, Any],
    wall_s: float,
    records: Sequence[ThreadRecords] = (),
) -> Run:
    """Return the run that was recorded; its clock starts with the first piece.

    The *records* of its threads have the pulses of their cores.
    """
    threads, worker = np.unique(pieces.thread, return_inverse=True)
    workers = tuple(
        WorkerInfo(f"thread {number}", CPU)
        if number < FIRST_EVENT_THREAD
        else WorkerInfo(f"event {number - FIRST_EVENT_THREAD}", EVENT)
        for number in threads.tolist()
    )
    origin = int(pieces.created_ns.min())
    start, end, submitted = (
        _seconds(column - origin) for column in (pieces.start_ns, pieces.end_ns, pieces.created_ns)
    )
    # A later piece of a task, or the part of a thread in a region, is there with what comes before.
    last = np.full(len(pieces), -np.inf)
    np.maximum.at(last, pieces.after, end[pieces.before])
    waits = ((pieces.role != Role.TASK) | (pieces.phase != Phase.FIRST)) & np.isfinite(last)
    submitted = np.where(waits, np.minimum(submitted, last), submitted)
    ready, released_by = ready_times(graph, submitted, end)
    ready = np.maximum(ready, _free_s(pieces, start, end))
    cpu_ns = np.clip(pieces.cpu_ns, 0, pieces.end_ns - pieces.start_ns)
    preemptions = _interruptions(pieces.end_ns - pieces.start_ns, cpu_ns, graph.kernel)
    # Others on the same processor do not make tasks longer that wait as a rule.
    pulses = np.where((preemptions >= 0)[:, None], _pulses(pieces, records), np.nan)
    table = TaskTable(
        task=np.arange(len(pieces), dtype=np.int32),
        kernel=graph.kernel,  # type: ignore[arg-type]  # the table sees whether it fits
        worker=worker,
        priority=graph.priority,
        submitted_s=submitted,
        ready_s=np.minimum(ready, start),
        start_s=start,
        end_s=end,
        released_by=released_by,
        cpu_s=_seconds(cpu_ns),
        preemptions=preemptions,
        pulse=pulses[:, 0],
        beat=pulses[:, 1],
    )
    able, counts = np.ones((1, len(pieces)), bool), [len(workers)]
    is_event = pieces.role == Role.EVENT
    if is_event.any():
        able = np.stack([~is_event, is_event])
        counts = [
            int((threads < FIRST_EVENT_THREAD).sum()),
            int((threads >= FIRST_EVENT_THREAD).sum()),
        ]
    return Run(
        kind="native",
        graph_name=graph.name,
        graph_arguments={},
        kernel_names=graph.kernels,
        workers=workers,
        platform=machine_name(),
        scheduler=REPLAY_SCHEDULER,
        seed=None,
        tasks=table,
        config=config,
        wall_s=wall_s,
        bounds=bounds(graph, np.where(able, end - start, np.inf), counts).to_json(),
        graph=graph,
    )


def _free_s(
    pieces: Pieces, start: NDArray[np.float64], end: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return when those before each piece had ended that exclude it: mutexinoutset."""
    found = np.full(len(pieces), -np.inf)
    excluding = np.flatnonzero(pieces.access_mode == AccessMode.COMMUTATIVE)
    piece, datum = pieces.access_piece[excluding], pieces.access_datum[excluding]
    order = np.lexsort((start[piece], datum))
    piece, datum = piece[order], datum[order]
    again = datum[1:] == datum[:-1]
    np.maximum.at(found, piece[1:][again], end[piece[:-1][again]])
    return found


def _seconds(nanoseconds: NDArray[np.int64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = nanoseconds.astype(np.float64) * 1e-9
    return found


def _pulses(pieces: Pieces, records: Sequence[ThreadRecords]) -> NDArray[np.float64]:
    """Return, per piece, the mean pulse and beat before and after it; NaN if there are none.

    At the ends of a thread's records, there are only those after or before.
    """
    found = np.full((len(pieces), 2), np.nan)
    for thread in records:
        if not len(thread.pulse_ns):
            continue
        mine = np.flatnonzero(pieces.thread == thread.number)
        before = np.searchsorted(thread.pulse_ns, pieces.start_ns[mine], "right") - 1
        after = np.searchsorted(thread.pulse_ns, pieces.end_ns[mine])
        pulses, last = np.maximum(thread.pulses, 1.0), len(thread.pulse_ns) - 1
        found[mine] = (pulses[np.maximum(before, 0)] + pulses[np.minimum(after, last)]) / 2.0
    return found


def _interruptions(
    duration_ns: NDArray[np.int64], cpu_ns: NDArray[np.int64], kernel: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return per piece 1 where the system took its core, 0 where not, -1 where it is unknown.

    It is concluded from the time without a core, but not of kernels that wait as a rule.
    """
    lost_ns = duration_ns - cpu_ns
    found = np.where(lost_ns > INTERRUPTED_NS, 1, 0)
    for number in range(int(kernel.max(initial=-1)) + 1):
        mine = kernel == number
        if np.median(lost_ns[mine] / np.maximum(duration_ns[mine], 1)) > BLOCKING_SHARE:
            found[mine] = -1
    return found.astype(np.int32)
