"""Memories of a node, with its data and the parts that move them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.clock import Routine
from tasksim.engine.data.copies import Copies
from tasksim.engine.data.copy_log import CopyLog
from tasksim.engine.data.engines import CopyEngines
from tasksim.engine.data.eviction import Eviction
from tasksim.engine.data.handling import Handling, Locks
from tasksim.engine.data.mover import Mover
from tasksim.engine.data.network import Network
from tasksim.engine.data.open_requests import OpenRequests
from tasksim.engine.data.ways import Ways, check_ways, copy_estimates, device_memories
from tasksim.engine.ticks import ticks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.clock import Clock
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform

__all__ = ["Memories"]


class Memories:
    """The memories of *platform* with the data of *graph* in them.

    *routines* are the routines of the workers. The parts are attributes: ``copies`` (locations of
    data), ``requests`` (open requests for copies), ``handling`` (work of drivers), ``mover``
    (interface for tasks), ``locks``, ``estimates``, ``log``.
    """

    def __init__(
        self, clock: Clock, graph: TaskGraph, platform: Platform, routines: Sequence[Routine]
    ) -> None:
        devices = device_memories(platform)
        # The requests of a memory are served by its first driver of a device; a memory without
        # such a driver gets a routine of its own.
        drivers: list[Routine | None] = [None] * len(platform.memories)
        for worker, routine in zip(platform.workers, routines, strict=True):
            if platform.device(worker.architecture).pipeline and drivers[worker.memory] is None:
                drivers[worker.memory] = routine
        keepers = [routine or Routine(clock) for routine in drivers]
        copying, overheads = platform.copying, platform.overheads
        progress = ticks(overheads.progress_s)
        ways = Ways(platform, devices)
        check_ways(ways, graph, platform)
        limits = (copying.fetches, copying.prefetches, copying.idle)
        self.copies = Copies(graph, platform)
        self.estimates = copy_estimates(platform)
        self.locks = Locks(clock, progress)
        self.log = CopyLog()
        self.requests = OpenRequests(clock, self.copies, ways, self.estimates, keepers, limits)
        eviction = Eviction(clock, self.copies, self.requests, self.log, platform.allocation)
        engines = CopyEngines(
            clock,
            Network(clock, platform),
            devices,
            serialised=copying.serialised,
            first_use=progress,
        )
        self.handling = Handling(
            clock,
            self.copies,
            self.requests,
            eviction,
            engines,
            self.locks,
            self.log,
            devices,
            ticks(overheads.copy_s),
        )
        self.mover = Mover(self.copies, self.requests, eviction)
