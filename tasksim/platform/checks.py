"""What holds for every platform, however it was made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tasksim.platform.description import Link, Memory, Platform, Worker

__all__ = ["check_platform"]


def check_platform(platform: Platform) -> None:
    """Raise :exc:`InputError`, with all that is wrong, unless *platform* is consistent.

    Numbers are consecutive, names differ, each worker, memory and link refers to what exists and
    lies on the right node, the classes partition the workers, speeds, costs and sizes are
    numbers that a simulation can use.
    """
    checks = (_numbers, _names, _nodes, _workers, _classes, _architectures, _costs, _links)
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


def _costs(platform: Platform) -> Iterator[str]:
    costs = platform.overheads
    named = {
        "submission": costs.submission_s,
        "task": costs.task_s,
        "wakeup": costs.wakeup_s,
        **{f"latency of link {link.name}": link.latency_s for link in platform.links},
    }
    for name, seconds in named.items():
        if not (math.isfinite(seconds) and seconds >= 0):
            yield f"{name} costs {seconds} s, must be 0 or more"
    for memory in platform.memories:
        if memory.size_bytes is not None and not memory.size_bytes > 0:
            yield f"memory {memory.name} has size {memory.size_bytes}, must be positive"


def _links(platform: Platform) -> Iterator[str]:
    for link in platform.links:
        ends = link.between
        if ends is not None and (
            not all(_exists(end, platform.memories) for end in ends) or ends[0] == ends[1]
        ):
            yield f"link {link.name} must be between two memories (got {link.between})"
        if not (math.isfinite(link.bandwidth_bytes_per_s) and link.bandwidth_bytes_per_s > 0):
            yield f"link {link.name} has bandwidth {link.bandwidth_bytes_per_s}, must be positive"
