"""Programs of tasks that call functions on aligned blocks of memory, one per datum of a graph.

A :class:`Computation` defines the blocks, the call of each task, the initial values of the blocks,
and the expected result.
"""

from __future__ import annotations

import ctypes
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from tasksim.base.arguments import refuse_too_large
from tasksim.base.errors import InputError
from tasksim.kernels.calls import CallTable, NativeFunction, Tells
from tasksim.kernels.pointers import Buffer, aligned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats, Ints
    from tasksim.graph.taskgraph import HandleBlock, TaskGraph
    from tasksim.kernels.calls import Calls
    from tasksim.kernels.program import Executor, Residual

    Held = NDArray[np.integer] | None

__all__ = [
    "FACING_SIDES",
    "BlockProgram",
    "Blocks",
    "CalledTasks",
    "Computation",
    "executor_of",
    "whole_grid",
]


class Blocks:
    """The data of a program, each contiguous and in cache lines of its own.

    Parameters
    ----------
    graph : TaskGraph
        A graph whose handle blocks are matrices and vectors of data.
    held : int array, optional
        The handles that have memory; by default all.
    more_bytes : dict, optional
        Map from the name of a matrix to the additional bytes of each of its data.

    Attributes
    ----------
    addresses : int64 array [handles]
        The address of each datum; 0 if it has no memory in this process.
    """

    def __init__(
        self,
        graph: TaskGraph,
        held: NDArray[np.integer] | None = None,
        more_bytes: Mapping[str, int] | None = None,
    ) -> None:
        self.graph = graph
        self.of_name: dict[str, HandleBlock] = {b.name: b for b in graph.handle_blocks}
        self._size = graph.handle_size.astype(np.int64)
        for name, more in (more_bytes or {}).items():
            block = self.block(name)
            self._size[block.first : block.end] += more
        here = np.ones(graph.handles, np.bool_)
        if held is not None:
            here = np.isin(np.arange(graph.handles), held)
        strides = np.array([aligned(size) for size in self._size.tolist()], np.int64) * here
        ends = np.cumsum(strides)
        size_bytes = int(ends[-1]) if len(ends) else 0
        refuse_too_large(size_bytes, f"graph {graph.name}")
        self._buffer = Buffer(size_bytes)
        self._offset = np.where(here, ends - strides, -1)
        begin = self._buffer.bytes.ctypes.data
        self.addresses: Ints = np.where(here, self._offset + begin, 0)

    def block(self, name: str) -> HandleBlock:
        """Return the matrix or vector *name*; raise :exc:`InputError` if the graph has none."""
        if name not in self.of_name:
            raise InputError(f"graph {self.graph.name}: no data {name} to compute with")
        return self.of_name[name]

    def handle(self, name: str, row: int, column: int = 0) -> int:
        """Return the handle of a datum of the matrix *name*."""
        block = self.block(name)
        return block.first + row * (block.columns or 1) + column

    def datum(self, handle: int) -> NDArray[np.uint8] | None:
        """Return the bytes of *handle*; None if it has no memory in this process."""
        begin = int(self._offset[handle])
        return None if begin < 0 else self._buffer.bytes[begin : begin + int(self._size[handle])]

    def pieces(self, handle: int) -> list[NDArray[np.uint8]]:
        """Return the parts of memory of *handle* for messages."""
        datum = self.datum(handle)
        return [] if datum is None else [datum]

    def array(self, handle: int, dtype: str = "float64") -> NDArray[Any] | None:
        """Return the elements of *handle*; None if it has no memory in this process."""
        datum = self.datum(handle)
        return None if datum is None else datum.view(dtype)

    def clear(self) -> None:
        """Set all data to zero."""
        self._buffer.bytes[:] = 0


FACING_SIDES = (1, 0, 3, 2)
"""The side that faces a block, of its neighbour above, below, left and right: the lower, upper,
right and left edge."""


class GridComputation:
    """A computation on a square grid in blocks, whose values are random.

    The matrices ``edge0`` to ``edge3`` have the upper, lower, left and right edges of the blocks.

    Parameters
    ----------
    graph : TaskGraph
        A graph of the generator.
    seed : int
        The seed of the values.
    held : int array, or None
        The data that have memory; None for all.
    """

    matrix: ClassVar[str]
    """The matrix of the random values."""
    more_bytes: ClassVar[Mapping[str, int]] = MappingProxyType({})

    def __init__(self, graph: TaskGraph, seed: int, held: Held) -> None:
        self.graph, self._seed = graph, seed
        self._n = int(graph.arguments["block_size"])
        self.blocks = Blocks(graph, held, self.more_bytes)
        matrix = self.blocks.block(self.matrix)
        self._at = [(i, j) for i in range(matrix.rows) for j in range(matrix.columns or 1)]
        self._nothing = np.zeros(self._n)
        edges = [self.blocks.block(f"edge{side}") for side in range(len(FACING_SIDES))]
        self._side = {
            handle: side
            for side, edge in enumerate(edges)
            for handle in range(edge.first, edge.end)
        }
        self.tasks = CalledTasks(len(graph), [self.blocks, self._nothing])
        for task in range(len(graph)):
            self.tasks.add(task, *self._call(task))

    def _drawn(self, at: tuple[int, int]) -> Floats:
        return np.random.default_rng([self._seed, *at]).random((self._n, self._n)) - 0.5

    def _halo(self, handles: list[int]) -> list[int]:
        """Return the addresses of the edges above, below, left and right, which a task reads.

        They are zeros at the border of the grid. *handles* may contain other data. Raises
        :exc:`InputError` if two edges face the same side.
        """
        found = {}
        for handle in handles:
            if handle in self._side:
                side = self._side[handle]
                if side in found:
                    raise InputError("a block has two neighbours on one side")
                found[side] = int(self.blocks.addresses[handle])
        return [found.get(side, self._nothing.ctypes.data) for side in FACING_SIDES]

    def _call(self, task: int) -> tuple[int, list[int]]:
        """Return the function of *task* and its arguments."""
        raise NotImplementedError


def whole_grid(graph: TaskGraph, blocks: Blocks, name: str, size: int) -> Floats:
    """Return the matrix *name* as one grid; this process must have all its blocks."""
    block = blocks.block(name)
    rows, columns = block.rows, block.columns or 1
    found = np.empty((rows * size, columns * size))
    for row in range(rows):
        for column in range(columns):
            data = blocks.array(blocks.handle(name, row, column))
            if data is None:
                raise InputError(
                    f"graph {graph.name}: {name}[{row}, {column}] is on another process"
                )
            place = np.s_[row * size : (row + 1) * size, column * size : (column + 1) * size]
            found[place] = data[: size * size].reshape(size, size)
    return found


_UNTYPED = ctypes.CFUNCTYPE(None)


class CalledTasks:
    """The calls of a graph's tasks, as addresses of their data and of functions that cannot fail.

    Parameters
    ----------
    tasks : int
        The number of tasks.
    kept : object
        The owner of the memory behind the addresses, kept alive.
    """

    def __init__(self, tasks: int, kept: object) -> None:
        self._kept = kept
        self._tasks = tasks
        self._rows: dict[tuple[int, int], list[tuple[int, Sequence[int]]]] = {}
        self._call: list[tuple[Any, tuple[Any, ...]]] = [(None, ())] * tasks

    def add(self, task: int, address: int, arguments: Sequence[int]) -> None:
        """Let *task* call the function at *address*; *arguments* are addresses or integers."""
        self._rows.setdefault((address, len(arguments)), []).append((task, arguments))
        self._call[task] = _UNTYPED(address), tuple(map(ctypes.c_void_p, arguments))

    def run(self, task: int) -> None:
        """Make the call of *task*."""
        function, arguments = self._call[task]
        function(*arguments)

    def calls(self) -> Calls:
        """Return the calls for callers outside Python."""
        table = CallTable(self._tasks)
        for (address, _), rows in self._rows.items():
            tasks = np.array([task for task, _ in rows], np.int64)
            arguments = np.array([list(found) for _, found in rows], np.int64)
            table.add(
                NativeFunction(address, Tells.NOTHING), tasks, arguments.reshape(len(rows), -1)
            )
        return table.calls([self._kept, self])


class Computation(Protocol):
    """A computation of the tasks of a graph on blocks.

    Attributes
    ----------
    graph : TaskGraph
    blocks : Blocks
        The data of the graph.
    tasks : CalledTasks
        The call of each task.
    """

    graph: TaskGraph
    blocks: Blocks
    tasks: CalledTasks

    def fill(self) -> None:
        """Set the blocks, which are zero, to their initial values."""

    def check(self) -> Residual:
        """Return the residual of the result of all tasks."""


class BlockProgram:
    """A computation on blocks as a program that runs with and without Python.

    Parameters
    ----------
    computation : Computation
    """

    def __init__(self, computation: Computation) -> None:
        self._computation = computation
        self.graph, self.blocks = computation.graph, computation.blocks
        self.datum, self.pieces = self.blocks.datum, self.blocks.pieces
        self.reset()

    def run(self, task: int, worker: int) -> None:  # noqa: ARG002
        """Execute *task*."""
        self._computation.tasks.run(task)

    def calls(self, core: ctypes.CDLL) -> Calls:  # noqa: ARG002
        """Return the calls of all tasks without Python."""
        return self._computation.tasks.calls()

    def reset(self) -> None:
        """Restore the initial blocks."""
        self.blocks.clear()
        self._computation.fill()

    def check(self) -> Residual:
        """Return the residual of the result of all tasks."""
        return self._computation.check()


def executor_of(computation: Callable[[TaskGraph, int, Held], Computation]) -> Executor:
    """Return the executor of the graphs of *computation*.

    *computation* is called with a graph, a seed, and the data that have memory (None for all).
    """

    def executor(graph: TaskGraph, workers: int, seed: int = 0, held: Held = None) -> BlockProgram:  # noqa: ARG001
        return BlockProgram(computation(graph, seed, held))

    executor.__doc__ = computation.__doc__
    executor.holds_parts = True  # type: ignore[attr-defined]
    return executor
