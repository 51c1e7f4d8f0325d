"""Format of platform files, version 1, as sections with fields.

:mod:`tasksim.platform.load` converts the sections into the plain objects of
:mod:`tasksim.platform.description`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.documents import FileProblem
from tasksim.base.documents.sections import (
    FLAG,
    ILLEGAL,
    NAME,
    NAMES,
    TEXT,
    Amount,
    FileProblems,
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
from tasksim.platform.power import POWER_EXPONENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasksim.base.documents import Location

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
"""Version of the format."""

_TIME: Final = Amount("time", least=0)
_SIZE: Final = Amount("size", above=0)
_BANDWIDTH: Final = Amount("bandwidth", above=0)
_FREQUENCY: Final = Amount("frequency", above=0)
_POWER: Final = Amount("power", least=0)
_LIMIT: Final = Whole(1, 32767)  # concurrent copies: more is no limit


def _size(size_bytes: float) -> str:
    return exact_quantity(size_bytes, "size")


def _watts(watts: float) -> str:
    return exact_quantity(watts, "power")


class MemorySection(Section):
    """A memory: RAM, a NUMA domain, the memory of a GPU."""

    size: float | None = given(Maybe(_SIZE), None, "size, e.g. 128 GiB; default: unlimited")


class ArchitectureSection(Section):
    """A kind of processing unit."""

    speed: float = given(Amount("factor", above=0), 1.0, "divisor of the models' durations")
    models: str | None = given(Maybe(NAME), None, "the architecture whose models it uses")
    pipeline: int = given(
        Whole(0, MAX_PIPELINE),
        0,
        "number of tasks that a worker may hold, including the running one; 0 for a core",
    )
    synchronous: list[str] = given(
        ListOf(TEXT), [], "kernels that the driver waits for, by the names of their models"
    )
    frequency: float | None = given(Maybe(_FREQUENCY), None, "frequency")
    model_frequency: float | None = given(
        Maybe(_FREQUENCY), None, "frequency at which its models were measured; default: frequency"
    )


class WorkersSection(Section):
    """A group of identical workers."""

    count: int = given(Whole(0, MAX_WORKERS), description="number of workers on each node")
    arch: str | None = given(Maybe(NAME), None, "their architecture; default: the group's name")
    memory: str | list[str] | None = given(
        Maybe(NAMES), None, "their memory, or a list, one per worker; default: the only one"
    )
    models: str | list[str] | None = given(
        Maybe(NAMES), None, "the architecture whose models they use, or a list, one per worker"
    )
    drivers: str | None = given(
        Maybe(NAME), None, "the group whose cores drive the workers, one each"
    )
    cores: list[int | None] | None = given(
        Maybe(ListOf(Maybe(Whole(0)))),
        None,
        "cores that they are bound to, by the operating system's numbers",
    )


class OverheadsSection(Section):
    """The costs of the runtime itself."""

    submission: float = given(_TIME, 0.0, "time to submit a task")
    task: float = given(_TIME, 0.0, "time from a worker's pop to the start of the kernel")
    wakeup: float = given(_TIME, 0.0, "time added to task if the worker was asleep")
    push: float = given(_TIME, 0.0, "time to push a released task")
    fetch: float = given(_TIME, 0.0, "time per datum of a popped task")
    progress: float = given(
        _TIME, 0.0, "time of one round of a worker's loop, per memory that it serves"
    )
    kernel: float = given(_TIME, 0.0, "time to queue a kernel on a device")
    copy_: float = given(_TIME, 0.0, "time to start a copy", alias="copy")
    start: float = given(_TIME, 0.0, "time until a core other than the first is ready")
    creation: float = given(
        _TIME, 0.0, "time to create an OpenMP task on several threads, less the time on one"
    )
    dependence: float = given(_TIME, 0.0, "the same time per datum of the task")


class LinkSection(Section):
    """A connection that data move over; one between two memories is a route in both directions."""

    bandwidth: float = given(_BANDWIDTH, description="e.g. 12.5 GB/s")
    latency: float = given(_TIME, 0.0, "e.g. 10 us")
    measured_bandwidth: float | None = given(
        Maybe(_BANDWIDTH), None, "bandwidth for estimates on routes that begin with this link"
    )
    measured_latency: float | None = given(
        Maybe(_TIME), None, "latency for estimates on routes that begin with this link"
    )
    shared: bool = given(
        FLAG, True, "whether concurrent copies share its bandwidth, or each has all of it"
    )
    power: float = given(_POWER, 0.0, "additional power while a copy crosses it, e.g. 4 W")
    between: list[str] | None = given(
        Maybe(ListOf(TEXT, least=2, most=2)),
        None,
        "two memories of a node, or of two nodes: [node0/ram, node1/ram]; without them, the link"
        " is part of the routes that name it",
    )


class RouteSection(Section):
    """A route from one memory to another of the same node."""

    source: str = given(TEXT, alias="from")
    target: str = given(TEXT, alias="to")
    links: list[str] = given(ListOf(TEXT, least=1), description="its links; a link may occur twice")


class AllocationSection(Section):
    """Cost and granularity of allocations on devices."""

    allocate: float = given(_TIME, 0.0, "time of an allocation by the driver")
    free: float = given(_TIME, 0.0, "time of a release by the driver")
    pin: float = given(_TIME, 0.0, "time to pin 1 MiB of main memory for data from other nodes")
    chunk: float = given(_SIZE, _size(_ALLOCATION.chunk_bytes), "size of a chunk for small blocks")
    unit: float = given(_SIZE, _size(_ALLOCATION.unit_bytes), "unit of small blocks")
    largest: float = given(
        Amount("size", least=0), _size(_ALLOCATION.largest_bytes), "largest small block; 0 for none"
    )
    usable: float = given(
        Amount("factor", above=0, most=1),
        _ALLOCATION.usable,
        "share of a device's memory that is used",
    )

    @classmethod
    def check(
        cls,
        name: str,
        value: Any,
        before: Mapping[str, Any],
        location: Location,
        found: FileProblems,
    ) -> Any:
        """Refuse units and blocks that do not fit in a chunk."""
        chunk = before.get("chunk", ILLEGAL)
        if name not in ("unit", "largest") or chunk is ILLEGAL or value <= chunk:
            return value
        what = f"must be at most chunk (got {_size(value)}, chunk is {_size(chunk)})"
        found.append(FileProblem(location, what))
        return ILLEGAL


class CopyingSection(Section):
    """Start of copies between memories, and the schedulers' estimates of them."""

    fetches: int = given(
        _LIMIT,
        _COPYING.fetches,
        "largest number of concurrent copies from one memory to another that tasks wait for",
    )
    prefetches: int = given(_LIMIT, _COPYING.prefetches, "as fetches, for copies made ahead")
    idle: int = given(_LIMIT, _COPYING.idle, "as fetches, for copies that no task waits for")
    serialised: bool = given(
        FLAG, _COPYING.serialised, "whether copies exclude each other as CUDA's do"
    )
    contention: float = given(
        Amount("factor", least=0),
        _COPYING.contention,
        "factor of schedulers' estimates: latency + max(1, contention * devices) * size /"
        " bandwidth",
    )


class MemoryDomainSection(Section):
    """Cores that share a memory, or a part of it, and slow each other down."""

    workers: str | list[str] = given(NAMES, description="groups of workers that are cores")
    each: int | None = given(
        Maybe(Whole(1, MAX_WORKERS)), None, "number of workers per domain, in order; default: all"
    )
    bandwidth: list[float] = given(
        ListOf(_BANDWIDTH),
        [],
        "bandwidth of 1, 2, ... cores together, e.g. [9 GB/s, 12 GB/s]; the last one"
        " holds for more",
    )
    known: bool = given(FLAG, False, "whether schedulers expect durations beside busy neighbours")
    size: float | None = given(
        Maybe(_SIZE),
        None,
        "size of its memory, e.g. 96 GiB, if data have homes; default: unlimited",
    )
    cache: float | None = given(
        Maybe(_SIZE),
        None,
        "size of the last-level cache of its workers alone, e.g. 32 MiB; default: such workers"
        " share one cache of the size in the models",
    )


class NumaKernelSection(Section):
    """Use of the memory by a kernel."""

    memory_share: float = given(
        Amount("factor", least=0, most=1),
        description="share of its duration that grows with the distance of memory, e.g. 0.2",
    )
    demand: float | None = given(
        Maybe(Amount("bandwidth", least=0)),
        None,
        "traffic with the memory of the kernel alone; default: the value in its model",
    )


class NumaSection(Section):
    """Access from each memory domain to the memory of each other."""

    distances: float | list[list[float]] = given(
        PairsOf(Amount("factor", above=0), Amount("factor", above=0)),
        description="a row per domain, e.g. [[10, 21], [21, 10]]; 21 alone is the distance to all"
        " others, with 10 to itself",
    )
    bandwidth: float | list[list[float | None]] | None = given(
        Maybe(PairsOf(_BANDWIDTH, Maybe(_BANDWIDTH))),
        None,
        "bandwidth from each domain to each other, or a row per domain, null for unlimited;"
        " default: unlimited",
    )
    placement: str = given(
        TEXT, FIRST_TOUCH, "home of data: first_touch, interleaved, or the name of a domain"
    )
    cache: float = given(
        Amount("size", least=0),
        0.0,
        "size of a domain's caches, e.g. 24.75 MiB, which keep data of other domains",
    )
    kernels: dict[str, NumaKernelSection] = given(
        MappingOf(SectionOf(NumaKernelSection)), {}, "kernels with a given use of memory"
    )


class MemoryLevelSection(Section):
    """A cache, or the memory behind all caches, as seen by one core."""

    size: float | None = given(Maybe(_SIZE), None, "size of a cache, e.g. 2 MiB; none for memory")
    latency: float | None = given(
        Maybe(_TIME), None, "latency of an access that depends on the one before; default: unknown"
    )
    bandwidth: list[float] = given(
        ListOf(_BANDWIDTH), [], "bandwidth of 1, 2, ... cores together, e.g. [9 GB/s, 12 GB/s]"
    )
    cores: int = given(Whole(1, MAX_WORKERS), 1, "number of cores that share it")


class ArchitecturePowerSection(Section):
    """Power of a worker of an architecture."""

    idle: float = given(_POWER, description="power without a task, e.g. 1.5 W")
    busy: float = given(_POWER, description="power during a task, including idle power")
    kernels: dict[str, float] = given(MappingOf(_POWER), {}, "the same for tasks of these kernels")
    exponent: float = given(
        Amount("factor", least=0),
        POWER_EXPONENT,
        "exponent of a task's power, beside idle power, over the frequency",
    )

    @classmethod
    def check(
        cls,
        name: str,
        value: Any,
        before: Mapping[str, Any],
        location: Location,
        found: FileProblems,
    ) -> Any:
        """Refuse tasks with less power than an idle worker."""
        idle = before.get("idle", ILLEGAL)
        if name not in ("busy", "kernels") or idle is ILLEGAL:
            return value
        named = {location: value}
        if name == "kernels":
            named = {(*location, kernel): watts for kernel, watts in value.items()}
        less = {
            where: watts for where, watts in named.items() if watts is not ILLEGAL and watts < idle
        }
        for where, watts in less.items():
            what = f"must be at least idle (got {_watts(watts)}, idle is {_watts(idle)})"
            found.append(FileProblem(where, what))
        return ILLEGAL if less else value


class PowerSection(Section):
    """Power of the machine, at the frequency of its models."""

    static: float = given(_POWER, 0.0, "constant power per node")
    arch: dict[str, ArchitecturePowerSection] = given(
        MappingOf(SectionOf(ArchitecturePowerSection)),
        description="power of each worker, by architecture",
    )


class PlatformFile(Section):
    """A platform file of tasksim."""

    version: int = given(Whole(VERSION, VERSION), description="version of this format")
    name: str | None = given(Maybe(TEXT), None, "default: the name of the file")
    description: str = given(TEXT, "", "description in one line")
    extends: str | None = given(
        Maybe(TEXT), None, "platform that this one extends, by name or relative to this file"
    )
    models: str | None = given(Maybe(TEXT), None, "folder of coefficient files")
    nodes: int = given(Whole(1, MAX_MEMORIES), 1, "number of nodes, each as described below")
    memories: dict[str, MemorySection] = given(
        MappingOf(SectionOf(MemorySection)), {}, "memories by name; default: ram, unlimited"
    )
    arch: dict[str, ArchitectureSection] = given(
        MappingOf(SectionOf(ArchitectureSection)), {}, "architectures by name"
    )
    workers: dict[str, WorkersSection] = given(
        MappingOf(SectionOf(WorkersSection)), description="groups of workers by name"
    )
    overheads: OverheadsSection = given(
        SectionOf(OverheadsSection), {}, "overheads of the runtime; default: zero"
    )
    links: dict[str, LinkSection] = given(
        MappingOf(SectionOf(LinkSection)), {}, "links between memories by name"
    )
    routes: list[RouteSection] = given(
        ListOf(SectionOf(RouteSection)),
        [],
        "routes between memories, over several links or in one direction",
    )
    allocation: AllocationSection = given(
        SectionOf(AllocationSection), {}, "allocations on devices; default: free and unlimited"
    )
    copying: CopyingSection = given(SectionOf(CopyingSection), {}, "limits and estimates of copies")
    memory_domains: dict[str, MemoryDomainSection] = given(
        MappingOf(SectionOf(MemoryDomainSection)), {}, "cores that slow each other down, by name"
    )
    memory_hierarchy: dict[str, MemoryLevelSection] = given(
        MappingOf(SectionOf(MemoryLevelSection)),
        {},
        "l1, l2, l3 and memory, with latencies and bandwidths",
    )
    numa: NumaSection | None = given(
        Maybe(SectionOf(NumaSection)), None, "costs of accesses to the memory of other domains"
    )
    power: PowerSection | None = given(
        Maybe(SectionOf(PowerSection)), None, "power of the machine; default: unknown"
    )
    fingerprint: dict[str, Any] = given(
        Plain(), {}, "facts that the calibration noted about the machine"
    )


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
