"""Dragonfly of hosts, routers, chassis and groups; all groups are connected with each other.

J. Kim et al., "Technology-driven, highly-scalable dragonfly topology", ISCA 2008. Cables as in a
Cray Cascade: green ones between the routers of a chassis, black ones between the chassis of a
group, blue ones between groups. Routes are minimal.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.documents import FileProblem, Location
from tasksim.base.documents.sections import ILLEGAL, FileProblems, Whole, given
from tasksim.network.description import MAX_HOSTS, Links
from tasksim.network.topologies.cables import Cables, CablesSection

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Dragonfly", "DragonflySection"]

CABLE_KINDS: Final = ("node", "green", "black", "blue")
"""Kinds of cables, in the order of their numbers: to hosts, between routers, chassis, groups."""


@dataclass(frozen=True)
class Dragonfly:
    """A dragonfly; *blue*, *black*, *green* are the numbers of strands of its cables.

    Router g in the first chassis of a group has the cable to group g, so a chassis has at least as
    many routers as there are groups.
    """

    groups: int
    chassis: int
    routers: int
    hosts: int
    blue: int
    black: int
    green: int
    cables: Cables

    def __str__(self) -> str:
        return f"dragonfly of {self.groups} groups"

    @property
    def nodes(self) -> int:
        """Number of hosts."""
        return self.groups * self.chassis * self.routers * self.hosts

    def sized(self, nodes: int) -> Dragonfly:  # noqa: ARG002
        """Return the dragonfly, whose number of hosts is fixed."""
        return self

    @property
    def _counts(self) -> tuple[int, int, int, int]:
        """Numbers of cables: to hosts, green, black and blue ones."""
        green = self.groups * self.chassis * comb(self.routers, 2)
        black = self.groups * self.routers * comb(self.chassis, 2)
        return self.nodes, green, black, comb(self.groups, 2)

    @property
    def link_count(self) -> int:
        """Number of links."""
        return self.cables.link_count(sum(self._counts))

    @property
    def links(self) -> Links:
        """The links: the hosts', green, black, blue ones."""
        strands = np.repeat([1, self.green, self.black, self.blue], self._counts)
        return self.cables.links(len(strands), strands)

    def _between(self, first: int, many: int, block: int, here: int, there: int) -> int:
        """Return the link from *here* to *there*, among *many* that are connected in pairs."""
        low, high = min(here, there), max(here, there)
        pair = low * (2 * many - low - 1) // 2 + high - low - 1
        cable = first + block * comb(many, 2) + pair
        return self.cables.up(cable) if here < there else self.cables.down(cable)

    def _green(self, group: int, chassis: int, here: int, there: int) -> int:
        block = group * self.chassis + chassis
        return self._between(self._counts[0], self.routers, block, here, there)

    def _black(self, group: int, router: int, here: int, there: int) -> int:
        first = sum(self._counts[:2])
        return self._between(first, self.chassis, group * self.routers + router, here, there)

    def _place(self, host: int) -> tuple[int, int, int]:
        """Return the group, the chassis and the router of a *host*."""
        rest, router = divmod(host // self.hosts, self.routers)
        return *divmod(rest, self.chassis), router

    def route(self, source: int, target: int) -> tuple[int, ...]:
        """Return the minimal route."""
        if source == target:
            return (0,)
        group, chassis, router = self._place(source)
        to_group, to_chassis, to_router = self._place(target)
        route = [self.cables.up(source)]
        if group != to_group:
            if router != to_group:
                route.append(self._green(group, chassis, router, to_group))
            if chassis != 0:
                route.append(self._black(group, to_group, chassis, 0))
            route.append(self._between(sum(self._counts[:3]), self.groups, 0, group, to_group))
            group, chassis, router = to_group, 0, group
        if router != to_router:
            route.append(self._green(group, chassis, router, to_router))
        if chassis != to_chassis:
            route.append(self._black(group, to_router, chassis, to_chassis))
        return (*route, self.cables.down(target))

    @property
    def kinds(self) -> dict[str, NDArray[np.int64]]:
        """The cables of the hosts, and the green, black and blue ones."""
        return self.cables.kinds(dict(zip(CABLE_KINDS, self._counts, strict=True)))

    def link_name(self, link: int) -> str:
        """Return the kind of the cable and its number."""
        if link == 0:
            return "loopback"
        cable = self.cables.cable(link)
        for word, count in zip(CABLE_KINDS, self._counts, strict=True):
            if cable < count:
                return self.cables.name(link, f"{word}{cable}")
            cable -= count
        return f"link{link}"


_COUNT = Whole(1, MAX_HOSTS)


class DragonflySection(CablesSection):
    """Section of a dragonfly."""

    groups: int = given(_COUNT, description="groups of chassis")
    chassis: int = given(_COUNT, description="chassis per group")
    routers: int = given(_COUNT, description="routers per chassis, at least as many as groups")
    hosts: int = given(_COUNT, description="hosts per router")
    blue: int = given(_COUNT, 1, "strands of a cable between groups")
    black: int = given(_COUNT, 1, "strands of a cable between chassis")
    green: int = given(_COUNT, 1, "strands of a cable between routers")

    @classmethod
    def check(
        cls, name: str, value: Any, before: Any, location: Location, found: FileProblems
    ) -> Any:
        """Return *value*, if there are enough routers, and not too many hosts."""
        if name == "routers" and before["groups"] is not ILLEGAL and value < before["groups"]:
            what = f"must be at least groups (got {value}, groups is {before['groups']})"
            found.append(FileProblem(location, what))
            return ILLEGAL
        counts = [before.get(word, 1) for word in ("groups", "chassis", "routers")]
        if name == "hosts" and ILLEGAL not in counts:
            hosts = value * counts[0] * counts[1] * counts[2]
            if hosts > MAX_HOSTS:
                what = f"are {hosts} in all, must be at most {MAX_HOSTS}"
                found.append(FileProblem(location, what))
                return ILLEGAL
        return value

    def build(self) -> Any:
        """Return the topology."""
        return Dragonfly(
            self.groups, self.chassis, self.routers, self.hosts,
            self.blue, self.black, self.green, self.cables(),
        )  # fmt: skip
