"""Tasks that call functions in memory with prepared arguments."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.kernels.calls import CallTable, Function, Tells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.kernels.calls import Calls

__all__ = ["CalledTasks"]

_UNTYPED = ctypes.CFUNCTYPE(None)


class CalledTasks:
    """The calls of a graph's tasks: addresses of functions that cannot fail, and of their data.

    Parameters
    ----------
    tasks : int
        The number of tasks.
    kept : object
        The owner of the memory behind the addresses, kept alive.
    """

    def __init__(self, tasks: int, kept: object) -> None:
        self._kept = kept
        self._tasks = tasks
        self._rows: dict[tuple[int, int], list[tuple[int, Sequence[int]]]] = {}
        self._call: list[tuple[Any, tuple[Any, ...]]] = [(None, ())] * tasks

    def add(self, task: int, address: int, arguments: Sequence[int]) -> None:
        """Let *task* call the function at *address*; *arguments* are addresses or integers."""
        self._rows.setdefault((address, len(arguments)), []).append((task, arguments))
        self._call[task] = _UNTYPED(address), tuple(map(ctypes.c_void_p, arguments))

    def run(self, task: int) -> None:
        """Make the call of *task*."""
        function, arguments = self._call[task]
        function(*arguments)

    def calls(self) -> Calls:
        """Return the calls for callers outside Python."""
        table = CallTable(self._tasks)
        for (address, _), rows in self._rows.items():
            tasks = np.array([task for task, _ in rows], np.int64)
            arguments = np.array([list(found) for _, found in rows], np.int64)
            table.add(Function(address, Tells.NOTHING), tasks, arguments.reshape(len(rows), -1))
        return table.calls([self._kept, self])
