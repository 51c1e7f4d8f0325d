"""Tasks on tiles as calls of BLAS and LAPACK with prepared arguments.

The name ``dense`` stands for a description from :mod:`tasksim.kernels.dense`; a ``kernel`` is the
number of a kernel in the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.kernels.calls import CallTable, Copies, Function, Tells, address_of
from tasksim.kernels.dense import PreparedCall, dense_kernel
from tasksim.kernels.errors import KernelError
from tasksim.kernels.tiles import Tiles
from tasksim.kernels.together import ALONE
from tasksim.kernels.workspace import Workspace

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.calls import Calls
    from tasksim.kernels.dense import DenseKernel
    from tasksim.kernels.pointers import Reference, Routine
    from tasksim.kernels.together import Together

    Tasks = NDArray[np.int64]
    Call = tuple[Routine, tuple[Reference, ...], list[tuple[Reference, ...]] | None]

__all__ = ["TiledProgram", "failure"]

_OPERANDS: dict[str, Sequence[int]] = {"geqrt": (0, 2)}
"""Indices of the accesses that are operands, by default all: geqrt's V is part of A."""

_FAILURES = {
    "potrf": "the leading minor of order {info} is not positive definite",
    "getrf": "pivot {info} is zero",
}

_FRAGILE_KERNELS = frozenset((*_FAILURES, "geqrt", "tpqrt"))
"""Kernels that fail or take longer on the data of skipped tasks. QR computes norms with
instructions that trap on numbers that are not finite, and is slower by a factor of 12 to 30."""


class TiledProgram:
    """A task graph on tiles with a prepared call per task.

    Parameters
    ----------
    graph
        A graph whose models have the names of kernels; the accesses of a task are its operands in
        order.
    workers
        The number of workers, each of which gets a workspace.
    held
        The data that have memory, by default all; tasks on other data cannot be executed.

    Attributes
    ----------
    tiles
        The data.
    together
        All processes with parts of the data, which check the result together.
    """

    holds_parts = True
    """Whether it can be made with a part of the data of its graph."""

    def __init__(
        self, graph: TaskGraph, workers: int, held: NDArray[np.integer] | None = None
    ) -> None:
        self.graph = graph
        self.together: Together = ALONE
        self.tiles = Tiles(graph, held)
        elements, precision = _work_elements(graph), self.tiles.precision
        self._workspaces = [Workspace(elements, precision) for _ in range(workers)]
        self._infos = [workspace.info for workspace in self._workspaces]
        calls: dict[int, Call] = {}
        references = self.tiles.references()
        for kernel in range(len(graph.kernels)):
            calls.update(self._calls_of(kernel, references))
        self._calls = [calls[task] for task in range(len(graph))]

    def run(self, task: int, worker: int) -> None:
        """Execute *task* with the workspace of *worker*; raise :exc:`KernelError` if it fails."""
        call, arguments, tails = self._calls[task]
        if tails is None:
            call(*arguments)
            return
        call(*arguments, *tails[worker])
        info = self._infos[worker].value
        if info:
            raise self.failure(task, info)

    def failure(self, task: int, told: int) -> KernelError:
        """Return the error of *task*, whose routine reported the failure *told*."""
        dense, _ = dense_kernel(self.graph.model_names[self.graph.kernel[task]])
        return KernelError(self.graph.kernel_of(task), failure(dense.name, told))

    def calls(self, core: ctypes.CDLL) -> Calls:
        """Return the calls of all tasks; *core* has the routine that LAPACK lacks."""
        graph = self.graph
        table = CallTable(len(graph), len(self._workspaces))
        addresses = self.tiles.addresses()
        kept: list[object] = [self.tiles, self._workspaces]
        for kernel in range(len(graph.kernels)):
            for prepared, tasks, handles in self._prepared(kernel):
                called = prepared.called(core)
                kept.append(called)
                function = Function(called.address, *self._told(prepared.tail))
                table.add(function, tasks, called.rows(addresses[handles]))
        return table.calls(kept)

    def datum(self, handle: int) -> NDArray[np.uint8] | None:
        """Return the bytes of *handle*; None if it has no memory, or shares that of another."""
        begin = self.tiles.offsets[handle]
        if begin < 0 or handle in self.tiles.within_others:
            return None
        return self.tiles.buffer.bytes[begin : begin + self.tiles.capacity[handle]]

    def make_safe(self, task: int) -> None:
        """Restore the initial data of *task* if its kernel is fragile.

        Such a kernel may fail or take longer on the data of skipped tasks.
        """
        if self._particular()[self.graph.kernel[task]]:
            for handle, _ in self.graph.accesses_of(task):
                if self.tiles.restores(handle):
                    self.tiles.restore(handle)

    def safe_copies(self) -> Copies:
        """Return the copies of :meth:`make_safe` for callers outside Python."""
        graph, tiles = self.graph, self.tiles
        particular = np.array(self._particular(), dtype=bool)[graph.kernel]
        copied = np.repeat(particular, np.diff(graph.access_ptr))
        copied &= tiles.restores(graph.access_handle)
        handles = graph.access_handle[copied]
        return Copies(
            pointer=np.concatenate(([0], np.cumsum(copied)))[graph.access_ptr].astype(np.int64),
            target=tiles.addresses()[handles],
            source=tiles.initial_addresses()[handles],
            size_bytes=np.ascontiguousarray(tiles.capacity[handles]),
        )

    def pieces(self, handle: int) -> list[NDArray[Any]]:
        """Return the parts of memory of *handle*: one, or several if it is a V within a tile.

        The parts of such a V are the columns of the tile below its diagonal.
        """
        if handle not in self.tiles.within_others:
            datum = self.datum(handle)
            return [] if datum is None else [datum]
        b, offset = self.tiles.tile_size, int(self.tiles.offsets[handle])
        if offset < 0:
            return []
        tile = self.tiles.buffer.array(offset, (b, b), self.tiles.precision.dtype)
        return [tile[column + 1 :, column] for column in range(b - 1)]

    def reset(self) -> None:
        """Restore the initial data."""
        self.tiles.reset()

    def _particular(self) -> list[bool]:
        """Return, per kernel, whether it is fragile."""
        return [dense_kernel(name)[0].name in _FRAGILE_KERNELS for name in self.graph.model_names]

    def _calls_of(self, kernel: int, references: list[Reference]) -> Iterator[tuple[int, Call]]:
        """Yield the tasks of one kernel, each with its call."""
        for prepared, tasks, operands in self._prepared(kernel):
            tails = self._tails(prepared.tail)
            for task, handles in zip(tasks.tolist(), operands.tolist(), strict=True):
                arguments = prepared.arguments([references[handle] for handle in handles])
                yield task, (prepared.routine, arguments, tails)

    def _prepared(self, kernel: int) -> Iterator[tuple[PreparedCall, Tasks, Tasks]]:
        """Yield the call, the tasks and their operands for each configuration of a kernel."""
        dense, _ = dense_kernel(self.graph.model_names[kernel])
        for tasks, sizes in self._configurations(kernel, dense):
            prepared = PreparedCall(dense, sizes, self.tiles.precision)
            yield prepared, tasks, self._operands(dense, sizes, tasks)

    def _configurations(
        self, kernel: int, dense: DenseKernel
    ) -> Iterator[tuple[Tasks, dict[str, int]]]:
        """Yield the tasks and the sizes of each configuration of a kernel."""
        graph = self.graph
        for row, values in enumerate(graph.parameters[kernel].tolist()):
            parameters = dict(zip(graph.parameter_names[kernel], values, strict=True))
            tasks = np.flatnonzero((graph.kernel == kernel) & (graph.row == row))
            yield tasks, dense.sizes(parameters, f"graph {graph.name}")

    def _operands(self, dense: DenseKernel, sizes: dict[str, int], tasks: Tasks) -> Tasks:
        """Return, per task, the handles of its operands, which are checked for their size."""
        graph = self.graph
        positions = _OPERANDS.get(dense.name, range(len(dense.operands)))
        first = graph.access_ptr[tasks]
        if np.any(graph.access_ptr[tasks + 1] - first != positions[-1] + 1):
            raise self._mismatch(dense)
        handles: Tasks = graph.access_handle[first[:, None] + np.array(positions)].astype(np.int64)
        shapes = dense.shapes(sizes).values()
        needed = [rows * columns * self.tiles.precision.size_bytes for rows, columns in shapes]
        if np.any(self.tiles.capacity[handles] < needed):
            raise self._mismatch(dense)
        return handles

    def _mismatch(self, dense: DenseKernel) -> InputError:
        operands = (f"{name} ({' x '.join(shape)})" for name, shape in dense.operands.items())
        return InputError(
            f"graph {self.graph.name}: the accesses of its {dense.name} are not the operands of "
            f"that kernel; legal: {', '.join(operands)}"
        )

    def _tails(self, names: tuple[str, ...]) -> list[tuple[Reference, ...]] | None:
        return [workspace.tail(names) for workspace in self._workspaces] if names else None

    def _told(self, names: tuple[str, ...]) -> tuple[Tells, list[list[int]]]:
        """Return the place of the error code of a routine, and the tail of each worker."""
        if not names:
            return Tells.NOTHING, []
        return Tells.LAST, [list(map(address_of, tail)) for tail in self._tails(names) or ()]


def failure(kernel: str, info: int) -> str:
    """Return a description of the failure of *kernel* with a nonzero *info*."""
    if info < 0:
        return f"argument {-info} of its routine is illegal"
    return _FAILURES.get(kernel, "info {info}").format(info=info)


def _work_elements(graph: TaskGraph) -> int:
    """Return the size of the largest workspace that a task of *graph* needs."""
    largest = 0
    for index, name in enumerate(graph.model_names):
        kernel, _ = dense_kernel(name)
        for row in graph.parameters[index].tolist():
            sizes = kernel.sizes(dict(zip(graph.parameter_names[index], row, strict=True)))
            largest = max(largest, kernel.work_elements(sizes))
    return largest
