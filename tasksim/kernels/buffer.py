"""Aligned buffers of memory, whose parts are passed to Fortran."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.kernels.pointers import Reference

__all__ = ["ALIGNMENT_BYTES", "Buffer", "aligned"]

ALIGNMENT_BYTES = 64
"""Size of a cache line in bytes: tiles start at a cache line, so that no two of them share one."""


def aligned(size_bytes: int) -> int:
    """Return *size_bytes* rounded up to whole cache lines."""
    return -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


class Buffer:
    """One aligned block of memory, initially zero.

    Parameters
    ----------
    size_bytes
        The size of the block.
    """

    def __init__(self, size_bytes: int) -> None:
        raw = np.zeros(aligned(size_bytes) + ALIGNMENT_BYTES, dtype=np.uint8)
        start = -raw.ctypes.data % ALIGNMENT_BYTES
        self.bytes: NDArray[np.uint8] = raw[start : start + aligned(size_bytes)]
        self._block = (ctypes.c_char * len(self.bytes)).from_buffer(self.bytes.data)

    def reference(self, offset: int = 0) -> Reference:
        """Return a reference to the byte at *offset* for a call of a routine."""
        return ctypes.byref(self._block, offset)

    def array(self, offset: int, shape: Sequence[int], dtype: str) -> NDArray[Any]:
        """Return a column-major array of *shape* at *offset*, which shares the memory."""
        return np.ndarray(shape, dtype, self.bytes.data, offset, order="F")
