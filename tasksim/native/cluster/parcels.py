"""Memory of the data that MPI sends and receives in place.

A datum is one or several pieces of memory, such as the rows of a result; an MPI datatype of their
addresses sends several pieces. Nothing is packed or pickled.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Program

    Piece = tuple[int, int]

__all__ = ["Parcels", "rows_of"]


class Parcels:
    """The data of a program as MPI buffers.

    Parameters
    ----------
    program : Program
        The whole graph bound to its data. If the program does not expose their memory, messages
        have the right size and contain zeros.
    graph : TaskGraph
        The whole graph, including data that only order tasks.
    """

    def __init__(self, program: Program, graph: TaskGraph) -> None:
        self._program = program
        self._graph = graph
        self._known: dict[int, list[Piece]] = {}
        self._buffers: dict[int, tuple[Any, int, Any]] = {}

    def pieces(self, handle: int) -> list[Piece]:
        """Return address and length of each piece of *handle*; empty if it has no memory."""
        if handle not in self._known:
            self._known[handle] = list(self._pieces(handle))
        return self._known[handle]

    def size_bytes(self, handle: int) -> int:
        """Return the size of a message with *handle* in bytes."""
        return sum(length for _, length in self.pieces(handle))

    def buffer(self, handle: int) -> tuple[Any, int, Any]:
        """Return the MPI buffer of *handle*, to send or to receive."""
        if handle not in self._buffers:
            self._buffers[handle] = self._made(self.pieces(handle))
        return self._buffers[handle]

    def unpack(self, handle: int, data: NDArray[np.uint8]) -> None:
        """Copy *data*, received in another buffer, to the memory of *handle*."""
        from mpi4py import MPI

        begin = 0
        for address, length in self.pieces(handle):
            place = np.asarray(MPI.buffer.fromaddress(address, length), np.uint8)
            place[:] = data[begin : begin + length]
            begin += length

    def _made(self, pieces: list[Piece]) -> tuple[Any, int, Any]:
        from mpi4py import MPI

        if not pieces:
            return MPI.BOTTOM, 0, MPI.BYTE
        if len(pieces) == 1:
            address, length = pieces[0]
            return MPI.buffer.fromaddress(address, length), length, MPI.BYTE
        lengths, addresses = [p[1] for p in pieces], [p[0] for p in pieces]
        kind = MPI.BYTE.Create_hindexed(lengths, addresses).Commit()
        return MPI.BOTTOM, 1, kind

    def _pieces(self, handle: int) -> Iterator[Piece]:
        if handle >= self._program.graph.handles:
            return  # the handle only orders tasks
        pieces = getattr(self._program, "pieces", None)
        if pieces is None:
            yield from _places(self._nothing[: int(self._graph.handle_size[handle])])
            return
        for array in pieces(handle):
            yield from _places(array)

    @cached_property
    def _nothing(self) -> NDArray[np.uint8]:
        """Memory that nobody reads, for programs without data."""
        return np.zeros(int(self._graph.handle_size.max(initial=0)), np.uint8)


def rows_of(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield the contiguous parts of *array* in order."""
    if array.flags.c_contiguous or array.flags.f_contiguous:
        yield array
    elif array.ndim < 2:
        raise InputError(
            f"an array with gaps of {array.strides[0]} bytes between its elements cannot be sent; "
            "legal: arrays whose rows are contiguous"
        )
    else:
        for part in array:
            yield from rows_of(part)


def _places(array: NDArray[Any]) -> Iterator[Piece]:
    for part in rows_of(array):
        if part.nbytes:
            yield part.ctypes.data, part.nbytes
