"""Construction of the platform that a validated file describes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tasksim.platform.costs import Allocation, Copying, Overheads
from tasksim.platform.cross_references import member, split_full_name
from tasksim.platform.description import (
    Device,
    Link,
    Memory,
    MemoryDomain,
    MemoryLevel,
    Platform,
    Route,
    Worker,
)
from tasksim.platform.device_copies import expanded
from tasksim.platform.parts import LOCAL_DISTANCE, Numa, NumaKernel
from tasksim.platform.power import ArchitecturePower, Frequency, Power

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.platform.schema import (
        AllocationSection,
        ArchitectureSection,
        NumaSection,
        PlatformFile,
        PowerSection,
    )

__all__ = ["build"]


def build(file: PlatformFile, path: Path) -> Platform:
    """Return the platform that a valid *file* describes."""
    machine = expanded(file)
    memories = tuple(_memories(machine))
    domains = tuple(_memory_domains(machine))
    links = tuple(_links(machine, {memory.name: memory.id for memory in memories}))
    return Platform(
        name=path.stem if file.name is None else file.name,
        workers=tuple(_workers(machine)),
        memories=memories,
        overheads=Overheads(
            **{f"{name.removesuffix('_')}_s": cost for name, cost in vars(file.overheads).items()}
        ),
        speeds={name: section.speed for name, section in file.arch.items()},
        models=file.models,
        fingerprint=file.fingerprint,
        path=path,
        model_architecture={name: s.models or name for name, s in file.arch.items()},
        links=links,
        description=file.description,
        routes=tuple(_routes(machine, {link.name: link.id for link in links})),
        devices=_devices(file.arch),
        allocation=_allocation(file.allocation),
        copying=Copying(**vars(file.copying)),
        memory_domains=domains,
        memory_hierarchy=tuple(
            MemoryLevel(name, level.size, level.latency, tuple(level.bandwidth), level.cores)
            for name, level in file.memory_hierarchy.items()
        ),
        frequencies={
            name: Frequency(section.frequency, section.model_frequency or section.frequency)
            for name, section in file.arch.items()
            if section.frequency is not None
        },
        power=None if file.power is None else _power(file.power, file.nodes),
        numa=None if file.numa is None else _numa(file.numa, len(domains)),
    )


def _devices(architectures: dict[str, ArchitectureSection]) -> dict[str, Device]:
    """Return architecture -> the driver of its workers, without those that are cores."""
    devices = {name: Device(s.pipeline, tuple(s.synchronous)) for name, s in architectures.items()}
    return {name: device for name, device in devices.items() if device != Device()}


def _power(section: PowerSection, nodes: int) -> Power:
    named = {name: (s.idle, s.busy, s.kernels, s.exponent) for name, s in section.arch.items()}
    architectures = {name: ArchitecturePower(*values) for name, values in named.items()}
    return Power(nodes * section.static, architectures)


def _allocation(section: AllocationSection) -> Allocation:
    return Allocation(
        allocate_s=section.allocate,
        free_s=section.free,
        pin_s=section.pin,
        chunk_bytes=section.chunk,
        unit_bytes=section.unit,
        largest_bytes=section.largest,
        usable=section.usable,
    )


def _prefixes(file: PlatformFile) -> list[str]:
    """Return the prefix of the names on each node; empty on a single node."""
    return [""] if file.nodes == 1 else [f"node{node}/" for node in range(file.nodes)]


def _memories(file: PlatformFile) -> Iterator[Memory]:
    number = 0
    for node, prefix in enumerate(_prefixes(file)):
        for name, section in file.memories.items():
            yield Memory(number, prefix + name, node, section.size)
            number += 1


def _workers(file: PlatformFile) -> Iterator[Worker]:
    index = {name: number for number, name in enumerate(file.memories)}
    number = 0
    for node, prefix in enumerate(_prefixes(file)):
        for group, section in file.workers.items():
            for k, memory in enumerate(section.memory or ()):
                yield Worker(
                    id=number,
                    name=prefix + member(group, k),
                    architecture=section.arch or group,
                    memory=node * len(index) + index[memory],
                    node=node,
                    core=None if section.cores is None else section.cores[k],
                    models=None if section.models is None else section.models[k],
                )
                number += 1


def _memory_domains(file: PlatformFile) -> Iterator[MemoryDomain]:
    """Yield the domains of each node; split ones have numbers in their names."""
    of_group, first = {}, 0
    for group, section in file.workers.items():
        of_group[group] = range(first, first := first + len(section.memory or ()))
    for node, prefix in enumerate(_prefixes(file)):
        for name, domain in file.memory_domains.items():
            groups = [domain.workers] if isinstance(domain.workers, str) else domain.workers
            members = [node * first + worker for group in groups for worker in of_group[group]]
            each = domain.each or len(members) or 1
            for number, begin in enumerate(range(0, len(members), each)):
                yield MemoryDomain(
                    prefix + (member(name, number) if len(members) > each else name),
                    tuple(members[begin : begin + each]),
                    tuple(domain.bandwidth),
                    domain.known,
                    domain.size,
                    domain.cache,
                )


def _numa(section: NumaSection, domains: int) -> Numa:
    """Return the costs between *domains* domains, the first ones of a larger matrix."""
    given, limits = section.distances, section.bandwidth
    distances = given if isinstance(given, list) else _all_pairs(given, LOCAL_DISTANCE, domains)
    if limits is not None and not isinstance(limits, list):
        limits = [[*row] for row in _all_pairs(limits, math.inf, domains)]
    return Numa(
        tuple(tuple(row[:domains]) for row in distances[:domains]),
        tuple(
            tuple(math.inf if limit is None else limit for limit in row[:domains])
            for row in (limits or ())[:domains]
        ),
        section.placement,
        section.cache,
        {name: NumaKernel(use.memory_share, use.demand) for name, use in section.kernels.items()},
    )


def _all_pairs(other: float, same: float, domains: int) -> list[list[float]]:
    return [[same if i == j else other for j in range(domains)] for i in range(domains)]


def _links(file: PlatformFile, number_of: dict[str, int]) -> Iterator[Link]:
    """Yield the links: those within a node for each node, those between two nodes once."""
    number = 0
    for name, section in file.links.items():
        ends = list(section.between or ())
        is_between_nodes = bool(ends) and split_full_name(ends[0])[0] is not None
        for prefix in [""] if is_between_nodes else _prefixes(file):
            numbers = [number_of[prefix + end] for end in ends]
            yield Link(
                id=number,
                name=prefix + name,
                between=(numbers[0], numbers[1]) if numbers else None,
                bandwidth_bytes_per_s=section.bandwidth,
                latency_s=section.latency,
                measured_bandwidth_bytes_per_s=section.measured_bandwidth,
                measured_latency_s=section.measured_latency,
                shared=section.shared,
                power_w=section.power,
            )
            number += 1


def _routes(file: PlatformFile, link_number: dict[str, int]) -> Iterator[Route]:
    """Yield the routes between the memories of each node."""
    index = {name: number for number, name in enumerate(file.memories)}
    for node, prefix in enumerate(_prefixes(file)):
        first = node * len(index)
        for route in file.routes:
            links = tuple(link_number[prefix + name] for name in route.links)
            yield Route(first + index[route.source], first + index[route.target], links)
