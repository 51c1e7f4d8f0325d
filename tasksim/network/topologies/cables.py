"""Identical cables of structured topologies, as one link per direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np

from tasksim.base.documents.sections import FLAG, Section, given
from tasksim.network.description import Links
from tasksim.network.topologies.switch import BANDWIDTH, LATENCY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["Cables", "CablesSection"]

Link = TypeVar("Link", int, "NDArray[np.int64]")

LOOPBACK_BANDWIDTH: Final = 10e9
"""Default bandwidth of messages of a host to itself, in bytes per second: SimGrid's."""


class Cables(NamedTuple):
    """Common properties of all cables of a topology.

    Link 0 carries messages of hosts to themselves, which do not share it, so one link stands for
    all hosts. Cable *k* is the links 1 + 2k, up, and 2 + 2k, down; half duplex, it is 1 + k.
    """

    bandwidth_bytes_per_s: float
    latency_s: float
    full_duplex: bool = True
    loopback_bytes_per_s: float = LOOPBACK_BANDWIDTH
    loopback_latency_s: float = 0.0

    def up(self, cable: int) -> int:
        """Return the link of a *cable* away from the host, or to the next host."""
        return 1 + 2 * cable if self.full_duplex else 1 + cable

    def down(self, cable: int) -> int:
        """Return the link of a *cable* in the opposite direction."""
        return 2 + 2 * cable if self.full_duplex else 1 + cable

    def link_count(self, count: int) -> int:
        """Return the number of links of *count* cables and the loopback."""
        return 1 + count * (1 + self.full_duplex)

    def links(self, count: int, strands: np.ndarray | None = None) -> Links:
        """Return the links of *count* cables of *strands* each, which multiply the bandwidth."""
        many = np.ones(count) if strands is None else strands
        bandwidth = np.repeat(many * self.bandwidth_bytes_per_s, 1 + self.full_duplex)
        alike = Links(
            bandwidth, np.full(len(bandwidth), self.latency_s), np.ones(len(bandwidth), bool)
        )
        own = Links.of([(self.loopback_bytes_per_s, self.loopback_latency_s, False)])
        return Links.joined([own, alike])

    def kinds(self, counts: Mapping[str, int]) -> dict[str, NDArray[np.int64]]:
        """Return the links by the kind of their cables, of which *counts* has the numbers."""
        kinds, first = {}, 1
        for kind, count in counts.items():
            kinds[kind] = np.arange(first, first + count * (1 + self.full_duplex))
            first += len(kinds[kind])
        return {**kinds, "loopback": np.array([0])}

    def name(self, link: int, cable_name: str) -> str:
        """Return the name of a *link* of the cable of that name."""
        if not self.full_duplex:
            return cable_name
        return f"{cable_name}/{'down' if link % 2 == 0 else 'up'}"

    def cable(self, link: Link) -> Link:
        """Return the cable of a *link*; of each, for an array of links."""
        return (link - 1) // 2 if self.full_duplex else link - 1


class CablesSection(Section):
    """Section with the fields of cables; subclasses add the structure."""

    bandwidth: float = given(BANDWIDTH, description="bandwidth of a cable, in one direction")
    latency: float = given(LATENCY, 0, "latency of a cable")
    full_duplex: bool = given(FLAG, True, "whether both directions have the bandwidth at once")
    loopback_bandwidth: float = given(BANDWIDTH, "10 GB/s", "bandwidth of a host to itself")
    loopback_latency: float = given(LATENCY, 0, "latency of a host to itself")

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.fields = {**cls.fields, **CablesSection.fields}

    def cables(self) -> Cables:
        """Return the cables."""
        return Cables(
            self.bandwidth,
            self.latency,
            self.full_duplex,
            self.loopback_bandwidth,
            self.loopback_latency,
        )
