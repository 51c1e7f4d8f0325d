"""Aligned blocks of memory, one per datum of a graph, by handle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.memory import refuse_too_large
from tasksim.kernels.buffer import Buffer, aligned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import HandleBlock, TaskGraph

__all__ = ["Blocks"]


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
        more_bytes: dict[str, int] | None = None,
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
        self.addresses: NDArray[np.int64] = np.where(here, self._offset + begin, 0)

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
