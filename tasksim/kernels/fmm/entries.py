"""Entries of the compiled loops: C functions that any thread can call without Python.

An entry takes the addresses of four tables: pointers to arrays of reals, pointers to arrays of
indices, the sizes of all these arrays, and the numbers. Each table is in the order of the loop's
arguments.

The import of this module compiles the entries and caches them on disk, like the loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numba import carray, cfunc, types  # type: ignore[attr-defined]

from tasksim.kernels.calls import CallTable, Function, Tells
from tasksim.kernels.fmm.interpolation import add_l2p, add_p2m
from tasksim.kernels.fmm.p2p import add_one_sided, add_symmetric
from tasksim.kernels.fmm.translations import add_products

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tasksim.kernels.calls import Calls
    from tasksim.kernels.fmm.compiled import LoopCall

__all__ = ["entry_calls"]

ENTRIES: Final[list[tuple[Callable[..., None], Any]]] = []
"""The loops, each with its entry."""

_POINTER: Any = types.CPointer
_REALS, _INDICES = _POINTER(_POINTER(types.float64)), _POINTER(_POINTER(types.int64))
_SIZES, _NUMBERS = _POINTER(types.int64), _POINTER(types.float64)


def entry_of(loop: Callable[..., None]) -> Callable[[Callable[..., None]], Any]:
    """Return a decorator that makes a function the entry of *loop*."""

    def made(function: Callable[..., None]) -> Any:
        signature = types.void(_REALS, _INDICES, _SIZES, _NUMBERS)
        compiled = cfunc(signature, cache=True, error_model="numpy")(function)
        ENTRIES.append((loop, compiled))
        return compiled

    return made


@entry_of(add_one_sided)
def _one_sided(reals: Any, indices: Any, sizes: Any, numbers: Any) -> None:  # noqa: ARG001
    add_one_sided(
        carray(reals[0], (sizes[0], sizes[1])),
        carray(reals[1], sizes[2]),
        carray(indices[0], sizes[3]),
        carray(indices[1], sizes[4]),
        carray(indices[2], sizes[5]),
        carray(reals[2], (sizes[6], sizes[7])),
    )


@entry_of(add_symmetric)
def _symmetric(reals: Any, indices: Any, sizes: Any, numbers: Any) -> None:  # noqa: ARG001
    add_symmetric(
        carray(reals[0], (sizes[0], sizes[1])),
        carray(reals[1], sizes[2]),
        carray(indices[0], sizes[3]),
        carray(indices[1], sizes[4]),
        carray(indices[2], sizes[5]),
        carray(reals[2], (sizes[6], sizes[7])),
    )


@entry_of(add_p2m)
def _p2m(reals: Any, indices: Any, sizes: Any, numbers: Any) -> None:  # noqa: ARG001
    add_p2m(
        carray(reals[0], (sizes[0], sizes[1])),
        carray(reals[1], (sizes[2], sizes[3])),
        carray(reals[2], (sizes[4], sizes[5])),
        carray(reals[3], sizes[6]),
        carray(indices[0], sizes[7]),
        carray(reals[4], (sizes[8], sizes[9])),
    )


@entry_of(add_l2p)
def _l2p(reals: Any, indices: Any, sizes: Any, numbers: Any) -> None:
    add_l2p(
        carray(reals[0], (sizes[0], sizes[1])),
        carray(reals[1], (sizes[2], sizes[3])),
        carray(reals[2], (sizes[4], sizes[5])),
        carray(reals[3], sizes[6]),
        carray(indices[0], sizes[7]),
        carray(reals[4], (sizes[8], sizes[9])),
        numbers[0],
        carray(reals[5], (sizes[10], sizes[11])),
    )


@entry_of(add_products)
def _products(reals: Any, indices: Any, sizes: Any, numbers: Any) -> None:
    add_products(
        carray(reals[0], (sizes[0], sizes[1], sizes[2])),
        carray(indices[0], sizes[3]),
        carray(indices[1], sizes[4]),
        carray(indices[2], sizes[5]),
        carray(indices[3], sizes[6]),
        carray(indices[4], (sizes[7], sizes[8])),
        numbers[0],
        numbers[1],
        carray(reals[1], (sizes[9], sizes[10])),
        carray(reals[2], (sizes[11], sizes[12])),
    )


def entry_calls(calls: Sequence[LoopCall | None]) -> Calls:
    """Return *calls*, one per task or None, as calls of the entries of their loops."""
    tables = _Tables()
    nothing = [0] * 4
    rows = np.array(
        [nothing if call is None else tables.row(call) for call in calls], dtype=np.int64
    ).reshape(-1, 4)
    arrays = tables.arrays()
    # Rows have places in the tables, with eight bytes each; make them addresses, now that the
    # tables have theirs.
    rows = 8 * rows + np.array([array.ctypes.data for array in arrays])
    table = CallTable(len(calls))
    loops = [None if call is None else call.loop for call in calls]
    for loop, entry in ENTRIES:
        tasks = np.array([k for k, called in enumerate(loops) if called is loop], dtype=np.int64)
        if len(tasks):
            table.add(Function(entry.address, Tells.NOTHING), tasks, rows[tasks])
    return table.calls(kept=[calls, arrays, ENTRIES])


class _Tables:
    """The four tables that the entries read: reals, indices, sizes and numbers."""

    def __init__(self) -> None:
        self._reals: list[int] = []
        self._indices: list[int] = []
        self._sizes: list[int] = []
        self._numbers: list[float] = []

    def row(self, call: LoopCall) -> list[int]:
        """Add the arguments of *call*; return their begin in each table."""
        begin = [len(t) for t in (self._reals, self._indices, self._sizes, self._numbers)]
        for argument in call.arguments:
            if isinstance(argument, np.ndarray):
                self._add(argument)
            else:
                self._numbers.append(float(argument))
        return begin

    def arrays(self) -> list[NDArray[Any]]:
        """Return the tables, in the order of an entry's arguments."""
        tables = (self._reals, self._indices, self._sizes)
        return [*(np.array(t, np.int64) for t in tables), np.array(self._numbers, np.float64)]

    def _add(self, array: NDArray[Any]) -> None:
        if not array.flags.c_contiguous or array.dtype not in (np.float64, np.int64):
            raise TypeError(
                f"got an array of {array.dtype}; legal: contiguous arrays of float64 or int64"
            )
        table = self._reals if array.dtype == np.float64 else self._indices
        table.append(array.ctypes.data)
        self._sizes += array.shape
