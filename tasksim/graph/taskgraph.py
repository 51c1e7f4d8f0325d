"""Task graph, with tasks in submission order, their data and dependencies."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from tasksim.base.errors import CycleError, GraphError, expect
from tasksim.base.units import format_size
from tasksim.graph.access_mode import AccessMode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from tasksim.graph.csr import Int32, Int64

__all__ = [
    "COLUMNS",
    "MAIN_THREAD",
    "THREAD_START",
    "WORKER_START",
    "Binding",
    "HandleBlock",
    "TaskGraph",
    "task_parameter",
]

THREAD_START: Final = "thread start"
"""Kernel of the tasks that are the start of a thread in a recording, held by that thread."""
WORKER_START: Final = "worker start"
"""Kernel of the tasks that are the start of a pool's worker process in a recording. No function can
have this name."""
MAIN_THREAD: Final = "main thread"
"""Kernel of the work that a submitting thread does between a wait and its next submission. No
function can have this name, either."""


class Binding(IntEnum):
    """Binding of a task to a thread, as in OpenMP.

    For a task that continues another, it restricts the tasks that the thread may run before.
    """

    TIED = 0
    """Any thread may begin it, but a thread that waits within a task only if it is a descendant.
    For a continuation: it follows a creation or a wait for children."""
    FREE = 1
    """Any thread may begin it at any time (an untied task). For a continuation: it follows a
    barrier, in which the thread runs any task."""
    HELD = 2
    """The thread that created it begins it at once (an undeferred task); without a creator, tasks
    released together have one thread each (implicit tasks)."""
    GROUP = 3
    """For a continuation only: it follows a wait for all descendants of a group."""


class HandleBlock(NamedTuple):
    """Handles registered together, numbered row by row from ``first``.

    A vector has ``columns`` 0, a single handle also ``rows`` 0.
    """

    name: str
    rows: int
    columns: int
    first: int

    @property
    def end(self) -> int:
        """The number after the last handle."""
        return self.first + max(self.rows, 1) * max(self.columns, 1)

    def handle_name(self, handle: int) -> str:
        """Return the name of *handle*, one of this block: ``A[2, 1]``, ``V[3]`` or ``x``."""
        index = handle - self.first
        if self.columns:
            return f"{self.name}[{index // self.columns}, {index % self.columns}]"
        return f"{self.name}[{index}]" if self.rows else self.name


COLUMNS: Mapping[str, type[np.generic]] = {
    "kernel": np.int32,
    "row": np.int32,
    "priority": np.int32,
    "access_ptr": np.int64,
    "access_handle": np.int32,
    "access_mode": np.int8,
    "successor_ptr": np.int64,
    "successors": np.int32,
    "handle_size": np.int64,
    "handle_home": np.int32,
    "hint_handle": np.int32,
    "hint_after": np.int32,
    "continues": np.int32,
    "creator": np.int32,
    "binding": np.int8,
}
"""Types of the columns of a :class:`TaskGraph`, in memory and in files."""
_CONTINUATION_COLUMNS = ("continues", "creator", "binding")
"""Columns that are empty together, unless tasks continue others."""


@dataclass(frozen=True, eq=False, repr=False)
class TaskGraph:
    """An immutable graph of tasks in columns, numbered in submission order.

    Build one with :class:`~tasksim.graph.builder.GraphBuilder` or a generator. Every
    dependency leads from a task to one of larger number, so the numbering is a topological
    order. Lists of lists (accesses, successors) are in compressed sparse row form: those of
    task *i* are at positions ``ptr[i]`` to ``ptr[i + 1]``.

    Parameters
    ----------
    name : str
        The generator.
    arguments : dict
        The arguments of the generator.
    kernels : tuple of str
        The names of the kernels.
    parameter_names : tuple of tuple of str
        Per kernel, the names of its parameters.
    parameters : tuple of ndarray
        Per kernel, a float64 table of shape (configurations, parameters).
    model_names : tuple of str
        Per kernel, the name of its kernel model.
    kernel : ndarray, int32 [tasks]
        The task's kernel.
    row : ndarray, int32 [tasks]
        Its row of that kernel's table.
    priority : ndarray, int32 [tasks]
        Larger is more urgent.
    access_ptr : ndarray, int64 [tasks + 1]
        The beginnings of the tasks' accesses; at most one per task and handle, in the given order.
    access_handle : ndarray, int32 [accesses]
        The handle of each access.
    access_mode : ndarray, int8 [accesses]
        Its mode: an :class:`AccessMode`.
    successor_ptr : ndarray, int64 [tasks + 1]
        The beginnings of the tasks' successors.
    successors : ndarray, int32 [edges]
        The successors, ascending, no duplicates.
    handle_size : ndarray, int64 [handles]
        The size of each datum, in bytes.
    handle_home : ndarray, int32 [handles]
        The initial memory of each datum.
    handle_blocks : tuple of HandleBlock, default ()
        The names of the handles, per block; see :meth:`handle_name`.
    hint_handle : ndarray, int32 [hints], default none
        The handles of hints that data will not be used any more.
    hint_after : ndarray, int32 [hints], default none
        Number of tasks submitted before each hint, ascending.
    categories : mapping, default {}
        Kernel -> parameter -> the names of its categories, which the table numbers from 0.
    continues : ndarray, int32 [tasks or 0], default none
        The task that each one continues on the same worker, as pieces of one OpenMP task do; -1 for
        a first piece. Empty, like the next two, if no task continues another.
    creator : ndarray, int32 [tasks or 0], default none
        The task at whose end the program created each first piece; -1 for none.
    binding : ndarray, int8 [tasks or 0], default none
        The workers that may begin it: a :class:`Binding`.
    by_rank : bool, default False
        Whether nodes are ranks of MPI without a runtime: receives of a task are posted only when
        its data are ready, and messages follow MPI's own protocol.
    apart : bool
        Whether the data are separate, as on a node of a cluster, and not parts of matrices: a task
        then takes them by number, instead of written ones first.

    See Also
    --------
    GraphBuilder : Builder of a graph.
    save_graph, load_graph : Write and read a file.

    Examples
    --------
    >>> from tasksim import generate
    >>> graph = generate("cholesky", tiles=3)
    >>> graph, graph.kernels, graph.successors_of(0)
    (<TaskGraph cholesky: 10 tasks, 12 edges>, ('potrf', 'trsm', 'syrk', 'gemm'), [1, 2])
    """

    name: str
    arguments: dict[str, str | int | float]
    kernels: tuple[str, ...]
    parameter_names: tuple[tuple[str, ...], ...]
    parameters: tuple[NDArray[np.float64], ...]
    model_names: tuple[str, ...]
    kernel: Int32
    row: Int32
    priority: Int32
    access_ptr: Int64
    access_handle: Int32
    access_mode: NDArray[np.int8]
    successor_ptr: Int64
    successors: Int32
    handle_size: Int64
    handle_home: Int32
    handle_blocks: tuple[HandleBlock, ...] = ()
    hint_handle: Int32 = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    hint_after: Int32 = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    continues: Int32 = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    creator: Int32 = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    binding: NDArray[np.int8] = field(default_factory=lambda: np.empty(0, dtype=np.int8))
    by_rank: bool = False
    categories: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    apart: ClassVar[bool] = False

    def __post_init__(self) -> None:
        expect(self.arguments, Mapping, "arguments")
        expect(self.parameters, tuple, "parameters")
        tables = tuple(_frozen(table, np.float64, "parameters") for table in self.parameters)
        object.__setattr__(self, "parameters", tables)
        object.__setattr__(self, "arguments", dict(self.arguments))
        named = {kernel: dict(of) for kernel, of in self.categories.items() if of}
        object.__setattr__(self, "categories", named)
        for name, dtype in COLUMNS.items():
            object.__setattr__(self, name, _frozen(getattr(self, name), dtype, name))

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.kernel)

    def __repr__(self) -> str:
        return f"<TaskGraph {self.name}: {len(self)} tasks, {self.edges} edges>"

    def _repr_html_(self) -> str:
        """Return the table for a notebook: sizes, and tasks by kernel."""
        from tasksim.base.notebook import html_summary

        counts = np.bincount(self.kernel, minlength=len(self.kernels)).tolist()
        rows = [
            [name, str(count), str(len(table))]
            for name, count, table in zip(self.kernels, counts, self.parameters, strict=True)
        ]
        data = f"{self.handles} ({format_size(float(self.handle_size.sum()))})"
        given = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        facts = [("tasks", str(len(self))), ("dependencies", str(self.edges)), ("data", data)]
        facts = [("made with", given), *facts] if given else facts
        header = ["kernel", "tasks", "configurations"]
        return html_summary(f"Task graph {self.name}", facts, header=header, rows=rows)

    def __reduce__(self) -> tuple[type[TaskGraph], tuple[Any, ...]]:
        # Copies go through the constructor, so that their arrays are read-only, too.
        return TaskGraph, tuple(getattr(self, column.name) for column in fields(self))

    @property
    def edges(self) -> int:
        """The number of dependencies."""
        return len(self.successors)

    @property
    def handles(self) -> int:
        """The number of data handles."""
        return len(self.handle_size)

    @property
    def hints(self) -> int:
        """The number of hints that a datum will not be used any more."""
        return len(self.hint_handle)

    @cached_property
    def predecessor_count(self) -> Int32:
        """Number of predecessors of each task."""
        counts = np.bincount(self.successors, minlength=len(self))
        return _frozen(counts, np.int32, "predecessors")

    @cached_property
    def goes_on_at_once(self) -> NDArray[np.bool_]:
        """Whether the worker of each task continues with it without a wait; empty if none does."""
        if not len(self.continues):
            return _frozen([], np.bool_, "goes_on_at_once")
        return _frozen(
            (self.continues >= 0) & (self.predecessor_count == 1), np.bool_, "goes_on_at_once"
        )

    @cached_property
    def starts(self) -> int:
        """The number of the last worker whose start is a task, in recorded programs.

        OpenMP's first thread, and the main thread of a program with a pool, have none. Of several
        pools, one after another, the largest counts: their processes take the same workers.
        """
        if WORKER_START in self.kernels:
            from tasksim.graph.csr import owner_of_each

            starts = np.flatnonzero(self.kernel == self.kernels.index(WORKER_START))
            before = owner_of_each(self.successor_ptr)
            waited_for: dict[int, list[int]] = {task: [] for task in starts.tolist()}
            for edge in np.flatnonzero(np.isin(self.successors, starts)).tolist():
                waited_for[int(self.successors[edge])].append(int(before[edge]))
            pools = Counter(map(tuple, waited_for.values()))
            return max(pools.values()) - (0 if MAIN_THREAD in self.kernels else 1)
        if THREAD_START not in self.kernels or not len(self.binding):
            return 0
        return int((self.kernel == self.kernels.index(THREAD_START)).sum())

    def kernel_of(self, task: int) -> str:
        """Return the name of the kernel of *task*."""
        return self.kernels[int(self.kernel[task])]

    def parameters_of(self, task: int) -> dict[str, Any]:
        """Return the parameters of *task* by name: numbers, and the names of categories."""
        kernel = self.kernel[task]
        row = self.parameters[kernel][self.row[task]]
        found: dict[str, Any] = dict(zip(self.parameter_names[kernel], row.tolist(), strict=True))
        for name, categories in self.categories.get(self.kernels[kernel], {}).items():
            found[name] = categories[int(found[name])]
        return found

    def accesses_of(self, task: int) -> list[tuple[int, AccessMode]]:
        """Return the (handle, mode) pairs of *task*, in the given order."""
        part = slice(self.access_ptr[task], self.access_ptr[task + 1])
        modes = map(AccessMode, self.access_mode[part].tolist())
        return list(zip(self.access_handle[part].tolist(), modes, strict=True))

    def successors_of(self, task: int) -> list[int]:
        """Return the tasks that depend on *task*, ascending."""
        part = slice(self.successor_ptr[task], self.successor_ptr[task + 1])
        tasks: list[int] = self.successors[part].tolist()
        return tasks

    def label(self, task: int) -> str:
        """Return the name of *task* for messages: ``gemm #17 (m=256, n=256, k=256)``."""
        pairs = ", ".join(
            f"{name}={value}" if isinstance(value, str) else f"{name}={value:.15g}"
            for name, value in self.parameters_of(task).items()
        )
        return f"{self.kernel_of(task)} #{task}" + (f" ({pairs})" if pairs else "")

    def handle_name(self, handle: int) -> str:
        """Return the name of *handle*, for example ``A[2, 1]``."""
        place = bisect_right(self.handle_blocks, handle, key=lambda block: block.first) - 1
        if place < 0 or handle >= self.handle_blocks[place].end:
            return f"handle #{handle}"
        return self.handle_blocks[place].handle_name(handle)

    def configurations(self) -> Iterator[tuple[str, NDArray[np.float64], Int64]]:
        """Yield (kernel name, parameter row, its tasks ascending) per configuration in use.

        The order is that of :attr:`kernels` and of their tables.
        """
        order = np.lexsort((self.row, self.kernel))
        kernel, row = self.kernel[order], self.row[order]
        changes = np.flatnonzero((np.diff(kernel) != 0) | (np.diff(row) != 0)) + 1
        for tasks in np.split(order, changes) if len(self) else []:
            index = int(self.kernel[tasks[0]])
            yield self.kernels[index], self.parameters[index][self.row[tasks[0]]], tasks

    def validate(self) -> None:
        """Raise :exc:`GraphError` naming the offending task if the graph is malformed.

        :exc:`CycleError` if the dependencies contain a cycle.
        """
        _check_columns(self)
        _check_categories(self)
        _check_data(self)
        _check_order(self)
        _check_continuations(self)

    def same_as(self, other: TaskGraph) -> bool:
        """Return whether *other* is the same graph: names, columns, tables, everything."""
        return all(
            _same(getattr(self, column.name), getattr(other, column.name))
            for column in fields(self)
        )

    def summary(self) -> dict[str, Any]:
        """Return the sizes: tasks, edges, handles in use and their bytes, hints, kernels."""
        used = np.zeros(self.handles, dtype=bool)
        used[self.access_handle] = True
        counts = np.bincount(self.kernel, minlength=len(self.kernels)).tolist()
        return {
            "name": self.name,
            "arguments": dict(self.arguments),
            "tasks": len(self),
            "edges": self.edges,
            "handles": int(np.count_nonzero(used)),
            "size_bytes": int(self.handle_size[used].sum()),
            "hints": self.hints,
            "kernels": dict(zip(self.kernels, counts, strict=True)),
            "configurations": sum(map(len, self.parameters)),
        }


def task_parameter(graph: TaskGraph, name: str) -> NDArray[np.float64]:
    """Return one parameter of every task; NaN where a task's kernel has no such parameter."""
    found = np.full(len(graph), np.nan)
    for number, names in enumerate(graph.parameter_names):
        if name in names:
            tasks = graph.kernel == number
            found[tasks] = graph.parameters[number][graph.row[tasks], names.index(name)]
    return found


def _frozen(values: ArrayLike, dtype: type[np.generic], what: str) -> NDArray[Any]:
    try:
        array = np.ascontiguousarray(values, dtype=dtype).view()
    except (TypeError, ValueError) as error:
        raise GraphError(f"{what}: {error}") from None
    array.flags.writeable = False
    return array


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


# Checks of a graph, whose messages name the malformed task


def _check_columns(graph: TaskGraph) -> None:
    """Raise :exc:`GraphError` unless columns fit each other, and tasks fit their kernels."""
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
        **(
            dict.fromkeys(_CONTINUATION_COLUMNS, tasks)
            if any(len(getattr(graph, n)) for n in _CONTINUATION_COLUMNS)
            else {}
        ),
    }
    for name, length in lengths.items():
        if (got := len(getattr(graph, name))) != length:
            raise GraphError(f"task graph {graph.name}: {name} has length {got}, not {length}")
    for index, name in enumerate(graph.kernels):
        if graph.parameters[index].shape[1:] != (len(graph.parameter_names[index]),):
            shape = graph.parameters[index].shape
            names = ", ".join(graph.parameter_names[index])
            raise GraphError(f"kernel {name}: table of shape {shape} for parameters ({names})")
    for name, end in (
        ("access_ptr", len(graph.access_handle)),
        ("successor_ptr", len(graph.successors)),
    ):
        pointers: NDArray[np.int64] = getattr(graph, name)
        if pointers[0] != 0 or pointers[-1] != end:
            raise GraphError(
                f"task graph {graph.name}: {name} runs from {pointers[0]} to {pointers[-1]}, "
                f"not from 0 to {end}"
            )
        if (task := _first(np.diff(pointers) < 0)) is not None:
            raise GraphError(f"task #{task}: {name} decreases")
    if (task := _first((graph.kernel < 0) | (graph.kernel >= kernels))) is not None:
        raise GraphError(f"task #{task}: no kernel {graph.kernel[task]} (there are {kernels})")
    rows = np.array([len(table) for table in graph.parameters], dtype=np.int64)[graph.kernel]
    if (task := _first((graph.row < 0) | (graph.row >= rows))) is not None:
        raise GraphError(
            f"task #{task}: no row {graph.row[task]} in the table of {graph.kernel_of(task)} "
            f"(there are {rows[task]})"
        )
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


def _check_categories(graph: TaskGraph) -> None:
    """Raise :exc:`GraphError` unless columns of categories hold their numbers."""
    for kernel, categories in graph.categories.items():
        if kernel not in graph.kernels:
            raise GraphError(f"categories of {kernel}: there is no such kernel")
        number = graph.kernels.index(kernel)
        for name, known in categories.items():
            if name not in graph.parameter_names[number]:
                raise GraphError(f"categories of {kernel}: there is no parameter {name}")
            column = graph.parameters[number][:, graph.parameter_names[number].index(name)]
            wrong = (column >= len(known)) | (column != np.floor(column))
            if wrong.any():
                raise GraphError(
                    f"kernel {kernel}: parameter {name} is {column[wrong][0]:g}; legal: the number "
                    f"of a category, 0 to {len(known) - 1}"
                )


def _check_data(graph: TaskGraph) -> None:
    """Raise :exc:`GraphError` for impossible handles, accesses or hints."""
    from tasksim.graph.csr import owner
    from tasksim.graph.dependencies import first_repeated

    for column, what in (("handle_size", "size in bytes"), ("handle_home", "home memory")):
        values: NDArray[Any] = getattr(graph, column)
        if (bad := _first(values < 0)) is not None:
            raise GraphError(f"{graph.handle_name(bad)}: {what} is {values[bad]}; legal: 0 or more")
    handle, handles = graph.access_handle, graph.handles
    if (place := _first((handle < 0) | (handle >= handles))) is not None:
        task = graph.label(owner(graph.access_ptr, place))
        raise GraphError(f"{task}: accesses handle {handle[place]} (there are {handles})")
    mode = graph.access_mode
    if (place := _first((mode < AccessMode.R) | (mode > AccessMode.SCRATCH))) is not None:
        task = graph.label(owner(graph.access_ptr, place))
        legal = ", ".join(f"{legal.value} {legal.name}" for legal in AccessMode)
        raise GraphError(f"{task}: access mode {mode[place]} (legal: {legal})")
    if (found := first_repeated(graph.access_ptr, graph.access_handle)) is not None:
        number, accessed = found
        names = [mode.name for one, mode in graph.accesses_of(number) if one == accessed]
        raise GraphError(
            f"{graph.label(number)}: accesses {graph.handle_name(accessed)} as "
            f"{' and '.join(names)}; one task may combine only R, W and RW on one handle"
        )
    hinted, after = graph.hint_handle, graph.hint_after
    if (hint := _first((hinted < 0) | (hinted >= graph.handles))) is not None:
        raise GraphError(f"hint #{hint}: on handle {hinted[hint]} (there are {graph.handles})")
    if (hint := _first((after < 0) | (after > len(graph)))) is not None:
        raise GraphError(
            f"hint #{hint} (on {graph.handle_name(int(hinted[hint]))}): after {after[hint]} tasks; "
            f"legal: 0 to {len(graph)}"
        )
    if (hint := _first(np.diff(after) < 0)) is not None:
        raise GraphError(
            f"hint #{hint + 1} (on {graph.handle_name(int(hinted[hint + 1]))}): after "
            f"{after[hint + 1]} tasks, the hint before it after {after[hint]}; legal: ascending"
        )


def _check_order(graph: TaskGraph) -> None:
    """Raise :exc:`GraphError` unless successors are ascending, and submitted later.

    Of a cycle, :exc:`CycleError` names the tasks.
    """
    from tasksim.graph.csr import cycle_text, find_cycle, owner, owner_of_each, topological_order

    after, tasks = graph.successors, len(graph)
    if (place := _first((after < 0) | (after >= tasks))) is not None:
        task = graph.label(owner(graph.successor_ptr, place))
        raise GraphError(
            f"{task}: its successor #{after[place]} does not exist (there are {tasks} tasks)"
        )
    unordered = np.diff(after) <= 0
    inner = graph.successor_ptr[1:-1]
    # The order between the lists of two tasks is free.
    unordered[inner[(inner > 0) & (inner < len(after))] - 1] = False
    if (place := _first(unordered)) is not None:
        task = graph.label(owner(graph.successor_ptr, place))
        raise GraphError(f"{task}: successors are not ascending, or not distinct")
    before = owner_of_each(graph.successor_ptr, np.int32)
    if (place := _first(after <= before)) is None:
        return
    earlier, later = int(after[place]), int(before[place])
    if earlier == later:
        raise CycleError(f"{graph.label(earlier)}: depends on itself")
    edges = list(zip(before.tolist(), after.tolist(), strict=True))
    _, waiting = topological_order(tasks, edges)
    if any(waiting):
        path = cycle_text([graph.label(task) for task in find_cycle(edges, waiting)])
        raise CycleError(f"task graph {graph.name} has a cycle: {path}")
    raise GraphError(
        f"{graph.label(earlier)}: depends on {graph.label(later)}, which is submitted later; "
        "number tasks so that dependencies lead from smaller to larger numbers"
    )


def _check_continuations(graph: TaskGraph) -> None:
    """Raise :exc:`GraphError` unless tasks continue, and are created by, earlier tasks."""
    if not len(graph.continues):
        return
    number = np.arange(len(graph))
    for name in ("continues", "creator"):
        values: Int32 = getattr(graph, name)
        if (task := _first((values < -1) | (values >= number))) is not None:
            raise GraphError(
                f"{graph.label(task)}: {name} is {values[task]}; legal: the number of an earlier "
                "task, or -1"
            )
    again = np.flatnonzero(graph.continues >= 0)
    _, first = np.unique(graph.continues[again], return_index=True)
    if len(first) < len(again):
        task = int(np.delete(again, first)[0])
        raise GraphError(
            f"{graph.label(task)}: continues task #{graph.continues[task]}, as does another task"
        )
    binding = graph.binding
    if (task := _first((binding < 0) | (binding > max(Binding)))) is not None:
        legal = ", ".join(f"{legal.value} {legal.name}" for legal in Binding)
        raise GraphError(f"{graph.label(task)}: binding {binding[task]} (legal: {legal})")


def _first(bad: NDArray[np.bool_]) -> int | None:
    """Return the first position at which *bad* holds, or None."""
    position = int(bad.argmax()) if len(bad) else 0
    return position if len(bad) and bad[position] else None
