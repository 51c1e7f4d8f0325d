"""Ways between memories, direct or over a third memory, with their handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.platform.copyestimates import CopyEstimates

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform

__all__ = ["Hop", "Ways", "check_ways", "copy_estimates", "device_memories"]

Hop = tuple[int, int]
"""The source and the target memory of a copy; without a source, only a place is made."""


class Ways:
    """Ways of data from one memory of *platform* to another.

    *devices* says whether each memory belongs to a device.
    """

    def __init__(self, platform: Platform, devices: list[bool]) -> None:
        count = len(platform.memories)
        self._devices = devices
        self._direct = [
            [s != t and platform.route(s, t) is not None for t in range(count)]
            for s in range(count)
        ]
        self._known: dict[Hop, list[Hop]] = {}

    def hops(self, source: int, target: int) -> list[Hop]:
        """Return the copies from *source* to *target*: one, or two over a third memory."""
        found = self._known.get((source, target))
        if found is None:
            direct = self._direct
            if direct[source][target]:
                found = [(source, target)]
            else:
                middles = (m for m, row in enumerate(direct) if direct[source][m] and row[target])
                found = next(([(source, m), (m, target)] for m in middles), [])
            self._known[source, target] = found
        return found

    def handler(self, source: int, target: int) -> int:
        """Return the memory whose driver makes this copy: a device's, or the target of two."""
        if source >= 0 and self._devices[source] and not self._devices[target]:
            return source
        return target


def check_ways(ways: Ways, graph: TaskGraph, platform: Platform) -> None:
    """Raise :exc:`InputError` unless all data can reach every worker."""
    homes = set(graph.handle_home.tolist())
    used = sorted({worker.memory for worker in platform.workers} | homes)
    for source in used:
        for target in used:
            if source != target and not ways.hops(source, target):
                names = [platform.memories[end].name for end in (source, target)]
                raise InputError(
                    f"platform {platform.name}: no route leads from memory {names[0]} to"
                    f" {names[1]}, not even over one other memory; graph {graph.name} needs it"
                )


def device_memories(platform: Platform) -> list[bool]:
    """Return, per memory of *platform*, whether a worker there drives a device."""
    devices = [False] * len(platform.memories)
    for worker in platform.workers:
        if platform.device(worker.architecture).pipeline:
            devices[worker.memory] = True
    return devices


def copy_estimates(platform: Platform) -> CopyEstimates:
    """Return the estimates of copies on *platform*, with all of its devices in use."""
    return CopyEstimates(platform, sum(device_memories(platform)))
