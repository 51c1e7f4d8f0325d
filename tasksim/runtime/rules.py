"""The rules that a scheduler must keep, and the words for each way to break them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import SchedulerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["DONE", "READY", "TAKEN", "WAITING", "dropped", "illegal_pop"]

WAITING: Final = 0
"""The task waits for its dependencies or its submission."""
READY: Final = 1
"""The task was pushed to the scheduler."""
TAKEN: Final = 2
"""A worker popped the task and executes it."""
DONE: Final = 3
"""The task is finished."""

STORY: Final = {
    WAITING: "which is not ready",
    TAKEN: "which a worker is executing already",
    DONE: "which is finished already",
}


def illegal_pop(
    scheduler: str, graph: TaskGraph, state: Sequence[int], task: Any, worker: str
) -> SchedulerError:
    """Return the error for a *task* that a pop must not give to *worker*."""
    if not isinstance(task, int) or not 0 <= task < len(graph):
        what = f"{task!r}, which is not a task (they are 0 to {len(graph) - 1}, or None)"
    elif state[task] != READY:
        what = f"{graph.label(task)}, {STORY[state[task]]}"
    else:
        what = f"{graph.label(task)}, which that worker cannot run"
    return SchedulerError(f"scheduler {scheduler} gave worker {worker} {what}")


def dropped(scheduler: str, graph: TaskGraph, state: Sequence[int], now: float) -> SchedulerError:
    """Return the error for tasks that were pushed and never given to a worker."""
    lost = [task for task, status in enumerate(state) if status == READY]
    if not lost:
        waiting = next(task for task, status in enumerate(state) if status != DONE)
        return SchedulerError(
            f"the run stopped at {now:.6g} s: {graph.label(waiting)} never became ready;"
            " is the graph cyclic?"
        )
    more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    return SchedulerError(
        f"scheduler {scheduler} dropped {graph.label(lost[0])}{more}: pushed, but all workers"
        f" sleep at {now:.6g} s and nobody was given it (does push wake a worker?)"
    )
