"""Cores of a topology, with their processing units, caches, kinds and NUMA nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.formats.hwloc.topology import CpuKind, HwlocObject, Topology

__all__ = ["Core", "caches_of", "cores_of", "main_memories"]

OTHER_MEMORY: Final = ("HBM", "MCDRAM", "GPUMemory", "NVM", "SPM", "CXL", "CXLMem", "DAX")
"""Prefixes of the subtypes of NUMA nodes that are not main memory of the cores beside them, such as
``CXL-DRAM``."""
_CACHE: Final = re.compile(r"L([1-9])Cache")
_FREQUENCIES: Final = ("FrequencyMaxMHz", "FrequencyBaseMHz")


@dataclass(frozen=True)
class Core:
    """A core that may run programs."""

    units: tuple[int, ...]
    """Numbers of its processing units, which are its hyper-threads, as the system has them."""
    caches: tuple[HwlocObject, ...]
    """Caches of data that it uses, the nearest first."""
    domain: int
    """Number of its NUMA node among the main memories; their count if it has none, and 0 if no core
    has one."""
    kind: int
    """Number of its kind, the fastest 0."""
    mask: int


def cores_of(topology: Topology) -> list[Core]:
    """Return the cores that programs may use, NUMA node by NUMA node, in the order of the file.

    A processing unit without a core counts as one.

    Raises
    ------
    InputError
        There is none.
    """
    units: dict[int, list[HwlocObject]] = {}
    around: dict[int, HwlocObject] = {}
    for unit in topology.all_of("PU"):
        if not unit.cpus & topology.allowed:
            continue
        core = next((it for it in unit.above() if it.kind == "Core"), unit)
        units.setdefault(id(core), []).append(unit)
        around[id(core)] = core
    if not units:
        place = f"{topology.path}:{topology.root.element.line}:{topology.root.element.column}"
        raise InputError(f"{place}: expected a PU that programs may use, found none")
    memories, kinds = main_memories(topology), kinds_of(topology)
    found = []
    for key, threads in units.items():
        mask = threads[0].cpus
        caches = tuple(it for it in around[key].above() if _CACHE.fullmatch(it.kind))
        numbers = tuple(unit.index or 0 for unit in threads)
        whole = sum(unit.cpus for unit in threads)
        kind = next((number for number, kind in enumerate(kinds) if kind.cpus & whole), 0)
        found.append(Core(numbers, caches, _number(mask, memories), kind, whole))
    return sorted(found, key=lambda core: core.domain)


def main_memories(topology: Topology) -> list[HwlocObject]:
    """Return the NUMA nodes that are the main memory of some cores, in the order of the file.

    Of several nodes beside the same cores, the first that is no special memory counts.
    """
    found: dict[int, HwlocObject] = {}
    nodes = [node for node in topology.all_of("NUMANode") if node.cpus & topology.allowed]
    for node in sorted(nodes, key=_is_special):
        found.setdefault(node.cpus, node)
    chosen = found.values()
    return [
        node for node in nodes if any(node is other for other in chosen) and _needed(node, found)
    ]


def _needed(node: HwlocObject, found: dict[int, HwlocObject]) -> bool:
    """Return whether a core has no nearer memory than *node*."""
    nearer = 0
    for cpus in found:
        if cpus != node.cpus and cpus & node.cpus == cpus:
            nearer |= cpus
    return bool(node.cpus & ~nearer)


def _is_special(node: HwlocObject) -> bool:
    return (
        "DAXDevice" in node.infos
        or node.subtype.startswith(OTHER_MEMORY)
        or not node.amount("local_memory")
    )


def _number(mask: int, memories: Sequence[HwlocObject]) -> int:
    """Return the index of the memory nearest to a processing unit."""
    near = [number for number, memory in enumerate(memories) if memory.cpus & mask]
    return min(near, key=lambda n: memories[n].cpus.bit_count(), default=len(memories))


def kinds_of(topology: Topology) -> list[CpuKind]:
    """Return the distinct kinds of cores, the fastest first."""
    kinds = [kind for kind in topology.kinds if kind.cpus & topology.allowed]
    return sorted(kinds, key=lambda kind: (-kind.efficiency, -frequency_mhz(kind)))


def frequency_mhz(kind: CpuKind) -> int:
    """Return the highest frequency of a kind; 0 if unknown."""
    for name in _FREQUENCIES:
        text = kind.infos.get(name, "")
        if re.fullmatch(r"[0-9]{1,9}", text):
            return int(text)
    return 0


def caches_of(core: Core) -> dict[str, HwlocObject]:
    """Return the caches of a core by level: ``l1``, ``l2``, ``l3``."""
    found: dict[str, HwlocObject] = {}
    for cache in core.caches:
        match = _CACHE.fullmatch(cache.kind)
        if match is not None and cache.subtype != "MemorySideCache":
            found.setdefault(f"l{match[1]}", cache)
    return dict(sorted(found.items()))
