"""Checks of a platform, however it was made."""

from __future__ import annotations

import math
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tasksim.platform.description import Link, Memory, Platform, Route, Worker

__all__ = ["MAX_DEVICES", "MAX_MEMORIES", "MAX_PIPELINE", "check_platform", "unreached"]


def unreached(
    memories: Sequence[Any], ways: Iterable[tuple[Any, Any]]
) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of *memories* of which no way leads from the first to the second.

    *ways* are pairs too, from source to target, and may lead over memories that are not among
    the *memories*. A runtime copies data directly, or through one memory in between.

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


MAX_MEMORIES: Final = 32767
"""The most memories of a platform: records of runs number them with 16 bits."""
MAX_PIPELINE: Final = 16
"""The most tasks that a worker may hold. StarPU's default is 2; what is taken
early is decided early, and a typing error should be told."""
MAX_DEVICES: Final = 256
"""The most workers, on each node, of a group whose workers have memories of their own: there is a
route for every two of them, 65,000 here."""


def check_platform(platform: Platform) -> None:
    """Raise :exc:`InputError`, with all that is wrong, unless *platform* is consistent.

    Numbers are consecutive, names differ, each worker, memory, link and route refers to what
    exists and lies on the right node, the classes partition the workers, speeds, costs and sizes
    are numbers that a simulation can use. Every memory of a node that has workers, and the first
    of the node, can be reached from every other of these, directly or through one memory; but
    not where a platform that comes from no file has neither links nor routes.
    """
    checks = (
        *(_numbers, _names, _nodes, _workers, _classes, _architectures, _devices),
        *(_costs, _memory_costs, _copying, _links, _routes, _ways, _memory_domains),
        _power,
    )
    found = [problem for check in checks for problem in check(platform)]
    if found:
        raise InputError("\n".join(f"platform {platform.name}: {problem}" for problem in found))


def _numbers(platform: Platform) -> Iterator[str]:
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


def _names(platform: Platform) -> Iterator[str]:
    yield from _repeated("worker", (worker.name for worker in platform.workers))
    yield from _repeated("memory", (memory.name for memory in platform.memories))
    yield from _repeated("link", (link.name for link in platform.links))


def _repeated(kind: str, names: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield f"two of its {kind} names are {name!r}"
        seen.add(name)


def _nodes(platform: Platform) -> Iterator[str]:
    nodes = sorted({memory.node for memory in platform.memories})
    if nodes != list(range(len(nodes))):
        yield f"the nodes of its memories are {nodes}, must be consecutive from 0"


def _workers(platform: Platform) -> Iterator[str]:
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


def _exists(number: int, things: Sequence[object]) -> bool:
    return 0 <= number < len(things)


def _classes(platform: Platform) -> Iterator[str]:
    members = sorted(worker for group in platform.classes for worker in group.workers)
    if members != sorted(worker.id for worker in platform.workers):
        yield f"its classes have the workers {members}, must have each worker once"


def _architectures(platform: Platform) -> Iterator[str]:
    for name in platform.architectures:
        if name not in platform.model_architecture:
            yield f"architecture {name} has no models to use"
    for name, speed in platform.speeds.items():
        if not (math.isfinite(speed) and speed > 0):
            yield f"architecture {name} has speed {speed}, must be positive"


def _devices(platform: Platform) -> Iterator[str]:
    for name, device in platform.devices.items():
        if not (_whole(device.pipeline) and 0 <= device.pipeline <= MAX_PIPELINE):
            legal = f"must be a whole number from 0 to {MAX_PIPELINE}"
            yield f"architecture {name} has pipeline {device.pipeline}, {legal}"


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _costs(platform: Platform) -> Iterator[str]:
    costs, memory = platform.overheads, platform.allocation
    named = {
        **{field.name.removesuffix("_s"): getattr(costs, field.name) for field in fields(costs)},
        "allocate": memory.allocate_s,
        "free": memory.free_s,
        "pin": memory.pin_s,
    }
    for name, seconds in named.items():
        if not _at_least_0(seconds):
            yield f"{name} costs {seconds} s, must be 0 or more"


def _at_least_0(value: float) -> bool:
    return math.isfinite(value) and value >= 0


def _positive(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _memory_costs(platform: Platform) -> Iterator[str]:
    for memory in platform.memories:
        if memory.size_bytes is not None and not memory.size_bytes > 0:
            yield f"memory {memory.name} has size {memory.size_bytes}, must be positive"
    sizes = platform.allocation
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


def _copying(platform: Platform) -> Iterator[str]:
    copying = platform.copying
    limits = {"fetches": copying.fetches, "prefetches": copying.prefetches, "idle": copying.idle}
    for name, limit in limits.items():
        if not (_whole(limit) and limit >= 1):
            yield f"the limit of {name} is {limit}, must be a whole number and at least 1"
    if not _at_least_0(copying.contention):
        yield f"the contention of copies is {copying.contention}, must be 0 or more"


def _memory_domains(platform: Platform) -> Iterator[str]:
    owner: dict[int, str] = {}
    for domain in platform.memory_domains:
        for worker in domain.workers:
            yield from _domain_worker(platform, domain.name, worker)
            first = owner.setdefault(worker, domain.name)
            if first != domain.name:
                yield f"worker {worker} is in memory domain {domain.name}, and in {first} too"
        for bandwidth in domain.bandwidths_bytes_per_s:
            if not _positive(bandwidth):
                yield f"memory domain {domain.name} has bandwidth {bandwidth}, must be positive"


def _domain_worker(platform: Platform, name: str, worker: int) -> Iterator[str]:
    if not _exists(worker, platform.workers):
        yield f"memory domain {name} has worker {worker}, which does not exist"
    elif platform.device(platform.workers[worker].architecture).pipeline:
        yield f"memory domain {name} has {platform.workers[worker].name}, which drives a device"


def _links(platform: Platform) -> Iterator[str]:
    for link in platform.links:
        ends = link.between
        if ends is not None and (
            not all(_exists(end, platform.memories) for end in ends) or ends[0] == ends[1]
        ):
            yield f"link {link.name} must be between two memories (got {link.between})"
        yield from _link_numbers(link)


def _link_numbers(link: Link) -> Iterator[str]:
    bandwidths = {
        "bandwidth": link.bandwidth_bytes_per_s,
        "measured bandwidth": link.measured_bandwidth_bytes_per_s,
    }
    latencies = {"latency": link.latency_s, "measured latency": link.measured_latency_s}
    for name, bandwidth in bandwidths.items():
        if bandwidth is not None and not _positive(bandwidth):
            yield f"link {link.name} has {name} {bandwidth}, must be positive"
        elif bandwidth is not None and bandwidth < sys.float_info.min:  # shares of it are none
            least = f"must be {sys.float_info.min:.2g} or more"
            yield f"link {link.name} has {name} {bandwidth}, {least}"
    for name, seconds in latencies.items():
        if seconds is not None and not _at_least_0(seconds):
            yield f"{name} of link {link.name} costs {seconds} s, must be 0 or more"


def _routes(platform: Platform) -> Iterator[str]:
    seen: set[tuple[int, int]] = set()
    for number, route in enumerate(platform.routes):
        ends = route.source, route.target
        if not all(_exists(end, platform.memories) for end in ends) or ends[0] == ends[1]:
            yield f"route {number} must be from one memory to another (got {ends})"
        elif ends in seen:
            yield f"there are two routes {_from_to(platform, ends)}"
        seen.add(ends)
        yield from _links_of(number, route, platform)


def _links_of(number: int, route: Route, platform: Platform) -> Iterator[str]:
    if not route.links:
        yield f"route {number} crosses no link"
    for link in route.links:
        if not _exists(link, platform.links):
            yield f"route {number} crosses link {link}, which does not exist"


def _from_to(platform: Platform, ends: tuple[int, int]) -> str:
    source, target = (platform.memories[end].name for end in ends)
    return f"from {source} to {target}"


def _ways(platform: Platform) -> Iterator[str]:
    if not (platform.links or platform.routes or platform.path):
        return  # made by hand, to run where nothing moves
    ways = [(route.source, route.target) for route in platform.routes]
    for link in platform.links:
        if link.between is not None:
            ways += [link.between, link.between[::-1]]

    for memories in _used(platform).values():
        for ends in unreached(memories, ways):
            yield f"no way leads {_from_to(platform, ends)}, not through one other memory either"


def _power(platform: Platform) -> Iterator[str]:
    draws = platform.power is not None or any(link.power_w for link in platform.links)
    if draws or platform.frequencies:
        from tasksim.platform.power import power_problems

        yield from power_problems(platform)


def _used(platform: Platform) -> dict[int, list[int]]:
    """Return per node its first memory, where data are at first, and those with workers."""
    workers = {worker.memory for worker in platform.workers}
    used: dict[int, list[int]] = {}
    for number, memory in enumerate(platform.memories):
        here = used.setdefault(memory.node, [])
        if not here or number in workers:
            here.append(number)
    return used
