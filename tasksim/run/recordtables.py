"""Tables of the records of a run: NumPy columns of equal length that nobody can change."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph

__all__ = [
    "MemoryTable",
    "MessageTable",
    "RecordTable",
    "TaskTable",
    "TransferReason",
    "TransferTable",
    "frozen",
    "task_table",
]

_INT64 = np.dtype(np.int64)
_INT32 = np.dtype(np.int32)
_INT16 = np.dtype(np.int16)
_INT8 = np.dtype(np.int8)
_TIME = np.dtype(np.float64)


class TransferReason(IntEnum):
    """Why a copy was made: the codes in the column ``reason`` of a :class:`TransferTable`."""

    FETCH = 0
    """A task waited for it."""
    PREFETCH = 1
    """A task was expected to need it."""
    IDLE = 2
    """It was written back while nothing else was to be done."""
    EVICTION = 3
    """It was written back to make room."""


class RecordTable:
    """Columns of equal length: whatever sequences are given become read-only arrays.

    Subclasses are frozen dataclasses whose fields are the columns.

    Raises
    ------
    InputError
        If a column is not one-dimensional, has another length than the first, or holds a value
        that its type cannot.
    """

    what: ClassVar[str]
    """What messages call the table."""
    rows: ClassVar[str]
    """What they call its rows."""
    dtypes: ClassVar[dict[str, np.dtype[Any]]]
    """The columns in order, with their types."""
    wider: ClassVar[dict[str, np.dtype[Any]]] = {}
    """Columns that have another type where a value does not fit in theirs."""
    optional: ClassVar[dict[str, float]] = {}
    """Columns that files may lack, and what stands there where nothing is known."""

    def __post_init__(self) -> None:
        first = next(iter(self.dtypes))
        rows = np.size(getattr(self, first))
        for name, unknown in self.optional.items():
            if not np.size(getattr(self, name)):
                column = frozen(np.full(rows, unknown, self.dtypes[name]))
                object.__setattr__(self, name, column)
        for name, dtype in self.dtypes.items():
            wide = self.wider.get(name, dtype)
            column = _column(self.what, name, getattr(self, name), dtype, wide)
            object.__setattr__(self, name, column)
            if len(column) != len(self):
                raise InputError(
                    f"column '{name}' of the {self.what} has {len(column)} rows, "
                    f"column '{first}' has {len(self)}"
                )

    def __len__(self) -> int:
        return len(getattr(self, next(iter(self.dtypes))))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return all(map(_same, self.columns(), other.columns()))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} {self.rows}>"

    @classmethod
    def empty(cls) -> Self:
        """Return the table without rows."""
        return cls(**{name: np.zeros(0, dtype) for name, dtype in cls.dtypes.items()})

    def columns(self) -> list[NDArray[Any]]:
        """Return the columns in the order of :attr:`dtypes`."""
        return [getattr(self, name) for name in self.dtypes]


@dataclass(frozen=True, eq=False, repr=False)
class TaskTable(RecordTable):
    """The task records of a run, one row per task in task order.

    Times are in seconds since the start of the run.

    Examples
    --------
    >>> table = TaskTable([0], [0], [0], [0], [0.0], [0.0], [0.0], [1.5], [-1])
    >>> table.duration_s
    array([1.5])
    """

    what: ClassVar[str] = "task table"
    rows: ClassVar[str] = "tasks"
    dtypes: ClassVar[dict[str, np.dtype[Any]]] = {
        "task": _INT32,
        "kernel": _INT16,
        "worker": _INT16,
        "priority": _INT32,
        "submitted_s": _TIME,
        "ready_s": _TIME,
        "start_s": _TIME,
        "end_s": _TIME,
        "released_by": _INT32,
        "popped_s": _TIME,
        "cpu_s": _TIME,
        "preemptions": _INT32,
    }
    wider: ClassVar[dict[str, np.dtype[Any]]] = {"worker": _INT32}
    optional: ClassVar[dict[str, float]] = {"popped_s": np.nan, "cpu_s": np.nan, "preemptions": -1}

    task: NDArray[np.int32]
    """The number of the task in its graph."""
    kernel: NDArray[np.int16]
    """Index into the run's ``kernel_names``."""
    worker: NDArray[np.integer[Any]]
    """Index into the run's ``workers``; 32 bits where these are more than 32767."""
    priority: NDArray[np.int32]
    submitted_s: NDArray[np.float64]
    ready_s: NDArray[np.float64]
    """When it was submitted and its dependencies were done."""
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    released_by: NDArray[np.int32]
    """The task whose end made it ready; -1: none, it waited for its submission."""
    popped_s: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """When its worker took it from the scheduler; NaN, the default: not known."""
    cpu_s: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """Processor time that its worker's thread had in a native run; NaN, the default: not known."""
    preemptions: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    """How often the system took the core from it; -1, the default: not known."""

    @property
    def duration_s(self) -> NDArray[np.float64]:
        """How long each task ran."""
        return self.end_s - self.start_s

    @property
    def taken_s(self) -> NDArray[np.float64]:
        """When its worker took each task; where that is not known, when it started."""
        return np.where(np.isnan(self.popped_s), self.start_s, self.popped_s)


@dataclass(frozen=True, eq=False, repr=False)
class TransferTable(RecordTable):
    """The copies between memories of a run, one row per copy.

    Times are in seconds since the start of the run, memories are indices into its ``memories``.

    Examples
    --------
    >>> table = TransferTable([7], [0], [1], [2**20], [0.0], [0.5], [0.75], [0], [3])
    >>> table.duration_s, TransferReason(table.reason[0]).name
    (array([0.25]), 'FETCH')

    See Also
    --------
    MemoryTable : what was allocated for them.
    Run : has one where there are several memories.
    """

    what: ClassVar[str] = "transfer table"
    rows: ClassVar[str] = "transfers"
    dtypes: ClassVar[dict[str, np.dtype[Any]]] = {
        "handle": _INT32,
        "source": _INT16,
        "target": _INT16,
        "size_bytes": _INT64,
        "requested_s": _TIME,
        "start_s": _TIME,
        "end_s": _TIME,
        "reason": _INT8,
        "task": _INT32,
    }

    handle: NDArray[np.int32]
    """The number of the datum in its graph."""
    source: NDArray[np.int16]
    """The memory it was copied from."""
    target: NDArray[np.int16]
    """The memory it was copied to."""
    size_bytes: NDArray[np.int64]
    """What was copied."""
    requested_s: NDArray[np.float64]
    """When it was asked for."""
    start_s: NDArray[np.float64]
    """When the copy began."""
    end_s: NDArray[np.float64]
    """When the datum was there."""
    reason: NDArray[np.int8]
    """A :class:`TransferReason`."""
    task: NDArray[np.int32]
    """The task that it was made for; -1: none."""

    @property
    def duration_s(self) -> NDArray[np.float64]:
        """How long each copy took."""
        return self.end_s - self.start_s


@dataclass(frozen=True, eq=False, repr=False)
class MemoryTable(RecordTable):
    """How full the memories of a run were: a row per change, in order of time.

    Examples
    --------
    >>> MemoryTable([0.0, 0.5], [1, 1], [2**20, 0]).used_bytes
    array([1048576,       0])

    See Also
    --------
    TransferTable : the copies that filled them.
    Run : has one where memories are limited.
    """

    what: ClassVar[str] = "memory table"
    rows: ClassVar[str] = "changes"
    dtypes: ClassVar[dict[str, np.dtype[Any]]] = {
        "time_s": _TIME,
        "memory": _INT16,
        "used_bytes": _INT64,
    }

    time_s: NDArray[np.float64]
    """When it changed."""
    memory: NDArray[np.int16]
    """Index into the run's ``memories``."""
    used_bytes: NDArray[np.int64]
    """What is allocated from this time on."""


@dataclass(frozen=True, eq=False, repr=False)
class MessageTable(RecordTable):
    """The messages between the nodes of a run, one row per message as they were posted.

    Times are in seconds since the start of the run, nodes are those of its workers.

    Examples
    --------
    >>> table = MessageTable([0], [1], [7], [800], [3], [9], [0.0], [0.5], [0.25], [0.5], [0.75])
    >>> table.duration_s
    array([0.25])

    See Also
    --------
    TransferTable : the copies inside of nodes.
    Run : has one where there are several nodes.
    """

    what: ClassVar[str] = "message table"
    rows: ClassVar[str] = "messages"
    dtypes: ClassVar[dict[str, np.dtype[Any]]] = {
        "source": _INT32,
        "target": _INT32,
        "handle": _INT32,
        "size_bytes": _INT64,
        "priority": _INT32,
        "task": _INT32,
        "posted_s": _TIME,
        "ready_s": _TIME,
        "awaited_s": _TIME,
        "start_s": _TIME,
        "end_s": _TIME,
    }

    source: NDArray[np.int32]
    """The node that sent it."""
    target: NDArray[np.int32]
    """The node that received it."""
    handle: NDArray[np.int32]
    """The number of the datum in its graph; beyond its data: an order without bytes."""
    size_bytes: NDArray[np.int64]
    """The data, without envelopes."""
    priority: NDArray[np.int32]
    task: NDArray[np.int32]
    """The task that caused it: the first that reads the datum there, or the one that wrote it."""
    posted_s: NDArray[np.float64]
    """When the sender submitted it."""
    ready_s: NDArray[np.float64]
    """When the datum was there to be sent."""
    awaited_s: NDArray[np.float64]
    """When the receiver could take it."""
    start_s: NDArray[np.float64]
    """When the data began to move."""
    end_s: NDArray[np.float64]
    """When they were there."""

    @property
    def duration_s(self) -> NDArray[np.float64]:
        """How long the data of each moved."""
        return self.end_s - self.start_s


def frozen(values: NDArray[Any]) -> NDArray[Any]:
    """Return *values*, which nobody else knows, as what tables take without copying it."""
    values.setflags(write=False)
    return values


def task_table(graph: TaskGraph, columns: Mapping[str, NDArray[Any]]) -> TaskTable:
    """Return what became of the tasks of *graph*, as the core tells it; states are left out."""
    return TaskTable(
        task=frozen(np.arange(len(graph), dtype=np.int32)),
        kernel=frozen(graph.kernel.astype(np.int16)),
        priority=frozen(graph.priority.astype(np.int32)),
        **{name: values for name, values in columns.items() if name != "state"},
    )


def _is_the_column(values: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Return whether *values* are a column already: nobody can write what they show."""
    if values.dtype != dtype or values.ndim != 1 or values.flags.writeable:
        return False
    shown = getattr(values.base, "__array_interface__", None)
    return values.base is None or (shown is not None and bool(shown["data"][1]))


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Return whether two columns are equal; what is not known equals itself."""
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _column(
    what: str, name: str, values: Any, dtype: np.dtype[Any], wide: np.dtype[Any]
) -> NDArray[Any]:
    """Return *values* as a read-only array of *dtype* that shares no writable memory.

    Of type *wide* where a value is too large.
    """
    if isinstance(values, np.ndarray) and _is_the_column(values, dtype):
        return values
    try:
        given = np.asarray(values)
        if wide != dtype and given.size and given.max() > np.iinfo(dtype).max:
            dtype = wide
        with np.errstate(invalid="ignore"):
            column = given.astype(dtype) if given.size else np.zeros(given.shape, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"column '{name}' of the {what}: {error}") from error
    if column.ndim != 1:
        raise InputError(f"column '{name}' of the {what} has {column.ndim} dimensions, not 1")
    if dtype.kind == "i" and not np.array_equal(column, given):
        raise InputError(f"column '{name}' of the {what} has values that are not {dtype}")
    column.setflags(write=False)
    return column
