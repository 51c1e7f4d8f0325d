"""Constant facts of a run, with graph, platform, scheduler and estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["Facts"]


class Facts(NamedTuple):
    """Constant facts of a run; a view shows some of them to the scheduler."""

    graph: TaskGraph
    platform: Platform
    scheduler: Scheduler
    estimates: Sequence[Sequence[float]]
    """Durations that the scheduler expects, in seconds: ``estimates[class][task]``."""
    able: list[int]
    """Per task, a bit mask of the classes of workers that can run it."""
