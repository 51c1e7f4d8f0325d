"""Builder of task graphs from arrays, for graphs whose tasks follow formulas.

It builds the same graph as a loop over :class:`~tasksim.graph.builder.GraphBuilder`, but takes less
than a second for a million tasks.

>>> g = ColumnBuilder("axpy twice", tasks=2)
>>> x, y = g.vector("x", 2, size_bytes=800), g.handle("y", size_bytes=800)
>>> i = np.arange(2)
>>> g.insert("axpy", i, (R, x.at(i)), (RW, y), n=100)
>>> graph = g.build()
>>> len(graph), graph.edges, graph.label(1)
(2, 1, 'axpy #1 (n=100)')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.arguments import refuse_too_large
from tasksim.base.errors import GraphError
from tasksim.base.progress import reached
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.assembly import ConfigurationRegister, assembled
from tasksim.graph.csr import from_edges, pointers_of_counts
from tasksim.graph.dependencies import Accesses, infer_dependencies, merge_repeated
from tasksim.graph.handles import HandleRegister, Matrix, Vector

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from tasksim.graph.csr import Integers
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["RW", "ColumnBuilder", "Commute", "R", "W"]

R, W, RW = AccessMode.R, AccessMode.W, AccessMode.RW
Commute = AccessMode.COMMUTATIVE

MAX_TASKS: Final = 2**31
"""Upper bound (exclusive) of the number of tasks: the columns of a graph are int32."""
BYTES_PER_TASK: Final = 300
"""Memory per task with three accesses during construction, in bytes (measured): a graph that does
not fit is refused before it exhausts the memory."""


class _Part(NamedTuple):
    """Tasks of one kernel that were inserted together."""

    places: Integers
    accesses: tuple[tuple[AccessMode, ArrayLike], ...]
    priority: ArrayLike
    kernel: str
    parameters: dict[str, float]

    @property
    def first(self) -> int:
        """The number of its first task."""
        return int(self.places[0])


class ColumnBuilder:
    """Collector of tasks with known numbers, which infers their dependencies.

    Parameters
    ----------
    name : str
        The name of the graph.
    tasks : int
        Number of all tasks.
    model_names : mapping of str to str, default {}
        Kernel name -> name of its kernel model, if that differs.

    Raises
    ------
    GraphError
        If there are too many tasks.
    InputError
        If they do not fit into memory.

    See Also
    --------
    tasksim.graph.builder.GraphBuilder : Builder that takes single tasks, as the algorithm does.
    """

    def __init__(self, name: str, tasks: int, model_names: Mapping[str, str] | None = None) -> None:
        if tasks >= MAX_TASKS:
            raise GraphError(f"a graph of {tasks} tasks; legal: fewer than {MAX_TASKS}")
        refuse_too_large(tasks * BYTES_PER_TASK, f"{name}: a graph of {tasks} tasks")
        self.name = name
        self.tasks = tasks
        self.model_names = dict(model_names or {})
        self._handles = HandleRegister()
        self._parts: list[_Part] = []
        self._hint_handle: list[NDArray[Any]] = []
        self._hint_after: list[NDArray[Any]] = []

    def matrix(self, name: str, rows: int, columns: int, size_bytes: int) -> Matrix:
        """Register *rows* x *columns* handles of *size_bytes* each."""
        return Matrix(name, rows, columns, self._handles.add(name, (rows, columns), size_bytes, 0))

    def vector(self, name: str, length: int, size_bytes: int) -> Vector:
        """Register *length* handles of *size_bytes* each."""
        return Vector(name, length, self._handles.add(name, (length,), size_bytes, 0))

    def handle(self, name: str, size_bytes: int) -> int:
        """Register one handle."""
        return self._handles.add(name, (), size_bytes, 0)

    def insert(
        self,
        kernel: str,
        places: Integers,
        /,
        *accesses: tuple[AccessMode, ArrayLike],
        priority: ArrayLike = 0,
        **parameters: float,
    ) -> None:
        """Insert tasks of one configuration.

        Parameters
        ----------
        kernel : str
            Name of their kernel.
        places : ndarray of int
            Their numbers, ascending; all insertions together must have all numbers from 0.
        *accesses : (AccessMode, array of int)
            A column of handles each, or one handle for all of them.
        priority : array of int, default 0
            Larger is more urgent.
        **parameters : float
            Parameters of the kernel, the same for all of them.
        """
        if len(places):
            self._parts.append(_Part(places, accesses, priority, kernel, parameters))

    def wont_use(self, handles: Integers, after: Integers) -> None:
        """Hint that each of *handles* is not used *after* a number of tasks.

        Hints after the same number of tasks keep their order.
        """
        self._hint_handle.append(handles)
        self._hint_after.append(after)

    def build(self) -> TaskGraph:
        """Return the task graph, validated.

        Raises
        ------
        GraphError
            If numbers of tasks are missing or given twice, or as
            :meth:`~tasksim.graph.builder.GraphBuilder.build`.
        """
        parts, tasks = sorted(self._parts, key=lambda part: part.first), self.tasks
        part_of, priority = np.full(tasks, -1, np.int32), np.empty(tasks, np.int32)
        counts = np.zeros(tasks, np.int64)
        # Configurations are numbered in the order of their first tasks.
        register, numbers = ConfigurationRegister(), []
        for index, part in enumerate(parts):
            part_of[part.places], priority[part.places] = index, part.priority
            counts[part.places] = len(part.accesses)
            key = (part.kernel, *part.parameters, *part.parameters.values())
            number = register.numbers.get(key)
            if number is None:
                number = register.add(key, part.kernel, part.parameters, f"#{part.first}")
            numbers.append(number)
        given = sum(len(part.places) for part in parts)
        if given != tasks or (tasks and part_of.min() < 0):
            got = f"{self.name}: {given} tasks were inserted"
            raise GraphError(f"{got}, which are not all from 0 to {tasks - 1}")
        reached(0.15)
        begins = pointers_of_counts(counts)
        handle, mode = np.empty(begins[-1], np.int32), np.empty(begins[-1], np.int8)
        for part in parts:
            begin = begins[part.places]
            for offset, (access, handles) in enumerate(part.accesses):
                handle[begin + offset], mode[begin + offset] = handles, access
        task = np.repeat(np.arange(tasks, dtype=np.int32), counts)
        accesses = merge_repeated(Accesses(task, handle, mode), tasks)
        reached(0.4)
        hints = np.empty(0, np.int32), np.empty(0, np.int32)
        if self._hint_after:
            hinted, after = np.concatenate(self._hint_handle), np.concatenate(self._hint_after)
            order = np.argsort(after, kind="stable")
            hints = hinted[order].astype(np.int32), after[order].astype(np.int32)
        edges = infer_dependencies(accesses)
        reached(0.7)
        return assembled(
            self.name,
            {},
            self.model_names,
            register,
            np.array(numbers, np.int64)[part_of],
            priority,
            self._handles,
            accesses,
            from_edges(edges, tasks),
            hints,
        )
