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
    from tasksim.recording.log import RecordingLog

__all__ = ["starts_of"]

MIN_START_S: Final = 1e-3
"""Shortest wait of tasks for the start of a worker that is a task, in seconds: less is hard to
distinguish from the cost of waking a process. A fork of a small program takes some milliseconds."""


def starts_of(log: RecordingLog, tasks: list[RecordedTask]) -> list[RecordedTask]:
    """Return the starts that *tasks* waited for, one per worker process at most."""
    first: dict[int, RecordedTask] = {}
    for task in sorted(tasks, key=lambda task: task.start_s):
        if isinstance(task.worker, int):
            first.setdefault(task.worker, task)
    starts = []
    for process, task in first.items():
        if process not in log.launches:
            continue
        launch, ready_s = log.launches[process], log.ready_s.get(process, nan)
        before = max((other.place for other in launch.after), default=(-1, 0))
        later = [other for other in tasks if other.pool == task.pool and other.place > before]
        if isnan(ready_s) or not later:
            continue
        end_s = min(ready_s, task.start_s)
        waited_from_s = max(launch.begun_s, min(other.submitted_s for other in later))
        if end_s - waited_from_s < MIN_START_S:
            continue
        start = RecordedTask(
            (WORKER_START, WORKER_START),
            launch.begun_s,
            (min(other.place for other in later)[0], -1),
            after=launch.after,
            start_s=launch.begun_s,
            end_s=end_s,
            worker=process,
            pool=task.pool,
            source=task.source,
        )
        starts.append(start)
    return starts
