"""Power of a recorded run's machine, in watts, at the frequencies of the run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.documents.json_document import JsonNode
    from tasksim.platform.description import Platform

__all__ = ["PowerInfo", "WorkerPower", "power_info"]

_WATTS = "watts, 0 or more"
"""Legal numbers, for messages."""


@dataclass(frozen=True)
class WorkerPower:
    """Power of a worker, in watts."""

    idle_w: float
    """Power while it runs no task."""
    busy_w: float
    """Power while it runs a task, including idle power."""
    kernels: dict[str, float] = field(default_factory=dict)
    """Power while it runs tasks of specific kernels."""

    def of(self, kernel: str) -> float:
        """Return the power while it runs a task of *kernel*."""
        return self.kernels.get(kernel, self.busy_w)


@dataclass(frozen=True)
class PowerInfo:
    """Power of a run's machine, in watts."""

    static_w: float
    """Power that does not depend on the load."""
    kinds: tuple[WorkerPower, ...]
    """Kinds of workers by power."""
    kind_of: tuple[int, ...]
    """Index of the kind of each worker."""
    copies: dict[tuple[int, int], float] = field(default_factory=dict)
    """Additional power while data are copied, by source and target."""

    @property
    def idle_w(self) -> float:
        """Power of the whole machine while nothing runs."""
        return self.static_w + sum(self.kinds[kind].idle_w for kind in self.kind_of)

    @classmethod
    def from_json(cls, node: JsonNode, workers: int) -> PowerInfo:
        """Return the object written by :meth:`to_json`, for a run on *workers* workers."""
        kinds = tuple(_kind(kind) for kind in node["kinds"])
        kind_of = tuple(number.integer() for number in node["kind_of"])
        if len(kind_of) != workers or not all(0 <= kind < len(kinds) for kind in kind_of):
            raise node["kind_of"].expected(f"a number below {len(kinds)} for each worker")
        copies = {}
        for copy in node.get("copies", []):
            if len(parts := list(copy)) != 3:
                raise copy.expected("a source, a target and watts")
            source, target, watts = parts
            copies[source.integer(), target.integer()] = watts.not_negative(_WATTS)
        return cls(node["static_w"].not_negative(_WATTS), kinds, kind_of, copies)

    def to_json(self) -> dict[str, Any]:
        """Return the power as plain JSON data."""
        plain = {
            "static_w": self.static_w,
            "kinds": [asdict(kind) for kind in self.kinds],
            "kind_of": list(self.kind_of),
        }
        copies = [[*way, watts] for way, watts in self.copies.items()]
        return {**plain, "copies": copies} if copies else plain


def _kind(node: JsonNode) -> WorkerPower:
    kernels = {name: watts.not_negative(_WATTS) for name, watts in node["kernels"].items()}
    idle_w, busy_w = (node[name].not_negative(_WATTS) for name in ("idle_w", "busy_w"))
    return WorkerPower(idle_w, busy_w, kernels)


def power_info(nodes: Sequence[Platform]) -> PowerInfo | None:
    """Return the power of the machine of these *nodes*; None if it is unknown.

    Raise :exc:`InputError` if it is known for some nodes only.
    """
    known = [platform for platform in nodes if platform.power is not None]
    if not known:
        return None
    if len(known) < len(nodes):
        unknown = next(platform.name for platform in nodes if platform.power is None)
        raise InputError(f"platform {unknown}: has no power, but other nodes have")
    kinds: list[WorkerPower] = []
    kind_of: list[int] = []
    copies: dict[tuple[int, int], float] = {}
    number: dict[tuple[int, str], int] = {}
    static_w, first, at = 0.0, 0, {id(platform): platform for platform in nodes}
    for place, platform in at.items():
        for architecture, power in _workers(platform).items():
            number[place, architecture] = len(kinds)
            kinds.append(power)
    for platform in nodes:
        assert platform.power is not None
        static_w += platform.power.static_w
        kind_of += [number[id(platform), worker.architecture] for worker in platform.workers]
        for (source, target), watts in _copies(platform).items():
            copies[first + source, first + target] = watts
        first += len(platform.memories)
    return PowerInfo(static_w, tuple(kinds), tuple(kind_of), copies)


def _workers(platform: Platform) -> dict[str, WorkerPower]:
    """Return the power of workers by architecture, at its frequency."""
    assert platform.power is not None
    found = {}
    for architecture in platform.architectures:
        power = platform.power.architectures[architecture].at(1.0 / platform.slower(architecture))
        found[architecture] = WorkerPower(power.idle_w, power.busy_w, power.kernels)
    return found


def _copies(platform: Platform) -> dict[tuple[int, int], float]:
    """Return the additional power of copies: the sum over the links of their route."""
    watts = [link.power_w for link in platform.links]
    if not any(watts):
        return {}
    count = range(len(platform.memories))
    ways = {(a, b): platform.route(a, b) for a in count for b in count}
    return {ends: sum(watts[link] for link in way) for ends, way in ways.items() if way}
