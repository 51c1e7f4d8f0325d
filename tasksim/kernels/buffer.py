"""Buffers of memory whose parts are passed to Fortran."""

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
"""A cache line: tiles start at one, so that no two of them share any."""


def aligned(size_bytes: int) -> int:
    """Return *size_bytes* rounded up to whole cache lines."""
    return -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


class Buffer:
    """One aligned block of memory, zeros at first.

    Parameters
    ----------
    size_bytes
        Its size.
    """

    def __init__(self, size_bytes: int) -> None:
        raw = np.zeros(aligned(size_bytes) + ALIGNMENT_BYTES, dtype=np.uint8)
        start = -raw.ctypes.data % ALIGNMENT_BYTES
        self.bytes: NDArray[np.uint8] = raw[start : start + aligned(size_bytes)]
        self._block = (ctypes.c_char * len(self.bytes)).from_buffer(self.bytes.data)

    def reference(self, offset: int = 0) -> Reference:
        """Return a reference to the byte at *offset*, as an argument of a routine."""
        return ctypes.byref(self._block, offset)

    def array(self, offset: int, shape: Sequence[int], dtype: str) -> NDArray[Any]:
        """Return the array of *shape* at *offset*, column-major; it shares the memory."""
        return np.ndarray(shape, dtype, self.bytes.data, offset, order="F")
