"""From a validated platform file to the platform."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.platform.description import Link, Memory, Overheads, Platform, Worker
from tasksim.platform.references import split_full_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.platform.schema import LinkSection, PlatformFile, WorkersSection

__all__ = ["build"]


def build(file: PlatformFile, path: Path) -> Platform:
    """Return the platform that a *file*, in which everything holds, describes."""
    costs = file.overheads
    memories = tuple(_memories(file))
    return Platform(
        name=path.stem if file.name is None else file.name,
        workers=tuple(_workers(file)),
        memories=memories,
        overheads=Overheads(costs.submission, costs.task, costs.wakeup),
        speeds={name: section.speed for name, section in file.arch.items()},
        models=file.models,
        fingerprint=file.fingerprint,
        path=path,
        model_architecture={name: s.models or name for name, s in file.arch.items()},
        links=tuple(_links(file, {memory.name: memory.id for memory in memories})),
        description=file.description,
    )


def _prefixes(file: PlatformFile) -> list[str]:
    """Return what precedes the names on each node; nothing on a single one."""
    return [""] if file.nodes == 1 else [f"node{node}/" for node in range(file.nodes)]


def _memories(file: PlatformFile) -> Iterator[Memory]:
    number = 0
    for node, prefix in enumerate(_prefixes(file)):
        for name, section in file.memories.items():
            yield Memory(number, prefix + name, node, section.size)
            number += 1


def _workers(file: PlatformFile) -> Iterator[Worker]:
    names = list(file.memories)
    number = 0
    for node, prefix in enumerate(_prefixes(file)):
        for group, section in file.workers.items():
            memory = node * len(names) + names.index(section.memory or names[0])
            for index in range(section.count):
                name = prefix + _member(group, index)
                architecture = section.arch or group
                yield Worker(number, name, architecture, memory, node, _core(section, index))
                number += 1


def _member(group: str, index: int) -> str:
    """Return the name of one worker: ``cpu3``, and ``p100-3`` where digits would run together."""
    return f"{group}-{index}" if group[-1].isdigit() else f"{group}{index}"


def _core(section: WorkersSection, index: int) -> int | None:
    return None if section.cores is None else section.cores[index]


def _links(file: PlatformFile, number_of: dict[str, int]) -> Iterator[Link]:
    """Yield the links: those within a node on each node, those between two nodes once."""
    number = 0
    for name, section in file.links.items():
        between_nodes = split_full_name(section.between[0])[0] is not None
        for prefix in [""] if between_nodes else _prefixes(file):
            yield _link(number, prefix, name, section, number_of)
            number += 1


def _link(
    number: int, prefix: str, name: str, section: LinkSection, number_of: dict[str, int]
) -> Link:
    first, second = (number_of[prefix + end] for end in section.between)
    return Link(number, prefix + name, (first, second), section.bandwidth, section.latency)
