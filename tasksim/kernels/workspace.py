"""Workspace: the private scratch memory of each worker for kernels."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from tasksim.kernels.buffer import Buffer

if TYPE_CHECKING:
    from tasksim.kernels.pointers import Precision, Reference

__all__ = ["Workspace"]


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
