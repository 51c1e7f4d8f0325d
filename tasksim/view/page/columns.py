"""Columns of numbers packed as text for a page, small and quick to read.

Times are whole ticks, so that most columns are whole numbers. Such a column is written as
differences if neighbours are similar, with signs folded in, and split into planes of bytes (the
upper planes of small numbers are all zero). All planes together are deflated and written in base64.
``script/columns.js`` reads them.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Int64 = NDArray[np.int64]

__all__ = ["PackedColumns", "Ticks"]

_DEFLATE_LEVEL: Final = 6
"""Level of deflate: 9 takes three times as long and gains one percent."""


class Ticks:
    """The unit of times in a page, a power of ten of seconds.

    It is a nanosecond, the clock of real runs. It is finer for runs of less than a millisecond,
    which then have at least a million ticks, and coarser if a double cannot count the nanoseconds.
    """

    def __init__(self, until_s: float) -> None:
        exponent = int(np.floor(np.log10(until_s))) if 0 < until_s < np.inf else 0
        self.exponent = min(-9, exponent - 6) if exponent <= 5 else exponent - 14
        """Exponent of a tick, which is ``10 ** exponent`` seconds."""

    def of(self, times_s: ArrayLike) -> Int64:
        """Return the nearest ticks of times in seconds.

        >>> Ticks(1.0).of([0.5, 1.0]).tolist()
        [500000000, 1000000000]
        """
        scale = 10.0 ** abs(self.exponent)
        times = np.asarray(times_s, dtype=np.float64)
        ticks = times * scale if self.exponent < 0 else times / scale
        return np.rint(ticks).astype(np.int64)


class PackedColumns:
    """Named columns, packed together.

    >>> packed = PackedColumns()
    >>> packed.whole("start", [0, 10, 25], differences=True)
    >>> packed.layout
    [{'name': 'start', 'rows': 3, 'width': 1, 'kind': 'differences'}]
    """

    def __init__(self) -> None:
        self.layout: list[dict[str, Any]] = []
        """Columns: name, rows, bytes per row; ``whole``, ``differences``, ``real`` or ``exact``."""
        self._planes: list[bytes] = []

    def whole(self, name: str, values: ArrayLike, *, differences: bool = False) -> None:
        """Add a column of whole numbers, as differences of neighbours where these are smaller."""
        given = np.asarray(values, dtype=np.int64)
        shown = np.diff(given, prepend=0) if differences else given
        folded = ((shown << 1) ^ (shown >> 63)).astype("<u8")
        most = int(folded.max()) if len(folded) else 0
        width = max(1, (most.bit_length() + 7) // 8)
        self._add(name, folded, width, "differences" if differences else "whole")

    def real(self, name: str, values: ArrayLike) -> None:
        """Add a column of real numbers, to seven digits."""
        with np.errstate(over="ignore"):  # infinite, then
            self._add(name, np.asarray(values).astype("<f4"), 4, "real")

    def exact(self, name: str, values: ArrayLike) -> None:
        """Add a column of numbers of eight bytes, real or whole, bit by bit."""
        given = np.asarray(values)
        self._add(name, given.astype("<i8" if given.dtype.kind == "i" else "<f8"), 8, "exact")

    def text(self) -> str:
        """Return all columns in base64."""
        deflated = zlib.compress(b"".join(self._planes), _DEFLATE_LEVEL)
        return base64.b64encode(deflated).decode("ascii")

    def _add(self, name: str, values: NDArray[Any], width: int, kind: str) -> None:
        rows = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), values.itemsize)
        self._planes.append(np.ascontiguousarray(rows[:, :width].T).tobytes())
        self.layout.append({"name": name, "rows": len(values), "width": width, "kind": kind})
