"""Rules that a scheduler must keep, and the words for each way to break them."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import SchedulerError
from tasksim.runtime.states import DONE, READY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.schedulers.base import Scheduler

__all__ = [
    "called",
    "dropped",
    "illegal_move",
    "illegal_pop",
    "known_worker",
    "livelock",
    "whole_number",
]

STORY: Final = (
    "which is not ready",
    "which is ready and in no worker's hands",
    "which a worker is executing already",
    "which is finished already",
)
"""What to say of a task in each state of :mod:`tasksim.runtime.states`."""


def called(scheduler: Scheduler) -> str:
    """Return what messages call *scheduler*: its name, or that of its class if it is derived.

    >>> from tasksim.schedulers.eager import Eager
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
    """Return the error for a *task* that a pop must not give to *worker*."""
    number = whole_number(task)
    if number is None or not 0 <= number < len(graph):
        what = f"{task!r}, which is not a task (they are 0 to {len(graph) - 1}, or None)"
    elif state[number] != READY:
        what = f"{graph.label(number)}, {STORY[state[number]]}"
    else:
        what = f"{graph.label(number)}, which that worker cannot run"
    return SchedulerError(f"scheduler {called(scheduler)} gave worker {worker} {what}")


def illegal_move(move: str, graph: TaskGraph, state: Sequence[int], task: int) -> RuntimeError:
    """Return the error for a *move* of *task* that the clock must not make: a bug of it."""
    return RuntimeError(f"cannot {move} {graph.label(task)}, {STORY[state[task]]}")


def known_worker(worker: Any, workers: int, scheduler: Scheduler) -> int:
    """Return *worker* as a number, or raise :exc:`SchedulerError` if there is no such worker."""
    number = whole_number(worker)
    if number is not None and 0 <= number < workers:
        return number
    raise SchedulerError(
        f"scheduler {called(scheduler)} woke worker {worker!r}; the workers are 0 to {workers - 1}"
    )


def dropped(
    scheduler: Scheduler, graph: TaskGraph, state: Sequence[int], now_s: float
) -> SchedulerError:
    """Return the error for tasks that were pushed and never given to a worker."""
    lost = [task for task, status in enumerate(state) if status == READY]
    if not lost:
        waiting = next(task for task, status in enumerate(state) if status != DONE)
        return SchedulerError(
            f"the run stopped at {now_s:.6g} s: {graph.label(waiting)} never became ready;"
            " is the graph cyclic?"
        )
    more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    return SchedulerError(
        f"scheduler {called(scheduler)} dropped {graph.label(lost[0])}{more}: pushed, but all"
        f" workers sleep at {now_s:.6g} s and nobody was given it (does push wake a worker?)"
    )


def livelock(
    scheduler: Scheduler, graph: TaskGraph, state: Sequence[int], now_s: float, pops: int
) -> SchedulerError:
    """Return the error for a scheduler that wakes workers for ever and gives them nothing."""
    ready = [task for task, status in enumerate(state) if status == READY]
    held = f"; {graph.label(ready[0])} is ready" if ready else ""
    return SchedulerError(
        f"scheduler {called(scheduler)} turns in circles at {now_s:.6g} s: its pop gave nothing"
        f" {pops:,} times while nothing else happened{held} (does pop wake a worker, or itself?)"
    )


def whole_number(value: Any) -> int | None:
    """Return the whole number that *value* is, None if it is none; True is none."""
    try:
        return None if isinstance(value, bool) else index(value)
    except TypeError:
        return None
