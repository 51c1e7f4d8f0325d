"""Format of platform files, version 1, as sections with fields.

:mod:`tasksim.platform.load` converts the sections into the plain objects of
:mod:`tasksim.platform.description`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.documents.places import FileProblem
from tasksim.base.documents.sections import (
    BAD,
    FLAG,
    NAME,
    NAMES,
    TEXT,
    Amount,
    Found,
    ListOf,
    MappingOf,
    Maybe,
    PairsOf,
    Plain,
    Section,
    SectionOf,
    Whole,
    given,
    json_schema,
)
from tasksim.base.units import exact_quantity
from tasksim.platform.costs import Allocation, Copying
from tasksim.platform.description import MAX_MEMORIES, MAX_PIPELINE, MAX_WORKERS
from tasksim.platform.parts import FIRST_TOUCH
from tasksim.platform.power import EXPONENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasksim.base.documents.places import Location

__all__ = [
    "SECTIONS",
    "VERSION",
    "AllocationSection",
    "ArchitecturePowerSection",
    "ArchitectureSection",
    "CopyingSection",
    "LinkSection",
    "MemoryDomainSection",
    "MemoryLevelSection",
    "MemorySection",
    "NumaKernelSection",
    "NumaSection",
    "OverheadsSection",
    "PlatformFile",
    "PowerSection",
    "RouteSection",
    "WorkersSection",
    "schema_json",
]

_ALLOCATION: Final = Allocation()
_COPYING: Final = Copying()

VERSION: Final = 1
"""Version of the format that is read and written."""

_TIME: Final = Amount("time", least=0)
_SIZE: Final = Amount("size", above=0)
_BANDWIDTH: Final = Amount("bandwidth", above=0)
_FREQUENCY: Final = Amount("frequency", above=0)
_POWER: Final = Amount("power", least=0)
_LIMIT: Final = Whole(1, 32767)  # of copies under way: more is no limit


def _size(size_bytes: float) -> str:
    return exact_quantity(size_bytes, "size")


def _watts(watts: float) -> str:
    return exact_quantity(watts, "power")


class MemorySection(Section):
    """A memory: RAM, a NUMA domain, the memory of a GPU."""

    size: float | None = given(Maybe(_SIZE), None, "e.g. 128 GiB; without it, no limit")


class ArchitectureSection(Section):
    """A kind of processing unit."""

    speed: float = given(
        Amount("factor", above=0), 1.0, "the durations of the models are divided by this"
    )
    models: str | None = given(Maybe(NAME), None, "the architecture whose models it uses")
    pipeline: int = given(
        Whole(0, MAX_PIPELINE),
        0,
        "how many tasks a worker may hold, the running one included; 0: it is a core",
    )
    synchronous: list[str] = given(
        ListOf(TEXT), [], "the models of kernels during which a driver does nothing else"
    )
    frequency: float | None = given(Maybe(_FREQUENCY), None, "what it is clocked at")
    model_frequency: float | None = given(
        Maybe(_FREQUENCY), None, "that at which its models were measured; default: frequency"
    )


class WorkersSection(Section):
    """A group of workers that are alike."""

    count: int = given(Whole(0, MAX_WORKERS), description="how many, on each node")
    arch: str | None = given(Maybe(NAME), None, "their architecture; default: the group's name")
    memory: str | list[str] | None = given(
        Maybe(NAMES), None, "their memory, or a list, one per worker; default: the only one"
    )
    models: str | list[str] | None = given(
        Maybe(NAMES), None, "the architecture whose models they use, or a list, one per worker"
    )
    drivers: str | None = given(
        Maybe(NAME), None, "the group of which each worker takes a core to be driven"
    )
    cores: list[int | None] | None = given(
        Maybe(ListOf(Maybe(Whole(0)))),
        None,
        "the cores they are bound to, as the operating system numbers them",
    )


class OverheadsSection(Section):
    """The costs of the runtime itself."""

    submission: float = given(_TIME, 0.0, "the time to submit one task")
    task: float = given(_TIME, 0.0, "from a worker's pop to the start of the kernel")
    wakeup: float = given(_TIME, 0.0, "added to task when the worker was asleep")
    push: float = given(_TIME, 0.0, "to give one released task to the scheduler")
    fetch: float = given(_TIME, 0.0, "per datum of a task that was popped")
    progress: float = given(
        _TIME, 0.0, "one round of a worker's loop, per memory that it looks after"
    )
    kernel: float = given(_TIME, 0.0, "to queue a kernel on a device")
    copy_: float = given(_TIME, 0.0, "to start a copy", alias="copy")
    start: float = given(_TIME, 0.0, "until a core other than the first is there")
    creation: float = given(
        _TIME, 0.0, "to create a task of OpenMP on several threads, more than on one"
    )
    dependence: float = given(_TIME, 0.0, "the same, per datum of the task")


class LinkSection(Section):
    """Something that data move over; between two memories it is the way both to and fro."""

    bandwidth: float = given(_BANDWIDTH, description="e.g. 12.5 GB/s")
    latency: float = given(_TIME, 0.0, "e.g. 10 us")
    measured_bandwidth: float | None = given(
        Maybe(_BANDWIDTH), None, "what schedulers believe of the routes that begin with this link"
    )
    measured_latency: float | None = given(
        Maybe(_TIME), None, "what schedulers believe of the routes that begin with this link"
    )
    shared: bool = given(
        FLAG, True, "whether copies that cross it together share its bandwidth; else each has all"
    )
    power: float = given(_POWER, 0.0, "what it draws besides while a copy crosses it, e.g. 4 W")
    between: list[str] | None = given(
        Maybe(ListOf(TEXT, least=2, most=2)),
        None,
        "two memories of a node, or of two nodes: [node0/ram, node1/ram]; "
        "without it, the link is a part of the routes that name it",
    )


class RouteSection(Section):
    """The way from one memory to another of the same node."""

    source: str = given(TEXT, alias="from")
    target: str = given(TEXT, alias="to")
    links: list[str] = given(
        ListOf(TEXT, least=1), description="the links it crosses; one named twice counts twice"
    )


class AllocationSection(Section):
    """Cost and granularity of allocations on devices."""

    allocate: float = given(_TIME, 0.0, "one allocation by the driver")
    free: float = given(_TIME, 0.0, "one release by the driver")
    pin: float = given(_TIME, 0.0, "to pin 1 MiB of main memory for data from other nodes")
    chunk: float = given(
        _SIZE, _size(_ALLOCATION.chunk_bytes), "what is allocated at once for small blocks"
    )
    unit: float = given(
        _SIZE, _size(_ALLOCATION.unit_bytes), "small blocks are whole multiples of this"
    )
    largest: float = given(
        Amount("size", least=0),
        _size(_ALLOCATION.largest_bytes),
        "the largest block that comes out of a chunk; 0: none",
    )
    usable: float = given(
        Amount("factor", above=0, most=1),
        _ALLOCATION.usable,
        "the part of a device's memory that is used",
    )

    @classmethod
    def check(
        cls, name: str, value: Any, before: Mapping[str, Any], location: Location, found: Found
    ) -> Any:
        """Refuse units and blocks that do not fit in a chunk."""
        chunk = before.get("chunk", BAD)
        if name not in ("unit", "largest") or chunk is BAD or value <= chunk:
            return value
        what = f"must be at most chunk (got {_size(value)}, chunk is {_size(chunk)})"
        found.append(FileProblem(location, what))
        return BAD


class CopyingSection(Section):
    """Start of copies between memories, and the schedulers' estimates of them."""

    fetches: int = given(
        _LIMIT,
        _COPYING.fetches,
        "copies under way, from one memory to one other, that tasks wait for",
    )
    prefetches: int = given(_LIMIT, _COPYING.prefetches, "as fetches, for copies made ahead")
    idle: int = given(_LIMIT, _COPYING.idle, "as fetches, for copies that nobody waits for")
    serialised: bool = given(
        FLAG, _COPYING.serialised, "whether copies exclude each other as CUDA's do"
    )
    contention: float = given(
        Amount("factor", least=0),
        _COPYING.contention,
        "schedulers believe latency + max(1, contention * devices) * size / bandwidth",
    )


class MemoryDomainSection(Section):
    """Cores that share a memory, or a part of it, and slow each other down."""

    workers: str | list[str] = given(NAMES, description="the groups of workers, which are cores")
    each: int | None = given(
        Maybe(Whole(1, MAX_WORKERS)), None, "so many of them in a domain, in order; default: all"
    )
    bandwidth: list[float] = given(
        ListOf(_BANDWIDTH),
        [],
        "what it gives to 1, 2, ... cores together, e.g. [9 GB/s, 12 GB/s]; more have the last",
    )
    known: bool = given(
        FLAG, False, "whether schedulers expect tasks to take as long as between busy neighbours"
    )
    size: float | None = given(
        Maybe(_SIZE), None, "of its memory, e.g. 96 GiB, where data have a home; default: no limit"
    )
    cache: float | None = given(
        Maybe(_SIZE),
        None,
        "of the last-level cache that its workers share with no others, e.g. 32 MiB; "
        "default: workers without one share one, as large as the models say",
    )


class NumaKernelSection(Section):
    """Use of the memory by a kernel."""

    memory_share: float = given(
        Amount("factor", least=0, most=1),
        description="the share of its duration that grows when memory is farther, e.g. 0.2",
    )
    demand: float | None = given(
        Maybe(Amount("bandwidth", least=0)),
        None,
        "its traffic with the memory when it runs alone; default: as its model has it",
    )


class NumaSection(Section):
    """Access from each memory domain to the memory of each other."""

    distances: float | list[list[float]] = given(
        PairsOf(Amount("factor", above=0), Amount("factor", above=0)),
        description="a row per domain, e.g. [[10, 21], [21, 10]]; 21: to all others, 10 to itself",
    )
    bandwidth: float | list[list[float | None]] | None = given(
        Maybe(PairsOf(_BANDWIDTH, Maybe(_BANDWIDTH))),
        None,
        "from each domain to each other, or a row per domain, null for no limit; default: no limit",
    )
    placement: str = given(
        TEXT, FIRST_TOUCH, "the home of data: first_touch, interleaved, or the name of a domain"
    )
    cache: float = given(
        Amount("size", least=0), 0.0, "of a domain, e.g. 24.75 MiB: data of others stay there"
    )
    kernels: dict[str, NumaKernelSection] = given(
        MappingOf(SectionOf(NumaKernelSection)), {}, "kernels whose use of memory is given here"
    )


class MemoryLevelSection(Section):
    """A cache, or what is behind all caches, as one core sees it."""

    size: float | None = given(Maybe(_SIZE), None, "of a cache, e.g. 2 MiB; none of memory")
    latency: float | None = given(
        Maybe(_TIME), None, "of an access that waits for the one before it; default: not known"
    )
    bandwidth: list[float] = given(
        ListOf(_BANDWIDTH), [], "of 1, 2, ... cores together, e.g. [9 GB/s, 12 GB/s]"
    )
    cores: int = given(Whole(1, MAX_WORKERS), 1, "how many cores share it")


class ArchitecturePowerSection(Section):
    """Power of a worker of an architecture."""

    idle: float = given(_POWER, description="while it runs no task, e.g. 1.5 W")
    busy: float = given(_POWER, description="while it runs a task, idleness included")
    kernels: dict[str, float] = given(MappingOf(_POWER), {}, "the same for tasks of these kernels")
    exponent: float = given(
        Amount("factor", least=0),
        EXPONENT,
        "what a task draws beside idleness goes with this power of the frequency",
    )

    @classmethod
    def check(
        cls, name: str, value: Any, before: Mapping[str, Any], location: Location, found: Found
    ) -> Any:
        """Refuse tasks that draw less than nothing does."""
        idle = before.get("idle", BAD)
        if name not in ("busy", "kernels") or idle is BAD:
            return value
        named = {location: value}
        if name == "kernels":
            named = {(*location, kernel): watts for kernel, watts in value.items()}
        less = {where: watts for where, watts in named.items() if watts is not BAD and watts < idle}
        for where, watts in less.items():
            what = f"must be at least idle (got {_watts(watts)}, idle is {_watts(idle)})"
            found.append(FileProblem(where, what))
        return BAD if less else value


class PowerSection(Section):
    """Power of the machine, at the frequency of its models."""

    static: float = given(_POWER, 0.0, "each node, whatever runs")
    arch: dict[str, ArchitecturePowerSection] = given(
        MappingOf(SectionOf(ArchitecturePowerSection)), description="each worker, by architecture"
    )


class PlatformFile(Section):
    """A platform file of tasksim."""

    version: int = given(Whole(VERSION, VERSION), description="the version of this format")
    name: str | None = given(Maybe(TEXT), None, "default: the name of the file")
    description: str = given(TEXT, "", "one line for people")
    extends: str | None = given(Maybe(TEXT), None, "a platform, by name or relative to this file")
    models: str | None = given(Maybe(TEXT), None, "the folder of coefficient files")
    nodes: int = given(Whole(1, MAX_MEMORIES), 1, "how many nodes, each like what follows")
    memories: dict[str, MemorySection] = given(
        MappingOf(SectionOf(MemorySection)), {}, "default: ram, without limit"
    )
    arch: dict[str, ArchitectureSection] = given(
        MappingOf(SectionOf(ArchitectureSection)), {}, "architectures by name"
    )
    workers: dict[str, WorkersSection] = given(
        MappingOf(SectionOf(WorkersSection)), description="groups of workers by name"
    )
    overheads: OverheadsSection = given(SectionOf(OverheadsSection), {}, "zero by default")
    links: dict[str, LinkSection] = given(
        MappingOf(SectionOf(LinkSection)), {}, "links between memories by name"
    )
    routes: list[RouteSection] = given(
        ListOf(SectionOf(RouteSection)),
        [],
        "ways between memories, over several links or in one direction",
    )
    allocation: AllocationSection = given(
        SectionOf(AllocationSection), {}, "free and without limits by default"
    )
    copying: CopyingSection = given(
        SectionOf(CopyingSection), {}, "how copies are started, what is believed of them"
    )
    memory_domains: dict[str, MemoryDomainSection] = given(
        MappingOf(SectionOf(MemoryDomainSection)), {}, "cores that slow each other down, by name"
    )
    memory_hierarchy: dict[str, MemoryLevelSection] = given(
        MappingOf(SectionOf(MemoryLevelSection)), {}, "l1, l2, l3 and memory: what accesses take"
    )
    numa: NumaSection | None = given(
        Maybe(SectionOf(NumaSection)), None, "what access to the memory of other domains costs"
    )
    power: PowerSection | None = given(
        Maybe(SectionOf(PowerSection)), None, "what the machine draws; without it, nobody knows"
    )
    fingerprint: dict[str, Any] = given(Plain(), {}, "what the calibration noted about the machine")


SECTIONS: Final[dict[str, type[Section]]] = {
    "memories": MemorySection,
    "arch": ArchitectureSection,
    "workers": WorkersSection,
    "overheads": OverheadsSection,
    "links": LinkSection,
    "routes": RouteSection,
    "allocation": AllocationSection,
    "copying": CopyingSection,
    "memory_domains": MemoryDomainSection,
    "memory_hierarchy": MemoryLevelSection,
    "numa": NumaSection,
    "use of memory by a kernel": NumaKernelSection,
    "power": PowerSection,
    "power of an architecture": ArchitecturePowerSection,
}


def schema_json() -> str:
    """Return the JSON schema of platform files, for editors that complete and check YAML."""
    schema = json_schema(PlatformFile, SECTIONS.values())
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
