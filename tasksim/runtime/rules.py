"""States of a task, rules for schedulers, and the error for each way to break them."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import SchedulerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.schedulers.base import Scheduler

__all__ = [
    "DONE",
    "READY",
    "TAKEN",
    "WAITING",
    "called",
    "dropped",
    "illegal_move",
    "illegal_pop",
    "integer_or_none",
    "known_worker",
    "livelock",
]

WAITING: Final = 0
"""The task waits for its dependencies or its submission."""
READY: Final = 1
"""The task was pushed to the scheduler."""
TAKEN: Final = 2
"""A worker popped the task and executes it."""
DONE: Final = 3
"""The task is finished."""

STATE_CLAUSES: Final = (
    "which is not ready",
    "which is ready but not taken by a worker",
    "which is already running on a worker",
    "which is already finished",
)
"""Clauses of messages for a task in each state, in their order."""


def called(scheduler: Scheduler) -> str:
    """Return the name of *scheduler* for messages, or the name of its class if it is derived.

    >>> from tasksim.schedulers.central import Eager
    >>> class Mine(Eager): ...
    >>> called(Eager()), called(Mine())
    ('eager', 'Mine')
    """
    kind = type(scheduler)
    own = vars(scheduler).get("name") or vars(kind).get("name")
    return str(own or kind.__name__)


def illegal_pop(
    scheduler: Scheduler, graph: TaskGraph, state: Sequence[int], task: Any, worker: str
) -> SchedulerError:
    """Return the error for a *task* that a pop must not return to *worker*."""
    number = integer_or_none(task)
    if number is None or not 0 <= number < len(graph):
        what = f"{task!r}, which is not a task (legal: 0 to {len(graph) - 1}, or None)"
    elif state[number] != READY:
        what = f"{graph.label(number)}, {STATE_CLAUSES[state[number]]}"
    else:
        what = f"{graph.label(number)}, which that worker cannot run"
    return SchedulerError(f"scheduler {called(scheduler)} gave worker {worker} {what}")


def illegal_move(move: str, graph: TaskGraph, state: Sequence[int], task: int) -> RuntimeError:
    """Return the error for an illegal *move* of *task*, which is a bug of the clock."""
    return RuntimeError(f"cannot {move} {graph.label(task)}, {STATE_CLAUSES[state[task]]}")


def known_worker(worker: Any, workers: int, scheduler: Scheduler) -> int:
    """Return *worker* as an int; raise :exc:`SchedulerError` if there is no such worker."""
    number = integer_or_none(worker)
    if number is not None and 0 <= number < workers:
        return number
    raise SchedulerError(
        f"scheduler {called(scheduler)} woke worker {worker!r}; the workers are 0 to {workers - 1}"
    )


def dropped(
    scheduler: Scheduler, graph: TaskGraph, state: Sequence[int], now_s: float
) -> SchedulerError:
    """Return the error for tasks that were pushed but that no pop returned."""
    lost = [task for task, status in enumerate(state) if status == READY]
    if not lost:
        waiting = next(task for task, status in enumerate(state) if status != DONE)
        return SchedulerError(
            f"the run stopped at {now_s:.6g} s: {graph.label(waiting)} never became ready;"
            " does the graph have a cycle?"
        )
    more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    return SchedulerError(
        f"scheduler {called(scheduler)} dropped {graph.label(lost[0])}{more}: pushed, but all"
        f" workers sleep at {now_s:.6g} s and no pop returned it (does push wake a worker?)"
    )


def livelock(
    scheduler: Scheduler, graph: TaskGraph, state: Sequence[int], now_s: float, pops: int
) -> SchedulerError:
    """Return the error for a scheduler that wakes workers for ever and gives them no task."""
    ready = [task for task, status in enumerate(state) if status == READY]
    held = f"; {graph.label(ready[0])} is ready" if ready else ""
    return SchedulerError(
        f"scheduler {called(scheduler)} makes no progress at {now_s:.6g} s: it was polled {pops:,}"
        f" times without returning a task{held} (does pop wake a worker, or its own worker?)"
    )


def integer_or_none(value: Any) -> int | None:
    """Return *value* as an int; None if it is not an integer, or if it is a boolean."""
    try:
        return None if isinstance(value, bool) else index(value)
    except TypeError:
        return None
