"""The tiles of a matrix in memory, found by the handles of a task graph."""

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

__all__ = ["Tiles"]


class Tiles:
    """The data of a tiled factorisation: each tile contiguous, column-major, aligned.

    The matrix is the handle block ``A``; the block ``T``, if there is one, is what the QR
    kernels keep beside it. ``V[k]`` are the reflectors below the diagonal of ``A[k, k]``: no
    memory of their own. Only tiles that some task accesses have memory.

    Parameters
    ----------
    graph
        Its handle blocks and its arguments ``tile_size`` and ``dtype``.

    Attributes
    ----------
    rows, columns, tile_size
        Tile rows and columns of the matrix; rows and columns of a tile.
    precision
        Of the elements.
    offsets, capacity
        int64 [handles]: where in memory its data are (-1: nowhere), and how many bytes.
    within_others
        The handles whose memory is that of others.
    """

    def __init__(self, graph: TaskGraph) -> None:
        blocks = {block.name: block for block in graph.handle_blocks}
        if "A" not in blocks or "tile_size" not in graph.arguments:
            raise InputError(
                f"graph {graph.name}: no matrix A of tiles, so nothing to compute with"
            )
        self.matrix = blocks["A"]
        self.rows, self.columns = self.matrix.rows, self.matrix.columns
        self.tile_size = int(graph.arguments["tile_size"])
        self.precision = precision_of(str(graph.arguments.get("dtype", "float64")))
        self.offsets: NDArray[np.int64] = np.full(graph.handles, -1, dtype=np.int64)
        self.capacity: NDArray[np.int64] = np.zeros(graph.handles, dtype=np.int64)
        tile_bytes = self.tile_size**2 * self.precision.size_bytes
        if np.any(graph.handle_size[self.matrix.first : self.matrix.end] != tile_bytes):
            raise InputError(f"graph {graph.name}: the tiles of A are not of {tile_bytes} bytes")
        self._size_bytes = end = self._place(graph, self.matrix, 0)
        if "T" in blocks:
            end = self._place(graph, blocks["T"], end)
        self.within_others = range(0)
        if "V" in blocks:
            self._alias_diagonal(blocks["V"])
        # The tiles, and a copy of them to begin again with.
        refuse_too_large(2 * end, f"graph {graph.name}")
        self.buffer = Buffer(end)
        self._initial: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)

    def _place(self, graph: TaskGraph, block: HandleBlock, start: int) -> int:
        """Give the used handles of *block* memory from *start* on; return where it ends."""
        used = np.unique(graph.access_handle)
        mine = used[(used >= block.first) & (used < block.end)]
        stride = aligned(int(graph.handle_size[mine].max(initial=0)))
        self.offsets[mine] = start + stride * np.arange(len(mine))
        self.capacity[mine] = graph.handle_size[mine]
        return start + stride * len(mine)

    def _alias_diagonal(self, block: HandleBlock) -> None:
        self.within_others = range(block.first, block.end)
        count = min(block.rows, self.rows, self.columns)
        diagonal = self.matrix.first + (self.columns + 1) * np.arange(count)
        for column in (self.offsets, self.capacity):
            column[block.first : block.first + count] = column[diagonal]

    def references(self) -> list[Reference]:
        """Return per handle the reference to its memory; None where it has none."""
        buffer = self.buffer
        return [buffer.reference(at) if at >= 0 else None for at in self.offsets.tolist()]

    def addresses(self) -> NDArray[np.int64]:
        """Return per handle the address of its memory; 0 where it has none."""
        found: NDArray[np.int64] = self.offsets + self.buffer.bytes.ctypes.data
        found[self.offsets < 0] = 0
        return found

    def initial_addresses(self) -> NDArray[np.int64]:
        """Return per handle the address of its data as they were at :meth:`keep`; 0 of none."""
        found: NDArray[np.int64] = self.offsets + self._initial.ctypes.data
        found[self.offsets < 0] = 0
        return found

    def tile(self, row: int, column: int) -> NDArray[Any]:
        """Return the tile of the matrix at *row*, *column*, sharing its memory."""
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
        np.random.default_rng(seed).random(dtype=elements.dtype, out=elements)
        elements -= 0.5
        for k in range(min(self.rows, self.columns)):
            self.tile(k, k)[np.diag_indices(self.tile_size)] += diagonal
        self.keep()

    def keep(self) -> None:
        """Keep a copy of the matrix for :meth:`reset` and :meth:`initial`."""
        self._initial = self.buffer.bytes[: self._size_bytes].copy()

    def restore(self, handle: int) -> None:
        """Make the data of *handle* again what they were at :meth:`keep`."""
        begin = int(self.offsets[handle])
        place = slice(begin, begin + int(self.capacity[handle]))
        self.buffer.bytes[place] = self._initial[place]

    def reset(self) -> None:
        """Make the matrix again what it was at :meth:`keep`."""
        self.buffer.bytes[: self._size_bytes] = self._initial
