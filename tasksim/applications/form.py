"""Form of an array, with its shape, type and layout, without the array."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.arguments import one_of, whole_number
from tasksim.base.errors import InputError, short

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Form", "ObjectForm", "form_of"]


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
