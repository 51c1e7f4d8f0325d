"""Descriptions of an application's data, with their number, form (shape, type, layout) and values.

Descriptions take no memory for the data: a simulation never needs any.
:class:`~tasksim.applications.store.DataStore` makes the arrays when the application is executed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.arguments import one_of, whole_number
from tasksim.base.errors import GraphError, InputError, short, unknown
from tasksim.graph.handles import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray


__all__ = [
    "AnyForm",
    "Block",
    "Datum",
    "DatumMatrix",
    "DatumVector",
    "Form",
    "ObjectForm",
    "Reduction",
    "bounds_of",
    "form_of",
    "reduction_of",
]


@dataclass(frozen=True, slots=True)
class Form:
    """Shape and type of an array that does not exist yet; parameters of kernels derive from it.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    order : {"C", "F"}
        Whether its rows or its columns are contiguous.

    Examples
    --------
    >>> block = form_of((4, 100), "float32")
    >>> len(block), block.size, block.nbytes
    (4, 400, 1600)
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: str = "C"

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Size of an element in bytes."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        """Return the length of its first axis."""
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __str__(self) -> str:
        shape = " x ".join(map(str, self.shape)) or "scalar"
        return f"{shape} {self.dtype.name}"


@dataclass(frozen=True, slots=True)
class ObjectForm:
    """Declared size of an object that is not an array."""

    nbytes: int

    @property
    def size(self) -> int:
        """Its size in bytes, as an object has no elements."""
        return self.nbytes

    def __str__(self) -> str:
        return f"object of {self.nbytes} bytes"


def form_of(shape: int | Sequence[int], dtype: Any = "float64", order: str = "C") -> Form:
    """Return the form of an array; raise :exc:`InputError` if NumPy could not make one."""
    one_of(order, ("C", "F"), "order")
    try:
        kind = np.dtype(dtype)
    except TypeError as error:
        raise InputError(f"dtype: got {short(dtype)}: {error}") from None
    if kind.hasobject:
        raise InputError(f"dtype: got {short(dtype)}; legal: numbers; for objects: g.opaque(...)")
    extents = (shape,) if np.ndim(shape) == 0 else tuple(shape)  # type: ignore[arg-type]
    return Form(tuple(whole_number(extent, "shape", 0) for extent in extents), kind, order)


AnyForm = Form | ObjectForm


@dataclass(frozen=True)
class Reduction:
    """An associative and commutative operation, with its neutral element.

    Attributes
    ----------
    name : str
    operate : callable
        ``operate(into, part)`` changes *into*.
    neutral : callable
        Function that returns the neutral element of a data type.
    """

    name: str
    operate: Callable[[NDArray[Any], NDArray[Any]], object]
    neutral: Callable[[np.dtype[Any]], Any]


def _by(ufunc: np.ufunc) -> Callable[[NDArray[Any], NDArray[Any]], object]:
    return lambda into, part: ufunc(into, part, out=into)


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


REDUCTIONS: dict[str, Reduction] = {
    "sum": Reduction("sum", _by(np.add), lambda _: 0),
    "product": Reduction("product", _by(np.multiply), lambda _: 1),
    "max": Reduction("max", _by(np.maximum), _lowest),
    "min": Reduction("min", _by(np.minimum), _highest),
}
"""Reductions by name."""


def reduction_of(given: str | Reduction) -> Reduction:
    """Return the reduction *given*, perhaps by name; raise :exc:`InputError` for anything else."""
    if isinstance(given, Reduction):
        return given
    if given not in REDUCTIONS:
        if not isinstance(given, str):
            raise InputError(f"reduction: got {given!r:.60}; legal: {', '.join(REDUCTIONS)}")
        raise unknown("reduction", given, REDUCTIONS)
    return REDUCTIONS[given]


class Datum:
    """One datum that tasks access, an array, a scalar or an object.

    Attributes
    ----------
    handle : int
        Its number in the graph.
    form : Form or ObjectForm
        Its description, without the data.
    block : Block
        The data described together with it.
    """

    __slots__ = ("block", "form", "handle")

    def __init__(self, handle: int, form: AnyForm, block: Block) -> None:
        self.handle, self.form, self.block = handle, form, block

    def __index__(self) -> int:
        """Return the number of its handle: ``R(x)`` is an access to it."""
        return self.handle

    @property
    def name(self) -> str:
        """Name in messages: ``x[3]``."""
        return self.block.name_of(self.handle)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.form}>"


@dataclass(frozen=True, eq=False)
class Block:
    """Data that were described together, numbered row by row.

    Attributes
    ----------
    name : str
    extents : tuple of int
        ``()`` for a single datum, ``(n,)`` for a vector of data, ``(m, n)`` for a matrix of data.
    first : int
        The handle of the first datum.
    forms : sequence of Form or ObjectForm
        The form of each datum.
    initial : object
        Initial value: None (zeros), a number, an array, or a function that makes the datum, called
        with a random generator and its place in the block.
    whole : Form or None
        Form of the array whose pieces they are, along its first axis; None for separate arrays.
    reduction : Reduction or None
        Combination of contributions.
    scratch : bool
        Whether each worker has its own data, which do not outlive a task.
    """

    name: str
    extents: tuple[int, ...]
    first: int
    forms: Sequence[AnyForm]
    initial: Any = None
    whole: Form | None = None
    reduction: Reduction | None = None
    scratch: bool = False

    @property
    def handles(self) -> range:
        """The numbers of their handles."""
        return range(self.first, self.first + len(self.forms))

    def place_of(self, handle: int) -> tuple[int, ...]:
        """Return the place in the block of the datum with this *handle*."""
        index = handle - self.first
        return (
            divmod(index, self.extents[1])
            if len(self.extents) > 1
            else (index,)[: len(self.extents)]
        )

    def name_of(self, handle: int) -> str:
        """Return the name for messages of the datum with this *handle*."""
        place = ", ".join(map(str, self.place_of(handle)))
        return f"{self.name}[{place}]" if place else self.name


class DatumVector:
    """Data in a row, with ``x[i]`` for a datum, and ``x.get(i)``, which is None outside.

    Examples
    --------
    >>> from tasksim.applications.flow import TaskFlow
    >>> x = TaskFlow("example").arrays("x", [3, 5])
    >>> x[1], x.get(2)
    (<x[1]: 5 float64>, None)
    """

    def __init__(self, block: Block, data: Sequence[Datum]) -> None:
        self.block, self._data = block, data

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[Datum]:
        return iter(self._data)

    def __getitem__(self, index: int) -> Datum:
        found = self.get(index)
        if found is None:
            raise GraphError(
                f"{self.block.name}[{index!r:.60}]: it has {len(self)} data; legal: an integer"
                f" from 0 to {len(self) - 1}; x.get(i) is None outside"
            )
        return found

    def get(self, index: int) -> Datum | None:
        """Return the datum at *index*, from 0; None if there is none."""
        place = whole(index)
        inside = place is not None and 0 <= place < len(self._data)
        return self._data[place] if inside else None  # type: ignore[index]


class DatumMatrix:
    """Data in rows and columns, with ``A[i, j]`` and ``A.get(i, j)``, which is None outside.

    Examples
    --------
    >>> from tasksim.applications.flow import TaskFlow
    >>> A = TaskFlow("example").tiles("A", 2, 3, (16, 16))
    >>> A[1, 2], A.get(2, 0)
    (<A[1, 2]: 16 x 16 float64>, None)
    """

    def __init__(self, block: Block, data: Sequence[Datum]) -> None:
        self.block, self._data = block, data
        self.rows, self.columns = block.extents

    def __iter__(self) -> Iterator[Datum]:
        return iter(self._data)

    def __getitem__(self, place: tuple[int, int]) -> Datum:
        found = self.get(*place) if isinstance(place, tuple) and len(place) == 2 else None
        if found is None:
            name = self.block.name
            raise GraphError(
                f"{name}[{place!r:.60}]: it has {self.rows} x {self.columns} data; legal:"
                f" {name}[row, column], each from 0; {name}.get(i, j) is None outside"
            )
        return found

    def get(self, row: int, column: int) -> Datum | None:
        """Return the datum in *row* and *column*, from 0; None if there is none."""
        i, j = whole(row), whole(column)
        if i is None or j is None or not (0 <= i < self.rows and 0 <= j < self.columns):
            return None
        return self._data[i * self.columns + j]


def bounds_of(name: str, whole: Form, pieces: int | Sequence[int]) -> list[int]:
    """Return the beginnings of the pieces of a *whole*, and the end of the last one."""
    rows = whole.shape[0] if whole.shape else 0
    if isinstance(pieces, int):
        count = whole_number(pieces, f"data {name}: pieces", 1, max(rows, 1))
        return [rows * piece // count for piece in range(count + 1)]
    bounds = [whole_number(bound, f"data {name}: pieces", 0, rows) for bound in pieces]
    if len(bounds) < 2 or bounds[0] != 0 or bounds[-1] != rows or sorted(bounds) != bounds:
        raise InputError(f"data {name}: pieces: legal: ascending bounds from 0 to {rows}")
    return bounds
