"""Platforms, with workers, memories, links, and the costs of the runtime.

Platforms are plain frozen objects, made from a file by :func:`tasksim.platform.load.load`, or by
:meth:`Platform.identical`. :func:`check_platform` finds all inconsistencies of a platform.
"""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.arguments import all_of, whole_number
from tasksim.base.errors import InputError, short
from tasksim.platform.costs import Allocation, Copying, Overheads
from tasksim.platform.parts import (
    FIRST_TOUCH,
    INTERLEAVED,
    Device,
    Link,
    Memory,
    MemoryDomain,
    MemoryLevel,
    Numa,
    Route,
    Worker,
    WorkerClass,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tasksim.platform.power import Frequency, Power

__all__ = [
    "MAX_DEVICES",
    "MAX_MEMORIES",
    "MAX_PIPELINE",
    "MAX_WORKERS",
    "Allocation",
    "Copying",
    "Device",
    "Link",
    "Memory",
    "MemoryDomain",
    "MemoryLevel",
    "Overheads",
    "Platform",
    "Route",
    "Worker",
    "WorkerClass",
    "check_platform",
    "class_of",
    "unreached",
]


MAX_WORKERS: Final = 1_000_000
"""Largest number of workers of a platform. Each takes 1.5 kB and 10 us to set up, so a number with
some zeros too many would exhaust the memory."""
MAX_MEMORIES: Final = 32767
"""Largest number of memories of a platform: records of runs number them with 16 bits."""
MAX_PIPELINE: Final = 16
"""Largest number of tasks that a worker may hold. StarPU's default is 2, and tasks taken early are
decided early, so a larger number is probably an error."""
MAX_DEVICES: Final = 256
"""Largest number of workers per node in a group whose workers have memories of their own: every two
of them have a route, 65,000 in all."""

_PARTS: Final[dict[str, type]] = {
    "workers": Worker, "memories": Memory, "links": Link, "routes": Route,
    "memory_domains": MemoryDomain, "memory_hierarchy": MemoryLevel,
}  # fmt: skip
"""Fields of a platform that hold several objects of a class."""


@dataclass(frozen=True, slots=True, weakref_slot=True, repr=False)
class Platform:
    """The machine that a task graph runs on.

    ``speeds`` and ``model_architecture`` are completed: every architecture of a worker is a key of
    both, by default with speed 1 and its own models.

    Parameters
    ----------
    name : str
        Name for messages.
    workers : tuple[Worker, ...]
        The workers, in the order of their numbers.
    memories : tuple[Memory, ...]
        The memories; data begin in the first one.
    overheads : Overheads, default Overheads()
        Overheads of the runtime; zero by default.
    speeds : dict[str, float], default {}
        Architecture -> divisor of the models' durations.
    models : str or None, default None
        The folder of coefficient files, as named in the platform file.
    fingerprint : dict[str, Any], default {}
        Facts that the calibration noted about the machine.
    path : Path or None, default None
        The platform file.
    model_architecture : dict[str, str], default {}
        Architecture -> the architecture whose models it uses.
    links : tuple[Link, ...], default ()
        The links that data move over.
    description : str, default ''
        Description in one line.
    routes : tuple[Route, ...], default ()
        Routes over several links, or in one direction; see :meth:`route`.
    devices : dict[str, Device], default {}
        Architecture -> the driver of its workers; other workers are cores.
    allocation : Allocation, default Allocation()
        Costs of allocations on devices.
    copying : Copying, default Copying()
        Limits and estimates of copies between memories.
    memory_domains : tuple[MemoryDomain, ...], default ()
        Cores that share memory, and so slow each other down.
    memory_hierarchy : tuple[MemoryLevel, ...], default ()
        Levels of memory with their latencies, for fits of models of counters.
    frequencies : dict[str, Frequency], default {}
        Architecture -> its frequency, if known.
    power : Power or None, default None
        Power of the machine; None if unknown.
    numa : Numa or None, default None
        Costs of accesses to the memory of other domains; None if all accesses cost the same.

    Raises
    ------
    InputError
        If the platform is inconsistent, with all problems: see :func:`check_platform`.

    See Also
    --------
    load_platform : Read a platform from a file.
    Platform.identical : Make a platform of identical workers, without overheads.

    Examples
    --------
    >>> workers = (Worker(0, "cpu0", "cpu", 0), Worker(1, "gpu", "cuda", 1))
    >>> memories = (Memory(0, "ram"), Memory(1, "gpu0", size_bytes=2**30))
    >>> link = Link(0, "bus", (0, 1), bandwidth_bytes_per_s=6e9)
    >>> Platform("small", workers, memories, links=(link,)).summary()
    'small: 1 cpu + 1 cuda; 2 memories: ram, gpu0 1 GiB; no overheads'
    """

    name: str
    workers: tuple[Worker, ...]
    memories: tuple[Memory, ...]
    overheads: Overheads = field(default_factory=Overheads)
    speeds: dict[str, float] = field(default_factory=dict)
    models: str | None = None
    fingerprint: dict[str, Any] = field(default_factory=dict)
    path: Path | None = None
    model_architecture: dict[str, str] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    description: str = ""
    routes: tuple[Route, ...] = ()
    devices: dict[str, Device] = field(default_factory=dict)
    allocation: Allocation = field(default_factory=Allocation)
    copying: Copying = field(default_factory=Copying)
    memory_domains: tuple[MemoryDomain, ...] = ()
    memory_hierarchy: tuple[MemoryLevel, ...] = ()
    frequencies: dict[str, Frequency] = field(default_factory=dict)
    power: Power | None = None
    numa: Numa | None = None
    _ways: dict[tuple[int, int], tuple[int, ...]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    """Pair of memories -> links from one to the other: many devices have many pairs."""

    def __post_init__(self) -> None:
        """Complete the tables of architectures, and check everything."""
        for name, kind in _PARTS.items():
            object.__setattr__(self, name, all_of(getattr(self, name), kind, name))
        speeds = dict.fromkeys(self.architectures, 1.0)
        object.__setattr__(self, "speeds", {**speeds, **self.speeds})
        own = {name: name for name in self.speeds}
        object.__setattr__(self, "model_architecture", {**own, **self.model_architecture})
        check_platform(self)
        for link in reversed(self.links):  # the first of several counts
            if link.between is not None:
                one, other = link.between
                self._ways[one, other] = self._ways[other, one] = (link.id,)
        self._ways.update({(r.source, r.target): r.links for r in reversed(self.routes)})

    @classmethod
    def identical(cls, n: int) -> Platform:
        """Return a platform of *n* workers ``"cpu"`` on one memory, without overheads.

        >>> Platform.identical(2).summary()
        'identical-2: 2 cpu; 1 memory: ram; no overheads'
        """
        n = whole_number(n, "workers", low=1, high=MAX_WORKERS)
        workers = tuple(Worker(i, f"cpu{i}", "cpu", 0) for i in range(n))
        return cls(f"identical-{n}", workers, (Memory(0, "ram"),))

    @property
    def architectures(self) -> tuple[str, ...]:
        """The architectures of the workers, in the order of their first workers."""
        return tuple(dict.fromkeys(worker.architecture for worker in self.workers))

    @property
    def classes(self) -> tuple[WorkerClass, ...]:
        """The classes of workers with the same architecture, memory and models."""
        members: dict[tuple[str, int, str], list[int]] = {}
        for worker in self.workers:
            models = worker.models or self.model_architecture[worker.architecture]
            members.setdefault((worker.architecture, worker.memory, models), []).append(worker.id)
        return tuple(
            WorkerClass(architecture, memory, tuple(ids), models)
            for (architecture, memory, models), ids in members.items()
        )

    def device(self, architecture: str) -> Device:
        """Return the driver of the workers of *architecture*."""
        return self.devices.get(architecture, Device())

    def route(self, source: int, target: int) -> tuple[int, ...] | None:
        """Return the links from memory *source* to *target*; None if there is no route.

        A given route takes precedence over a link between the two.
        """
        return self._ways.get((source, target))

    def slower(self, architecture: str) -> float:
        """Return the factor on the modelled durations of pure computation."""
        frequency = self.frequencies.get(architecture)
        return 1.0 if frequency is None else frequency.slower

    def compute_speed(self, architecture: str) -> float:
        """Return the speed of pure computation, relative to the models."""
        return self.speeds[architecture] / self.slower(architecture)

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return 1 + max((memory.node for memory in self.memories), default=-1)

    def models_folder(self, library: Path | None = None) -> Path:
        """Return the folder of coefficient files that ``models`` names.

        It is searched beside the platform file, then in that file's library, then, by name, in the
        libraries (:func:`tasksim.base.library.named`), *library* first. A folder of that name in
        the working folder does not count.

        Raises
        ------
        InputError
            If the platform names no models, or the folder does not exist.
        """
        if self.models is None:
            raise InputError(
                f"platform {self.name}: no models given: add `models: NAME` to the platform file, "
                "or calibrate this machine"
            )
        from tasksim.base.files import is_folder
        from tasksim.base.library import named

        beside = [] if self.path is None else [self.path.parent]
        if beside and beside[0].name == "platforms":
            beside.append(beside[0].parent / "models")
        for place in beside:
            folder = place / self.models
            if is_folder(folder):
                # lib/models/x reads better than lib/platforms/../models/x; after a link, it may be
                # another folder.
                plain = Path(os.path.normpath(folder))
                return plain if is_folder(plain) and plain.samefile(folder) else folder
        if self.path is not None and os.sep in self.models:
            raise InputError(
                f"{self.path}: models: no folder {self.models} beside this file; legal: a path"
                " from here, or the name of models in a library"
            )
        return named("models", self.models, library=library)

    def __repr__(self) -> str:
        return f"<Platform {self.name}: {self._workers_text()}, {self._memories_text()}>"

    def _repr_html_(self) -> str:
        """Return the table for a notebook: workers, memories, overheads, models."""
        from tasksim.base.notebook import html_summary

        facts = [
            ("workers", self._workers_text()),
            ("memories", self._memories_text()),
            ("overheads", self._overheads_text()),
            ("models", str(self.models or "none are named")),
        ]
        return html_summary(f"Platform {self.name}", facts)

    def summary(self) -> str:
        """Return a summary in one line: workers, memories, overheads, models."""
        parts = [f"{self.name}: {self._workers_text()}", self._memories_text()]
        parts.append(self._overheads_text())
        if self.models is not None:
            parts.append(f"models {self.models}")
        return "; ".join(parts)

    def _workers_text(self) -> str:
        counts = dict.fromkeys(self.architectures, 0)
        for worker in self.workers:
            counts[worker.architecture] += 1
        texts = []
        for name, count in counts.items():
            speed, pipeline = self.speeds[name], self.device(name).pipeline
            unusual = [f"speed {speed:g}"] * (speed != 1) + [f"pipeline {pipeline}"] * (
                pipeline > 0
            )
            if name in self.frequencies:
                unusual.append(f"{self.frequencies[name].hz / 1e9:.3g} GHz")
            texts.append(f"{count} {name}" + (f" ({', '.join(unusual)})" if unusual else ""))
        text = " + ".join(texts)
        return text if self.nodes <= 1 else f"{self.nodes} nodes, {text}"

    def _memories_text(self) -> str:
        from tasksim.base.units import format_size

        here = [memory for memory in self.memories if memory.node == 0]
        texts = [
            memory.name.removeprefix("node0/")
            + ("" if memory.size_bytes is None else f" {format_size(memory.size_bytes)}")
            for memory in here
        ]
        if len(texts) > 8:
            texts[6:] = ["..."]
        noun = "memory" if len(here) == 1 else "memories"
        each = "" if self.nodes <= 1 else " per node"
        numa = "" if self.numa is None else f", in {len(self.memory_domains)} NUMA domains"
        return f"{len(here)} {noun}{each}: {', '.join(texts)}{numa}"

    def _overheads_text(self) -> str:
        from tasksim.base.units import format_time

        costs = self.overheads
        named = [(f.name.removesuffix("_s"), getattr(costs, f.name)) for f in fields(costs)]
        texts = [f"{name} {format_time(value)}" for name, value in named if value]
        return f"overheads: {', '.join(texts)}" if texts else "no overheads"


def class_of(platform: Platform) -> list[int]:
    """Return the index of the class of each worker of *platform*."""
    found = [0] * len(platform.workers)
    for number, group in enumerate(platform.classes):
        for worker in group.workers:
            found[worker] = number
    return found


def unreached(
    memories: Sequence[Any], ways: Iterable[tuple[Any, Any]]
) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of *memories* without a route from the first to the second.

    *ways* are pairs of source and target, perhaps with further memories. A runtime copies data
    directly, or over one memory in between.

    >>> list(unreached(["ram", "gpu0", "gpu1"], [("ram", "gpu0"), ("gpu0", "ram")]))
    [('ram', 'gpu1'), ('gpu0', 'gpu1'), ('gpu1', 'ram'), ('gpu1', 'gpu0')]
    """
    after: dict[Any, set[Any]] = {}
    before: dict[Any, set[Any]] = {}
    for source, target in ways:
        after.setdefault(source, set()).add(target)
        before.setdefault(target, set()).add(source)
    for source in memories:
        from_here = after.get(source, set())
        for target in memories:
            there = target == source or target in from_here
            if not there and from_here.isdisjoint(before.get(target, set())):
                yield source, target


def check_platform(platform: Platform) -> None:
    """Raise :exc:`InputError`, with all problems, unless *platform* is consistent.

    Numbers must be consecutive, names distinct, and references of workers, memories, links and
    routes valid and on the right node. The classes must partition the workers, and speeds, costs
    and sizes be usable. The first memory of a node and those with workers must be connected to each
    other, directly or over one memory, unless a platform made in Python has neither links nor
    routes.
    """
    checks = (_numbering, _workers, _costs, _connections, _ways, _memory_domains, _numa, _power)
    found = [problem for check in checks for problem in check(platform)]
    if found:
        raise InputError("\n".join(f"platform {platform.name}: {problem}" for problem in found))


def _numbering(platform: Platform) -> Iterator[str]:
    """Yield problems of the numbers, names and nodes of all parts."""
    kinds: dict[str, Sequence[Worker | Memory | Link]] = {
        "worker": platform.workers,
        "memory": platform.memories,
        "link": platform.links,
    }
    if not platform.workers:
        yield "has no workers"
    if len(platform.memories) > MAX_MEMORIES:
        yield f"has {len(platform.memories)} memories, at most {MAX_MEMORIES} are legal"
    for kind, things in kinds.items():
        for index, thing in enumerate(things):
            if thing.id != index:
                yield f"{kind} {thing.name} has number {thing.id}, must be {index}"
    for kind, things in kinds.items():
        seen: set[str] = set()
        for thing in things:
            if thing.name in seen:
                yield f"two of its {kind} names are {thing.name!r}"
            seen.add(thing.name)
    nodes = sorted({memory.node for memory in platform.memories})
    if nodes != list(range(len(nodes))):
        yield f"the nodes of its memories are {nodes}, must be consecutive from 0"


def _workers(platform: Platform) -> Iterator[str]:
    """Yield problems of the workers, their classes, architectures and devices."""
    owner: dict[tuple[int, int], str] = {}
    for worker in platform.workers:
        if not _exists(worker.memory, platform.memories):
            yield f"worker {worker.name} uses memory {worker.memory}, which does not exist"
        elif platform.memories[worker.memory].node != worker.node:
            yield f"worker {worker.name} uses a memory of another node"
        if worker.core is None:
            continue
        first = owner.setdefault((worker.node, worker.core), worker.name)
        if worker.core < 0:
            yield f"worker {worker.name} is bound to core {worker.core}, must be 0 or more"
        elif first != worker.name:
            yield f"worker {worker.name} is bound to core {worker.core}, as is {first}"
    members = sorted(worker for group in platform.classes for worker in group.workers)
    if members != sorted(worker.id for worker in platform.workers):
        yield f"its classes have the workers {members}, must have each worker once"
    for name in platform.architectures:
        if name not in platform.model_architecture:
            yield f"architecture {name} has no models to use"
    for name, speed in platform.speeds.items():
        if not _positive(speed):
            yield f"architecture {name} has speed {speed}, must be positive"
    for name, device in platform.devices.items():
        if not (_whole(device.pipeline) and 0 <= device.pipeline <= MAX_PIPELINE):
            legal = f"must be a whole number from 0 to {MAX_PIPELINE}"
            yield f"architecture {name} has pipeline {device.pipeline}, {legal}"


def _costs(platform: Platform) -> Iterator[str]:
    """Yield problems of the costs of the runtime, of memory and of copies."""
    costs, sizes = platform.overheads, platform.allocation
    named = {
        **{field.name.removesuffix("_s"): getattr(costs, field.name) for field in fields(costs)},
        "allocate": sizes.allocate_s,
        "free": sizes.free_s,
        "pin": sizes.pin_s,
    }
    for name, seconds in named.items():
        if not _at_least_0(seconds):
            yield f"{name} costs {seconds} s, must be 0 or more"
    for memory in platform.memories:
        if memory.size_bytes is not None and not memory.size_bytes > 0:
            yield f"memory {memory.name} has size {memory.size_bytes}, must be positive"
    for name, size in {"chunk": sizes.chunk_bytes, "unit": sizes.unit_bytes}.items():
        if not _positive(size):
            yield f"the {name} of allocations is {size}, must be positive"
    if not _at_least_0(sizes.largest_bytes):
        yield f"the largest of allocations is {sizes.largest_bytes}, must be 0 or more"
    for name, size in {"unit": sizes.unit_bytes, "largest": sizes.largest_bytes}.items():
        if size > sizes.chunk_bytes:
            yield f"the {name} of allocations is {size}, must be at most the chunk"
    if not 0 < sizes.usable <= 1:
        yield f"{sizes.usable} of each memory is usable, must be more than 0 and at most 1"
    copying = platform.copying
    limits = {"fetches": copying.fetches, "prefetches": copying.prefetches, "idle": copying.idle}
    for name, limit in limits.items():
        if not (_whole(limit) and limit >= 1):
            yield f"the limit of {name} is {limit}, must be a whole number and at least 1"
    if not _at_least_0(copying.contention):
        yield f"the contention of copies is {copying.contention}, must be 0 or more"


def _connections(platform: Platform) -> Iterator[str]:
    """Yield problems of links and routes."""
    for link in platform.links:
        pair = link.between
        if pair is not None and (
            not all(_exists(end, platform.memories) for end in pair) or pair[0] == pair[1]
        ):
            yield f"link {link.name} must be between two memories (got {link.between})"
        bandwidths = {
            "bandwidth": link.bandwidth_bytes_per_s,
            "measured bandwidth": link.measured_bandwidth_bytes_per_s,
        }
        for name, bandwidth in bandwidths.items():
            if bandwidth is not None and not _positive(bandwidth):
                yield f"link {link.name} has {name} {bandwidth}, must be positive"
            elif bandwidth is not None and bandwidth < sys.float_info.min:  # shares would be 0
                least = f"must be {sys.float_info.min:.2g} or more"
                yield f"link {link.name} has {name} {bandwidth}, {least}"
        latencies = {"latency": link.latency_s, "measured latency": link.measured_latency_s}
        for name, seconds in latencies.items():
            if seconds is not None and not _at_least_0(seconds):
                yield f"{name} of link {link.name} costs {seconds} s, must be 0 or more"
    seen: set[tuple[int, int]] = set()
    for number, route in enumerate(platform.routes):
        ends = route.source, route.target
        if not all(_exists(end, platform.memories) for end in ends) or ends[0] == ends[1]:
            yield f"route {number} must be from one memory to another (got {ends})"
        elif ends in seen:
            yield f"there are two routes {_from_to(platform, ends)}"
        seen.add(ends)
        if not route.links:
            yield f"route {number} crosses no link"
        for crossed in route.links:
            if not _exists(crossed, platform.links):
                yield f"route {number} crosses link {crossed}, which does not exist"


def _ways(platform: Platform) -> Iterator[str]:
    """Yield pairs of memories without a route."""
    if not (platform.links or platform.routes or platform.path):
        return  # a platform made in Python, for runs without copies
    ways = [(route.source, route.target) for route in platform.routes]
    for link in platform.links:
        if link.between is not None:
            ways += [link.between, link.between[::-1]]

    # Per node its first memory, where data begin, and those with workers.
    working = {worker.memory for worker in platform.workers}
    used: dict[int, list[int]] = {}
    for number, memory in enumerate(platform.memories):
        here = used.setdefault(memory.node, [])
        if not here or number in working:
            here.append(number)
    for memories in used.values():
        for ends in unreached(memories, ways):
            yield f"no route leads {_from_to(platform, ends)}, not even over one other memory"


def _exists(number: int, things: Sequence[object]) -> bool:
    return 0 <= number < len(things)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _at_least_0(value: float) -> bool:
    return math.isfinite(value) and value >= 0


def _positive(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _memory_domains(platform: Platform) -> Iterator[str]:
    """Yield problems of the memory domains and their caches."""
    owner: dict[int, str] = {}
    for domain in platform.memory_domains:
        name = domain.name
        for worker in domain.workers:
            if not _exists(worker, platform.workers):
                yield f"memory domain {name} has worker {worker}, which does not exist"
            elif platform.device(platform.workers[worker].architecture).pipeline:
                device = platform.workers[worker].name
                yield f"memory domain {name} has {device}, which drives a device"
            first = owner.setdefault(worker, name)
            if first != name:
                yield f"worker {worker} is in memory domain {name}, and in {first} too"
        for bandwidth in domain.bandwidths_bytes_per_s:
            if not _positive(bandwidth):
                yield f"memory domain {name} has bandwidth {bandwidth}, must be positive"
        if domain.size_bytes is not None and not domain.size_bytes > 0:
            yield f"memory domain {name} has size {domain.size_bytes}, must be positive"
        if domain.cache_bytes is not None and not _positive(domain.cache_bytes):
            yield f"memory domain {name} has cache {domain.cache_bytes}, must be positive"
    if all(domain.cache_bytes is None for domain in platform.memory_domains):
        return
    # All workers of a class have the same costs.
    size_of = {w: d.cache_bytes for d in platform.memory_domains for w in d.workers}
    for group in platform.classes:
        sizes = {size_of.get(worker) for worker in group.workers}
        if len(sizes) > 1:
            texts = sorted("none" if size is None else f"{size:g} bytes" for size in sizes)
            alike = "must be the same for workers of one architecture and memory"
            yield f"caches of {group.architecture} workers are of {', '.join(texts)}, {alike}"


def _numa(platform: Platform) -> Iterator[str]:
    """Yield problems of the costs of accesses between memory domains."""
    given: object = platform.numa
    if given is None:
        return
    if not isinstance(given, Numa):
        yield f"numa: got {short(given)}; legal: a Numa, or None"
        return
    domains = [domain.name for domain in platform.memory_domains]
    if platform.nodes > 1:
        alternative = "make a cluster of platforms of one node"
        yield f"numa is for one node, got {platform.nodes}: {alternative}"
    if not domains:
        yield "numa needs memory domains"
    tables = {"distances": given.distances}
    if given.bandwidths_bytes_per_s:
        tables["bandwidths"] = given.bandwidths_bytes_per_s
    for name, table in tables.items():
        rows = [len(row) for row in table]
        if rows != [len(domains)] * len(domains):
            legal = f"{len(domains)} rows of {len(domains)}"
            yield f"numa: {name}: must be {legal}, one per memory domain (got rows of {rows})"
            return
    yield from _numa_tables(given, domains)
    legal_placements = [FIRST_TOUCH, INTERLEAVED, *domains]
    if given.placement not in legal_placements:
        legal = ", ".join(legal_placements)
        yield f"numa: unknown placement (got {given.placement!r}, legal {legal})"
    if not _at_least_0(given.cache_bytes):
        yield f"numa: cache has {given.cache_bytes} bytes, must be 0 or more"
    for name, kernel in given.kernels.items():
        if not 0 <= kernel.memory_share <= 1:
            yield f"numa: kernel {name} has memory share {kernel.memory_share}, must be 0 to 1"
        demand = kernel.demand_bytes_per_s
        if demand is not None and not _at_least_0(demand):
            yield f"numa: kernel {name} demands {demand} bytes/s, must be 0 or more"


def _numa_tables(numa: Numa, domains: Sequence[str]) -> Iterator[str]:
    """Yield problems of the entries of its tables, whose shapes are right."""
    for source, row in enumerate(numa.distances):
        for home, distance in enumerate(row):
            pair = f"from {domains[source]} to {domains[home]}"
            if not _positive(distance):
                yield f"numa: distance {pair} is {distance}, must be positive"
            elif distance < row[source]:
                own = f"that of {domains[source]} to itself, {row[source]}"
                yield f"numa: distance {pair} is {distance}, must be at least {own}"
    for source, row in enumerate(numa.bandwidths_bytes_per_s):
        for home, bandwidth in enumerate(row):
            pair = f"from {domains[source]} to {domains[home]}"
            if source == home and bandwidth != math.inf:
                what = "must be infinite: the memory domain has its own"
                yield f"numa: bandwidth {pair} is {bandwidth}, {what}"
            elif not bandwidth > 0:
                yield f"numa: bandwidth {pair} is {bandwidth}, must be positive"


def _from_to(platform: Platform, ends: tuple[int, int]) -> str:
    source, target = (platform.memories[end].name for end in ends)
    return f"from {source} to {target}"


def _power(platform: Platform) -> Iterator[str]:
    """Yield problems of the frequencies and the power of *platform*."""
    for name, frequency in platform.frequencies.items():
        if not (_positive(frequency.hz) and _positive(frequency.models_hz)):
            yield f"architecture {name} has frequency {frequency.hz} Hz, must be positive"
    named = {f"link {link.name}": link.power_w for link in platform.links}
    if platform.power is None:
        drawing = [name for name, watts in named.items() if watts]
        if drawing:
            yield f"{drawing[0]} draws power, but workers do not: add a section `power:`"
        return
    named |= {"static": platform.power.static_w}
    for name, power in platform.power.architectures.items():
        named |= {f"idle {name}": power.idle_w, f"busy {name}": power.busy_w}
        named |= {f"{name} with {kernel}": watts for kernel, watts in power.kernels.items()}
        for what, watts in {"busy": power.busy_w, **power.kernels}.items():
            if watts < power.idle_w:
                yield f"{name} draws {watts} W ({what}), less than when idle ({power.idle_w} W)"
    for name, watts in named.items():
        if not _at_least_0(watts):
            yield f"power of {name} is {watts} W, must be 0 or more"
    for name in platform.architectures:
        if name not in platform.power.architectures:
            yield f"power lacks architecture {name}: it needs all of them"
