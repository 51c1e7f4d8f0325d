"""Tables of a run's records, as read-only NumPy columns of equal length."""

from __future__ import annotations

from dataclasses import Field, dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

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
    "is_unknown",
    "task_table",
]

INT64: Final = {"dtype": np.dtype(np.int64)}
INT32: Final = {"dtype": np.dtype(np.int32)}
INT16: Final = {"dtype": np.dtype(np.int16)}
INT8: Final = {"dtype": np.dtype(np.int8)}
FLOAT64: Final = {"dtype": np.dtype(np.float64)}


def no_column() -> NDArray[Any]:
    """Return the default of a column that files may lack."""
    return np.zeros(0)


class TransferReason(IntEnum):
    """Reason for a copy, a code in the column ``reason`` of a :class:`TransferTable`."""

    FETCH = 0
    """Copy that a task waits for."""
    PREFETCH = 1
    """Copy for a task that is expected to need it."""
    IDLE = 2
    """Write-back while the link is idle."""
    EVICTION = 3
    """Write-back to make room."""


class RecordTable:
    """Columns of equal length; sequences given as columns become read-only arrays.

    Subclasses are frozen dataclasses whose fields are the columns. The metadata of a field has its
    ``dtype``, a ``wider`` one for values that do not fit into that, and, for a column that files
    may lack, the value for ``unknown``.

    Raises
    ------
    InputError
        If a column is not one-dimensional, has another length than the first, or holds a value
        out of the range of its type.
    """

    what: ClassVar[str]
    """Name of the table in messages."""
    rows: ClassVar[str]
    """Name of its rows in messages."""
    dtypes: ClassVar[dict[str, np.dtype[Any]]]
    """Columns in order, with their types."""
    wider: ClassVar[dict[str, np.dtype[Any]]]
    """Columns with their wider type, used if a value does not fit into the first."""
    optional: ClassVar[dict[str, float]]
    """Columns that files may lack, with the value for unknown."""

    def __init_subclass__(cls) -> None:
        columns = {name: it.metadata for name, it in vars(cls).items() if isinstance(it, Field)}
        cls.dtypes = {name: given["dtype"] for name, given in columns.items()}
        cls.wider = {name: given["wider"] for name, given in columns.items() if "wider" in given}
        cls.optional = {n: given["unknown"] for n, given in columns.items() if "unknown" in given}

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

    task: NDArray[np.int32] = field(metadata=INT32)
    """Number of the task in its graph."""
    kernel: NDArray[np.int16] = field(metadata=INT16)
    """Index into the run's ``kernel_names``."""
    worker: NDArray[np.integer[Any]] = field(metadata=INT16 | {"wider": INT32["dtype"]})
    """Index into the run's ``workers``; 32 bits if there are more than 32767."""
    priority: NDArray[np.int32] = field(metadata=INT32)
    submitted_s: NDArray[np.float64] = field(metadata=FLOAT64)
    ready_s: NDArray[np.float64] = field(metadata=FLOAT64)
    """Time when it was submitted and its dependencies were done."""
    start_s: NDArray[np.float64] = field(metadata=FLOAT64)
    end_s: NDArray[np.float64] = field(metadata=FLOAT64)
    released_by: NDArray[np.int32] = field(metadata=INT32)
    """Task whose end made it ready; -1 if it waited for its submission."""
    popped_s: NDArray[np.float64] = field(
        default_factory=no_column, metadata=FLOAT64 | {"unknown": np.nan}
    )
    """Time when its worker took it from the scheduler; NaN (default) if unknown."""
    cpu_s: NDArray[np.float64] = field(
        default_factory=no_column, metadata=FLOAT64 | {"unknown": np.nan}
    )
    """Processor time of its worker's thread in a native run; NaN (default) if unknown."""
    preemptions: NDArray[np.int32] = field(
        default_factory=no_column, metadata=INT32 | {"unknown": -1}
    )
    """Number of times that the system took its core; -1 (default) if unknown."""
    pulse: NDArray[np.float64] = field(
        default_factory=no_column, metadata=FLOAT64 | {"unknown": np.nan}
    )
    """Duration of a fixed piece of work on its core, relative to an idle core: 1 if nobody used the
    other hyper-thread of the core; NaN (default) if unknown."""
    beat: NDArray[np.float64] = field(
        default_factory=no_column, metadata=FLOAT64 | {"unknown": np.nan}
    )
    """Duration of a fixed chain of steps on its core, relative to an idle core: 1 if nobody slowed
    the clock of the core; NaN (default) if unknown."""

    @property
    def duration_s(self) -> NDArray[np.float64]:
        """Duration of each task."""
        return self.end_s - self.start_s

    @property
    def taken_s(self) -> NDArray[np.float64]:
        """Time when its worker took each task; its start if that is unknown."""
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
    MemoryTable : Memory allocated for the copies.
    Run : Has a transfer table if there are several memories.
    """

    what: ClassVar[str] = "transfer table"
    rows: ClassVar[str] = "transfers"

    handle: NDArray[np.int32] = field(metadata=INT32)
    """Number of the datum in its graph."""
    source: NDArray[np.int16] = field(metadata=INT16)
    """Memory that it was copied from."""
    target: NDArray[np.int16] = field(metadata=INT16)
    """Memory that it was copied to."""
    size_bytes: NDArray[np.int64] = field(metadata=INT64)
    """Number of copied bytes."""
    requested_s: NDArray[np.float64] = field(metadata=FLOAT64)
    """Time of the request."""
    start_s: NDArray[np.float64] = field(metadata=FLOAT64)
    """Start of the copy."""
    end_s: NDArray[np.float64] = field(metadata=FLOAT64)
    """Arrival of the datum."""
    reason: NDArray[np.int8] = field(metadata=INT8)
    """A :class:`TransferReason`."""
    task: NDArray[np.int32] = field(metadata=INT32)
    """Task for which it was made; -1: none."""

    @property
    def duration_s(self) -> NDArray[np.float64]:
        """Duration of each copy."""
        return self.end_s - self.start_s

    @property
    def is_fetch(self) -> NDArray[np.bool_]:
        """Whether each copy brings a datum where a task needs it, at once or in advance."""
        return np.isin(self.reason, (TransferReason.FETCH, TransferReason.PREFETCH))


@dataclass(frozen=True, eq=False, repr=False)
class MemoryTable(RecordTable):
    """Use of a run's memories: a row per change, in order of time.

    Examples
    --------
    >>> MemoryTable([0.0, 0.5], [1, 1], [2**20, 0]).used_bytes
    array([1048576,       0])

    See Also
    --------
    TransferTable : The copies that fill the memories.
    Run : Has a memory table if memories are limited.
    """

    what: ClassVar[str] = "memory table"
    rows: ClassVar[str] = "changes"

    time_s: NDArray[np.float64] = field(metadata=FLOAT64)
    """Time of the change."""
    memory: NDArray[np.int16] = field(metadata=INT16)
    """Index into the run's ``memories``."""
    used_bytes: NDArray[np.int64] = field(metadata=INT64)
    """Bytes allocated from this time on."""


@dataclass(frozen=True, eq=False, repr=False)
class MessageTable(RecordTable):
    """Messages between the nodes of a run, one row per message in posting order.

    Times are in seconds since the start of the run, nodes are those of its workers.

    Examples
    --------
    >>> table = MessageTable([0], [1], [7], [800], [3], [9], [0.0], [0.5], [0.25], [0.5], [0.75])
    >>> table.duration_s
    array([0.25])

    See Also
    --------
    TransferTable : The copies within nodes.
    Run : Has a message table if there are several nodes.
    """

    what: ClassVar[str] = "message table"
    rows: ClassVar[str] = "messages"

    source: NDArray[np.int32] = field(metadata=INT32)
    """Sending node."""
    target: NDArray[np.int32] = field(metadata=INT32)
    """Receiving node."""
    handle: NDArray[np.int32] = field(metadata=INT32)
    """Number of the datum in its graph; numbers beyond the graph's data: an order without bytes."""
    size_bytes: NDArray[np.int64] = field(metadata=INT64)
    """Size of the data, without envelopes."""
    priority: NDArray[np.int32] = field(metadata=INT32)
    task: NDArray[np.int32] = field(metadata=INT32)
    """Task that caused it: the first one that reads the datum there, or the one that wrote it."""
    posted_s: NDArray[np.float64] = field(metadata=FLOAT64)
    """Time when the sender submitted it."""
    ready_s: NDArray[np.float64] = field(metadata=FLOAT64)
    """Time when the datum was ready to be sent."""
    awaited_s: NDArray[np.float64] = field(metadata=FLOAT64)
    """Time when the receiver was ready for it."""
    start_s: NDArray[np.float64] = field(metadata=FLOAT64)
    """Time when the data began to move."""
    end_s: NDArray[np.float64] = field(metadata=FLOAT64)
    """Time when they arrived."""

    @property
    def duration_s(self) -> NDArray[np.float64]:
        """Time for which the data of each message moved."""
        return self.end_s - self.start_s


def frozen(values: NDArray[Any]) -> NDArray[Any]:
    """Return *values*, which must have no other reference, as a column that is not copied."""
    values.setflags(write=False)
    return values


def is_unknown(table: RecordTable, name: str) -> bool:
    """Return whether no value of the column *name* is known, so that files omit it."""
    unknown = table.optional.get(name)
    if unknown is None:
        return False
    column = getattr(table, name)
    return bool((np.isnan(column) if np.isnan(unknown) else column == unknown).all())


def task_table(graph: TaskGraph, columns: Mapping[str, NDArray[Any]]) -> TaskTable:
    """Return the task table of *graph* from the core's columns; states are left out."""
    return TaskTable(
        task=frozen(np.arange(len(graph), dtype=np.int32)),
        kernel=frozen(graph.kernel.astype(np.int16)),
        priority=frozen(graph.priority.astype(np.int32)),
        **{name: values for name, values in columns.items() if name != "state"},
    )


def _is_the_column(values: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Return whether *values* are a column already, with read-only memory."""
    if values.dtype != dtype or values.ndim != 1 or values.flags.writeable:
        return False
    shown = getattr(values.base, "__array_interface__", None)
    return values.base is None or (shown is not None and bool(shown["data"][1]))


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Return whether two columns are equal; NaN equals NaN."""
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _column(
    what: str, name: str, values: Any, dtype: np.dtype[Any], wide: np.dtype[Any]
) -> NDArray[Any]:
    """Return *values* as a read-only array of *dtype* that shares no writable memory.

    If a value is too large, the type is *wide*.
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
