"""Data handles: single ones, vectors and matrices, and their register."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import GraphError, expect
from tasksim.graph.taskgraph import HandleBlock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.graph.csr import Int32, Int64, Integers

__all__ = ["HandleRegister", "Matrix", "Vector", "whole"]

INT32_LIMIT: Final = 2**31
"""Upper bound (exclusive) of the numbers of handles and memories: graphs' columns are int32."""
LARGEST_BYTES: Final = 2**63
"""Upper bound (exclusive) of sizes in bytes: int64."""
# Tuples: a file may have a handle for each edge, and a union would be made anew for each of them.
_NUMBERS: Final = (int, float, np.integer, np.floating)
_SEQUENCES: Final = (list, tuple, np.ndarray)


class Matrix:
    """A grid of data handles: ``A[m, k]`` is a handle.

    See Also
    --------
    GraphBuilder.matrix : Make a matrix.

    Examples
    --------
    >>> A = Matrix("A", rows=2, columns=3, first=10)
    >>> A[1, 2]
    15
    """

    __slots__ = ("columns", "first", "name", "rows")

    def __init__(self, name: str, rows: int, columns: int, first: int) -> None:
        self.name, self.rows, self.columns, self.first = name, rows, columns, first

    def __index__(self) -> int:
        """Refuse ``R(A)``, which asks for the number of its handle."""
        raise GraphError(
            f"{self.name} is a matrix; access one of its handles, {self.name}[row, column]"
        )

    def __getitem__(self, key: tuple[int, int]) -> int:
        try:
            row, column = key
            row, column = index(row), index(column)
        except (TypeError, ValueError):
            raise GraphError(f"{self.name}[{key!r:.60}]: legal: {self.name}[row, column]") from None
        if 0 <= row < self.rows and 0 <= column < self.columns:
            return self.first + row * self.columns + column
        raise GraphError(
            f"{self.name}[{row}, {column}]: outside of its {self.rows} x {self.columns} handles"
        )

    def at(self, rows: Integers, columns: Integers) -> Integers:
        """Return the handles in *rows* and *columns*, vectorised and unchecked."""
        return self.first + rows * self.columns + columns


class Vector:
    """A row of data handles: ``x[i]`` is a handle.

    See Also
    --------
    GraphBuilder.vector : Make a vector.

    Examples
    --------
    >>> x = Vector("x", length=3, first=10)
    >>> x[2], list(x)
    (12, [10, 11, 12])
    """

    __slots__ = ("first", "length", "name")

    def __init__(self, name: str, length: int, first: int) -> None:
        self.name, self.length, self.first = name, length, first

    def __index__(self) -> int:
        """Refuse ``R(x)``, as :class:`Matrix` does."""
        raise GraphError(f"{self.name} is a vector; access one of its handles, {self.name}[index]")

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.first + self.length))

    def __getitem__(self, key: int) -> int:
        try:
            place = index(key)
        except TypeError:
            raise GraphError(f"{self.name}[{key!r:.60}]: legal: {self.name}[index]") from None
        if 0 <= place < self.length:
            return self.first + place
        raise GraphError(f"{self.name}[{place}]: outside of its {self.length} handles")

    def at(self, places: Integers) -> Integers:
        """Return the handles at *places*, vectorised and unchecked."""
        return self.first + places


class HandleRegister:
    """The handles of a graph that is being built, block by block."""

    def __init__(self) -> None:
        self.blocks: list[HandleBlock] = []
        self.count = 0
        """Number of handles so far."""
        self._sizes: list[int | list[int]] = []
        self._homes: list[int] = []

    def add(
        self, name: str, shape: tuple[int, ...], size_bytes: float | Sequence[float], home: int
    ) -> int:
        """Register the handles of one block and return the first of them.

        *size_bytes* is the size of all, or of each. Raises :exc:`GraphError`, and registers
        nothing, for an illegal value.
        """
        expect(name, str, "name of the data")
        extents = [extent for value in shape if (extent := whole(value)) is not None]
        if len(extents) < len(shape) or min(extents, default=1) < 1:
            raise GraphError(f"data {name}: shape {shape!r:.60}; legal: integers from 1")
        rows, columns = (*extents, 0, 0)[:2]
        size, memory = _sizes(name, rows, size_bytes), whole(home)
        if memory is None or not 0 <= memory < INT32_LIMIT:
            legal = "the number of a memory, from 0, less than 2**31"
            raise GraphError(f"data {name}: home {home!r:.60}; legal: {legal}")
        block = HandleBlock(name, rows, columns, self.count)
        if block.end >= INT32_LIMIT:
            raise GraphError(f"data {name}: {block.end} handles; legal: fewer than {INT32_LIMIT}")
        self.blocks.append(block)
        self._sizes.append(size)
        self._homes.append(memory)
        self.count = block.end
        return block.first

    def columns(self) -> tuple[Int64, Int32]:
        """Return the sizes in bytes and the homes of all handles."""
        extents = [block.end - block.first for block in self.blocks]
        homes = np.repeat(np.array(self._homes, np.int32), extents)
        if all(isinstance(size, int) for size in self._sizes):
            # One call for all blocks: files have as many blocks as edges.
            return np.repeat(np.array(self._sizes, np.int64), extents), homes
        sizes = [
            np.broadcast_to(np.array(size, np.int64), extent)
            for size, extent in zip(self._sizes, extents, strict=True)
        ]
        return np.concatenate([np.empty(0, np.int64), *sizes]), homes


def whole(value: object) -> int | None:
    """Return *value* as an integer if it is one, Python's or NumPy's."""
    try:
        return index(value)  # type: ignore[arg-type]
    except (TypeError, GraphError):
        return None


def _sizes(name: str, length: int, given: float | Sequence[float]) -> int | list[int]:
    if not isinstance(given, _SEQUENCES):
        return _size(name, given)
    if len(given) != length:
        raise GraphError(f"data {name}: {len(given)} sizes for {length} data; legal: one for each")
    return [_size(name, size) for size in given]


def _size(name: str, size: object) -> int:
    numeric = isinstance(size, _NUMBERS)
    if numeric and 0 <= size < LARGEST_BYTES and size == int(size):  # type: ignore[operator, call-overload]
        return int(size)  # type: ignore[call-overload, no-any-return]
    legal = "an integer from 0, less than 2**63"
    raise GraphError(f"data {name}: size_bytes {size!r:.60}; legal: {legal}")
