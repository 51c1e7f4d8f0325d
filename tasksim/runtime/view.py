"""Facts of a run, and the part of a scheduler's view that is the same under both clocks."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING, NamedTuple

from tasksim.platform.copyestimates import copy_seconds
from tasksim.platform.description import class_of
from tasksim.runtime.rules import known_worker
from tasksim.schedulers.base import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.platform.parts import MemoryDomain
    from tasksim.run.power import PowerInfo
    from tasksim.schedulers.base import Scheduler

__all__ = ["Facts", "RunView"]


class Facts(NamedTuple):
    """Constant facts of a run; a view shows some of them to the scheduler."""

    graph: TaskGraph
    platform: Platform
    scheduler: Scheduler
    estimates: Sequence[Sequence[float]]
    """Durations that the scheduler expects, in seconds: ``estimates[class][task]``."""
    able: list[int]
    """Per task, a bit mask of the classes of workers that can run it."""

    @classmethod
    def on_any_worker(
        cls,
        graph: TaskGraph,
        platform: Platform,
        scheduler: Scheduler,
        estimates: Sequence[Sequence[float]] | None = None,
    ) -> Facts:
        """Return the facts of a run whose workers can all run every task; None: no estimates."""
        classes, tasks = len(platform.classes), len(graph)
        believed = [[nan] * tasks] * classes if estimates is None else estimates
        return cls(graph, platform, scheduler, believed, [(1 << classes) - 1] * tasks)


class RunView(View):
    """The constant *facts* of a run for its scheduler; all workers share one memory.

    Each clock adds the time and the waking of workers.
    """

    def __init__(self, facts: Facts) -> None:
        graph, platform = facts.graph, facts.platform
        self.graph = graph
        self.workers = platform.workers
        self.classes = platform.classes
        self.class_of = class_of(platform)
        self.priority = graph.priority.tolist()
        self.estimates = facts.estimates
        self.able = facts.able
        self.pusher = None
        self.platform = platform
        self._scheduler = facts.scheduler

    @cached_property
    def power(self) -> PowerInfo | None:
        """The power of the machine; None if the platform does not give it."""
        if self.platform.power is None:
            return None
        from tasksim.run.power import power_info

        return power_info([self.platform])

    @property
    def memory_domains(self) -> tuple[MemoryDomain, ...]:
        """The parts of the main memory, with the workers near each; empty if there are none."""
        return self.platform.memory_domains

    @property
    def placement(self) -> str:
        """Where data live in the memory domains, as ``numa.placement``; empty if it is unknown."""
        return "" if self.platform.numa is None else self.platform.numa.placement

    @cached_property
    def sizes(self) -> list[int]:
        """Per data handle, its size in bytes."""
        sizes: list[int] = self.graph.handle_size.tolist()
        return sizes

    @cached_property
    def accesses(self) -> list[list[tuple[int, int]]]:
        """Per task, its accesses in the order given: pairs of a handle and an access mode."""
        graph = self.graph
        pairs = list(zip(graph.access_handle.tolist(), graph.access_mode.tolist(), strict=True))
        ends = graph.access_ptr.tolist()
        return [pairs[first:last] for first, last in pairwise(ends)]

    def estimate(self, task: int, worker: int) -> float:
        """Return the expected duration of *task* on *worker*, in seconds."""
        return self.estimates[self.class_of[worker]][task]

    def transfer_estimate(self, task: int, memory: int) -> float:  # noqa: ARG002
        """Return 0: all workers share one memory, so nothing is copied."""
        return 0.0

    def unready(self, task: int, memory: int) -> tuple[int, int, int]:  # noqa: ARG002
        """Return (0, 0, 0): all workers share one memory, so no data are missing."""
        return 0, 0, 0

    def holds(self, handle: int, memory: int) -> bool:  # noqa: ARG002
        """Return True: all workers share one memory, so all data are there."""
        return True

    def copy_estimate(self, size_bytes: float, source: int, target: int) -> float:
        """Return the expected time of a copy between two memories, without contention."""
        return copy_seconds(self.platform, size_bytes, source, target)

    def can_run(self, task: int, worker: int) -> bool:
        """Return whether *worker* has an implementation of the kernel of *task*."""
        return bool(self.able[task] >> self.class_of[worker] & 1)

    def prefetch(self, task: int, memory: int) -> None:
        """Do nothing: the data are there already."""

    def prefetch_handle(self, handle: int, memory: int) -> None:
        """Do nothing: all data are there already."""

    def known_worker(self, worker: int) -> int:
        """Return *worker*, or raise :exc:`SchedulerError` if there is no such worker."""
        return known_worker(worker, len(self.workers), self._scheduler)
