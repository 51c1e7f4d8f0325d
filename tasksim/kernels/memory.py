"""Memory whose parts are passed to Fortran."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.units import format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.kernels.pointers import Reference

__all__ = ["ALIGNMENT_BYTES", "Memory", "aligned", "refuse_too_large"]

ALIGNMENT_BYTES = 64
"""A cache line: tiles start at one, so that no two of them share any."""


def aligned(size_bytes: int) -> int:
    """Return *size_bytes* rounded up to whole cache lines."""
    return -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def refuse_too_large(size_bytes: int, what: str) -> None:
    """Raise :exc:`InputError` if *what* needs more bytes than this machine has.

    Asking would not fail: the system hands out memory that it does not have, and ends
    the process when it is used.
    """
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # a system that does not tell
        return
    if size_bytes > there:
        raise InputError(
            f"{what} needs {format_size(size_bytes)} of memory, "
            f"this machine has {format_size(there)}"
        )


class Memory:
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
        self._buffer = (ctypes.c_char * len(self.bytes)).from_buffer(self.bytes.data)

    def reference(self, offset: int = 0) -> Reference:
        """Return a reference to the byte at *offset*, as an argument of a routine."""
        return ctypes.byref(self._buffer, offset)

    def array(self, offset: int, shape: Sequence[int], dtype: str) -> NDArray[Any]:
        """Return the array of *shape* at *offset*, column-major; it shares the memory."""
        return np.ndarray(shape, dtype, self.bytes.data, offset, order="F")
