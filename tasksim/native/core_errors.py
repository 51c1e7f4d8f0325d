"""Errors of native runs in the compiled core, with the messages of the Python runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.core import interface
from tasksim.kernels.errors import KernelError
from tasksim.runtime.rules import dropped, illegal_pop, livelock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.kernels.program import Program
    from tasksim.runtime.facts import Facts

__all__ = ["broken_rule", "kernel_failure"]


def kernel_failure(program: Program, task: int, told: int) -> Exception:
    """Return the error of *task*, whose function returned the error code *told*."""
    failure = getattr(program, "failure", None)
    if failure is None:
        return KernelError(program.graph.kernel_of(task), f"it returned {told}")
    found: Exception = failure(task, told)
    return found


def broken_rule(
    facts: Facts, state: Sequence[int], status: int, outcome: interface.Outcome
) -> BaseException:
    """Return the error for *status* and *outcome* of a run; *state* is the state of each task."""
    graph, scheduler = facts.graph, facts.scheduler
    if status == interface.DROPPED:
        return dropped(scheduler, graph, state, outcome.now_s)
    if status == interface.LIVELOCK:
        return livelock(scheduler, graph, state, outcome.now_s, outcome.number)
    if status == interface.ILLEGAL_POP:
        name = facts.platform.workers[outcome.worker].name
        return illegal_pop(scheduler, graph, state, outcome.task, name)
    if status == interface.NO_MEMORY:
        return MemoryError("there is not enough memory for the core")
    return RuntimeError(f"the core has failed with status {status}")
