"""Torus of hosts, a grid whose rows close into rings; messages go from host to host."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.documents import FileProblem, Location
from tasksim.base.documents.sections import ILLEGAL, FileProblems, ListOf, Whole, given
from tasksim.network.description import MAX_HOSTS, Links
from tasksim.network.topologies.cables import Cables, CablesSection

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Torus", "TorusSection"]


@dataclass(frozen=True)
class Torus:
    """A torus with the numbers of hosts in *dimensions*; host numbers run along the first.

    Each host has a cable to the next one in each dimension. Messages go along one dimension
    after the other, the shorter way round.
    """

    dimensions: tuple[int, ...]
    cables: Cables

    def __str__(self) -> str:
        return f"torus {'x'.join(map(str, self.dimensions))}"

    @property
    def nodes(self) -> int:
        """Number of hosts."""
        return prod(self.dimensions)

    def sized(self, nodes: int) -> Torus:  # noqa: ARG002
        """Return the torus: its hosts are what they are."""
        return self

    @property
    def link_count(self) -> int:
        """Number of links."""
        return self.cables.link_count(self.nodes * len(self.dimensions))

    @property
    def links(self) -> Links:
        """The links, host by host, dimension by dimension."""
        return self.cables.links(self.nodes * len(self.dimensions))

    def route(self, source: int, target: int) -> tuple[int, ...]:
        """Return the links from host to host."""
        if source == target:
            return (0,)
        route: list[int] = []
        here, stride = source, 1
        for dimension, size in enumerate(self.dimensions):
            at, to = here // stride % size, target // stride % size
            step = 1 if _forward(at, to, size) else -1
            while at != to:
                following = (at + step) % size
                there = here + (following - at) * stride
                # The cable belongs to the host that it leads forward from.
                cable = (here if step > 0 else there) * len(self.dimensions) + dimension
                route.append(self.cables.up(cable) if step > 0 else self.cables.down(cable))
                at, here = following, there
            stride *= size
        return tuple(route)

    @property
    def kinds(self) -> dict[str, NDArray[np.int64]]:
        """The cables of each dimension."""
        links = np.arange(1, self.link_count)
        dimension = self.cables.cable(links) % len(self.dimensions)
        found = {f"dimension{n}": links[dimension == n] for n in range(len(self.dimensions))}
        return {**found, "loopback": np.array([0])}

    def link_name(self, link: int) -> str:
        """Return the host, the dimension and the way."""
        if link == 0:
            return "loopback"
        host, dimension = divmod(self.cables.cable(link), len(self.dimensions))
        return self.cables.name(link, f"node{host}/dimension{dimension}")


def _forward(at: int, to: int, size: int) -> bool:
    """Return whether the way up is the shorter; of two equal ones SimGrid's, up unless it wraps."""
    ahead = (to - at) % size
    if 2 * ahead == size:
        return to > at or at > size // 2
    return 2 * ahead < size


class TorusSection(CablesSection):
    """A torus in a file."""

    dimensions: list[int] = given(
        ListOf(Whole(1, MAX_HOSTS), least=1), description="hosts per dimension"
    )

    @classmethod
    def check(
        cls, name: str, value: Any, before: Any, location: Location, found: FileProblems
    ) -> Any:
        """Return *value*, if the hosts are not too many."""
        if name == "dimensions" and prod(value) > MAX_HOSTS:
            what = f"are {prod(value)} hosts, must be at most {MAX_HOSTS}"
            found.append(FileProblem(location, what))
            return ILLEGAL
        return super().check(name, value, before, location, found)

    def build(self) -> Any:
        """Return the topology."""
        return Torus(tuple(self.dimensions), self.cables())
