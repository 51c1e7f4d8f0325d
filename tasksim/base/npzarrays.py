"""Safe reader of the arrays in NumPy's ``.npz`` files.

NumPy allocates the size in the header of an array before it checks how much data follows: a file
of a kilobyte can claim a terabyte. This reader allocates only as many bytes as the file holds.
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

UNCHECKED_BYTES: Final = 2**28
"""Total size of arrays that is legal for any file, in bytes: every machine has that much memory."""
MAX_COMPRESSION_RATIO: Final = 100
"""Largest legal ratio of the arrays' size to the compressed size, for larger arrays. Compressed
task graphs have 5 to 8 (measured); zeros, with which a small file fills the memory, 1000."""
_READ_ERRORS: Final = (
    *(EOFError, KeyError, NotImplementedError, RuntimeError, SyntaxError),
    *(struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
"""Errors that NumPy and zipfile raise, besides ValueError, for a foreign, truncated or damaged
file."""
_HEADER_READERS: Final = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
"""Version of NumPy's format -> reader of an array's header."""


class NpzArrays:
    """The arrays of an open ``.npz`` file.

    Parameters
    ----------
    file : binary file
        A file open for reading; the caller closes it.

    Raises
    ------
    ValueError
        If the file is not an ``.npz`` file, or its arrays would expand too much.

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
        except _READ_ERRORS as error:
            raise ValueError(str(error)) from error
        infos = self._members.infolist()
        size, compressed = sum(i.file_size for i in infos), sum(i.compress_size for i in infos)
        if size > max(UNCHECKED_BYTES, MAX_COMPRESSION_RATIO * compressed):
            raise ValueError(f"{compressed} bytes that would become {size}")
        self._names = {info.filename for info in infos}

    def __contains__(self, name: str) -> bool:
        return f"{name}.npy" in self._names

    def read(self, name: str, dtype: DTypeLike, dimensions: int = 1) -> NDArray[Any]:
        """Return the array *name*.

        Parameters
        ----------
        name : str
            Name under which the array was saved.
        dtype : dtype
            Required type, in any byte order.
        dimensions : int, default 1
            Required number of dimensions.

        Raises
        ------
        ValueError
            If there is no such array, if it is damaged, or if its type or number of dimensions
            differs.
        """
        if name not in self:
            raise ValueError(f"array {name} is missing")
        try:
            return self._read(name, np.dtype(dtype), dimensions)
        except _READ_ERRORS as error:
            raise ValueError(f"{name}: {error}") from error

    def _read(self, name: str, dtype: np.dtype[Any], dimensions: int) -> NDArray[Any]:
        info = self._members.getinfo(f"{name}.npy")
        with self._members.open(info) as stream:
            head = _HEADER_READERS.get(np.lib.format.read_magic(stream))
            if head is None:
                raise ValueError(f"{name}: an unknown version of NumPy's format")
            shape, by_columns, found = head(stream)
            if found.newbyteorder("=") != dtype or len(shape) != dimensions:
                raise ValueError(f"{name}: {found} of shape {shape}; legal: {dtype}")
            size = math.prod(shape) * dtype.itemsize
            data = stream.read()
        # math.prod of two negative lengths is positive, hence the first condition.
        if min(shape, default=0) < 0 or size != len(data):
            raise ValueError(f"{name}: {len(data)} bytes of shape {shape}; legal: {size} bytes")
        order = "F" if by_columns else "C"
        return np.frombuffer(data, found).reshape(shape, order=order)  # type: ignore[call-overload, no-any-return]
