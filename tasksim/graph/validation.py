"""Validation of task graphs, with messages that name the task that is malformed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import CycleError, GraphError
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.csr import owner, transpose
from tasksim.graph.dependencies import first_repeated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["validate"]


def validate(graph: TaskGraph) -> None:
    """Raise :exc:`GraphError` (:exc:`CycleError` for a cycle) if *graph* is malformed."""
    _check_shapes(graph)
    _check_kernels(graph)
    _check_parameters(graph)
    _check_handles(graph)
    _check_accesses(graph)
    _check_repeated_accesses(graph)
    _check_hints(graph)
    _check_successors(graph)
    _check_direction(graph)


def _first(bad: NDArray[np.bool_]) -> int | None:
    """Return the first position where *bad* holds, or None."""
    position = int(bad.argmax()) if len(bad) else 0
    return position if len(bad) and bad[position] else None


def _check_shapes(graph: TaskGraph) -> None:
    tasks, kernels = len(graph), len(graph.kernels)
    lengths = {
        "row": tasks,
        "priority": tasks,
        "access_ptr": tasks + 1,
        "successor_ptr": tasks + 1,
        "parameters": kernels,
        "parameter_names": kernels,
        "model_names": kernels,
        "access_mode": len(graph.access_handle),
        "handle_home": graph.handles,
        "hint_after": graph.hints,
    }
    for name, length in lengths.items():
        if (got := len(getattr(graph, name))) != length:
            raise GraphError(f"task graph {graph.name}: {name} has length {got}, not {length}")
    for index, name in enumerate(graph.kernels):
        if graph.parameters[index].shape[1:] != (len(graph.parameter_names[index]),):
            shape = graph.parameters[index].shape
            names = ", ".join(graph.parameter_names[index])
            raise GraphError(f"kernel {name}: table of shape {shape} for parameters ({names})")
    _check_pointers(graph, "access_ptr", len(graph.access_handle))
    _check_pointers(graph, "successor_ptr", len(graph.successors))


def _check_pointers(graph: TaskGraph, name: str, end: int) -> None:
    pointers: NDArray[np.int64] = getattr(graph, name)
    if pointers[0] != 0 or pointers[-1] != end:
        raise GraphError(
            f"task graph {graph.name}: {name} runs from {pointers[0]} to {pointers[-1]}, "
            f"not from 0 to {end}"
        )
    if (task := _first(np.diff(pointers) < 0)) is not None:
        raise GraphError(f"task #{task}: {name} decreases")


def _check_kernels(graph: TaskGraph) -> None:
    kernels = len(graph.kernels)
    if (task := _first((graph.kernel < 0) | (graph.kernel >= kernels))) is not None:
        raise GraphError(f"task #{task}: no kernel {graph.kernel[task]} (there are {kernels})")
    rows = np.array([len(table) for table in graph.parameters], dtype=np.int64)[graph.kernel]
    if (task := _first((graph.row < 0) | (graph.row >= rows))) is not None:
        raise GraphError(
            f"task #{task}: no row {graph.row[task]} in the table of {graph.kernel_of(task)} "
            f"(there are {rows[task]})"
        )


def _check_parameters(graph: TaskGraph) -> None:
    for index, table in enumerate(graph.parameters):
        bad = ~(np.isfinite(table) & (table >= 0))
        if bad.any():
            row, column = np.argwhere(bad)[0]
            task = _first((graph.kernel == index) & (graph.row == row))
            where = graph.kernels[index] if task is None else graph.label(task)
            raise GraphError(
                f"{where}: parameter {graph.parameter_names[index][column]} is "
                f"{table[row, column]:g}; legal: a finite number from 0"
            )


def _check_handles(graph: TaskGraph) -> None:
    for column, what in (("handle_size", "size in bytes"), ("handle_home", "home memory")):
        values: NDArray[Any] = getattr(graph, column)
        if (handle := _first(values < 0)) is not None:
            raise GraphError(
                f"{graph.handle_name(handle)}: {what} is {values[handle]}; legal: 0 or more"
            )


def _check_accesses(graph: TaskGraph) -> None:
    handle, handles = graph.access_handle, graph.handles
    if (place := _first((handle < 0) | (handle >= handles))) is not None:
        task = graph.label(owner(graph.access_ptr, place))
        raise GraphError(f"{task}: accesses handle {handle[place]} (there are {handles})")
    mode = graph.access_mode
    if (place := _first((mode < AccessMode.R) | (mode > AccessMode.SCRATCH))) is not None:
        task = graph.label(owner(graph.access_ptr, place))
        legal = ", ".join(f"{legal.value} {legal.name}" for legal in AccessMode)
        raise GraphError(f"{task}: access mode {mode[place]} (legal: {legal})")


def _check_repeated_accesses(graph: TaskGraph) -> None:
    if (found := first_repeated(graph.access_ptr, graph.access_handle)) is not None:
        task, handle = found
        modes = [mode.name for accessed, mode in graph.accesses_of(task) if accessed == handle]
        raise GraphError(
            f"{graph.label(task)}: accesses {graph.handle_name(handle)} as {' and '.join(modes)}; "
            "one task may combine only R, W and RW on one handle"
        )


def _check_hints(graph: TaskGraph) -> None:
    handle, after = graph.hint_handle, graph.hint_after
    if (hint := _first((handle < 0) | (handle >= graph.handles))) is not None:
        raise GraphError(f"hint #{hint}: on handle {handle[hint]} (there are {graph.handles})")
    if (hint := _first((after < 0) | (after > len(graph)))) is not None:
        raise GraphError(
            f"hint #{hint} (on {graph.handle_name(int(handle[hint]))}): after {after[hint]} tasks; "
            f"legal: 0 to {len(graph)}"
        )
    if (hint := _first(np.diff(after) < 0)) is not None:
        raise GraphError(
            f"hint #{hint + 1} (on {graph.handle_name(int(handle[hint + 1]))}): after "
            f"{after[hint + 1]} tasks, the hint before it after {after[hint]}; legal: ascending"
        )


def _check_successors(graph: TaskGraph) -> None:
    after, tasks = graph.successors, len(graph)
    if (place := _first((after < 0) | (after >= tasks))) is not None:
        task = graph.label(owner(graph.successor_ptr, place))
        raise GraphError(f"{task}: no task #{after[place]} to follow it (there are {tasks})")
    unordered = np.diff(after) <= 0
    inner = graph.successor_ptr[1:-1]
    # Between the lists of two tasks the order is free.
    unordered[inner[(inner > 0) & (inner < len(after))] - 1] = False
    if (place := _first(unordered)) is not None:
        task = graph.label(owner(graph.successor_ptr, place))
        raise GraphError(f"{task}: successors are not ascending, or not distinct")


def _check_direction(graph: TaskGraph) -> None:
    before = np.repeat(np.arange(len(graph), dtype=np.int32), np.diff(graph.successor_ptr))
    if (place := _first(graph.successors <= before)) is None:
        return
    earlier, later = int(graph.successors[place]), int(before[place])
    if earlier == later:
        raise CycleError(f"{graph.label(earlier)}: depends on itself")
    if cycle := _find_cycle(graph):
        shown = [graph.label(task) for task in cycle[:8]] + ["..."] * (len(cycle) > 8)
        path = " -> ".join([*shown, graph.label(cycle[0])])
        raise CycleError(f"task graph {graph.name} has a cycle: {path}")
    raise GraphError(
        f"{graph.label(earlier)}: depends on {graph.label(later)}, which is submitted later; "
        "number tasks so that dependencies lead from smaller to larger numbers"
    )


def _find_cycle(graph: TaskGraph) -> list[int]:
    """Return the tasks of a cycle in the order of their edges; none: an empty list."""
    waiting = graph.predecessor_count.tolist()
    ready = [task for task, count in enumerate(waiting) if not count]
    while ready:
        for task in graph.successors_of(ready.pop()):
            waiting[task] -= 1
            if not waiting[task]:
                ready.append(task)
    left = [task for task, count in enumerate(waiting) if count]
    return _walk_back(graph, left[0], waiting) if left else []


def _walk_back(graph: TaskGraph, task: int, waiting: list[int]) -> list[int]:
    """Return the cycle met by going from *task* to predecessors that still wait."""
    pointers, predecessors = transpose(graph.successor_ptr, graph.successors, len(graph))
    path: dict[int, None] = {}
    while task not in path:
        path[task] = None
        before = predecessors[pointers[task] : pointers[task + 1]].tolist()
        task = next(other for other in before if waiting[other])
    walked = list(path)
    cycle = walked[walked.index(task) :][::-1]
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]
