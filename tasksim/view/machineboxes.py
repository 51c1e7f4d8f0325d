"""Boxes in boxes for a drawing of a machine, from a topology of hwloc or from a platform."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Final

from tasksim.base.units import format_bandwidth, format_size
from tasksim.formats.hwloc.devices import co_processors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.formats.hwloc.devices import CoProcessor
    from tasksim.formats.hwloc.topology import HwlocObject, Topology
    from tasksim.platform.description import MemoryLevel, Platform, Worker

__all__ = ["Box", "boxes_of_platform", "boxes_of_topology", "facts_of", "folded"]

DRAWN_ALIKE: Final = 4
"""Number of neighbours that are alike up to which all are drawn; of more the first two and the
last, as lstopo does."""
DEVICE_LINES: Final = 4
"""Maximum number of lines in a box of devices."""
_NOUNS: Final = {
    "package": ("package", "packages"),
    "domain": ("domain", "domains"),
    "memory": ("memory", "memories"),
    "core": ("core", "cores"),
    "gpu": ("co-processor", "co-processors"),
}
_LEVEL: Final = re.compile(r"L([1-9])(i?)Cache")
_INSIDE: Final = ("Machine", "Package", "Group", "Die")
"""Objects that are boxes even where there is nothing else beside them."""


@dataclass
class Box:
    """A box of the drawing, with boxes inside."""

    kind: str
    """Kind, for the colour: machine, package, domain, memory, cache, core, device, more."""
    label: str
    """Name of the part of the machine, with its number."""
    facts: tuple[str, ...] = ()
    """Further lines, such as sizes."""
    children: list[Box] = field(default_factory=list)
    beside: list[Box] = field(default_factory=list)
    """Memories and devices, in rows of their own around the children."""

    def shape(self) -> object:
        """Return what boxes that are alike have in common: all but the numbers in labels."""
        label = re.sub(r"[0-9]+", "#", self.label)
        inside = tuple(box.shape() for box in (*self.children, *self.beside))
        return self.kind, label, tuple(re.sub(r"(?<=^PU ).*", "#", it) for it in self.facts), inside


def folded(boxes: Sequence[Box]) -> list[Box]:
    """Return *boxes* with a box in place of many neighbours that are alike.

    >>> [box.label for box in folded([Box("core", f"Core {n}") for n in range(8)])]
    ['Core 0', 'Core 1', '5 more', 'Core 7']
    """
    found: list[Box] = []
    first = 0
    while first < len(boxes):
        shape = boxes[first].shape()
        last = first
        while last + 1 < len(boxes) and boxes[last + 1].shape() == shape:
            last += 1
        count = last + 1 - first
        if count > DRAWN_ALIKE:
            more = Box("more", f"{count - 3} more")
            found += [boxes[first], boxes[first + 1], more, boxes[last]]
        else:
            found += boxes[first : last + 1]
        first = last + 1
    return found


# Of hwloc


def boxes_of_topology(topology: Topology) -> Box:
    """Return the boxes of a machine as hwloc sees it."""
    gpus = co_processors(topology)
    box = _box(topology.root, gpus)
    host = topology.root.infos.get("HostName", "")
    size = sum(node.amount("local_memory") for node in topology.all_of("NUMANode"))
    facts = (f"{format_size(float(size))} in all",) if size else ()
    return Box("machine", f"Machine {host}".strip(), facts, box.children, box.beside)


def _box(it: HwlocObject, gpus: Sequence[CoProcessor]) -> Box:
    """Return the box of an object; what only contains one thing is merged with it."""
    named = {"Machine": "machine", "Package": "package", "Core": "core", "NUMANode": "memory"}
    kind = "cache" if _LEVEL.fullmatch(it.kind) else named.get(it.kind, "domain")
    box = Box(kind, _label(it))
    if it.kind == "NUMANode" and (size := it.amount("local_memory")):
        box.facts = (format_size(float(size)),)
    elif it.kind == "Package" and it.infos.get("CPUModel"):
        box.facts = (it.infos["CPUModel"].strip(),)
    for child in it.children:
        if child.kind in ("Bridge", "PCIDev", "OSDev"):
            box.beside += _devices(child, gpus)
        elif child.kind == "NUMANode" and not child.children:
            box.beside.append(_box(child, gpus))
        elif child.kind == "MemCache":
            box.beside += _behind(child, gpus)
        elif child.kind == "PU":
            continue
        elif child.kind != "Misc":
            box.children.append(_box(child, gpus))
    units = [str(child.index) for child in it.children if child.kind == "PU"]
    if units:
        box.facts += (f"PU {', '.join(units)}",)
    if it.kind == "PU":
        box.kind = "core"
    if it.kind not in _INSIDE and len(box.children) == 1 and not box.beside:
        (only,) = box.children
        if only.kind in ("core", "cache") and box.kind in ("core", "cache"):
            merged = (*box.facts, *([only.label] if only.kind == "cache" else []), *only.facts)
            label = only.label if only.kind == "core" else box.label
            lines = merged if only.kind == "cache" else (box.label, *merged)
            return Box(only.kind, label, lines, only.children)
    return box


def _behind(cache: HwlocObject, gpus: Sequence[CoProcessor]) -> Iterator[Box]:
    """Yield the memories behind a cache of memory, each with the cache's size."""
    size = format_size(float(cache.amount("cache_size")))
    for child in cache.children:
        box = _box(child, gpus)
        yield Box(box.kind, box.label, (*box.facts, f"cache {size}"), box.children, box.beside)


def _label(it: HwlocObject) -> str:
    match = _LEVEL.fullmatch(it.kind)
    if match is not None:
        size = it.amount("cache_size")
        name = it.subtype or f"L{match[1]}{match[2]}"
        return f"{name} {format_size(float(size))}" if size else name
    number = "" if it.index is None else f" {it.index}"
    name = {"NUMANode": it.subtype or "NUMA node"}.get(it.kind, it.kind)
    return f"{name}{number}"


def _devices(it: HwlocObject, gpus: Sequence[CoProcessor]) -> Iterator[Box]:
    """Yield the boxes of devices: one per co-processor, one for all others on a bus."""
    inside = (it, *it.below())
    parts = {id(part): gpu for gpu in gpus for part in gpu.parts}
    found = {id(parts[id(one)]): parts[id(one)] for one in inside if id(one) in parts}
    for gpu in found.values():
        facts = [", ".join(gpu.names)]
        facts += [gpu.model] if gpu.model else []
        facts += [format_size(float(gpu.size_bytes))] if gpu.size_bytes else []
        speed = gpu.links[0].link_bytes_per_s if gpu.links else 0.0
        facts += [f"PCI {format_bandwidth(speed)}"] if speed else []
        yield Box("gpu", gpu.architecture, tuple(facts))
    others = [
        one.name or one.subtype for one in inside if one.kind == "OSDev" and id(one) not in parts
    ]
    names = [name for name in others if name]
    if names:
        shown = names[:DEVICE_LINES]
        more = [f"{len(names) - DEVICE_LINES} more"] if len(names) > DEVICE_LINES else []
        yield Box("device", "devices", (*shown, *more))


# Of a platform


def boxes_of_platform(platform: Platform) -> Box:
    """Return the boxes of a platform: memories, domains, caches, workers, links."""
    nodes = [_node_box(platform, node) for node in range(platform.nodes)]
    if len(nodes) == 1:
        facts = _numa_facts(platform)
        return Box("machine", platform.name, facts, nodes[0].children, nodes[0].beside)
    return Box("machine", platform.name, (f"{len(nodes)} nodes",), nodes)


def _numa_facts(platform: Platform) -> tuple[str, ...]:
    """Return what an access to another domain costs, and what goes between two."""
    numa, domains = platform.numa, range(len(platform.memory_domains))
    if numa is None or len(domains) < 2:
        return ()
    pairs = [(one, other) for one in domains for other in domains if one != other]
    costs = sorted(numa.ratio(*pair) for pair in pairs)
    facts = [f"remote access {_from_to(f'{costs[0]:.3g}', f'{costs[-1]:.3g}')} times local"]
    if numa.bandwidths_bytes_per_s:
        limits = sorted(numa.bandwidths_bytes_per_s[one][other] for one, other in pairs)
        texts = ["no limit" if limit == inf else format_bandwidth(limit) for limit in limits]
        facts.append(f"{_from_to(texts[0], texts[-1])} between two")
    if numa.cache_bytes:
        facts.append(f"{format_size(numa.cache_bytes)} of caches per domain")
    return tuple(facts)


def _from_to(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _node_box(platform: Platform, node: int) -> Box:
    workers = [worker for worker in platform.workers if worker.node == node]
    here = [memory for memory in platform.memories if memory.node == node]
    main = here[0].id if here else 0
    cores = [worker for worker in workers if not platform.device(worker.architecture).pipeline]
    box = Box("package", f"node {node}")
    for memory in here:
        if memory.id == main:
            size = "no limit" if memory.size_bytes is None else format_size(memory.size_bytes)
            box.beside.append(Box("memory", _plain(memory.name), (size,)))
    inside: set[int] = set()
    for domain in platform.memory_domains:
        own = [worker for worker in cores if worker.id in domain.workers]
        inside |= {worker.id for worker in own}
        if own:
            inner = Box("domain", _plain(domain.name), children=_cores(platform, own))
            if domain.size_bytes is not None:
                inner.facts = (format_size(domain.size_bytes),)
            if domain.bandwidths_bytes_per_s:
                together = format_bandwidth(domain.bandwidths_bytes_per_s[-1])
                inner.facts += (f"{together} together",)
            box.children.append(inner)
    box.children += _cores(platform, [worker for worker in cores if worker.id not in inside])
    for worker in workers:
        if platform.device(worker.architecture).pipeline:
            box.beside.append(_driven_box(platform, worker, main))
    return box


def _plain(name: str) -> str:
    """Return the name on a node: ``ram`` of ``node0/ram``."""
    return name.rpartition("/")[2]


def _cores(platform: Platform, workers: Sequence[Worker]) -> list[Box]:
    """Return the boxes of cores, in boxes of the caches that several share."""
    levels = [level for level in platform.memory_hierarchy if level.size_bytes is not None]
    own = [_cache_label(level) for level in reversed(levels) if level.cores == 1]
    shared = sorted((it for it in levels if it.cores > 1), key=lambda it: -it.cores)
    boxes = []
    for worker in workers:
        unit = () if worker.core is None else (f"PU {worker.core}",)
        boxes.append(Box("core", _plain(worker.name), (*own, *unit)))
    return _in_caches(boxes, shared)


def _cache_label(level: MemoryLevel) -> str:
    return f"{level.name.upper()} {format_size(level.size_bytes or 0.0)}"


def _in_caches(boxes: list[Box], shared: Sequence[MemoryLevel]) -> list[Box]:
    if not shared or not boxes:
        return boxes
    outer, inner = shared[0], shared[1:]
    return [
        Box("cache", _cache_label(outer), (), _in_caches(boxes[n : n + outer.cores], inner))
        for n in range(0, len(boxes), outer.cores)
    ]


def _driven_box(platform: Platform, worker: Worker, main: int) -> Box:
    """Return the box of a device: its memory, and the slowest link from main memory."""
    facts = []
    memory = platform.memories[worker.memory]
    if memory.id != main:
        size = "no limit" if memory.size_bytes is None else format_size(memory.size_bytes)
        facts.append(f"{_plain(memory.name)} {size}")
        way = platform.route(main, memory.id)
        if way:
            crossed = [platform.links[number] for number in way]
            slowest = min(link.bandwidth_bytes_per_s for link in crossed)
            facts.append(f"from {_plain(platform.memories[main].name)} {format_bandwidth(slowest)}")
    return Box("gpu", _plain(worker.name), tuple(facts))


def facts_of(box: Box) -> list[tuple[tuple[str, str], int]]:
    """Return the number of boxes of each kind, by the singular and plural of its noun.

    >>> facts_of(Box("machine", "two", children=[Box("core", "a"), Box("core", "b")]))
    [(('core', 'cores'), 2)]
    """
    counts: Counter[str] = Counter()
    todo = [box]
    while todo:
        one = todo.pop()
        counts[one.kind] += 1
        todo += [*one.children, *one.beside]
    return [(nouns, counts[kind]) for kind, nouns in _NOUNS.items() if counts[kind]]
