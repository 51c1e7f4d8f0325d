"""BLAS and LAPACK routines by their function pointers, which run without the GIL.

SciPy's own wrappers hold the global interpreter lock during a call, so that threads wait for each
other. :mod:`scipy.linalg.cython_blas` and ``cython_lapack`` export pointers into the same library
for Cython, and ctypes releases the lock around a call of them.

Fortran takes every argument by address. The functions :func:`integer`, :func:`real` and
:func:`character` cache their references, so that a call is ``gemm(*arguments)`` with a tuple made
once. :class:`Buffer` is the memory of their operands, :class:`Workspace` a worker's scratch memory.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tasksim.base.errors import InputError, nearest, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "ALIGNMENT_BYTES",
    "Buffer",
    "LibraryRoutine",
    "Precision",
    "Reference",
    "Workspace",
    "aligned",
    "argument_count",
    "character",
    "integer",
    "precision_of",
    "real",
    "routine",
]

LibraryRoutine = Callable[..., None]
"""A subroutine, called with one reference per Fortran argument."""
Reference = Any
"""The result of ``ctypes.byref``, which keeps its object alive."""

_UNTYPED = ctypes.CFUNCTYPE(None)
_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class Precision(NamedTuple):
    """A real type, with the first letter of its routines, its NumPy name and its size in bytes."""

    letter: str
    dtype: str
    size_bytes: int


_PRECISIONS = {"float64": Precision("d", "float64", 8), "float32": Precision("s", "float32", 4)}


def precision_of(dtype: str) -> Precision:
    """Return the precision named *dtype*: ``"float64"`` or ``"float32"``."""
    if dtype not in _PRECISIONS:
        raise unknown("dtype", str(dtype), _PRECISIONS)
    return _PRECISIONS[dtype]


@cache
def routine(name: str) -> LibraryRoutine:
    """Return the BLAS or LAPACK subroutine *name*, callable with one reference per argument.

    A call does not check the number of arguments (see :func:`argument_count`), because this would
    double its cost. Raises :exc:`InputError` if this SciPy has no such subroutine, or only one with
    integers of another width.

    >>> scal = routine("dscal")
    >>> x = (ctypes.c_double * 3)(1.0, 2.0, 3.0)
    >>> scal(integer(3), real(10.0, "float64"), ctypes.byref(x), integer(1))
    >>> list(x)
    [10.0, 20.0, 30.0]
    """
    capsule = _capsule(name)
    # No argument types: the conversion of ready references would make a ctypes call slow.
    return _UNTYPED(_pointer_of(capsule, _name_of(capsule)))


def argument_count(name: str) -> int:
    """Return the number of arguments of the subroutine *name*."""
    return _signature(_capsule(name)).count(",") + 1


@cache
def integer(value: int) -> Reference:
    """Return a reference to a Fortran integer."""
    return ctypes.byref(ctypes.c_int(value))


@cache
def real(value: float, dtype: str) -> Reference:
    """Return a reference to a Fortran real of type *dtype*."""
    single = precision_of(dtype).letter == "s"
    return ctypes.byref(ctypes.c_float(value) if single else ctypes.c_double(value))


@cache
def character(value: str) -> Reference:
    """Return a reference to one Fortran character, such as ``"N"``."""
    return ctypes.byref(ctypes.c_char(value.encode()))


def _capsule(name: str) -> Any:
    tables = _exported()
    for table in tables:
        if name in table:
            return _checked(name, table[name])
    known = [known for table in tables for known in table]
    raise InputError(f"SciPy exports no BLAS or LAPACK routine '{name}'{nearest(name, known)}")


@cache
def _exported() -> tuple[dict[str, Any], ...]:
    """Return the pointers of BLAS and of LAPACK by name."""
    return tuple(_module_of_linalg(name).__pyx_capi__ for name in ("cython_blas", "cython_lapack"))


def _module_of_linalg(name: str) -> Any:
    """Return a compiled module of :mod:`scipy.linalg` without the package, if nobody has it yet.

    The module needs no other; all of the package takes longer than NumPy to import, and seconds
    under Valgrind.
    """
    import scipy

    full = f"scipy.linalg.{name}"
    folder = str(Path(scipy.__file__).with_name("linalg"))
    found = PathFinder.find_spec(full, [folder])
    if not {"scipy.linalg", full}.isdisjoint(sys.modules) or found is None or found.loader is None:
        return import_module(full)
    # Whoever imports it later gets this one: it can be initialized only once.
    sys.modules[full] = module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _checked(name: str, capsule: Any) -> Any:
    signature = _signature(capsule)
    if not signature.startswith("void "):
        raise InputError(f"'{name}' is a function; only subroutines can be called")
    if "int *" not in signature:
        raise InputError(f"'{name}' of this SciPy takes no 32-bit integers: {signature}")
    return capsule


def _signature(capsule: Any) -> str:
    """Return the C declaration, which Cython keeps as the name of the capsule."""
    declaration: bytes = _name_of(capsule)
    return declaration.decode()


class Workspace:
    """One worker's scratch memory, with the ``info`` of its routines.

    Parameters
    ----------
    elements
        The largest number of elements that any kernel needs.
    precision
        The precision of the elements.
    """

    def __init__(self, elements: int, precision: Precision) -> None:
        self.info = ctypes.c_int(0)
        self._elements = ctypes.c_int(elements)
        self._buffer = Buffer(elements * precision.size_bytes)

    def tail(self, names: tuple[str, ...]) -> tuple[Reference, ...]:
        """Return the last arguments of a call: *names* are from ``work``, ``lwork``, ``info``."""
        references = {
            "work": self._buffer.reference(),
            "lwork": ctypes.byref(self._elements),
            "info": ctypes.byref(self.info),
        }
        return tuple(references[name] for name in names)


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
