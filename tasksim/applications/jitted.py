"""Jitted functions of Numba, called by an address, without Python.

A function that releases Python's lock takes arrays, which are more than addresses. So Numba
compiles a wrapper that C can call: it takes the address of each array, and two tables, one of whole
numbers (sizes, strides, integers) and one of real numbers. The function itself is compiled as for a
call from Python, for the same types, and its results are the same to the last bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.kernels.calls import NativeFunction, Tells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.kernels.calls import CallTable

__all__ = ["EntryPoint", "JittedCalls", "entry_of"]

MAX_ARRAYS: Final = 30
"""Maximum number of arrays: the core passes at most 32 arguments (``TASKSIM_MAX_ARGUMENTS``), two
of which are the tables."""


class EntryPoint(NamedTuple):
    """Entry point of a Numba function for the core, for arguments of some types.

    It returns 1 if the function raises an exception. ``kept`` owns the machine code.
    """

    function: NativeFunction
    kept: Any

    def passed(self, arguments: Sequence[Any]) -> tuple[list[int], list[int], list[float]]:
        """Return the addresses of the arrays in *arguments*, and the rows of both tables."""
        addresses: list[int] = []
        whole: list[int] = []
        real: list[float] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                addresses.append(argument.ctypes.data)
                whole += [*argument.shape, *argument.strides]
            elif isinstance(argument, float):
                real.append(argument)
            elif argument is not None:
                whole.append(int(argument))
        return addresses, whole, real


class JittedCalls:
    """Collector of the tasks of a program that call jitted functions."""

    def __init__(self) -> None:
        self._of: dict[EntryPoint, list[tuple[int, list[int], list[int], list[float]]]] = {}

    def add(self, task: int, entry: EntryPoint, arguments: Sequence[Any]) -> None:
        """Let *task* call a function at *entry*, with *arguments*."""
        self._of.setdefault(entry, []).append((task, *entry.passed(arguments)))

    def put_in(self, table: CallTable) -> list[object]:
        """Add the calls to *table*; return the objects that they refer to."""
        kept: list[object] = []
        for entry, calls in self._of.items():
            tasks, addresses, whole, real = zip(*calls, strict=True)
            tables = np.array(whole, dtype=np.int64), np.array(real, dtype=np.float64)
            kept += [entry, *tables]
            rows = np.arange(len(tasks), dtype=np.int64)
            places = [part.ctypes.data + rows * part.strides[0] for part in tables]
            arguments = np.column_stack([np.array(addresses, dtype=np.int64), *places])
            table.add(entry.function, np.array(tasks), arguments)
        return kept


def entry_of(function: Any, arguments: Sequence[Any]) -> EntryPoint | None:
    """Return the entry point of a Numba *function*; None if Python must call it.

    Python must call it if it holds Python's lock or returns something, or an argument is neither an
    array of numbers, an integer, a real number nor None.

    Parameters
    ----------
    function : numba dispatcher
        Compiled for these arguments.
    arguments : sequence of object
        The arguments of the call.

    See Also
    --------
    tasksim.applications.foreign : Functions that already have an address.
    """
    import numba

    types = tuple(map(numba.typeof, arguments))
    parts = [_part(number, kind) for number, kind in enumerate(types)]
    if not function.targetoptions.get("nogil") or None in parts:
        return None
    compiled = function.overloads.get(types)  # no functions with *arguments or defaults
    if compiled is None or compiled.signature.return_type != numba.types.none:
        return None
    pointer: Any = numba.types.CPointer
    pointers = [pointer(kind.dtype) for kind in types if _is_array(kind)]
    if len(pointers) > MAX_ARRAYS:
        return None
    tables = pointer(numba.types.int64), pointer(numba.types.float64)
    signature = numba.types.int32(*pointers, *tables)
    try:
        made = numba.cfunc(signature)(_around(function, types))
    except numba.core.errors.NumbaError:  # it may not be called inside a try block
        return None
    address: Any = made.address
    return EntryPoint(NativeFunction(address, Tells.RESULT), made)


def _around(function: Any, types: Sequence[Any]) -> Any:
    """Return the wrapper of *function*, not compiled yet."""
    from numba import carray, farray  # type: ignore[attr-defined]

    whole, real = _Counter("whole"), _Counter("real")
    arrays = [f"p{number}" for number, kind in enumerate(types) if _is_array(kind)]
    given = [_argument(number, kind, whole, real) for number, kind in enumerate(types)]
    source = f"""
def around({", ".join([*arrays, "whole", "real"])}):
    try:
        function({", ".join(given)})
    except Exception:
        return 1
    return 0
"""
    known = {
        "function": function,
        "carray": carray,
        "farray": farray,
        "as_strided": np.lib.stride_tricks.as_strided,
    }
    exec(compile(source, f"<around {function.__name__}>", "exec"), known)
    return known["around"]


class _Counter:
    """Counter that names the entries of a table one after the other."""

    def __init__(self, table: str) -> None:
        self._table, self._count = table, 0

    def next(self) -> str:
        self._count += 1
        return f"{self._table}[{self._count - 1}]"

    def some(self, count: int) -> str:
        return f"({''.join(self.next() + ', ' for _ in range(count))})"


def _argument(number: int, kind: Any, whole: _Counter, real: _Counter) -> str:
    """Return the expression of an argument, in the source of the wrapper."""
    part = _part(number, kind)
    assert part is not None  # entry_of checks this
    if not _is_array(kind):
        return {"whole": whole, "real": real}[part].next() if part in ("whole", "real") else part
    shape, strides = whole.some(kind.ndim), whole.some(kind.ndim)
    if kind.layout == "A":
        return f"as_strided(carray(p{number}, (1,)), {shape}, {strides})"
    return f"{'carray' if kind.layout == 'C' else 'farray'}(p{number}, {shape})"


def _part(number: int, kind: Any) -> str | None:
    """Return the place of an argument of a type; None if it has none."""
    from numba import types

    if _is_array(kind):
        numbers = isinstance(kind.dtype, types.Number) and kind.mutable and kind.aligned
        return f"p{number}" if numbers else None
    found: dict[Any, str] = {types.int64: "whole", types.float64: "real", types.none: "None"}
    return found.get(kind)


def _is_array(kind: Any) -> bool:
    from numba import types

    return type(kind) is types.Array
