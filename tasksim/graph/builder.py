"""Building task graphs the way the algorithm is written: sequential task flow.

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
from sys import float_info
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import GraphError, expect
from tasksim.graph.csr import Int32, Int64, from_pairs, owner
from tasksim.graph.dependencies import Accesses, infer_dependencies, merge_repeated
from tasksim.graph.taskgraph import AccessMode, HandleBlock, TaskGraph

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

__all__ = ["RW", "Commute", "GraphBuilder", "Matrix", "R", "Reduce", "Scratch", "Vector", "W"]

# An access is one integer, for speed. It is negative, so that a handle given without a mode,
# which is not, can be told from it.
_R, _W, _RW = map(int, (AccessMode.R, AccessMode.W, AccessMode.RW))
_COMMUTATIVE, _REDUCTION, _SCRATCH = map(
    int, (AccessMode.COMMUTATIVE, AccessMode.REDUCTION, AccessMode.SCRATCH)
)


def R(handle: int) -> int:  # noqa: N802
    """Return the access that reads *handle*."""
    return ~(handle << 3 | _R)


def W(handle: int) -> int:  # noqa: N802
    """Return the access that writes *handle* and does not care what was there."""
    return ~(handle << 3 | _W)


def RW(handle: int) -> int:  # noqa: N802
    """Return the access that reads and writes *handle*."""
    return ~(handle << 3 | _RW)


def Commute(handle: int) -> int:  # noqa: N802
    """Return the access that updates *handle* in any order with others, one at a time."""
    return ~(handle << 3 | _COMMUTATIVE)


def Reduce(handle: int) -> int:  # noqa: N802
    """Return the access that contributes to *handle* in any order, also together."""
    return ~(handle << 3 | _REDUCTION)


def Scratch(handle: int) -> int:  # noqa: N802
    """Return the access that uses *handle* as memory of its own while the task runs."""
    return ~(handle << 3 | _SCRATCH)


def access(handle: int, mode: AccessMode) -> int:
    """Return the access to *handle* in *mode*."""
    return ~(handle << 3 | int(mode))


class Matrix:
    """A grid of data handles: ``A[m, k]`` is a handle."""

    __slots__ = ("columns", "first", "name", "rows")

    def __init__(self, name: str, rows: int, columns: int, first: int) -> None:
        self.name, self.rows, self.columns, self.first = name, rows, columns, first

    def __lshift__(self, other: object) -> int:
        """Refuse ``R(A)``, which shifts its handle to make an access of it."""
        raise GraphError(
            f"{self.name} is a matrix; access one of its handles, {self.name}[row, column]"
        )

    def __getitem__(self, index: tuple[int, int]) -> int:
        try:
            row, column = index
        except TypeError:
            raise GraphError(f"{self.name}[{index!r}]: legal: {self.name}[row, column]") from None
        if 0 <= row < self.rows and 0 <= column < self.columns:
            return self.first + row * self.columns + column
        raise GraphError(
            f"{self.name}[{row}, {column}]: outside of its {self.rows} x {self.columns} handles"
        )


class Vector:
    """A row of data handles: ``x[i]`` is a handle."""

    __slots__ = ("first", "length", "name")

    def __init__(self, name: str, length: int, first: int) -> None:
        self.name, self.length, self.first = name, length, first

    def __lshift__(self, other: object) -> int:
        """Refuse ``R(x)``, as :class:`Matrix` does."""
        raise GraphError(f"{self.name} is a vector; access one of its handles, {self.name}[index]")

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.first + self.length))

    def __getitem__(self, index: int) -> int:
        if 0 <= index < self.length:
            return self.first + index
        raise GraphError(f"{self.name}[{index}]: outside of its {self.length} handles")


class GraphBuilder:
    """Collects tasks in submission order, then infers the dependencies.

    Parameters
    ----------
    name
        The name of the graph.
    arguments
        What a generator was called with, kept in the graph.
    model_names
        Kernel name -> name of its kernel model, where that is not the kernel's name.
    """

    def __init__(
        self,
        name: str,
        arguments: Mapping[str, str | int | float] | None = None,
        model_names: Mapping[str, str] | None = None,
    ) -> None:
        expect(name, str, "name of the graph")
        self.name = name
        self.arguments = dict(arguments or {})
        self.model_names = dict(model_names or {})
        self._blocks: list[HandleBlock] = []
        self._block_size: list[int] = []
        self._block_home: list[int] = []
        self._handles = 0
        self._numbers: dict[tuple[object, ...], int] = {}  # as given -> configuration
        self._names: dict[str, tuple[str, ...]] = {}  # kernel -> parameter names
        self._rows: dict[str, dict[tuple[float, ...], int]] = {}  # values -> configuration
        self._configuration = array("i")
        self._priority = array("i")
        self._accesses = array("q")
        self._ends = array("q", [0])
        self._after = array("q")
        self._before = array("q")
        self._hint_handle = array("i")
        self._hint_after = array("i")

    def __len__(self) -> int:
        """Return the number of tasks so far."""
        return len(self._priority)

    def matrix(self, name: str, rows: int, columns: int, size_bytes: int, home: int = 0) -> Matrix:
        """Register *rows* x *columns* handles of *size_bytes* each; they are at memory *home*."""
        first = self._register_block(name, (rows, columns), size_bytes, home)
        return Matrix(name, rows, columns, first)

    def vector(self, name: str, length: int, size_bytes: int, home: int = 0) -> Vector:
        """Register *length* handles of *size_bytes* each; they are at memory *home*."""
        return Vector(name, length, self._register_block(name, (length,), size_bytes, home))

    def handle(self, name: str, size_bytes: int, home: int = 0) -> int:
        """Register one handle of *size_bytes*; it is at memory *home*."""
        return self._register_block(name, (), size_bytes, home)

    def insert(
        self,
        kernel: str,
        /,
        *accesses: int,
        priority: int = 0,
        after: Iterable[int] = (),
        **parameters: float,
    ) -> int:
        """Append a task and return its number.

        Parameters
        ----------
        kernel
            What it runs. All tasks of one kernel have the same parameter names.
        *accesses
            Its data, as ``R(handle)``, ``W(handle)``, ``RW(handle)``, ``Commute(handle)``,
            ``Reduce(handle)`` or ``Scratch(handle)``.
        priority
            Larger is more urgent.
        after
            Numbers of earlier tasks that it depends on besides what its data imply.
        **parameters
            Numbers that say how much there is to do.

        Raises
        ------
        GraphError
            If a parameter is negative or not a number, the names differ from those of the
            kernel's earlier tasks, or *after* is not an earlier task.
        """
        task = len(self._priority)
        # Names are strings and values numbers, so they cannot be taken for one another.
        key = (kernel, *parameters, *parameters.values())
        try:
            number = self._numbers.get(key)
            if number is None:
                number = self._register_configuration(kernel, parameters)
                self._numbers[key] = number
            self._accesses.extend(accesses)
            self._configuration.append(number)
            self._priority.append(priority)
        except (TypeError, OverflowError) as error:
            raise self._refused(kernel, accesses, parameters, priority) from error
        self._ends.append(len(self._accesses))
        if after.__class__ is not tuple or after:  # after=0 is a mistake, not an empty list
            self._add_after(task, after)
        return task

    def wont_use(self, handle: int) -> None:
        """Say that no task from here on uses *handle*, or none soon.

        A hint, not an access: it makes no dependency and changes no result. Where there are
        several memories, the datum is written back to its home as soon as the tasks inserted
        so far have written it, and is among the first to be evicted.

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
        if not (_is_index(handle) and 0 <= handle < self._handles):
            got = handle if _is_index(handle) else getattr(handle, "name", repr(handle))
            raise GraphError(f"wont_use({got}); legal: one of the {self._handles} handles")
        self._hint_handle.append(handle)
        self._hint_after.append(len(self._priority))

    def build(self, *, infer: bool = True) -> TaskGraph:
        """Return the task graph, validated.

        Parameters
        ----------
        infer
            Whether the accesses imply dependencies. Without, only *after* does.

        Raises
        ------
        GraphError
            If an access lacks its mode, names a handle that does not exist, or one task
            accesses one handle in modes that cannot be combined.
        """
        accesses = merge_repeated(self._decoded_accesses())
        successor_ptr, successors = self._successors(accesses if infer else None)
        kernel, row, tables = self._tables()
        extents = [block.end - block.first for block in self._blocks]
        graph = TaskGraph(
            name=self.name,
            arguments=self.arguments,
            kernels=tuple(self._names),
            parameter_names=tuple(self._names.values()),
            parameters=tables,
            model_names=tuple(self.model_names.get(name, name) for name in self._names),
            kernel=kernel,
            row=row,
            priority=np.array(self._priority, dtype=np.int32),
            access_ptr=np.searchsorted(accesses.task, np.arange(len(self) + 1)),
            access_handle=accesses.handle.astype(np.int32),
            access_mode=accesses.mode,
            successor_ptr=successor_ptr,
            successors=successors,
            handle_size=np.repeat(np.array(self._block_size, dtype=np.int64), extents),
            handle_home=np.repeat(np.array(self._block_home, dtype=np.int32), extents),
            handle_blocks=tuple(self._blocks),
            hint_handle=np.array(self._hint_handle, dtype=np.int32),
            hint_after=np.array(self._hint_after, dtype=np.int32),
        )
        graph.validate()
        return graph

    def _register_block(self, name: str, shape: tuple[int, ...], size: int, home: int) -> int:
        expect(name, str, "name of the data")
        if not all(_is_index(extent) and extent >= 1 for extent in shape):
            raise GraphError(f"data {name}: shape {shape}; legal: integers from 1")
        numeric = isinstance(size, int | float | np.number)
        if not (numeric and 0 <= size < 2**63 and size == int(size)):
            raise GraphError(
                f"data {name}: size_bytes {size!r}; legal: an integer from 0, less than 2**63"
            )
        if not (_is_index(home) and home >= 0):
            raise GraphError(f"data {name}: home {home!r}; legal: the number of a memory, from 0")
        rows, columns = map(int, (*shape, 0, 0)[:2])
        block = HandleBlock(name, rows, columns, self._handles)
        if block.end >= 2**31:
            raise GraphError(f"data {name}: {block.end} handles; legal: fewer than {2**31}")
        self._blocks.append(block)
        self._block_size.append(int(size))
        self._block_home.append(int(home))
        self._handles = block.end
        return block.first

    def _register_configuration(self, kernel: str, parameters: Mapping[str, float]) -> int:
        names = self._names.get(kernel, tuple(parameters))
        if len(names) != len(parameters) or any(name not in parameters for name in names):
            raise GraphError(
                f"{kernel} #{len(self)}: parameters ({', '.join(parameters)}); "
                f"earlier tasks of {kernel} have ({', '.join(names)})"
            )
        self._check_values(kernel, parameters)
        self._names[kernel] = names
        values = tuple(float(parameters[name]) for name in names)
        rows = self._rows.setdefault(kernel, {})
        return rows.setdefault(values, sum(map(len, self._rows.values())))

    def _check_values(self, kernel: str, parameters: Mapping[str, object]) -> None:
        if not (isinstance(kernel, str) and kernel):
            raise GraphError(f"task #{len(self)}: kernel {kernel!r}; legal: a name")
        for name, value in parameters.items():
            if not (isinstance(value, int | float | np.number) and 0 <= value <= float_info.max):
                raise GraphError(
                    f"{kernel} #{len(self)}: parameter {name} is {value!r}; "
                    "legal: a finite number from 0"
                )

    def _refused(
        self,
        kernel: str,
        accesses: tuple[object, ...],
        parameters: Mapping[str, object],
        priority: object,
    ) -> GraphError:
        """Undo an insertion that the columns cannot hold, and return the error for it."""
        del self._accesses[self._ends[-1] :]
        del self._configuration[len(self) :]
        self._check_values(kernel, parameters)
        wrong = [item for item in accesses if not _is_index(item)]
        if wrong:
            got = f"access {wrong[0]!r}; legal: R, W, RW, Commute, Reduce, Scratch of a handle"
        else:
            got = f"priority {priority!r}; legal: an integer of 32 bits"
        return GraphError(f"{kernel} #{len(self)}: {got}")

    def _add_after(self, task: int, after: Iterable[int]) -> None:
        if isinstance(after, int | str):
            raise GraphError(f"task #{task}: after={after!r}; legal: a list of earlier tasks")
        for earlier in after:
            if not (_is_index(earlier) and 0 <= earlier < task):
                legal = f"tasks 0 to {task - 1}" if task else "none, it is the first task"
                raise GraphError(f"task #{task}: after={earlier!r}; legal: {legal}")
            self._before.append(earlier)
            self._after.append(task)

    def _decoded_accesses(self) -> Accesses:
        codes = np.array(self._accesses, dtype=np.int64)
        ends = np.array(self._ends, dtype=np.int64)
        if len(codes) and codes.max() >= 0:
            task = owner(ends, int(np.argmax(codes >= 0)))
            raise GraphError(f"task #{task}: a handle without a mode; write R(handle), ...")
        codes = ~codes
        task_of = np.repeat(np.arange(len(self), dtype=np.int64), np.diff(ends))
        return Accesses(task_of, codes >> 3, (codes & 7).astype(np.int8))

    def _successors(self, accesses: Accesses | None) -> tuple[Int64, NDArray[np.int32]]:
        before = np.array(self._before, dtype=np.int64)
        after = np.array(self._after, dtype=np.int64)
        if accesses is not None:
            predecessors, successors = infer_dependencies(accesses)
            before = np.concatenate((before, predecessors))
            after = np.concatenate((after, successors))
        return from_pairs(before, after, len(self))

    def _tables(self) -> tuple[Int32, Int32, tuple[NDArray[np.float64], ...]]:
        """Return kernel and row per task, and the table of every kernel."""
        kernel_of = np.zeros(sum(map(len, self._rows.values())), dtype=np.int32)
        row_of = np.zeros_like(kernel_of)
        tables = []
        for kernel, (name, names) in enumerate(self._names.items()):
            rows = self._rows[name]
            numbers = np.fromiter(rows.values(), dtype=np.int64, count=len(rows))
            kernel_of[numbers] = kernel
            row_of[numbers] = np.arange(len(rows))
            tables.append(np.array(list(rows), dtype=np.float64).reshape(len(rows), len(names)))
        configuration = np.array(self._configuration, dtype=np.int64)
        return kernel_of[configuration], row_of[configuration], tuple(tables)


def _is_index(value: object) -> bool:
    """Return whether *value* is an integer, Python's or NumPy's."""
    return hasattr(value, "__index__")
