"""Tasks on tiles as calls of BLAS and LAPACK with prepared arguments.

The name ``dense`` stands for a description from :mod:`tasksim.kernels.dense`; a ``kernel`` is the
number of a kernel in the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.arguments import refuse_too_large
from tasksim.base.errors import InputError
from tasksim.kernels.calls import (
    CallTable,
    KernelError,
    NativeFunction,
    RestoringCopies,
    Tells,
    address_of,
)
from tasksim.kernels.dense import FAILURE_TEXTS, PreparedCall, dense_kernel, failure
from tasksim.kernels.pointers import Buffer, Workspace, aligned, precision_of
from tasksim.kernels.program import ALONE
from tasksim.kernels.standalone import standalone

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from tasksim.base.arrays import Ints
    from tasksim.graph.taskgraph import HandleBlock, TaskGraph
    from tasksim.kernels.calls import Calls
    from tasksim.kernels.dense import DenseKernel
    from tasksim.kernels.pointers import LibraryRoutine, Reference
    from tasksim.kernels.program import Together

    Call = tuple[LibraryRoutine, tuple[Reference, ...], list[tuple[Reference, ...]] | None]
    Held = NDArray[np.integer] | None

__all__ = ["TiledProgram", "Tiles"]

_OPERANDS: dict[str, Sequence[int]] = {"geqrt": (0, 2)}
"""Indices of the accesses that are operands, by default all: geqrt's V is part of A."""

TOKEN_BLOCK: Final = "step"
"""Handle block of tokens, data without memory that only order tasks."""

_FRAGILE_KERNELS = frozenset((*FAILURE_TEXTS, "geqrt", "tpqrt"))
"""Kernels that fail or take longer on the data of skipped tasks. QR computes norms with
instructions that trap on numbers that are not finite, and is slower by a factor of 12 to 30."""


WARM_UP_SIZE: Final = 256
"""Largest size of a kernel in a warm-up: larger ones use no more of BLAS's own memory."""
_warmed_up: dict[tuple[str, tuple[int, ...]], int] = {}
"""Kernels, with their sizes, that this process has warmed up -> for how many workers."""


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
    """Whether the program can hold a part of the data of its graph."""

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
            for prepared, tasks, operands in self._prepared(kernel):
                tails = self._tails(prepared.tail)
                for task, handles in zip(tasks.tolist(), operands.tolist(), strict=True):
                    arguments = prepared.arguments([references[handle] for handle in handles])
                    calls[task] = prepared.routine, arguments, tails
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
                function = NativeFunction(called.address, *self._told(prepared.tail))
                table.add(function, tasks, called.rows(addresses[handles]))
        return table.calls(kept)

    def datum(self, handle: int) -> NDArray[np.uint8] | None:
        """Return the bytes of *handle*; None if it has no memory, or shares that of another."""
        begin = self.tiles.offsets[handle]
        if begin < 0 or handle in self.tiles.within_others:
            return None
        return self.tiles.buffer.bytes[begin : begin + self.tiles.capacity[handle]]

    def warm_ups(self, threads: int) -> list[Callable[[], None]]:
        """Return, per thread, a function that executes each kernel once on data of its own.

        In the first execution by a process BLAS touches memory of its own, and the system loads
        code: .1 to .2 ms per kernel and worker. Kernels that as many threads of this process have
        warmed up are left out.
        """
        graph = self.graph
        cold: list[tuple[str, dict[str, int]]] = []
        for name, names, rows in zip(
            graph.model_names, graph.parameter_names, graph.parameters, strict=True
        ):
            for row in rows[:1].tolist():
                sizes = [min(int(size), WARM_UP_SIZE) for size in row]
                if _warmed_up.get((name, tuple(sizes)), 0) < threads:
                    cold.append((name, dict(zip(names, sizes, strict=True))))
                    _warmed_up[name, tuple(sizes)] = threads

        def warm_up() -> Callable[[], None]:
            calls = [standalone(name, sizes) for name, sizes in cold]

            def execute() -> None:
                for call in calls:
                    call.run()

            return execute

        return [warm_up() for _ in range(threads)] if cold else []

    def make_safe(self, task: int) -> None:
        """Restore the initial data of *task* if its kernel is fragile.

        Such a kernel may fail or take longer on the data of skipped tasks.
        """
        if self._particular()[self.graph.kernel[task]]:
            for handle, _ in self.graph.accesses_of(task):
                if self.tiles.restores(handle):
                    self.tiles.restore(handle)

    def safe_copies(self) -> RestoringCopies:
        """Return the copies of :meth:`make_safe` for callers outside Python."""
        graph, tiles = self.graph, self.tiles
        particular = np.array(self._particular(), dtype=bool)[graph.kernel]
        copied = np.repeat(particular, np.diff(graph.access_ptr))
        copied &= tiles.restores(graph.access_handle)
        handles = graph.access_handle[copied]
        return RestoringCopies(
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

    def _prepared(self, kernel: int) -> Iterator[tuple[PreparedCall, Ints, Ints]]:
        """Yield the call, the tasks and their operands for each configuration of a kernel."""
        graph = self.graph
        dense, _ = dense_kernel(graph.model_names[kernel])
        for row, values in enumerate(graph.parameters[kernel].tolist()):
            parameters = dict(zip(graph.parameter_names[kernel], values, strict=True))
            sizes = dense.sizes(parameters, f"graph {graph.name}")
            tasks = np.flatnonzero((graph.kernel == kernel) & (graph.row == row))
            prepared = PreparedCall(dense, sizes, self.tiles.precision)
            yield prepared, tasks, self._operands(dense, sizes, tasks)

    def _operands(self, dense: DenseKernel, sizes: dict[str, int], tasks: Ints) -> Ints:
        """Return, per task, the handles of its operands, which are checked for their size."""
        graph = self.graph
        positions = _OPERANDS.get(dense.name, range(len(dense.operands)))
        first = graph.access_ptr[tasks]
        if not self._only_tokens_after(tasks, first + positions[-1] + 1):
            raise self._mismatch(dense)
        handles: Ints = graph.access_handle[first[:, None] + np.array(positions)].astype(np.int64)
        shapes = dense.shapes(sizes).values()
        needed = [rows * columns * self.tiles.precision.size_bytes for rows, columns in shapes]
        if np.any(self.tiles.capacity[handles] < needed):
            raise self._mismatch(dense)
        return handles

    def _only_tokens_after(self, tasks: Ints, operands_end: Ints) -> bool:
        """Return whether all operands of *tasks* are there, and nothing but tokens after them."""
        graph = self.graph
        extra = graph.access_ptr[tasks + 1] - operands_end
        if np.any((extra < 0) | (extra > 1)):
            return False
        tokens = graph.access_handle[operands_end[extra > 0]]
        within = [b for b in graph.handle_blocks if b.name == TOKEN_BLOCK]
        return all(any(b.first <= token < b.end for b in within) for token in tokens.tolist())

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


def _work_elements(graph: TaskGraph) -> int:
    """Return the size of the largest workspace that a task of *graph* needs."""
    largest = 0
    for index, name in enumerate(graph.model_names):
        kernel, _ = dense_kernel(name)
        for row in graph.parameters[index].tolist():
            sizes = kernel.sizes(dict(zip(graph.parameter_names[index], row, strict=True)))
            largest = max(largest, kernel.work_elements(sizes))
    return largest


DRAW_BYTES = 8
"""Bytes of a number of the random generator, which gives two elements of four bytes. Tiles begin at
cache lines, and thus at whole numbers."""


class Tiles:
    """The data of a tiled factorisation.

    Each tile is contiguous, column-major and aligned.

    The matrix is the handle block ``A``. The block ``T``, if there is one, has the data that the QR
    kernels keep beside it. ``V[k]`` has the reflectors below the diagonal of ``A[k, k]`` and no
    memory of its own. Only tiles that some task accesses have memory.

    Parameters
    ----------
    graph
        A graph with handle blocks and the arguments ``tile_size`` and ``dtype``.
    held
        The handles that have memory, among those that tasks access; by default all. Their initial
        values do not depend on which others have memory.

    Attributes
    ----------
    rows, columns, tile_size
        Tile rows and columns of the matrix; rows and columns of a tile.
    precision
        The precision of the elements.
    offsets, capacity
        int64 [handles]: the offset of the data in memory (-1 without memory), and their bytes.
    within_others
        The handles that share the memory of others.
    """

    def __init__(self, graph: TaskGraph, held: Held = None) -> None:
        blocks = {block.name: block for block in graph.handle_blocks}
        if "A" not in blocks or "tile_size" not in graph.arguments:
            raise InputError(f"graph {graph.name}: no matrix A of tiles to compute with")
        self.matrix = blocks["A"]
        self.rows, self.columns = self.matrix.rows, self.matrix.columns
        self.tile_size = int(graph.arguments["tile_size"])
        self.precision = precision_of(str(graph.arguments.get("dtype", "float64")))
        self.offsets: Ints = np.full(graph.handles, -1, dtype=np.int64)
        self.capacity: Ints = np.zeros(graph.handles, dtype=np.int64)
        tile_bytes = self.tile_size**2 * self.precision.size_bytes
        if np.any(graph.handle_size[self.matrix.first : self.matrix.end] != tile_bytes):
            raise InputError(f"graph {graph.name}: the tiles of A are not of {tile_bytes} bytes")
        self._drawn_at = np.full(graph.handles, -1, dtype=np.int64)
        """Per handle, the offset that its data would have if all handles had memory."""
        self._holds_all = held is None
        if held is not None and "V" in blocks:
            held = np.append(held, self._diagonal(blocks["V"], held))
        self._size_bytes = end = self._place(graph, self.matrix, held, 0)
        if "T" in blocks:
            end = self._place(graph, blocks["T"], held, end)
        self.within_others = range(0)
        if "V" in blocks:  # its data are parts of the diagonal tiles
            block = blocks["V"]
            self.within_others = range(block.first, block.end)
            count = min(block.rows, self.rows, self.columns)
            diagonal = self._diagonal(block, np.arange(block.first, block.first + count))
            for column in (self.offsets, self.capacity):
                column[block.first : block.first + count] = column[diagonal]
        # The tiles, and a copy to restore them from.
        refuse_too_large(2 * end, f"graph {graph.name}")
        self.buffer = Buffer(end)
        self._initial: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)

    def _place(self, graph: TaskGraph, block: HandleBlock, held: Held, start: int) -> int:
        """Place the used handles of *block* from offset *start* on; return the end offset."""
        used = np.unique(graph.access_handle)
        mine = used[(used >= block.first) & (used < block.end)]
        stride = aligned(int(graph.handle_size[mine].max(initial=0)))
        self._drawn_at[mine] = stride * np.arange(len(mine))
        self.capacity[mine] = graph.handle_size[mine]
        if held is not None:
            mine = mine[np.isin(mine, held)]
        self.offsets[mine] = start + stride * np.arange(len(mine))
        return start + stride * len(mine)

    def _diagonal(self, block: HandleBlock, handles: NDArray[Any]) -> NDArray[Any]:
        """Return the diagonal tiles of the matrix with the memory of the *handles* of *block*."""
        within = handles[(handles >= block.first) & (handles < block.end)] - block.first
        return self.matrix.first + (self.columns + 1) * within

    def references(self) -> list[Reference]:
        """Return, per handle, a reference to its memory; None if it has none."""
        buffer = self.buffer
        return [buffer.reference(at) if at >= 0 else None for at in self.offsets.tolist()]

    def addresses(self) -> Ints:
        """Return, per handle, the address of its memory; 0 if it has none."""
        found: Ints = self.offsets + self.buffer.bytes.ctypes.data
        found[self.offsets < 0] = 0
        return found

    def initial_addresses(self) -> Ints:
        """Return, per handle, the address of its data at :meth:`keep`; 0 if it has no memory."""
        found: Ints = self.offsets + self._initial.ctypes.data
        found[self.offsets < 0] = 0
        return found

    def tile(self, row: int, column: int) -> NDArray[Any]:
        """Return the tile of the matrix at *row*, *column*, which shares the memory."""
        b, offset = self.tile_size, int(self.offsets[self.handle(row, column)])
        return self.buffer.array(offset, (b, b), self.precision.dtype)

    def initial(self, row: int, column: int) -> NDArray[Any]:
        """Return the tile at *row*, *column* as it was when :meth:`keep` was called."""
        b, offset = self.tile_size, int(self.offsets[self.handle(row, column)])
        return np.ndarray((b, b), self.precision.dtype, self._initial.data, offset, order="F")

    def handle(self, row: int, column: int) -> int:
        """Return the handle of the tile of the matrix at *row*, *column*."""
        return self.matrix.first + row * self.columns + column

    def used(self, row: int, column: int) -> bool:
        """Return whether some task accesses the tile at *row*, *column*."""
        return bool(self.offsets[self.handle(row, column)] >= 0)

    def fill(self, seed: int, diagonal: float) -> None:
        """Draw the matrix from the uniform distribution on [-1/2, 1/2), and keep it.

        *diagonal* is added to the diagonal.
        """
        elements = self.buffer.bytes[: self._size_bytes].view(self.precision.dtype)
        if self._holds_all:
            np.random.default_rng(seed).random(dtype=elements.dtype, out=elements)
        else:
            self._draw_held(seed)
        elements -= 0.5
        for k in range(min(self.rows, self.columns)):
            if self.used(k, k):
                self.tile(k, k)[np.diag_indices(self.tile_size)] += diagonal
        self.keep()

    def _draw_held(self, seed: int) -> None:
        """Draw the values that the held tiles have in a draw of all tiles."""
        size_bytes = self.precision.size_bytes
        draws = DRAW_BYTES // size_bytes  # elements per number of the generator
        first, end = self.matrix.first, self.matrix.end
        for handle in (first + np.flatnonzero(self.offsets[first:end] >= 0)).tolist():
            begin, count = int(self.offsets[handle]), int(self.capacity[handle])
            here = self.buffer.bytes[begin : begin + count].view(self.precision.dtype)
            generator = np.random.PCG64(seed)
            generator.advance(int(self._drawn_at[handle]) // size_bytes // draws)
            np.random.Generator(generator).random(dtype=here.dtype, out=here)

    def keep(self) -> None:
        """Keep a copy of the matrix for :meth:`reset` and :meth:`initial`."""
        self._initial = self.buffer.bytes[: self._size_bytes].copy()

    def restores(self, handles: Any) -> Any:
        """Return whether each of *handles* can be restored: it is a tile of A with memory."""
        first, end = self.matrix.first, self.matrix.end
        return (handles >= first) & (handles < end) & (self.offsets[handles] >= 0)

    def restore(self, handle: int) -> None:
        """Restore the data of *handle* from :meth:`keep`."""
        begin = int(self.offsets[handle])
        place = slice(begin, begin + int(self.capacity[handle]))
        self.buffer.bytes[place] = self._initial[place]

    def reset(self) -> None:
        """Restore the matrix from :meth:`keep`."""
        self.buffer.bytes[: self._size_bytes] = self._initial
