"""The tiles of a matrix in memory, by the handles of a task graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.memory import refuse_too_large
from tasksim.kernels.buffer import Buffer, aligned
from tasksim.kernels.pointers import precision_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import HandleBlock, TaskGraph
    from tasksim.kernels.pointers import Reference

    Held = NDArray[np.integer] | None

__all__ = ["Tiles"]

DRAW_BYTES = 8
"""Bytes of a number of the random generator, which gives two elements of four bytes. Tiles begin at
cache lines, and thus at whole numbers."""


class Tiles:
    """The data of a tiled factorisation; each tile is contiguous, column-major and aligned.

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
        self.offsets: NDArray[np.int64] = np.full(graph.handles, -1, dtype=np.int64)
        self.capacity: NDArray[np.int64] = np.zeros(graph.handles, dtype=np.int64)
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
        if "V" in blocks:
            self._alias_diagonal(blocks["V"])
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

    def _alias_diagonal(self, block: HandleBlock) -> None:
        self.within_others = range(block.first, block.end)
        count = min(block.rows, self.rows, self.columns)
        diagonal = self._diagonal(block, np.arange(block.first, block.first + count))
        for column in (self.offsets, self.capacity):
            column[block.first : block.first + count] = column[diagonal]

    def _diagonal(self, block: HandleBlock, handles: NDArray[Any]) -> NDArray[Any]:
        """Return the diagonal tiles of the matrix with the memory of the *handles* of *block*."""
        within = handles[(handles >= block.first) & (handles < block.end)] - block.first
        return self.matrix.first + (self.columns + 1) * within

    def references(self) -> list[Reference]:
        """Return, per handle, a reference to its memory; None if it has none."""
        buffer = self.buffer
        return [buffer.reference(at) if at >= 0 else None for at in self.offsets.tolist()]

    def addresses(self) -> NDArray[np.int64]:
        """Return, per handle, the address of its memory; 0 if it has none."""
        found: NDArray[np.int64] = self.offsets + self.buffer.bytes.ctypes.data
        found[self.offsets < 0] = 0
        return found

    def initial_addresses(self) -> NDArray[np.int64]:
        """Return, per handle, the address of its data at :meth:`keep`; 0 if it has no memory."""
        found: NDArray[np.int64] = self.offsets + self._initial.ctypes.data
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
