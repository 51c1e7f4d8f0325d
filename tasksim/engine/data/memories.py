"""Memories of a node: where its data are, and the parts that move them, wired together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.data.copies import Copies
from tasksim.engine.data.copy_log import CopyLog
from tasksim.engine.data.engines import CopyEngines
from tasksim.engine.data.eviction import Eviction
from tasksim.engine.data.handling import Handling, Locks
from tasksim.engine.data.mover import Mover
from tasksim.engine.data.network import Network
from tasksim.engine.data.open_requests import OpenRequests
from tasksim.engine.data.ways import Ways, check_ways, device_memories
from tasksim.engine.ticks import ticks
from tasksim.platform.copyestimates import CopyEstimates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.clock import Clock, Routine
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform

__all__ = ["Memories"]


class Memories:
    """The memories of *platform* with the data of *graph* in them.

    *keepers* has, per memory, the routine that looks after its requests. The parts are
    attributes: ``copies`` (where data are), ``requests`` (what was asked for), ``handling``
    (what drivers do), ``mover`` (what tasks ask for), ``locks``, ``estimates``, ``log``.
    """

    def __init__(
        self, clock: Clock, graph: TaskGraph, platform: Platform, keepers: Sequence[Routine]
    ) -> None:
        devices = device_memories(platform)
        copying, overheads = platform.copying, platform.overheads
        progress = ticks(overheads.progress_s)
        ways = Ways(platform, devices)
        check_ways(ways, graph, platform)
        limits = (copying.fetches, copying.prefetches, copying.idle)
        self.copies = Copies(graph, platform)
        self.estimates = CopyEstimates(platform, sum(devices))
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
