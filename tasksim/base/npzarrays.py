"""Arrays in NumPy's ``.npz`` files, read without believing what the files claim to hold.

NumPy allocates what the head of an array says, before it looks whether as much follows: a file
of a kilobyte can ask for a terabyte. Here an array is as long as the bytes that are there.
"""

from __future__ import annotations

import math
import struct
import tokenize
import zipfile
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["NpzArrays"]

ALWAYS_BYTES: Final = 2**28
"""What arrays may have together, however small the file: every machine has room for that."""
MOST_EXPANDED: Final = 100
"""Times the length of their file that larger arrays may have. Task graphs that somebody has
compressed have 5 to 8 (measured); zeros, with which a small file fills a memory, 1000."""
_UNREADABLE: Final = (
    *(EOFError, KeyError, NotImplementedError, RuntimeError, SyntaxError),
    *(struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
"""All that NumPy and zipfile raise beside ValueError for what is foreign, cut short or altered."""
_HEADS: Final = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class NpzArrays:
    """The arrays of an open ``.npz`` file.

    Parameters
    ----------
    file : binary file
        Opened to be read; it stays the caller's.

    Raises
    ------
    ValueError
        If the file is none.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.savez(file, counts=np.arange(3))
    >>> arrays = NpzArrays(file)
    >>> "counts" in arrays, arrays.read("counts", np.int64).tolist()
    (True, [0, 1, 2])
    """

    def __init__(self, file: BinaryIO) -> None:
        try:
            self._members = zipfile.ZipFile(file)
        except _UNREADABLE as error:
            raise ValueError(str(error)) from error
        infos = self._members.infolist()
        size, compressed = sum(i.file_size for i in infos), sum(i.compress_size for i in infos)
        if size > max(ALWAYS_BYTES, MOST_EXPANDED * compressed):
            raise ValueError(f"{compressed} bytes that would become {size}")
        self._names = {info.filename for info in infos}

    def __contains__(self, name: str) -> bool:
        return f"{name}.npy" in self._names

    def read(self, name: str, dtype: DTypeLike, dimensions: int = 1) -> NDArray[Any]:
        """Return the array *name*.

        Parameters
        ----------
        name : str
            As it was saved.
        dtype : dtype
            The type that it must have.
        dimensions : int, default 1
            How many it must have.

        Raises
        ------
        ValueError
            If there is no such array, if it is damaged, or of another type.
        """
        if name not in self:
            raise ValueError(f"it has no {name}")
        try:
            return self._read(name, np.dtype(dtype), dimensions)
        except _UNREADABLE as error:
            raise ValueError(f"{name}: {error}") from error

    def _read(self, name: str, dtype: np.dtype[Any], dimensions: int) -> NDArray[Any]:
        info = self._members.getinfo(f"{name}.npy")
        with self._members.open(info) as stream:
            head = _HEADS.get(np.lib.format.read_magic(stream))
            if head is None:
                raise ValueError(f"{name}: an unknown version of NumPy's format")
            shape, by_columns, found = head(stream)
            if found.newbyteorder("=") != dtype or len(shape) != dimensions:
                raise ValueError(f"{name}: {found} of shape {shape}; legal: {dtype}")
            size = math.prod(shape) * dtype.itemsize
            data = stream.read()
        if min(shape, default=0) < 0 or size != len(data):
            raise ValueError(f"{name}: {len(data)} bytes of shape {shape}; legal: {size} bytes")
        order = "F" if by_columns else "C"
        return np.frombuffer(data, found).reshape(shape, order=order)  # type: ignore[call-overload, no-any-return]
