"""Calls of a program's tasks without Python, as addresses of functions with all arguments.

::

    table = CallTable(len(graph), workers)
    table.add(NativeFunction(address, Tells.NOTHING), tasks, arguments)  # a row of addresses each
    calls = table.calls(kept=[data])

Arguments are addresses, or integers in their place. Real numbers come last as bits
(:func:`bits_of`); the function has their number. Tasks that are not added are called in Python.
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.errors import TasksimError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.base.arrays import Ints
    from tasksim.kernels.pointers import Reference


__all__ = [
    "MAX_REALS",
    "CallTable",
    "Calls",
    "KernelError",
    "NativeFunction",
    "RestoringCopies",
    "Tells",
    "address_of",
    "bits_of",
]

MAX_REALS: Final = 8
"""Largest number of real arguments, ``TASKSIM_MAX_REALS`` in ``tasksim_core.h``: the number of
registers for them."""


class Tells(IntEnum):
    """The way in which a function reports a failure."""

    NOTHING = 0
    """The function cannot fail."""
    RESULT = 1
    """It returns a 32-bit integer, which is 0 on success."""
    LAST = 2
    """Its last argument points to such an integer, as LAPACK's ``info`` does."""


class NativeFunction(NamedTuple):
    """A function in memory.

    ``own`` has the last arguments of each worker, which other workers do not share. The last
    ``reals`` of a task's arguments are real numbers, passed by value. The calling convention has
    registers of their own for them, so their position among the other arguments does not matter.
    """

    address: int
    tells: Tells
    own: Sequence[Sequence[int]] = ()
    reals: int = 0


@dataclass(frozen=True, eq=False)
class Calls:
    """The calls of all tasks.

    Attributes
    ----------
    address, tells, reals : int64, int8, int8 array [functions]
        The fields of each :class:`NativeFunction`.
    function : int32 array [tasks]
        The function that each task calls; -1 for the program's own ``run``.
    argument_ptr : int64 array [tasks + 1]
        The begin of each task's arguments.
    arguments : int64 array
        The arguments of all tasks, concatenated.
    own_ptr : int64 array [functions + 1]
        The begin of each function's own arguments.
    own : int64 array [workers, own_ptr[-1]]
        The last arguments, per worker, of all functions, concatenated.
    kept : object
        The owner of the memory behind the addresses, kept alive by this object. It must not refer
        to the program, which keeps this object.
    """

    address: Ints
    tells: NDArray[np.int8]
    reals: NDArray[np.int8]
    function: NDArray[np.int32]
    argument_ptr: Ints
    arguments: Ints
    own_ptr: Ints
    own: Ints
    kept: object


class RestoringCopies(NamedTuple):
    """Copies before each task that would fail on data that were never computed.

    Attributes
    ----------
    pointer : int64 array [tasks + 1]
        The begin of each task's copies.
    target, source, size_bytes : int64 array
        The addresses and the size of each copy.
    """

    pointer: Ints
    target: Ints
    source: Ints
    size_bytes: Ints


class CallTable:
    """A table in which the calls of tasks are collected.

    Parameters
    ----------
    tasks : int
        The number of tasks.
    workers : int, default 0
        The number of workers with arguments of their own.
    """

    def __init__(self, tasks: int, workers: int = 0) -> None:
        self._workers = workers
        self._functions: list[NativeFunction] = []
        self._function: NDArray[np.int32] = np.full(tasks, -1, dtype=np.int32)
        self._counts: Ints = np.zeros(tasks, dtype=np.int64)
        self._parts: list[tuple[Ints, Ints]] = []

    def add(self, function: NativeFunction, tasks: Ints, arguments: Ints) -> None:
        """Let *tasks* call *function*, each with its row of *arguments*."""
        self._function[tasks] = len(self._functions)
        self._functions.append(function)
        self._counts[tasks] = arguments.shape[1]
        self._parts.append((tasks, arguments))

    def calls(self, kept: object) -> Calls:
        """Return the calls of all tasks; *kept* owns the memory behind the addresses."""
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
            own=np.array([list(chain(*self._owned(w))) for w in range(self._workers)], np.int64),
            kept=kept,
        )

    def _owned(self, worker: int) -> list[list[int]]:
        """Return, per function, the own arguments of *worker*."""
        return [list(f.own[worker]) if f.own else [] for f in self._functions]


def bits_of(number: float, *, single: bool = False) -> int:
    """Return the bits of a real argument, a C double or, with *single*, a C float.

    >>> hex(bits_of(1.0)), hex(bits_of(1.0, single=True))
    ('0x3ff0000000000000', '0x3f800000')
    """
    found: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return struct.unpack("<i", struct.pack("<f", number))[0] & 0xFFFFFFFF if single else found


def _pointer(counts: Ints | list[int]) -> Ints:
    """Return the begin of each of several concatenated lists, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def address_of(reference: Reference | Any) -> int:
    """Return the address behind a ctypes reference, or the address of a ctypes function.

    >>> number = ctypes.c_int(7)
    >>> ctypes.c_int.from_address(address_of(ctypes.byref(number))).value
    7
    """
    return ctypes.cast(reference, ctypes.c_void_p).value or 0


class KernelError(TasksimError):
    """Failure of a kernel.

    Examples are a matrix that is not positive definite, a zero pivot and an exception.

    ``kernel`` is the name of the kernel. The caller that executes a task knows which task failed.
    """

    def __init__(self, kernel: str, message: str) -> None:
        super().__init__(kernel, message)
        self.kernel = kernel
        self.message = message

    def __str__(self) -> str:
        return f"kernel {self.kernel}: {self.message}"
