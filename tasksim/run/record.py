"""What came out of a run: one row per task, and what is needed to repeat it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["Run", "RunKind", "TaskTable", "WorkerInfo"]

_LIBRARIES = ("tasksim", "numpy", "scipy", "simpy")

RunKind = Literal["simulated", "native"]


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker as a run remembers it."""

    name: str
    architecture: str
    node: int = 0


@dataclass(frozen=True, eq=False)
class TaskTable:
    """The task records of a run: NumPy columns of equal length, one row per task in task order.

    Whatever sequence is given becomes a read-only array of the column's type. Times are in
    seconds since the start of the run.

    Raises
    ------
    InputError
        If a column is not one-dimensional, has another length than ``task``, or holds a value
        that its type cannot.

    Examples
    --------
    >>> table = TaskTable([0], [0], [0], [0], [0.0], [0.0], [0.0], [1.5], [-1])
    >>> table.duration_s
    array([1.5])
    """

    dtypes: ClassVar[dict[str, np.dtype[Any]]] = {
        "task": np.dtype(np.int32),
        "kernel": np.dtype(np.int16),
        "worker": np.dtype(np.int16),
        "priority": np.dtype(np.int32),
        "submitted_s": np.dtype(np.float64),
        "ready_s": np.dtype(np.float64),
        "start_s": np.dtype(np.float64),
        "end_s": np.dtype(np.float64),
        "released_by": np.dtype(np.int32),
    }

    task: NDArray[np.int32]
    """The number of the task in its graph."""
    kernel: NDArray[np.int16]
    """Index into the run's ``kernel_names``."""
    worker: NDArray[np.int16]
    """Index into the run's ``workers``."""
    priority: NDArray[np.int32]
    submitted_s: NDArray[np.float64]
    ready_s: NDArray[np.float64]
    """When it was submitted and its dependencies were done."""
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    released_by: NDArray[np.int32]
    """The task whose end made it ready; -1: none, it waited for its submission."""

    def __post_init__(self) -> None:
        for name, dtype in self.dtypes.items():
            column = _column(name, getattr(self, name), dtype)
            object.__setattr__(self, name, column)
            if len(column) != len(self.task):
                raise InputError(
                    f"column '{name}' of the task table has {len(column)} rows, "
                    f"column 'task' has {len(self.task)}"
                )

    def __len__(self) -> int:
        return len(self.task)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TaskTable):
            return NotImplemented
        return all(
            np.array_equal(a, b) for a, b in zip(self.columns(), other.columns(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def empty(cls) -> TaskTable:
        """Return the table of no tasks."""
        return cls(**{name: np.zeros(0, dtype) for name, dtype in cls.dtypes.items()})

    def columns(self) -> list[NDArray[Any]]:
        """Return the columns in the order of :attr:`dtypes`."""
        return [getattr(self, name) for name in self.dtypes]

    @property
    def duration_s(self) -> NDArray[np.float64]:
        """How long each task ran."""
        return self.end_s - self.start_s


def _column(name: str, values: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return *values* as a read-only array of *dtype* that shares no writable memory."""
    try:
        given = np.asarray(values)
        with np.errstate(invalid="ignore"):
            column = given.astype(dtype) if given.size else np.zeros(given.shape, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"column '{name}' of the task table: {error}") from error
    if column.ndim != 1:
        raise InputError(f"column '{name}' of the task table has {column.ndim} dimensions, not 1")
    if dtype.kind == "i" and not np.array_equal(column, given):
        raise InputError(f"column '{name}' of the task table has values that are not {dtype}")
    column.setflags(write=False)
    return column


@cache
def _versions() -> dict[str, str]:
    return {"python": ".".join(map(str, sys.version_info[:3]))} | {
        name: _version(name) for name in _LIBRARIES
    }


def _version(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


@dataclass(frozen=True)
class Run:
    """A run of a task graph on workers, simulated or native.

    Two runs are equal if everything but ``wall_s`` is.
    """

    kind: RunKind
    graph_name: str
    graph_arguments: dict[str, str | int | float]
    """What the generator was called with."""
    kernel_names: tuple[str, ...]
    workers: tuple[WorkerInfo, ...]
    platform: str
    """The name of the platform."""
    scheduler: str
    """The scheduler with its options, as text."""
    seed: int | None
    tasks: TaskTable
    config: dict[str, Any] = field(default_factory=dict)
    """Everything that repeats the run, fully resolved: plain JSON data."""
    versions: dict[str, str] = field(default_factory=lambda: dict(_versions()))
    """Versions of tasksim, Python and the libraries that made the run; default: those here."""
    wall_s: float = field(default=0.0, compare=False)
    """How long it took to simulate or to execute."""
    bounds: dict[str, float] | None = None
    """Lower bounds on the makespan, in seconds, by name (see :mod:`tasksim.run.bounds`)."""

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def makespan_s(self) -> float:
        """The end of the last task; the clock starts at 0 with the first submission."""
        return float(self.tasks.end_s.max()) if len(self.tasks) else 0.0

    @property
    def graph_label(self) -> str:
        """The graph as one writes it: ``cholesky tiles=20 tile_size=256``."""
        arguments = (f"{name}={value}" for name, value in self.graph_arguments.items())
        return " ".join([self.graph_name, *arguments])

    def label(self, task: int) -> str:
        """Return the name of a task for messages: ``gemm #17``."""
        return f"{self.kernel_names[self.tasks.kernel[task]]} #{self.tasks.task[task]}"

    def frame(self) -> pd.DataFrame:
        """Return the task records as a pandas frame, with names instead of indices.

        The columns are those of :class:`TaskTable`, and ``duration_s``, ``architecture`` and
        ``node``; ``kernel``, ``worker`` and ``architecture`` are categories.
        """
        import pandas as pd

        worker = self.tasks.worker
        named = {
            "kernel": _categories(self.tasks.kernel, self.kernel_names),
            "worker": _categories(worker, [w.name for w in self.workers]),
            "architecture": _categories(worker, [w.architecture for w in self.workers]),
            "node": np.array([w.node for w in self.workers], dtype=np.int32)[worker],
            "duration_s": self.tasks.duration_s,
        }
        plain = {f.name: getattr(self.tasks, f.name) for f in fields(self.tasks)}
        return pd.DataFrame(plain | named)


def _categories(codes: NDArray[np.int16], names: Sequence[str]) -> pd.Categorical:
    """Return ``names[codes]`` as a categorical; equal names become one category."""
    import pandas as pd

    unique = pd.Index(list(dict.fromkeys(names)), dtype=object)
    merged = unique.get_indexer(pd.Index(names, dtype=object))
    return pd.Categorical.from_codes(merged[codes], categories=unique)
