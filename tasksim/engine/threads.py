"""Support check for replays with simulated threads, by scheduler and machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.ticks import OverheadTicks
from tasksim.runtime.policies import ported

if TYPE_CHECKING:
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["can_be_threads"]


def can_be_threads(platform: Platform, scheduler: Scheduler, *, of_cluster: bool = False) -> bool:
    """Return whether the threads support *scheduler* and *platform*.

    Each step of a thread must take time, so that no thread polls for ever at one instant; cores
    must share an unlimited main memory, and each other memory must belong to one device. Nodes
    *of_cluster* have threads only if they have devices: the order of the communication thread and
    the others within an instant is not known exactly, and for cores alone the order without threads
    is closer to StarPU's.
    """
    if of_cluster and len(platform.memories) == 1:
        return False
    if not getattr(scheduler, "as_threads", False) or ported(scheduler) is None:
        return False  # a user's scheduler is called back, which threads do not support
    devices = [w.memory for w in platform.workers if platform.device(w.architecture).pipeline]
    cores = [w.memory for w in platform.workers if not platform.device(w.architecture).pipeline]
    cost = OverheadTicks.of(platform.overheads)
    return (
        min(cost.push, cost.fetch, cost.progress, cost.submission) > 0
        and cost.task == cost.wakeup == cost.start == 0
        and sorted(devices) == list(range(1, len(platform.memories)))
        and not any(cores)
        and platform.memories[0].size_bytes is None
    )
