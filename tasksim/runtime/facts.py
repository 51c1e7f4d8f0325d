"""Facts of a run: what is run, where, who decides, and what it believes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["Facts"]


class Facts(NamedTuple):
    """What does not change during a run, of which a view shows the scheduler its share."""

    graph: TaskGraph
    platform: Platform
    scheduler: Scheduler
    estimates: Sequence[Sequence[float]]
    """What the scheduler believes that tasks take, seconds, ``[class][task]``."""
    able: list[int]
    """Per task, a bit mask of the classes of workers that can run it."""
