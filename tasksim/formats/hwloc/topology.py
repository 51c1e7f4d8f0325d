"""Reader of hwloc's XML, versions 1, 2 and 3, as one kind of objects.

The names of types are those of version 2: a ``Socket`` of version 1 is a ``Package``, its ``Cache``
of depth 2 an ``L2Cache``. A NUMA node contains its cores in version 1 and stands beside them since
version 2, so the code relies on sets of processors (``cpuset``), which all versions have.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError
from tasksim.formats.xmltext import Element, XmlProblems, parse_xml

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CpuKind", "HwlocObject", "MemoryValue", "Topology", "read_topology", "topology_here"]

NEW_NAMES: Final = {"Socket": "Package", "Node": "NUMANode", "System": "Machine"}
"""Type of an object in version 1 -> its type since version 2."""
INSTRUCTION_CACHE: Final = "2"
"""Value of ``cache_type`` for instruction caches; 0 is unified, 1 data."""
NVLINK_MATRIX: Final = "NVLinkBandwidth"
"""Name of the matrix of bandwidths between GPUs, switches and packages, in MB/s."""
NUMA_LATENCY: Final = "NUMALatency"
MAX_DISTANCES_DEPTH: Final = 64
"""Maximum depth of objects below the one with their distances: trees of hwloc have a dozen levels.
"""
DISTANCE_DIGITS: Final = 3
"""Decimals of distances in files of version 1, which divide the whole numbers of the firmware by
their smallest."""
MIB_BYTES: Final = 2**20
"""Unit of hwloc's memory attribute ``Bandwidth``, in bytes/s."""
NS_S: Final = 1e-9
"""Unit of hwloc's memory attribute ``Latency``, in seconds."""

_WHOLE: Final = re.compile(r"[0-9]{1,18}")
_NUMBER: Final = re.compile(r"[0-9]{1,12}(?:\.[0-9]{0,12})?")
_SET: Final = re.compile(r"(?:0x[0-9a-fA-F]{1,16})?(?:,(?:0x[0-9a-fA-F]{1,8})?)*")
_SIZE: Final = re.compile(r"([0-9]{1,15}) ?(kB|KB|KiB|MiB|GiB|B)?")
_SIZE_UNITS: Final = {"B": 1, "kB": 1000, "KB": 1024, "KiB": 1024, "MiB": 2**20, "GiB": 2**30}


@dataclass
class HwlocObject:
    """An object of the topology, such as a package, a cache, a core or a device."""

    kind: str
    """Type, in the words of version 2: ``Package``, ``L3Cache``, ``OSDev``."""
    element: Element
    cpus: int = 0
    """Set of processing units, as bits; 0 for devices, which have none."""
    index: int | None = None
    """Number by the operating system."""
    infos: dict[str, str] = field(default_factory=dict)
    children: list[HwlocObject] = field(default_factory=list)
    parent: HwlocObject | None = field(default=None, repr=False)

    def below(self) -> Iterator[HwlocObject]:
        """Yield all objects inside, each before its own contents."""
        for child in self.children:
            yield child
            yield from child.below()

    def above(self) -> Iterator[HwlocObject]:
        """Yield the enclosing objects, the nearest first."""
        around = self.parent
        while around is not None:
            yield around
            around = around.parent

    @property
    def subtype(self) -> str:
        """Kind of a device or a memory, such as ``CUDA`` or ``HBM``; empty if unknown."""
        said = self.element.attributes.get("subtype", "")
        return said or self.infos.get("CoProcType", "") or self.infos.get("Type", "")

    @property
    def name(self) -> str:
        """Name of a device, such as ``cuda0``; empty for most other objects."""
        return self.element.attributes.get("name", "")

    @property
    def identity(self) -> str:
        """Name in matrices of distances and bandwidths: ``OSDev:814``."""
        return f"{self.kind}:{self.element.attributes.get('gp_index', '')}"

    def amount(self, name: str) -> int:
        """Return an attribute, a whole number checked by the reader, or 0."""
        text = self.element.attributes.get(name, "")
        return int(text) if _WHOLE.fullmatch(text) else 0

    @property
    def link_bytes_per_s(self) -> float:
        """Speed of the PCI link above a device or a bridge; 0 if unknown."""
        text = self.element.attributes.get("pci_link_speed", "")
        return float(text) * 1e9 if _NUMBER.fullmatch(text) else 0.0

    def size_info_bytes(self, *names: str) -> int:
        """Return the first of some infos that is a size, in KiB by default; else 0."""
        for name in names:
            match = _SIZE.fullmatch(self.infos.get(name, "").strip())
            if match is not None:
                return int(match[1]) * _SIZE_UNITS[match[2] or "KiB"]
        return 0


@dataclass(frozen=True)
class CpuKind:
    """One of several kinds of cores of a machine."""

    cpus: int
    efficiency: int
    """Rank by performance, the fastest last; -1 if unknown."""
    infos: dict[str, str]


@dataclass(frozen=True)
class MemoryValue:
    """Bandwidth or latency of a NUMA node as some cores see it."""

    node: str
    """``gp_index`` of the NUMA node."""
    cpus: int
    value: float


@dataclass
class Topology:
    """A machine as hwloc sees it."""

    path: Path
    version: str
    root: HwlocObject
    kinds: list[CpuKind] = field(default_factory=list)
    bandwidths_bytes_per_s: list[MemoryValue] = field(default_factory=list)
    latencies_s: list[MemoryValue] = field(default_factory=list)
    nvlinks_bytes_per_s: dict[tuple[str, str], float] = field(default_factory=dict)
    """Pair of objects, each ``TYPE:gp_index`` -> bandwidth from the first to the second."""
    numa_distances: dict[tuple[str, str], float] = field(default_factory=dict)
    """Pair of NUMA nodes, each ``os:NUMBER`` or ``gp:NUMBER`` -> distance from first to second."""
    allowed: int = 0
    """Set of the processing units that programs may use."""

    def all_of(self, *kinds: str) -> Iterator[HwlocObject]:
        """Yield the objects of some *kinds*, in the order of the file."""
        yield from (it for it in (self.root, *self.root.below()) if it.kind in kinds)


def read_topology(path: Path, text: str | None = None) -> Topology:
    """Return the topology in hwloc's XML file at *path*, or in a *text* labelled *path*.

    Raises
    ------
    InputError
        With all problems: ``file:line:column: expected ..., found ...``.
    """
    problems = XmlProblems(path)
    root = parse_xml(path, text)
    machines = [child for child in root.children if child.name == "object"]
    if root.name != "topology" or not machines:
        found = f"<{root.name}>" if root.name != "topology" else "<topology> without an <object>"
        problems.at(root, "<topology> with an <object type='Machine'>, as lstopo writes it", found)
        problems.raise_any()
    reader = _Reader(problems, root.attributes.get("version", "1.0"))
    machine = reader.object_of(machines[0], None)
    if machine.kind != "Machine":
        problems.at(machines[0], "type='Machine'", f"'{machine.kind[:40]}'")
    for extra in machines[1:]:
        problems.at(extra, "one <object> inside <topology>", "another")
    topology = Topology(path, reader.version, machine)
    allowed = machines[0].attributes.get("allowed_cpuset")
    told = machine.cpus if allowed is None else reader.set_of(machines[0], "allowed_cpuset")
    topology.allowed = told & machine.cpus
    for element in root.children:
        reader.add(element, topology)
    reader.add_old_distances(topology)
    problems.raise_any()
    return topology


LSTOPO_PROGRAMS: Final = ("lstopo-no-graphics", "lstopo")
"""Programs of hwloc that write its XML; Debian's ``lstopo`` opens a window without a format."""
TIMEOUT_S: Final = 20.0
"""Timeout of hwloc in seconds: it takes some tenths, with GPUs a few seconds."""


def topology_here() -> Topology | None:
    """Return this machine as hwloc describes it; None if hwloc is not installed.

    Raises
    ------
    InputError
        If hwloc fails, or its output cannot be read.
    """
    program = next((found for name in LSTOPO_PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        return None
    command = [program, "--of", "xml"]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{' '.join(command)}: {error}") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise InputError(f"{' '.join(command)}: {said[-1] if said else 'failed'}")
    return read_topology(Path(f"{program}'s XML"), done.stdout.decode(errors="replace"))


class _Reader:
    """Reader of elements, which collects problems."""

    def __init__(self, problems: XmlProblems, version: str) -> None:
        self.problems = problems
        self.version = version
        self._seen: dict[tuple[str, int], Element] = {}
        self._old_distances: list[tuple[HwlocObject, Element]] = []

    def object_of(self, element: Element, parent: HwlocObject | None) -> HwlocObject:
        """Return the object of an *element*, with its contents."""
        kind = self.problems.attribute(element, "type")
        kind = NEW_NAMES.get(kind, kind)
        if kind == "Cache":
            kind = f"L{self._whole(element, 'depth')}Cache"
        if kind.endswith("Cache") and element.attributes.get("cache_type") == INSTRUCTION_CACHE:
            kind = f"{kind.removesuffix('Cache').removesuffix('i')}iCache"
        cpus = self.set_of(element, "cpuset") if "cpuset" in element.attributes else 0
        found = HwlocObject(kind, element, cpus, parent=parent)
        self._check(found)
        for child in element.children:
            if child.name == "object":
                found.children.append(self.object_of(child, found))
            elif child.name == "info":
                name = self.problems.attribute(child, "name")
                found.infos[name] = child.attributes.get("value", "")
            elif child.name == "distances":
                self._old_distances.append((found, child))
        return found

    def _check(self, found: HwlocObject) -> None:
        element = found.element
        if "os_index" in element.attributes:
            found.index = self._whole(element, "os_index")
        if found.kind == "PU":
            self._check_pu(found)
        elif found.kind in ("Machine", "Core", "NUMANode"):
            self.problems.attribute(element, "cpuset")
        for name in ("cache_size", "local_memory"):
            if name in element.attributes:
                self._whole(element, name)
        if "pci_link_speed" in element.attributes:
            self._number(element, "pci_link_speed")

    def _check_pu(self, found: HwlocObject) -> None:
        """Refuse a processing unit without a number, with another's number, or outside its set."""
        element, index = found.element, found.index
        if index is None:
            self.problems.attribute(element, "os_index")
            return
        first = self._seen.setdefault(("PU", index), element)
        if first is not element:
            where = f"that at line {first.line}"
            self.problems.at(element, "each PU once", f"os_index {index} again, as {where}")
        # No set of the file has as many bits: a wrong number would become a huge set.
        bits = 32 * len(element.attributes.get("cpuset", ""))
        if found.cpus != 1 << min(index, bits):
            expected = f"cpuset: the set of the processing unit {index}"
            self.problems.at(element, expected, f"'{element.attributes.get('cpuset', '')[:40]}'")

    def _whole(self, element: Element, name: str) -> int:
        return int(self._text(element, name, _WHOLE, "a whole number"))

    def _number(self, element: Element, name: str) -> float:
        return float(self._text(element, name, _NUMBER, "a number"))

    def _text(self, element: Element, name: str, form: re.Pattern[str], what: str) -> str:
        """Return an attribute of this *form*, or "0" and a problem."""
        text = self.problems.attribute(element, name)
        if form.fullmatch(text):
            return text
        if text:
            self.problems.at(element, f"{name}: {what}", f"'{text[:40]}'")
        return "0"

    def set_of(self, element: Element, name: str) -> int:
        """Return a set of processors: groups of 32 bits, the highest first; an empty group is 0."""
        text = element.attributes.get(name, "")
        if not text or not _SET.fullmatch(text):
            legal = f"{name}: a set such as 0x0000ffff,0xffffffff"
            self.problems.at(element, legal, f"'{text[:40]}'")
            return 0
        digits = "".join(part.removeprefix("0x").rjust(8, "0") for part in text.split(","))
        return int(digits, 16)

    # What is beside the objects

    def add(self, element: Element, topology: Topology) -> None:
        """Add the contents of a known *element* inside ``<topology>`` to the *topology*."""
        name = element.attributes.get("name", "")
        if element.name == "cpukind":
            topology.kinds.append(self._kind(element))
        elif element.name == "memattr" and name == "Bandwidth":
            topology.bandwidths_bytes_per_s += self._values(element, MIB_BYTES)
        elif element.name == "memattr" and name == "Latency":
            topology.latencies_s += self._values(element, NS_S)
        elif element.name in ("distances2", "distances2hetero"):
            self._add_distances(element, topology)

    def _kind(self, element: Element) -> CpuKind:
        known = "forced_efficiency" in element.attributes
        efficiency = self._whole(element, "forced_efficiency") if known else -1
        infos = {
            self.problems.attribute(child, "name"): child.attributes.get("value", "")
            for child in element.children
            if child.name == "info"
        }
        return CpuKind(self.set_of(element, "cpuset"), efficiency, infos)

    def _values(self, element: Element, unit: float) -> Iterator[MemoryValue]:
        """Yield the values of a memory attribute, of NUMA nodes as cores see them."""
        for child in element.children:
            attributes = child.attributes
            if attributes.get("target_obj_type") == "NUMANode" and "initiator_cpuset" in attributes:
                value = self._whole(child, "value") * unit
                node = self.problems.attribute(child, "target_obj_gp_index")
                yield MemoryValue(node, self.set_of(child, "initiator_cpuset"), value)

    def _add_distances(self, element: Element, topology: Topology) -> None:
        name = element.attributes.get("name", "")
        of_numa = element.attributes.get("type") == "NUMANode" and name in ("", NUMA_LATENCY)
        if name != NVLINK_MATRIX and not of_numa:
            return
        count = self._whole(element, "nbobjs")
        names = self._texts(element, "indexes")
        values = self._texts(element, "u64values")
        if (len(names), len(values)) != (count, count * count):
            expected = f"{count} indexes and {count * count} values of distances"
            self.problems.at(element, expected, f"{len(names)} and {len(values)}")
            return
        bad = next((text for text in values if not _WHOLE.fullmatch(text)), None)
        if bad is not None:
            self.problems.at(element, "distances: whole numbers", f"'{bad[:40]}'")
            return
        told = zip(product(range(count), repeat=2), map(int, values), strict=True)
        if of_numa:
            by = "gp" if element.attributes.get("indexing") == "gp" else "os"
            keys = [f"{by}:{index}" for index in names]
            topology.numa_distances |= {(keys[i], keys[j]): value for (i, j), value in told}
            return
        prefix = f"{element.attributes['type']}:" if "type" in element.attributes else ""
        for (one, other), value in told:
            if one != other and value:
                pair = prefix + names[one], prefix + names[other]
                topology.nvlinks_bytes_per_s[pair] = value * 1e6

    def add_old_distances(self, topology: Topology) -> None:
        """Add the distances of version 1, which stand inside the parent of their objects."""
        for above, element in self._old_distances:
            below = [above]
            for _ in range(min(self._whole(element, "relative_depth"), MAX_DISTANCES_DEPTH)):
                below = [child for it in below for child in it.children]
            count, base = self._whole(element, "nbobjs"), self._number(element, "latency_base")
            told = [child for child in element.children if child.name == "latency"]
            values = [self._number(child, "value") for child in told]
            if len(values) != count * count:
                expected = f"{count * count} latencies between {count} objects"
                self.problems.at(element, expected, f"{len(values)}")
            elif len(below) == count and all(it.kind == "NUMANode" for it in below):
                names = [f"os:{it.index}" for it in below]
                pairs = product(names, names)
                costs = (round(base * value, DISTANCE_DIGITS) for value in values)
                topology.numa_distances |= dict(zip(pairs, costs, strict=True))

    @staticmethod
    def _texts(element: Element, name: str) -> list[str]:
        found = [child.text.split() for child in element.children if child.name == name]
        return [text for some in found for text in some]
