"""Builder of task graphs by sequential task flow.

>>> g = GraphBuilder("axpy twice")
>>> x, y = g.vector("x", 2, size_bytes=800), g.handle("y", size_bytes=800)
>>> for i in range(2):
...     task = g.insert("axpy", R(x[i]), RW(y), n=100)
>>> graph = g.build()
>>> len(graph), graph.edges, graph.label(1)
(2, 1, 'axpy #1 (n=100)')
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import GraphError, expect
from tasksim.base.progress import follow, reached
from tasksim.graph.access_codes import RW, Commute, R, Reduce, Scratch, W, access, decode
from tasksim.graph.assembly import ConfigurationRegister, assembled
from tasksim.graph.csr import from_edges
from tasksim.graph.dependencies import infer_dependencies, merge_repeated
from tasksim.graph.handles import HandleRegister, Matrix, Vector, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tasksim.graph.taskgraph import TaskGraph

__all__ = [
    "RW",
    "Commute",
    "GraphBuilder",
    "Matrix",
    "R",
    "Reduce",
    "Scratch",
    "Vector",
    "W",
    "access",
]


INSERTED_SHARE: Final = 0.7
"""Share of the time of making a graph after which all tasks are inserted: the rest is the inference
of dependencies (measured: a million tasks of three accesses)."""


def _earlier_tasks(given: Iterable[int], task: int) -> list[int]:
    """Return the *given* numbers of tasks, which *task* will depend on.

    Raises :exc:`GraphError` unless they are earlier ones.
    """
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise GraphError(f"task #{task}: after={given!r:.60}; legal: a list of earlier tasks")
    found = []
    for earlier in given:
        number = whole(earlier)
        if number is None or not 0 <= number < task:
            legal = f"tasks 0 to {task - 1}" if task else "none, it is the first task"
            raise GraphError(f"task #{task}: after={earlier!r:.60}; legal: {legal}")
        found.append(number)
    return found


class GraphBuilder:
    """Collector of tasks in submission order, which infers their dependencies.

    A failed call changes nothing; the next call continues as if it had not been made.

    Parameters
    ----------
    name : str
        The name of the graph.
    arguments : mapping of str to str, int or float, default {}
        The arguments of the generator, kept in the graph.
    model_names : mapping of str to str, default {}
        Kernel name -> name of its kernel model, if that differs.

    Raises
    ------
    InputError
        If the name is not a text, or a value in a mapping has another type.

    See Also
    --------
    generator : Register a function by name.
    TaskGraph : The graph that it builds.

    Examples
    --------
    >>> g = GraphBuilder("producer and consumer")
    >>> x = g.handle("x", size_bytes=800)
    >>> producer = g.insert("fill", W(x), n=100)
    >>> consumer = g.insert("sum", R(x), n=100)
    >>> g.build().successors_of(producer)
    [1]
    """

    def __init__(
        self,
        name: str,
        arguments: Mapping[str, str | int | float] | None = None,
        model_names: Mapping[str, str] | None = None,
    ) -> None:
        expect(name, str, "name of the graph")
        self.name = name
        self.arguments = _mapping(arguments, "arguments", str | int | float)
        self.model_names = _mapping(model_names, "model_names", str)
        self._handles = HandleRegister()
        self._configurations = ConfigurationRegister()
        self._before, self._after = array("q"), array("q")  # explicit dependencies
        self._configuration = array("i")
        self._priority = array("i")
        self._accesses = array("q")
        self._ends = array("q", [0])
        self._hint_handle = array("i")
        self._hint_after = array("i")
        follow(self.__len__, None, "tasks")

    def __len__(self) -> int:
        """Return the number of tasks so far."""
        return len(self._ends) - 1

    def __repr__(self) -> str:
        return f"<GraphBuilder {self.name}: {len(self)} tasks, {self._handles.count} handles>"

    def announce(self, tasks: int) -> None:
        """Say how many tasks there will be, so that commands can show the time that is left.

        Parameters
        ----------
        tasks : int
            Number of all tasks. A wrong one changes nothing but the time that is shown.

        See Also
        --------
        insert : Append a task.

        Examples
        --------
        >>> g = GraphBuilder("many")
        >>> g.announce(1_000_000)
        >>> tasks = [g.insert("step") for _ in range(3)]  # and so on
        """
        follow(self.__len__, tasks, "tasks", until=INSERTED_SHARE)

    def matrix(self, name: str, rows: int, columns: int, size_bytes: int, home: int = 0) -> Matrix:
        """Register *rows* x *columns* handles.

        Parameters
        ----------
        name : str
            Name for messages: ``A[2, 1]``.
        rows, columns : int
            Number of rows and columns, 1 or more.
        size_bytes : int
            Size of each datum.
        home : int, default 0
            The number of their initial memory.

        Returns
        -------
        Matrix
            ``A[row, column]`` is a handle.

        Raises
        ------
        GraphError
            If a value is illegal, or there are 2**31 handles or more.

        See Also
        --------
        vector, handle

        Examples
        --------
        >>> g = GraphBuilder("example")
        >>> A = g.matrix("A", 2, 3, size_bytes=80)
        >>> A[1, 0]
        3
        """
        first = self._handles.add(name, (rows, columns), size_bytes, home)
        return Matrix(name, int(rows), int(columns), first)

    def vector(
        self, name: str, length: int, size_bytes: int | Sequence[int], home: int = 0
    ) -> Vector:
        """Register *length* handles.

        Parameters
        ----------
        name : str
            Name for messages: ``x[2]``.
        length : int
            Number of handles, 1 or more.
        size_bytes : int or sequence of int
            Size of all data, or of each.
        home : int, default 0
            The number of their initial memory.

        Returns
        -------
        Vector
            ``x[index]`` is a handle.

        Examples
        --------
        >>> list(GraphBuilder("example").vector("x", 3, size_bytes=8))
        [0, 1, 2]
        """
        first = self._handles.add(name, (length,), size_bytes, home)
        return Vector(name, int(length), first)

    def handle(self, name: str, size_bytes: int, home: int = 0) -> int:
        """Register one handle.

        Parameters
        ----------
        name : str
            Name for messages.
        size_bytes : int
            Its size.
        home : int, default 0
            The number of its initial memory.

        Returns
        -------
        int
            The handle.

        Examples
        --------
        >>> GraphBuilder("example").handle("x", size_bytes=8)
        0
        """
        return self._handles.add(name, (), size_bytes, home)

    def insert(
        self,
        kernel: str,
        /,
        *accesses: int,
        priority: int = 0,
        after: Iterable[int] = (),
        **parameters: float | str,
    ) -> int:
        """Append a task and return its number.

        Parameters
        ----------
        kernel : str
            Name of its kernel, whose tasks all have the same parameter names.
        *accesses : int
            Its accesses to data, as ``R(handle)``, ``W(handle)``, ``RW(handle)``,
            ``Commute(handle)``, ``Reduce(handle)`` or ``Scratch(handle)``.
        priority : int, default 0
            Larger is more urgent.
        after : iterable of int, default ()
            Numbers of further earlier tasks that it depends on, beside those implied by its data.
        **parameters : float or str
            Numbers such as sizes, and names of categories, such as ``layout="row"``, for the
            kernel's model.

        Returns
        -------
        int
            Its number; tasks are numbered from 0 in the order of insertion.

        Raises
        ------
        GraphError
            If a parameter is negative, or a name although earlier tasks have numbers, the names of
            parameters differ from those of the kernel's earlier tasks, or *after* is not an earlier
            task. No task is appended then.

        See Also
        --------
        wont_use : Hint that a datum is not needed any more.
        build : Build the graph, and check the accesses.

        Examples
        --------
        >>> g = GraphBuilder("example")
        >>> x = g.handle("x", size_bytes=800)
        >>> g.insert("axpy", RW(x), n=100), g.insert("axpy", after=[0], n=100)
        (0, 1)
        """
        task = len(self._ends) - 1
        # The numbers of names and values are equal, so keys of one length have values at the same
        # places.
        key = (kernel, *parameters, *parameters.values())
        # after=0 is an error, not an empty list
        before = () if after.__class__ is tuple and not after else _earlier_tasks(after, task)
        try:
            self._accesses.extend(accesses)
            self._priority.append(priority)
            self._ends.append(len(self._accesses))
            if before:
                self._before.extend(before)
                self._after.extend([task] * len(before))
            number = self._configurations.numbers.get(key)
            if number is None:
                number = self._configurations.add(key, kernel, parameters, f"#{task}")
            self._configuration.append(number)
        except BaseException as error:
            self._cut(task)
            if isinstance(error, TypeError | OverflowError):
                self._refuse(kernel, accesses, priority, parameters)
            raise
        return task

    def wont_use(self, handle: int) -> None:
        """Hint that no further task uses *handle*, at least not soon.

        A hint is not an access: it makes no dependency and changes no result. With several
        memories, the datum is written back to its home as soon as the tasks inserted so far have
        written it, and is among the first to be evicted.

        Parameters
        ----------
        handle : int
            The datum: one handle, not a matrix.

        Raises
        ------
        GraphError
            If there is no such handle.

        Examples
        --------
        >>> g = GraphBuilder("hinted")
        >>> x = g.handle("x", size_bytes=8)
        >>> task = g.insert("axpy", RW(x))
        >>> g.wont_use(x)
        >>> g.build().hint_after.tolist()
        [1]
        """
        number = whole(handle)
        if number is None or not 0 <= number < self._handles.count:
            got = getattr(handle, "name", repr(handle)) if number is None else str(number)
            legal = f"one of the {self._handles.count} handles"
            raise GraphError(f"wont_use({got:.60}); legal: {legal}")
        self._hint_handle.append(number)
        self._hint_after.append(len(self))

    def build(self, *, infer: bool = True) -> TaskGraph:
        """Return the task graph, validated.

        Parameters
        ----------
        infer : bool, default True
            Whether accesses imply dependencies, beside *after*.

        Returns
        -------
        TaskGraph
            The graph of the tasks so far; the builder can continue and build again.

        Raises
        ------
        GraphError
            If an access has no mode or an unknown handle, or a task accesses a handle in modes that
            cannot be combined.

        Examples
        --------
        >>> g = GraphBuilder("two tasks")
        >>> x = g.handle("x", size_bytes=8)
        >>> tasks = [g.insert("fill", W(x)), g.insert("sum", R(x))]
        >>> g.build(), g.build(infer=False)
        (<TaskGraph two tasks: 2 tasks, 1 edges>, <TaskGraph two tasks: 2 tasks, 0 edges>)
        """
        reached(INSERTED_SHARE)
        accesses = merge_repeated(decode(self._accesses, self._ends), len(self))
        hint_handle, hint_after = (
            np.array(column, dtype=np.int32) for column in (self._hint_handle, self._hint_after)
        )
        before, after = (np.array(part, dtype=np.int64) for part in (self._before, self._after))
        edges = before << 32 | after
        if infer:
            edges = np.concatenate((edges, infer_dependencies(accesses)))
        return assembled(
            self.name,
            self.arguments,
            self.model_names,
            self._configurations,
            self._configuration,
            np.array(self._priority, dtype=np.int32),
            self._handles,
            accesses,
            from_edges(edges, len(self)),
            (hint_handle, hint_after),
        )

    def _cut(self, tasks: int) -> None:
        """Remove the columns of a failed insertion after *tasks* tasks."""
        del self._ends[tasks + 1 :]
        del self._accesses[self._ends[-1] :]
        kept = bisect_left(self._after, tasks)
        del self._before[kept:], self._after[kept:]
        del self._configuration[tasks:]
        del self._priority[tasks:]

    def _refuse(
        self,
        kernel: str,
        accesses: tuple[object, ...],
        priority: object,
        parameters: Mapping[str, object],
    ) -> None:
        """Raise the error for values that the columns cannot hold."""
        self._configurations.check(kernel, parameters, f"#{len(self)}")
        for item in accesses:
            if (code := whole(item)) is None or not -(2**63) <= code < 2**63:
                legal = "R, W, RW, Commute, Reduce, Scratch of a handle"
                raise GraphError(f"{kernel} #{len(self)}: access {item!r:.60}; legal: {legal}")
        got = f"priority {priority!r:.60}"
        raise GraphError(f"{kernel} #{len(self)}: {got}; legal: an integer of 32 bits")


def _mapping(given: Mapping[str, Any] | None, what: str, legal: Any) -> dict[str, Any]:
    expect(given or {}, Mapping, what)
    for name, value in (found := dict(given or {})).items():
        if not (isinstance(name, str) and isinstance(value, legal)):
            raise GraphError(f"{what}: {name!r:.60}: {value!r:.60}; legal: name: {legal}")
    return found
