"""Starts of a pool's worker processes, as tasks before the first that each of them runs.

A start is a task of the kernel ``worker start``: from the launch of the process until it can take
tasks. Processes that a pool had ready before the program submitted to it have none: no task waited.
"""

from __future__ import annotations

from math import isnan, nan
from typing import TYPE_CHECKING, Final

from tasksim.graph.taskgraph import WORKER_START
from tasksim.recording.log import RecordedTask

if TYPE_CHECKING:
    from tasksim.recording.log import Log

__all__ = ["starts_of", "with_starts"]

MIN_START_S: Final = 1e-3
"""Shortest wait of tasks for the start of a worker that is a task, in seconds: less is hard to
distinguish from the cost of waking a process. A fork of a small program takes some milliseconds."""


def starts_of(log: Log, tasks: list[RecordedTask]) -> list[RecordedTask]:
    """Return the starts that *tasks* waited for, one per worker process at most."""
    first: dict[int, RecordedTask] = {}
    for task in sorted(tasks, key=lambda task: task.start_s):
        if isinstance(task.worker, int):
            first.setdefault(task.worker, task)
    found = [
        _start(log, process, task, [other for other in tasks if other.pool == task.pool])
        for process, task in first.items()
        if process in log.launches
    ]
    return [start for start in found if start is not None]


def with_starts(tasks: list[RecordedTask], starts: list[RecordedTask]) -> list[RecordedTask]:
    """Return all in order of submission, starts before the tasks of their pools."""
    return sorted([*starts, *tasks], key=lambda task: task.place)


def _start(
    log: Log, process: int, first: RecordedTask, pool: list[RecordedTask]
) -> RecordedTask | None:
    """Return the start of a *process*, whose *first* task is one of a *pool*."""
    launch, ready_s = log.launches[process], log.ready_s.get(process, nan)
    end_s = min(ready_s, first.start_s)
    before = max((task.place for task in launch.after), default=(-1, 0))
    later = [task for task in pool if task.place > before]
    if isnan(ready_s) or not later:
        return None
    if end_s - max(launch.begun_s, min(task.submitted_s for task in later)) < MIN_START_S:
        return None
    return RecordedTask(
        (WORKER_START, WORKER_START),
        launch.begun_s,
        (min(task.place for task in later)[0], -1),
        after=launch.after,
        start_s=launch.begun_s,
        end_s=end_s,
        worker=process,
        pool=first.pool,
        source=first.source,
    )
