"""Calls of a program's tasks without Python: functions by their addresses, with all arguments.

::

    table = CallTable(len(graph), workers)
    table.add(Function(address, Tells.NOTHING), tasks, arguments)     # a row of addresses per task
    calls = table.calls(kept=[data])

Arguments are addresses, or integers in the place of one; real numbers come last, by their bits
(:func:`bits_of`), as many as the function says. Tasks that are not added are called in Python.
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.kernels.pointers import Reference

    Addresses = NDArray[np.int64]

__all__ = [
    "MOST_REALS",
    "CallTable",
    "Calls",
    "Copies",
    "Function",
    "Tells",
    "address_of",
    "bits_of",
]


MOST_REALS: Final = 8
"""``TASKSIM_MOST_REALS`` in ``tasksim_core.h``: as many as there are registers for them."""


class Tells(IntEnum):
    """How a function tells that it has failed."""

    NOTHING = 0
    """It never does."""
    RESULT = 1
    """It returns a 32-bit integer, 0 if all went well."""
    LAST = 2
    """Its last argument points to one, as LAPACK's ``info`` does."""


class Function(NamedTuple):
    """A function in memory.

    ``own`` are, per worker, the last arguments, which the worker has to itself. The last ``reals``
    of a task's arguments are real numbers, which it takes by value, wherever among the others.
    """

    address: int
    tells: Tells
    own: Sequence[Sequence[int]] = ()
    reals: int = 0


@dataclass(frozen=True, eq=False)
class Calls:
    """What each task calls.

    Attributes
    ----------
    address, tells, reals : int64, int8, int8 array [functions]
    function : int32 array [tasks]
        Which is called; -1: the program's own ``run``.
    argument_ptr : int64 array [tasks + 1]
    arguments : int64 array
        Of all tasks, one after the other.
    own_ptr : int64 array [functions + 1]
    own : int64 array [workers, own_ptr[-1]]
        Arguments that come last: of each worker, one function after the other.
    kept : object
        What the addresses lead to, which lives as long as this does; not the program itself, with
        which this is kept.
    """

    address: Addresses
    tells: NDArray[np.int8]
    reals: NDArray[np.int8]
    function: NDArray[np.int32]
    argument_ptr: Addresses
    arguments: Addresses
    own_ptr: Addresses
    own: Addresses
    kept: object


class Copies(NamedTuple):
    """What is copied before each task that would fail on data that nobody has computed.

    Attributes
    ----------
    pointer : int64 array [tasks + 1]
    target, source, size_bytes : int64 array
        Addresses, and how much.
    """

    pointer: Addresses
    target: Addresses
    source: Addresses
    size_bytes: Addresses


class CallTable:
    """Calls that are being collected.

    Parameters
    ----------
    tasks : int
        How many there are.
    workers : int, default 0
        How many have arguments of their own.
    """

    def __init__(self, tasks: int, workers: int = 0) -> None:
        self._workers = workers
        self._functions: list[Function] = []
        self._function: NDArray[np.int32] = np.full(tasks, -1, dtype=np.int32)
        self._counts: Addresses = np.zeros(tasks, dtype=np.int64)
        self._parts: list[tuple[NDArray[np.int64], Addresses]] = []

    def add(self, function: Function, tasks: NDArray[np.int64], arguments: Addresses) -> None:
        """Let *tasks* call *function*, each with its row of *arguments*."""
        self._function[tasks] = len(self._functions)
        self._functions.append(function)
        self._counts[tasks] = arguments.shape[1]
        self._parts.append((tasks, arguments))

    def calls(self, kept: object) -> Calls:
        """Return all of them; *kept* is what the addresses lead to."""
        pointer = _pointer(self._counts)
        arguments = np.zeros(pointer[-1], dtype=np.int64)
        for tasks, rows in self._parts:
            arguments[pointer[tasks][:, None] + np.arange(rows.shape[1])] = rows
        return Calls(
            address=np.array([f.address for f in self._functions], dtype=np.int64),
            tells=np.array([f.tells for f in self._functions], dtype=np.int8),
            reals=np.array([f.reals for f in self._functions], dtype=np.int8),
            function=self._function,
            argument_ptr=pointer,
            arguments=arguments,
            own_ptr=_pointer([len(own) for own in self._owned(0)]),
            own=np.array([self._all_owned(w) for w in range(self._workers)], dtype=np.int64),
            kept=kept,
        )

    def _owned(self, worker: int) -> list[list[int]]:
        """Return per function what *worker* has of its own."""
        return [list(f.own[worker]) if f.own else [] for f in self._functions]

    def _all_owned(self, worker: int) -> list[int]:
        return [address for own in self._owned(worker) for address in own]


def bits_of(number: float, *, single: bool = False) -> int:
    """Return the bits of a real number, as arguments have them; *single*: of a float of C.

    >>> hex(bits_of(1.0)), hex(bits_of(1.0, single=True))
    ('0x3ff0000000000000', '0x3f800000')
    """
    found: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return struct.unpack("<i", struct.pack("<f", number))[0] & 0xFFFFFFFF if single else found


def _pointer(counts: Addresses | list[int]) -> Addresses:
    """Return where lists of so many items begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def address_of(reference: Reference | Any) -> int:
    """Return the address that a reference of ctypes leads to, or that of a function of it.

    >>> number = ctypes.c_int(7)
    >>> ctypes.c_int.from_address(address_of(ctypes.byref(number))).value
    7
    """
    return ctypes.cast(reference, ctypes.c_void_p).value or 0
