"""What each worker has to itself while kernels run."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from tasksim.kernels.memory import Memory

if TYPE_CHECKING:
    from tasksim.kernels.pointers import Reference

__all__ = ["Workspace"]


class Workspace:
    """One worker's scratch memory, and where its routines say how they went.

    Parameters
    ----------
    size_bytes
        The most that any kernel asks for.
    """

    def __init__(self, size_bytes: int) -> None:
        self.info = ctypes.c_int(0)
        self._memory = Memory(size_bytes)

    def tail(self, names: tuple[str, ...]) -> tuple[Reference, ...]:
        """Return the arguments *names*, ``work`` and ``info``, that come last in a call."""
        references = {"work": self._memory.reference(), "info": ctypes.byref(self.info)}
        return tuple(references[name] for name in names)
