"""Fields of a platform file from a topology of hwloc, with notes on omissions."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.units import counted, exact_quantity, format_size
from tasksim.formats.hwloc.cores import caches_of, cores_of, frequency_mhz, kinds_of, main_memories
from tasksim.formats.hwloc.devices import co_processors, other_devices
from tasksim.formats.starpu.machine_fields import PIPELINE_TASKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.formats.hwloc.cores import Core
    from tasksim.formats.hwloc.devices import CoProcessor
    from tasksim.formats.hwloc.topology import MemoryValue, Topology

__all__ = ["MachineFields", "machine_fields"]

ASSUMED_PCI_BYTES_PER_S: Final = 12e9
"""Bandwidth assumed for a co-processor's link without one: that of 16 lanes of PCI Express 3.0."""
SLOW_PCI_BYTES_PER_S: Final = 2e9
"""Speed of a link below which a co-processor was probably asleep: 16 lanes are faster in any
generation of PCI Express in use, and drop lanes and clock to save power."""
NAMES_IN_NOTE: Final = 4
"""Maximum number of devices that a note names: they fit a line."""
CPU: Final = "cpu"


@dataclass
class MachineFields:
    """Hardware of a machine as fields of a platform file, with notes."""

    processor: str
    packages: int
    domains: int
    cores: int
    units: int
    gpus: tuple[CoProcessor, ...]
    fields: dict[str, Any]
    notes: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """Return a summary: ``2 packages, 4 NUMA nodes, 32 cores (64 hyper-threads)``."""
        threads = f" ({self.units} hyper-threads)" if self.units > self.cores else ""
        parts = [counted(self.packages, "package")] if self.packages else []
        parts.append(counted(self.domains, "NUMA node"))
        parts.append(f"{counted(self.cores, 'core')}{threads}")
        models = Counter((gpu.model, gpu.architecture) for gpu in self.gpus)
        for (model, architecture), count in models.items():
            parts.append(f"{count} {model}" if model else counted(count, f"{architecture} device"))
        return ", ".join(parts) + (f": {self.processor}" if self.processor else "")


@dataclass(frozen=True)
class _Group:
    """Workers on cores of one kind, and of one NUMA node if each has groups of its own."""

    name: str
    architecture: str
    domain: int
    units: list[int]
    """Processing units that the workers are bound to."""


def machine_fields(topology: Topology, *, hyper_threads: bool = False) -> MachineFields:
    """Return the hardware of a topology, with a worker per core.

    Parameters
    ----------
    topology : Topology
        Result of :func:`tasksim.formats.hwloc.topology.read_topology`.
    hyper_threads : bool, default False
        Whether each hyper-thread is a worker instead.

    Raises
    ------
    InputError
        The file has no processing unit that programs may use.
    """
    return _Builder(topology, hyper_threads).fields()


class _Builder:
    """The parts of a machine, and the fields made of them."""

    def __init__(self, topology: Topology, hyper_threads: bool) -> None:
        self.topology = topology
        self.hyper_threads = hyper_threads
        self.cores = cores_of(topology)
        self.memories = main_memories(topology)
        self.gpus = co_processors(topology)
        self.kinds = kinds_of(topology)
        self.architectures = self._architectures()
        self.drivers = self._drivers()
        """Index of the core that drives each co-processor; -1 if there are too few."""
        self.notes: list[str] = []

    def fields(self) -> MachineFields:
        topology, cores = self.topology, self.cores
        groups, split = self._groups()
        found = {
            "memories": self._memories(),
            "arch": self._arch(),
            "workers": {**self._devices(groups), **_workers(groups)},
            **self._connections(),
            "memory_domains": self._domains(groups, split),
            "numa": self._numa(groups),
            "memory_hierarchy": self._hierarchy(),
            "fingerprint": self._fingerprint(),
        }
        packages = {id(package) for package in topology.all_of("Package")}
        self.notes[:0] = self._notes_on_cores(split, found["numa"])
        self.notes += self._notes_on_the_rest()
        return MachineFields(
            self._processor(), len(packages), max(1, len(self.memories)), len(cores),
            sum(len(core.units) for core in cores), tuple(self.gpus),
            {name: value for name, value in found.items() if value}, self.notes,
        )  # fmt: skip

    def _processor(self) -> str:
        places = (*self.topology.all_of("Package"), self.topology.root)
        return next((it.infos["CPUModel"].strip() for it in places if it.infos.get("CPUModel")), "")

    # Cores

    def _architectures(self) -> list[str]:
        """Return the architecture of each kind of cores; ``cpu`` if all are alike."""
        names: list[str] = []
        for number, kind in enumerate(self.kinds or [None]):
            told = re.sub(
                r"[^a-z0-9]+", "", (kind.infos.get("CoreType", "") if kind else "").lower()
            )
            name = CPU if number == 0 else f"{CPU}-{told or f'kind{number}'}"
            names.append(name if name not in names else f"{name}-{number}")
        return names

    def _drivers(self) -> list[int]:
        """Return the index of the core that drives each co-processor, a near one if possible."""
        free = list(range(len(self.cores)))
        found = []
        for gpu in self.gpus:
            near = [number for number in free if self.cores[number].mask & gpu.cpus]
            chosen = (near or free)[-1] if len(free) > 1 else -1
            found.append(chosen)
            if chosen >= 0:
                free.remove(chosen)
        return found

    def _groups(self) -> tuple[list[_Group], bool]:
        """Return the groups of workers on cores, and whether NUMA nodes have groups of their own.

        One group is enough if each node has the same number of workers of one kind, as its domains
        then follow by that number, in order.
        """
        driving = set(self.drivers)
        working = [core for number, core in enumerate(self.cores) if number not in driving]
        used = sorted({core.kind for core in working})
        counts: Counter[int] = Counter()
        for core in working:
            counts[core.domain] += len(self._units(core))
        split = len(set(counts.values())) > 1 or (len(used) > 1 and len(counts) > 1)
        split = split or len(set(map(self._bandwidth, counts))) > 1
        split = split or (max(counts) == len(self.memories) > 0)
        found: dict[tuple[int, int], _Group] = {}
        for core in working:
            architecture = self.architectures[core.kind]
            has_node = split and core.domain < len(self.memories)
            name = f"{architecture}-numa{core.domain}" if has_node else architecture
            key = (core.domain if split else 0, core.kind)
            group = found.setdefault(key, _Group(name, architecture, key[0], []))
            group.units.extend(self._units(core))
        return [found[key] for key in sorted(found)], split

    def _units(self, core: Core) -> tuple[int, ...]:
        """Return the processing units of a core that are workers."""
        return core.units if self.hyper_threads else core.units[:1]

    def _arch(self) -> dict[str, Any]:
        """Return the architectures; a slower kind of cores has the models of the fastest."""
        found: dict[str, Any] = {
            gpu.architecture: {"pipeline": PIPELINE_TASKS} for gpu in self.gpus
        }
        for number in sorted({core.kind for core in self.cores}):
            section = found[self.architectures[number]] = {}
            if number == 0:
                continue
            section["models"] = CPU
            fastest, own = (frequency_mhz(self.kinds[kind]) for kind in (0, number))
            if fastest and own:
                section |= {"frequency": f"{own} MHz", "model_frequency": f"{fastest} MHz"}
        return found

    # Memories

    def _memories(self) -> dict[str, Any]:
        size = sum(node.amount("local_memory") for node in self.memories)
        gpus = {f"gpu{number}": _size(gpu.size_bytes) for number, gpu in enumerate(self.gpus)}
        return {"ram": _size(size), **gpus}

    def _value(self, values: Sequence[MemoryValue], domain: int) -> float:
        """Return a value of a domain's memory as its own cores see it; 0 if unknown."""
        if domain >= len(self.memories):
            return 0.0
        node = self.memories[domain]
        identity = node.element.attributes.get("gp_index")
        own = [it.value for it in values if it.node == identity and it.cpus & node.cpus]
        return own[0] if own else 0.0

    def _bandwidth(self, domain: int) -> float:
        return self._value(self.topology.bandwidths_bytes_per_s, domain)

    def _domains(self, groups: Sequence[_Group], split: bool) -> dict[str, Any]:
        found: dict[str, Any] = {}
        sizes = [node.amount("local_memory") for node in self.memories]
        for group in groups:
            if group.domain >= max(1, len(self.memories)):
                continue
            name = f"numa{group.domain}" if split else "numa" if len(self.memories) > 1 else "ram"
            found.setdefault(name, {"workers": []})["workers"].append(group.name)
            bandwidth = self._bandwidth(group.domain)
            if bandwidth:
                found[name]["bandwidth"] = [exact_quantity(bandwidth, "bandwidth")]
            size = sizes[group.domain] if group.domain < len(sizes) else 0
            # Domains without groups of their own have one size for all.
            if len(sizes) > 1 and (split or len(set(sizes)) == 1):
                found[name] |= _size(size)
        for domain in found.values():
            if len(domain["workers"]) == 1:
                (domain["workers"],) = domain["workers"]
        if not split and "numa" in found:
            workers = sum(len(group.units) for group in groups)
            used = len({core.domain for n, core in enumerate(self.cores) if n not in self.drivers})
            found["numa"]["each"] = workers // used
        return found

    def _numa(self, groups: Sequence[_Group]) -> dict[str, Any]:
        """Return distances and caches of the NUMA nodes with workers; empty if unknown."""
        units = {unit for group in groups for unit in group.units}
        working = {core.domain for core in self.cores if units.intersection(core.units)}
        used = sorted(working & set(range(len(self.memories))))
        distances = [[self._distance(one, other) for other in used] for one in used]
        # All must be known, and each node nearest to itself.
        known = all(min(row) > 0 and row[i] == min(row) for i, row in enumerate(distances))
        if len(used) < 2 or not known:
            return {}
        sizes = set()
        for domain in used:
            last = {id(it): it for core in self.cores if core.domain == domain
                    for it in list(caches_of(core).values())[-1:]}  # fmt: skip
            sizes.add(sum(cache.amount("cache_size") for cache in last.values()))
        size = sizes.pop() if len(sizes) == 1 else 0
        return {"distances": distances, **_size(size, "cache")}

    def _distance(self, one: int, other: int) -> float:
        """Return the distance between two NUMA nodes; 0 if unknown."""
        nodes = self.memories[one], self.memories[other]
        by_os = [f"os:{node.index}" for node in nodes]
        by_gp = [f"gp:{node.element.attributes.get('gp_index')}" for node in nodes]
        told = self.topology.numa_distances
        return told.get((by_os[0], by_os[1]), told.get((by_gp[0], by_gp[1]), 0))

    def _hierarchy(self) -> dict[str, Any]:
        """Return the caches of the first core, and the memory behind them."""
        first = self.cores[0]
        found: dict[str, Any] = {}
        for level, cache in caches_of(first).items():
            sharing = sum(bool(core.mask & cache.cpus) for core in self.cores)
            found[level] = {**_size(cache.amount("cache_size")), "cores": max(1, sharing)}
        sharing = sum(core.domain == first.domain for core in self.cores)
        latency = self._value(self.topology.latencies_s, first.domain)
        told = {"latency": exact_quantity(latency, "time")} if latency else {}
        found["memory"] = {**told, "cores": sharing}
        return found

    # Co-processors

    def _devices(self, groups: Sequence[_Group]) -> dict[str, Any]:
        """Return the groups of workers that drive co-processors, by architecture and driver."""
        several = len(groups) > 1
        found: dict[str, Any] = {}
        for number, gpu in enumerate(self.gpus):
            core = None if self.drivers[number] < 0 else self.cores[self.drivers[number]]
            group = None
            if core is not None:
                of_node = (group for group in groups if group.domain == core.domain)
                group = next(of_node, groups[0])
            name = gpu.architecture
            if several and group is not None:
                name += group.name.removeprefix(CPU)
            section = found.setdefault(name, {"count": 0, "memory": [], "cores": []})
            section["arch"] = gpu.architecture
            section["count"] += 1
            section["memory"].append(f"gpu{number}")
            section["cores"].append(None if core is None else core.units[0])
            if group is not None:
                section["drivers"] = group.name
        for name, section in found.items():
            if section["arch"] == name:
                del section["arch"]
            if not any(core is not None for core in section["cores"]):
                del section["cores"]
        return found

    def _connections(self) -> dict[str, Any]:
        """Return links and routes between main memory and co-processors."""
        # Bridges of known speed with several co-processors behind them, numbered.
        bridges = {id(bridge): bridge for gpu in self.gpus for bridge in gpu.links[1:]}
        counts = Counter(id(bridge) for gpu in self.gpus for bridge in gpu.links[1:])
        several = [k for k, count in counts.items() if count > 1 and bridges[k].link_bytes_per_s]
        shared = {key: number for number, key in enumerate(several)}
        links: dict[str, Any] = {}
        routes: list[dict[str, Any]] = []
        speeds = [self._link_speed(gpu) for gpu in self.gpus]
        for number, (gpu, speed) in enumerate(zip(self.gpus, speeds, strict=True)):
            name = f"ram-gpu{number}"
            told = exact_quantity(speed or ASSUMED_PCI_BYTES_PER_S, "bandwidth")
            links[name] = {"bandwidth": told}
            way = [name]
            for bridge in gpu.links[1:]:
                if id(bridge) in shared:
                    switch = f"pci-switch{shared[id(bridge)]}"
                    told = exact_quantity(bridge.link_bytes_per_s, "bandwidth")
                    links.setdefault(switch, {"bandwidth": told})
                    way.append(switch)
            if len(way) == 1:
                links[name]["between"] = ["ram", f"gpu{number}"]
            else:
                routes.append({"from": "ram", "to": f"gpu{number}", "links": way[::-1]})
                routes.append({"from": f"gpu{number}", "to": "ram", "links": way})
        self._add_nvlinks(links, routes)
        self._note_links(speeds)
        return {"links": links, "routes": routes}

    def _link_speed(self, gpu: CoProcessor) -> float:
        """Return the bandwidth between main memory and a co-processor; 0 if unknown."""
        told = gpu.links[0].link_bytes_per_s if gpu.links else 0.0
        packages = {it.identity for it in self.topology.all_of("Package", "NUMANode", "Machine")}
        near = [
            speed
            for (one, other), speed in self.topology.nvlinks_bytes_per_s.items()
            if one in gpu.ids and other in packages
        ]
        return max([told, *near])

    def _add_nvlinks(self, links: dict[str, Any], routes: list[dict[str, Any]]) -> None:
        """Add the links between co-processors, direct ones and those through switches."""
        owner = {identity: number for number, gpu in enumerate(self.gpus) for identity in gpu.ids}
        direct: dict[tuple[int, int], float] = {}
        switched: dict[int, dict[str, float]] = {}
        devices = self.topology.all_of("PCIDev")
        switches = {it.identity for it in devices if it.subtype == "NVSwitch"}
        for (one, other), speed in self.topology.nvlinks_bytes_per_s.items():
            if one in owner and other in owner and owner[one] < owner[other]:
                direct[owner[one], owner[other]] = speed
            elif one in owner and other in switches:
                switched.setdefault(owner[one], {})[other] = speed
        for (source, target), speed in sorted(direct.items()):
            ends = [f"gpu{source}", f"gpu{target}"]
            told = {"bandwidth": exact_quantity(speed, "bandwidth"), "between": ends}
            links[f"gpu{source}-gpu{target}"] = told
        for gpu, speeds in sorted(switched.items()):
            total = exact_quantity(sum(speeds.values()), "bandwidth")
            links[f"gpu{gpu}-nvswitch"] = {"bandwidth": total}
        for source, target in permutations(sorted(switched), 2):
            if switched[source].keys() & switched[target].keys():
                crossed = [f"gpu{source}-nvswitch", f"gpu{target}-nvswitch"]
                routes.append({"from": f"gpu{source}", "to": f"gpu{target}", "links": crossed})
        joined = len(direct) + len(switched)
        if len(self.gpus) > 1 and not joined:
            self.notes.append(
                "no links between co-processors are known: copies go through main memory"
            )

    def _note_links(self, speeds: Sequence[float]) -> None:
        unknown = speeds.count(0.0)
        if unknown:
            told = exact_quantity(ASSUMED_PCI_BYTES_PER_S, "bandwidth")
            self.notes.append(f"the speed of the links of {counted(unknown, 'co-processor')} is"
                              f" unknown: {told} is assumed; set links.*.bandwidth")  # fmt: skip
        slow = [speed for speed in speeds if 0 < speed < SLOW_PCI_BYTES_PER_S]
        if slow:
            told = exact_quantity(min(slow), "bandwidth")
            self.notes.append(f"a co-processor's link has {told}: PCI slows down the links of idle "
                              "devices; set links.*.bandwidth")  # fmt: skip
        if self.gpus:
            self.notes.append("latencies of links are unknown: they are 0")

    # Fingerprint and notes

    def _fingerprint(self) -> dict[str, Any]:
        root = self.topology.root
        near = {
            f"gpu{number}": [n for n, node in enumerate(self.memories) if node.cpus & gpu.cpus]
            for number, gpu in enumerate(self.gpus)
            if len(self.memories) > 1 and gpu.cpus
        }
        models = [gpu.model for gpu in self.gpus]
        facts = {
            "processor": self._processor(),
            "host": root.infos.get("HostName"),
            "cpus": sum(len(core.units) for core in self.cores),
            "gpus": models if any(models) else [],
            "nearest": near,
            "hwloc": root.infos.get("hwlocVersion") or f"XML version {self.topology.version}",
        }
        return {name: fact for name, fact in facts.items() if fact}

    def _notes_on_cores(self, split: bool, numa: dict[str, Any]) -> Iterator[str]:
        threads = max(len(core.units) for core in self.cores)
        if threads > 1 and not self.hyper_threads:
            yield (
                f"up to {threads} hyper-threads per core: each core is one worker"
                " (--hyper-threads makes more)"
            )
        elif threads > 1:
            yield ("a worker per hyper-thread: the slowdown by others on its core is not simulated")
        if len(self.memories) > 1:
            yield (
                f"{len(self.memories)} NUMA nodes: they are one main memory; memory_domains has"
                " the workers of each node"
            )
            told = sorted(set(self.topology.numa_distances.values()))
            shown = ", ".join(f"{value:g}" for value in told[:8]) + (", ..." if told[8:] else "")
            if numa:
                yield (
                    "the distances between NUMA nodes count for kernels whose share of memory is"
                    " known, by a calibration with --contention or by numa.kernels"
                )
            else:
                what = f"({shown}) are not simulated" if told else "are unknown"
                yield f"the distances between NUMA nodes {what}: set numa.distances"
        if split:
            yield "the NUMA nodes differ in their workers: each has groups of workers of its own"
        alone = sum(core.domain == len(self.memories) > 0 for core in self.cores)
        if alone:
            yield f"{counted(alone, 'core')} without a NUMA node: not in any memory domain"
        if any(core.kind for core in self.cores):
            used = sorted({core.kind for core in self.cores})
            names = [self.architectures[kind] for kind in used]
            yield (
                f"kinds of cores: {', '.join(names)}; they differ by frequency at most: set "
                "arch.*.speed, or models"
            )
        forbidden = (self.topology.root.cpus & ~self.topology.allowed).bit_count()
        if forbidden:
            yield f"left out: {counted(forbidden, 'processing unit')} that programs may not use"
        if -1 in self.drivers:
            yield "there are more co-processors than cores: some share the core that drives them"

    def _notes_on_the_rest(self) -> Iterator[str]:
        main = {id(node) for node in self.memories}
        others = [node for node in self.topology.all_of("NUMANode") if id(node) not in main]
        if others:
            sizes = [format_size(float(node.amount("local_memory"))) for node in others]
            kinds = [node.subtype or "memory" for node in others]
            told = Counter(f"{kind} of {size}" for kind, size in zip(kinds, sizes, strict=True))
            text = ", ".join(f"{count} {what}" for what, count in told.items())
            yield f"left out: NUMA nodes that are not the main memory of any core: {text}"
        sides = [
            cache
            for cache in self.topology.all_of("MemCache", "L3Cache")
            if cache.kind == "MemCache" or cache.subtype == "MemorySideCache"
        ]
        if sides:
            sizes = [format_size(float(cache.amount("cache_size"))) for cache in sides]
            yield f"left out: memory-side caches: {', '.join(dict.fromkeys(sizes))}"
        levels = {
            tuple(
                (level, cache.amount("cache_size"), cache.cpus.bit_count())
                for level, cache in caches_of(core).items()
            )
            for core in self.cores
        }
        if len(levels) > 1:
            yield "cores have different caches: memory_hierarchy has those of the first core"
        what = "latencies" if self.topology.bandwidths_bytes_per_s else "bandwidths and latencies"
        if not self.topology.latencies_s:
            yield f"{what} of memory are unknown: 'tasksim calibrate memory' measures them there"
        guessed = [gpu.names[0] for gpu in self.gpus if gpu.by_class]
        if guessed:
            more = ", ..." if len(guessed) > NAMES_IN_NOTE else ""
            yield (
                "co-processors known by their PCI class alone, without the size of their memory"
                " (an lstopo built with CUDA, ROCm or Level Zero knows more):"
                f" {', '.join(guessed[:NAMES_IN_NOTE])}{more}"
            )
        elif any(not gpu.size_bytes for gpu in self.gpus):
            yield "the memories of some co-processors have no size: they are unlimited"
        left = list(other_devices(self.topology, self.gpus))
        misc = sum(1 for _ in self.topology.all_of("Misc"))
        left += [counted(misc, "Misc object")] if misc else []
        if left:
            yield f"left out: {'; '.join(left)}"


def _size(size_bytes: int, field: str = "size") -> dict[str, str]:
    """Return the *field* of a size; nothing for 0, an unknown one."""
    return {field: exact_quantity(float(size_bytes), "size")} if size_bytes else {}


def _workers(groups: Sequence[_Group]) -> dict[str, Any]:
    return {
        group.name: {
            "count": len(group.units),
            **({"arch": group.architecture} if group.architecture != group.name else {}),
            "memory": "ram",
            "cores": group.units,
        }
        for group in groups
    }
