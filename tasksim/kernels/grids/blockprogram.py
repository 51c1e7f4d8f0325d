"""Block program: tasks that call functions on blocks of memory.

A :class:`Computation` defines the blocks, the call of each task, the initial values of the blocks,
and the expected result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.calls import Calls
    from tasksim.kernels.grids.blocks import Blocks
    from tasksim.kernels.grids.calledtasks import CalledTasks
    from tasksim.kernels.program import Residual
    from tasksim.kernels.registry import Executor

    Held = NDArray[np.integer] | None

__all__ = ["BlockProgram", "Computation", "executor_of"]


class Computation(Protocol):
    """A computation of the tasks of a graph on blocks.

    Attributes
    ----------
    graph : TaskGraph
    blocks : Blocks
        The data of the graph.
    tasks : CalledTasks
        The call of each task.
    """

    graph: TaskGraph
    blocks: Blocks
    tasks: CalledTasks

    def fill(self) -> None:
        """Set the blocks, which are zero, to their initial values."""

    def check(self) -> Residual:
        """Return the residual of the result of all tasks."""


class BlockProgram:
    """A computation on blocks as a program that runs with and without Python.

    Parameters
    ----------
    computation : Computation
    """

    def __init__(self, computation: Computation) -> None:
        self._computation = computation
        self.graph, self.blocks = computation.graph, computation.blocks
        self.datum, self.pieces = self.blocks.datum, self.blocks.pieces
        self.reset()

    def run(self, task: int, worker: int) -> None:  # noqa: ARG002
        """Execute *task*."""
        self._computation.tasks.run(task)

    def calls(self, core: ctypes.CDLL) -> Calls:  # noqa: ARG002
        """Return the calls of all tasks without Python."""
        return self._computation.tasks.calls()

    def reset(self) -> None:
        """Restore the initial blocks."""
        self.blocks.clear()
        self._computation.fill()

    def check(self) -> Residual:
        """Return the residual of the result of all tasks."""
        return self._computation.check()


def executor_of(computation: Callable[[TaskGraph, int, Held], Computation]) -> Executor:
    """Return the executor of the graphs of *computation*.

    *computation* is called with a graph, a seed, and the data that have memory (None for all).
    """

    def executor(graph: TaskGraph, workers: int, seed: int = 0, held: Held = None) -> BlockProgram:  # noqa: ARG001
        return BlockProgram(computation(graph, seed, held))

    executor.__doc__ = computation.__doc__
    executor.holds_parts = True  # type: ignore[attr-defined]
    return executor
