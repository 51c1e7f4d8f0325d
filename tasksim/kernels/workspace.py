"""Workspace: memory that each worker has to itself while kernels run."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from tasksim.kernels.buffer import Buffer

if TYPE_CHECKING:
    from tasksim.kernels.pointers import Precision, Reference

__all__ = ["Workspace"]


class Workspace:
    """One worker's scratch memory, and where its routines say how they went.

    Parameters
    ----------
    elements
        The most that any kernel asks for.
    precision
        What they are.
    """

    def __init__(self, elements: int, precision: Precision) -> None:
        self.info = ctypes.c_int(0)
        self._elements = ctypes.c_int(elements)
        self._buffer = Buffer(elements * precision.size_bytes)

    def tail(self, names: tuple[str, ...]) -> tuple[Reference, ...]:
        """Return the arguments *names*, ``work``, ``lwork``, ``info``, that come last in a call."""
        references = {
            "work": self._buffer.reference(),
            "lwork": ctypes.byref(self._elements),
            "info": ctypes.byref(self.info),
        }
        return tuple(references[name] for name in names)
