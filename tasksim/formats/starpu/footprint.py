"""Footprints, the keys of StarPU's histories of task durations.

A footprint is a cyclic redundancy check (CRC) of the shapes of a task's data: matrices by their
numbers of elements, not by the size of these. See StarPU's
``src/datawizard/footprint.c`` and ``src/common/hash.c``.

Everything is vectorised: arrays of shapes give arrays of footprints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["crc", "matrix", "of_size", "task"]

CRC_POLYNOMIAL: Final = 0x1EDC6F41
"""Polynomial of the CRC, Castagnoli's, most significant bit first."""

MATRIX_INTERFACE: Final = 0
"""StarPU's number of its interface for matrices."""


def crc(values: ArrayLike, seed: ArrayLike = 0) -> NDArray[np.uint32]:
    """Return the checks of *values* (32 bits each, the least significant byte first).

    *seed* is the initial register; the result can be the seed of further values.

    >>> f"{int(crc(320, seed=320)):08x}"
    '337b1d74'
    """
    words = np.asarray(values, dtype=np.uint32)
    register = np.asarray(seed, dtype=np.uint32)
    for shift in (0, 8, 16, 24):
        byte = (words >> np.uint32(shift)) & np.uint32(0xFF)
        register = (register << np.uint32(8)) ^ _CRC_TABLE[(register >> np.uint32(24)) ^ byte]
    return register


def matrix(nx: ArrayLike, ny: ArrayLike) -> NDArray[np.uint32]:
    """Return the footprint of a matrix of *nx* by *ny* elements."""
    return crc(crc(nx, ny), MATRIX_INTERFACE)


def task(handles: Iterable[ArrayLike]) -> NDArray[np.uint32]:
    """Return the footprint of a task from those of its data, in the order of its accesses.

    A product of three tiles of 320 × 320:

    >>> f"{int(task([matrix(320, 320)] * 3)):08x}"
    'd46431bb'
    """
    register: NDArray[np.uint32] = np.zeros((), dtype=np.uint32)
    for handle in handles:
        register = crc(handle, register)
    return register


def of_size(size_bytes: ArrayLike) -> NDArray[np.uint32]:
    """Return the footprint of a task from the size of its data alone (8 bytes).

    StarPU uses it for codelets whose performance model has a function ``size_base``.
    """
    sizes = np.asarray(size_bytes, dtype=np.uint64)
    low, high = sizes & np.uint64(0xFFFFFFFF), sizes >> np.uint64(32)
    return crc(high.astype(np.uint32), crc(low.astype(np.uint32)))


def _table() -> NDArray[np.uint32]:
    """Return the value of each top byte of the register after eight steps."""
    register = np.arange(256, dtype=np.uint32) << np.uint32(24)
    for _ in range(8):
        carry = (register >> np.uint32(31)) * np.uint32(CRC_POLYNOMIAL)
        register = (register << np.uint32(1)) ^ carry
    return register


_CRC_TABLE: Final = _table()
