"""Fields of a platform file from StarPU's measurements of a machine.

The costs of the platform beside kernels and links are the constants of StarPU-SimGrid: in StarPU's
source ``src/core/simgrid.c`` and ``doc/doxygen/chapters/starpu_extensions/simgrid.doxy``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.units import counted, exact_quantity
from tasksim.formats.starpu.bus import Host, PlatformXml, XmlLink, XmlRoute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.formats.starpu.bus import Affinity, DeviceCounts

__all__ = ["SIMGRID_COSTS", "Bus", "MachineFields", "machine_fields"]

SIMGRID_COSTS: Final[dict[str, Any]] = {
    "overheads": {
        "submission": "1 us",
        "push": "1 us",
        "fetch": "1 us",
        "progress": "1 us",
        "kernel": "10 us",
        "copy": "10 us",
    },
    "allocation": {
        "allocate": "175 us",
        "free": "750 us",
        "pin": "650 us",
        "chunk": "32 MiB",
        "unit": "16 KiB",
        "largest": "4 MiB",
        "usable": 0.9,
    },
    "copying": {"fetches": 5, "prefetches": 2, "idle": 1, "serialised": True, "contention": 2},
}
"""Costs that StarPU-SimGrid charges for the runtime and the devices."""
PIPELINE_TASKS: Final = 2
"""Number of tasks that a device of StarPU holds, the default of STARPU_CUDA_PIPELINE."""


@dataclass(frozen=True)
class Bus:
    """Files in ``bus/`` of a machine, if present."""

    xml: PlatformXml | None = None
    counts: DeviceCounts | None = None
    bandwidth: NDArray[np.float64] | None = None
    latency: NDArray[np.float64] | None = None
    affinity: tuple[Affinity, ...] = ()


@dataclass
class MachineFields:
    """Hardware of a machine as fields of a platform file, with notes."""

    cpus: int
    gpus: tuple[Host, ...]
    links: dict[str, dict[str, str]] = field(default_factory=dict)
    routes: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def cores(self) -> int:
        """The number of CPU workers: each GPU's driver takes a core."""
        return max(0, self.cpus - len(self.gpus))

    def summary(self) -> str:
        """Return a summary: ``12 CPUs, 3 Tesla M2070``."""
        models = [gpu.properties.get("model") for gpu in self.gpus]
        known = [f"{models.count(model)} {model}" for model in dict.fromkeys(filter(None, models))]
        unknown = models.count(None) + models.count("")
        others = [counted(unknown, "CUDA device")] if unknown else []
        return ", ".join([counted(self.cpus, "CPU"), *known, *others])

    def description(self, synchronous: Sequence[str]) -> dict[str, Any]:
        """Return the fields of the platform file for the hardware and its costs."""
        names = [f"gpu{index}" for index in range(len(self.gpus))]
        sizes = [gpu.properties.get("memsize") for gpu in self.gpus]
        memories = {
            name: {"size": exact_quantity(float(size), "size")} if size and int(size) else {}
            for name, size in zip(names, sizes, strict=True)
        }
        found: dict[str, Any] = {"memories": {"ram": {}, **memories}, "arch": {"cpu": {}}}
        workers: dict[str, Any] = {"cpu": {"count": self.cores, "memory": "ram"}}
        if names:
            cuda = {"pipeline": PIPELINE_TASKS, "synchronous": list(synchronous)}
            found["arch"] = {"cuda": cuda, "cpu": {}}
            models = [f"cuda{index}" for index in range(len(names))]
            devices = {"count": len(names), "memory": names, "models": models, "drivers": "cpu"}
            workers = {"cuda": devices, **workers}
        found |= {"workers": workers, "links": self.links, "routes": self.routes}
        return {key: value for key, value in found.items() if value} | SIMGRID_COSTS


def machine_fields(bus: Bus, where: str) -> MachineFields:
    """Return the hardware in the files; *where* labels them in messages.

    Raises
    ------
    InputError
        If the files have no number of CPUs, or no speed of the links to the GPUs.
    """
    notes: list[str] = []
    xml = bus.xml if bus.xml is not None else _from_matrices(bus, where, notes)
    numbers = sorted(int(name[4:]) for name in xml.hosts if re.fullmatch(r"CUDA[0-9]+", name))
    if numbers != list(range(len(numbers))):
        raise InputError(f"{where}: expected the hosts CUDA0, CUDA1, ... , found {numbers}")
    gpus = tuple(xml.hosts[f"CUDA{number}"] for number in numbers)
    found = MachineFields(xml.count("CPU"), gpus, notes=notes)
    if found.cpus == 0:
        raise InputError(f"{where}: expected the hosts CPU0, CPU1, ..., found none")
    _compare(found, bus)
    _connect(found, xml, bus)
    ends = {gpu.name: ("ram", f"gpu{index}") for index, gpu in enumerate(gpus)}
    unreached = [gpu for gpu, way in ends.items() if not {way, way[::-1]} <= _ways(found)]
    if unreached:
        raise InputError(
            f"{where}: expected routes from RAM to each GPU and back, found none for "
            f"{', '.join(unreached)}"
        )
    return found


def _compare(found: MachineFields, bus: Bus) -> None:
    """Note differences between files, and unusual hardware."""
    counts, notes = bus.counts, found.notes
    if counts is not None:
        told = counts.cpus, counts.devices.get("CUDA", 0)
        if told != (found.cpus, len(found.gpus)):
            notes.append(
                f"the .config counts {told[0]} CPUs and {told[1]} CUDA devices, the XML"
                f" {found.cpus} and {len(found.gpus)}: the XML counts"
            )
        if counts.numa_nodes > 1:
            notes.append(f"{counts.numa_nodes} NUMA nodes: simulated as one main memory")
        for kind, count in counts.devices.items():
            left = count - (0 if bus.xml is None else bus.xml.count(kind))
            if kind not in ("NUMA", "CUDA") and left > 0:
                notes.append(f"left out: {left} memory nodes of kind {kind} in the .config")
    if len(found.gpus) > found.cpus:
        notes.append("there are more GPUs than CPUs: some drivers share a core")
    if any(not int(gpu.properties.get("memsize", "0")) for gpu in found.gpus):
        notes.append("the size of the GPUs' memories is unknown: they are unlimited")


def _from_matrices(bus: Bus, where: str, notes: list[str]) -> PlatformXml:
    """Return the platform by the matrices alone: a link per pair, and the host's bus."""
    if bus.counts is None:
        raise InputError(f"{where}: expected a .platform.v4.xml or a .config, found neither")
    gpus = bus.counts.devices.get("CUDA", 0)
    names = ["RAM", *(f"CUDA{index}" for index in range(gpus))]
    hosts = [f"CPU{index}" for index in range(bus.counts.cpus)] + names
    platform = PlatformXml({name: Host(name) for name in hosts})
    notes.append("no .platform.v4.xml: one link per pair of memories, and one bus for all of them")
    if not gpus:
        return platform
    links = []
    for source, target in permutations(names, 2):
        bandwidth, latency = _measured(bus, source, target)
        if bandwidth is not None:
            links.append(XmlLink(f"{source}-{target}", bandwidth, latency or 0.0))
    known = {link.name for link in links}
    unknown = [name for name in names[1:] if not {f"RAM-{name}", f"{name}-RAM"} <= known]
    if unknown:
        raise InputError(
            f"{where}: expected the bandwidths of {gpus} CUDA devices in .bandwidth, "
            f"found none of {', '.join(unknown)}"
        )
    widest = max(link.bandwidth_bytes_per_s for link in links)
    platform.links = {link.name: link for link in (XmlLink("Host", widest, 0.0), *links)}
    for link in links:
        source, _, target = link.name.partition("-")
        platform.routes.append(XmlRoute(source, target, (link.name, "Host")))
    return platform


def _measured(bus: Bus, source: str, target: str) -> tuple[float | None, float | None]:
    """Return the measured bandwidth and latency between two memories, or None.

    Of several NUMA nodes the best placed one counts, as in StarPU's XML.
    """
    numa = 1 if bus.counts is None else bus.counts.numa_nodes
    rows, columns = _nodes(source, numa), _nodes(target, numa)
    return _best(bus.bandwidth, rows, columns, max), _best(bus.latency, rows, columns, min)


def _nodes(name: str, numa: int) -> range:
    """Return the rows of the matrices for a memory."""
    if name == "RAM":
        return range(numa)
    first = numa + int(name.removeprefix("CUDA"))
    return range(first, first + 1)


def _best(
    matrix: NDArray[np.float64] | None, rows: range, columns: range, choose: Any
) -> float | None:
    if matrix is None:
        return None
    part = matrix[rows.start : rows.stop, columns.start : columns.stop]
    values = part[np.isfinite(part) & (part > 0)]
    return float(choose(values)) if values.size else None


def _connect(found: MachineFields, xml: PlatformXml, bus: Bus) -> None:
    """Add the routes between main memory and GPUs, their links, and notes on the rest."""
    memories = {"RAM": "ram"} | {gpu.name: f"gpu{i}" for i, gpu in enumerate(found.gpus)}
    ends = memories.keys()
    routes = [r for r in xml.routes if {r.source, r.target} <= ends and r.source != r.target]
    used = dict.fromkeys(link for route in routes for link in route.links)
    ordered = [link for link in xml.links.values() if link.name in used]
    names = _link_names([link.name for link in ordered])
    found.links = {names[link.name]: _link(link) for link in ordered}
    for route in routes:
        between = {"from": memories[route.source], "to": memories[route.target]}
        found.routes.append({**between, "links": [names[link] for link in route.links]})
    unmeasured = _add_measured(found, routes, names, bus)
    if unmeasured and routes:
        found.notes.append(f"no measured bandwidth for {unmeasured} of {len(routes)} routes")
    gpus, ways = [f"gpu{index}" for index in range(len(found.gpus))], _ways(found)
    missing = [f"{a} to {b}" for a, b in permutations(gpus, 2) if (a, b) not in ways]
    if missing:
        found.notes.append(
            f"no direct way from {', '.join(missing)}: copies go through main memory"
        )
    out = [
        name
        for name in xml.hosts
        if name not in memories and not re.fullmatch(r"MAIN|CPU[0-9]+", name)
    ]
    if out:
        found.notes.append(f"left out: {', '.join(out)}")


def _link(link: XmlLink) -> dict[str, str]:
    found = {"bandwidth": exact_quantity(link.bandwidth_bytes_per_s, "bandwidth")}
    if link.latency_s:
        found["latency"] = exact_quantity(link.latency_s, "time")
    return found


def _add_measured(
    found: MachineFields, routes: list[XmlRoute], names: dict[str, str], bus: Bus
) -> int:
    """Add the measurements to the first link of each route; return the number without one."""
    firsts = [route.links[0] for route in routes]
    missing = 0
    for route, first in zip(routes, firsts, strict=True):
        bandwidth, latency = _measured(bus, route.source, route.target)
        if bandwidth is None or firsts.count(first) > 1:
            missing += 1
            continue
        link = found.links[names[first]]
        link["measured_bandwidth"] = exact_quantity(bandwidth, "bandwidth")
        if latency is not None:
            link["measured_latency"] = exact_quantity(latency, "time")
    return missing


def _ways(found: MachineFields) -> set[tuple[str, str]]:
    return {(route["from"], route["to"]) for route in found.routes}


def _link_names(originals: Sequence[str]) -> dict[str, str]:
    """Return a unique legal name for each link of the XML.

    ``RAM-CUDA0`` is ``ram-gpu0``, ``PCI:0000:[06-08] up`` is ``pci-06-08-up``.
    """
    taken: dict[str, str] = {}
    for original in originals:
        plain = re.sub(r"CUDA(?=[0-9])", "gpu", original).lower()
        plain = re.sub(r"^pci:0000:", "pci:", plain)
        name = re.sub(r"[^a-z0-9_]+", "-", plain).strip("-_") or "link"
        name = name if name[0].isalpha() else f"link-{name}"
        number = 1
        while (unique := name if number == 1 else f"{name}-{number}") in taken:
            number += 1
        taken[unique] = original
    return {original: name for name, original in taken.items()}
