"""BLAS and LAPACK routines by their function pointers, which run without the GIL.

SciPy's own wrappers hold the global interpreter lock during a call, so that threads wait for each
other. :mod:`scipy.linalg.cython_blas` and ``cython_lapack`` export pointers into the same library
for Cython, and ctypes releases the lock around a call of them.

Fortran takes every argument by address. The functions :func:`integer`, :func:`real` and
:func:`character` cache their references, so that a call is ``gemm(*arguments)`` with a tuple made
once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from tasksim.base.errors import InputError, nearest, unknown

__all__ = [
    "Precision",
    "Reference",
    "Routine",
    "argument_count",
    "character",
    "integer",
    "precision_of",
    "real",
    "routine",
]

Routine = Callable[..., None]
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
    """A real type: the first letter of its routines, its NumPy name, and its size in bytes."""

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
def routine(name: str) -> Routine:
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
    from scipy.linalg import cython_blas, cython_lapack

    tables = [module.__pyx_capi__ for module in (cython_blas, cython_lapack)]
    for table in tables:
        if name in table:
            return _checked(name, table[name])
    known = [known for table in tables for known in table]
    raise InputError(f"SciPy exports no BLAS or LAPACK routine '{name}'{nearest(name, known)}")


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
