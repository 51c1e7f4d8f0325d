"""Program of one rank, in which the whole program executes the tasks of the rank's part."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tasksim.kernels.calls import CallTable

if TYPE_CHECKING:
    import ctypes

    from tasksim.graph.csr import Int32
    from tasksim.graph.distribution.parts import LocalPart
    from tasksim.kernels.calls import Calls, KernelError
    from tasksim.kernels.program import Program, Residual

__all__ = ["RankProgram", "selected_calls"]


class RankProgram:
    """A part of a graph whose tasks are executed by the *whole* program.

    Parameters
    ----------
    part : LocalPart
        The part of the rank; its communication tasks are not executed here.
    whole : Program
        The whole graph bound to its data.
    """

    def __init__(self, part: LocalPart, whole: Program) -> None:
        self.graph = part.graph
        self._whole = whole
        self._task = part.task
        self._numbers: list[int] = part.task.tolist()

    def run(self, task: int, worker: int) -> None:
        """Execute *task* with the workspace of *worker*."""
        self._whole.run(self._numbers[task], worker)

    def calls(self, core: ctypes.CDLL) -> Calls:
        """Return the calls of the tasks without Python, as far as the whole program has them."""
        calls = getattr(self._whole, "calls", None)
        if calls is None:
            return CallTable(len(self.graph)).calls(kept=None)
        return selected_calls(calls(core), self._task)

    def failure(self, task: int, told: int) -> KernelError:
        """Return the error of *task*, whose function returned the error code *told*."""
        error: KernelError = self._whole.failure(self._numbers[task], told)  # type: ignore[attr-defined]
        return error

    def interrupt(self) -> None:
        """Interrupt the running tasks if the program supports it."""
        interrupt = getattr(self._whole, "interrupt", None)
        if interrupt is not None:
            interrupt()

    def reset(self) -> None:
        """Restore the initial data."""
        self._whole.reset()

    def check(self) -> Residual | None:
        """Return the residual of the whole result, which must be on this rank."""
        return self._whole.check()


def selected_calls(calls: Calls, tasks: Int32) -> Calls:
    """Return the *calls* of selected *tasks*, in their order; -1 calls nothing."""
    there = tasks >= 0
    known = tasks[there]
    counts = np.zeros(len(tasks), np.int64)
    counts[there] = np.diff(calls.argument_ptr)[known]
    pointers = np.concatenate(([0], np.cumsum(counts)))
    first = np.repeat(calls.argument_ptr[known] - pointers[:-1][there], counts[there])
    function = np.full(len(tasks), -1, np.int32)
    function[there] = calls.function[known]
    return replace(
        calls,
        function=function,
        argument_ptr=pointers,
        arguments=calls.arguments[first + np.arange(len(first))],
    )
