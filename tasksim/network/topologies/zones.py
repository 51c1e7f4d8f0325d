"""Zones: hosts in nested zones, each with routes of its own, as SimGrid describes grids."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

from tasksim.base.documents import FileProblem
from tasksim.base.documents.sections import (
    FLAG,
    ILLEGAL,
    TEXT,
    FileProblems,
    ListOf,
    MappingOf,
    Maybe,
    Section,
    SectionOf,
    given,
)
from tasksim.base.errors import nearest
from tasksim.network.topologies.explicit import (
    NamedTopology,
    NetworkLinkSection,
    check_links,
    named_links,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasksim.base.documents import Location

__all__ = ["Zone", "ZoneRoute", "Zones", "ZonesSection"]


class ZoneRoute(NamedTuple):
    """Links between two members of a zone, and where they begin and end in those.

    Attributes
    ----------
    links : tuple of int
    leaves, enters : str or None
        Host or router of the first and of the last member, if these are zones.
    """

    links: tuple[int, ...]
    leaves: str | None = None
    enters: str | None = None


@dataclass(frozen=True)
class Zone:
    """A zone: its members are hosts, routers and other zones.

    Attributes
    ----------
    within : str or None
        The zone that it is a member of; None for the outermost.
    routes : mapping of (str or None, str or None) -> ZoneRoute
        Routes by the members that they lead from and to. With None for an end, a route leads from
        a member to the middle of the zone, or from there to a member: two members without a route
        of their own communicate over the middle, and cross once what both halves have.
    combines : bool
        Whether routes combine, so that members communicate over others, by the fewest links.
    """

    within: str | None
    routes: Mapping[tuple[str | None, str | None], ZoneRoute]
    combines: bool = False

    def ways(self, source: str, target: str) -> list[tuple[str, str, ZoneRoute]]:
        """Return the routes that lead from a member to another, in order, with their ends."""
        direct = self.routes.get((source, target))
        if direct is not None:
            return [(source, target, direct)]
        up, down = self.routes.get((source, None)), self.routes.get((None, target))
        if up is not None and down is not None:
            links = tuple(dict.fromkeys((*up.links, *down.links)))
            return [(source, target, ZoneRoute(links, up.leaves, down.enters))]
        return self._combined(source, target) if self.combines else []

    def _combined(self, source: str, target: str) -> list[tuple[str, str, ZoneRoute]]:
        """Return the routes with the fewest links (Dijkstra); of several, those found first."""
        reached: set[str] = set()
        heap: list[tuple[int, int, str, list[tuple[str, str, ZoneRoute]]]] = [(0, 0, source, [])]
        pushed = 0
        while heap:
            length, _, member, way = heappop(heap)
            if member == target:
                return way
            if member in reached:
                continue
            reached.add(member)
            for following, route in self._onward.get(member, ()):
                if following not in reached:
                    pushed += 1
                    longer = [*way, (member, following, route)]
                    heappush(heap, (length + len(route.links), pushed, following, longer))
        return []

    @cached_property
    def _onward(self) -> dict[str, list[tuple[str, ZoneRoute]]]:
        found: dict[str, list[tuple[str, ZoneRoute]]] = {}
        for (source, target), route in self.routes.items():
            if source is not None and target is not None:
                found.setdefault(source, []).append((target, route))
        return found


@dataclass(frozen=True)
class Zones(NamedTopology):
    """Hosts in nested zones, whose routes are composed when they are asked for.

    Attributes
    ----------
    zone_of : mapping of str -> str
        The zone of each host and router.
    zones : mapping of str -> Zone
        The zones by name.
    """

    zone_of: Mapping[str, str]
    zones: Mapping[str, Zone]

    def __str__(self) -> str:
        return f"{len(self.zones)} zones"

    def route(self, source: int, target: int) -> tuple[int, ...]:
        """Return the route.

        Raises
        ------
        InputError
            If there is none between hosts that must communicate.
        """
        found = self._between(self.hosts[source], self.hosts[target])
        if found is None:
            raise self.no_route(source, target)
        return found

    def _between(self, source: str, target: str) -> tuple[int, ...] | None:
        """Return the links from one host or router to another; None if there is no route.

        In the innermost zone of both, a route leads from one's member to the other's. Where a
        member is a zone, the way inside it is found alike.
        """
        from_source, from_target = self._around(source), self._around(target)
        common = next(zone for zone in from_source if zone in from_target)
        first = [source, *from_source][from_source.index(common)]
        last = [target, *from_target][from_target.index(common)]
        ways = self.zones[common].ways(first, last)
        if not ways:
            return None
        links: list[int] = []
        here = source
        for _, member, route in ways:
            inside = self._inside(here, route.leaves)
            if inside is None:
                return None
            links += [*inside, *route.links]
            here = member if route.enters is None else route.enters
        inside = self._inside(here, target)
        return None if inside is None else (*links, *inside)

    def _inside(self, source: str, target: str | None) -> tuple[int, ...] | None:
        return () if target in (None, source) else self._between(source, target)

    def _around(self, end: str) -> list[str]:
        """Return the zones around a host or router, from the innermost on."""
        found = [self.zone_of[end]]
        while (outer := self.zones[found[-1]].within) is not None:
            found.append(outer)
        return found


class ZoneRouteSection(Section):
    """Section of a route in a zone."""

    source: str | None = given(Maybe(TEXT), None, "a member; none: the middle", alias="from")
    target: str | None = given(Maybe(TEXT), None, "a member; none: the middle", alias="to")
    links: list[str] = given(ListOf(TEXT), description="its links, in order")
    leaves: str | None = given(Maybe(TEXT), None, "where it leaves a member that is a zone")
    enters: str | None = given(Maybe(TEXT), None, "where it enters a member that is a zone")


class ZoneSection(Section):
    """Section of a zone."""

    within: str | None = given(Maybe(TEXT), None, "the zone that it is a member of")
    hosts: list[str] = given(ListOf(TEXT), [], "hosts that are its members")
    routers: list[str] = given(ListOf(TEXT), [], "routers that are its members")
    combines: bool = given(FLAG, False, "whether routes combine, by the fewest links")
    routes: list[ZoneRouteSection] = given(
        ListOf(SectionOf(ZoneRouteSection)), [], "from member to member, in one direction"
    )


class ZonesSection(Section):
    """Section of a topology of zones; hosts are numbered in the order of the zones."""

    links: dict[str, NetworkLinkSection] = given(
        MappingOf(SectionOf(NetworkLinkSection)), description="the links by name"
    )
    zones: dict[str, ZoneSection] = given(
        MappingOf(SectionOf(ZoneSection)), description="the zones by name, the outermost first"
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
        """Return *value*, if zones are nested, members are there once, and names are known."""
        count = len(found)
        if name == "zones" and before["links"] is not ILLEGAL and ILLEGAL not in value.values():
            _check_zones(value, before["links"], location, found)
        return value if len(found) == count else ILLEGAL

    def build(self) -> Any:
        """Return the topology."""
        number = {name: n for n, name in enumerate(self.links)}
        zones = {
            name: Zone(
                zone.within,
                {
                    (route.source, route.target): ZoneRoute(
                        tuple(number[link] for link in route.links), route.leaves, route.enters
                    )
                    for route in zone.routes
                },
                zone.combines,
            )
            for name, zone in self.zones.items()
        }
        zone_of = {
            end: name for name, zone in self.zones.items() for end in (*zone.hosts, *zone.routers)
        }
        hosts = tuple(host for zone in self.zones.values() for host in zone.hosts)
        return Zones(hosts, named_links(self.links), zone_of, zones)


def _check_zones(
    zones: dict[str, ZoneSection],
    links: dict[str, NetworkLinkSection],
    location: Location,
    found: FileProblems,
) -> None:
    """Note what is wrong with *zones*."""
    around: dict[str, list[str]] = {}  # zones around a zone, host or router, innermost first
    for name, zone in zones.items():
        place = (*location, name)
        if zone.within is None and around:
            found.append(FileProblem(place, f"within: zone {next(iter(zones))} is the outermost"))
        elif zone.within is not None and zone.within not in around:
            what = f"no zone '{zone.within}' before this{nearest(zone.within, around)}"
            found.append(FileProblem((*place, "within"), what))
        outer = [] if zone.within is None else [zone.within, *around.get(zone.within, [])]
        if name in around:
            found.append(FileProblem(place, f"'{name}' again"))
        around[name] = outer
        for what, ends in (("hosts", zone.hosts), ("routers", zone.routers)):
            for number, end in enumerate(ends):
                if end in around:
                    found.append(FileProblem((*place, what, number), f"'{end}' again"))
                around[end] = [name, *outer]
    if not any(zone.hosts for zone in zones.values()):
        found.append(FileProblem(location, "no zone has a host"))
    members: dict[str, dict[str, None]] = {name: {} for name in zones}
    for member, outer in around.items():
        if outer:
            members.setdefault(outer[0], {})[member] = None
    for name, zone in zones.items():
        there: dict[tuple[str | None, str | None], None] = {}
        for number, route in enumerate(zone.routes):
            place = (*location, name, "routes", number)
            _check_route(route, name, zones, around, members[name], place, found)
            check_links(route.links, links, place, found)
            if (route.source, route.target) in there:
                found.append(FileProblem(place, "another route between the same members"))
            there[route.source, route.target] = None


def _check_route(
    route: ZoneRouteSection,
    name: str,
    zones: dict[str, ZoneSection],
    around: dict[str, list[str]],
    members: dict[str, None],
    place: Location,
    found: FileProblems,
) -> None:
    """Note what is wrong with a *route* of the zone *name*."""
    if route.source is None and route.target is None:
        found.append(FileProblem(place, "a route from a member, to one, or both"))
    for word, end, gate_word, gate in (
        ("from", route.source, "leaves", route.leaves), ("to", route.target, "enters", route.enters)
    ):  # fmt: skip
        if end is not None and end not in members:
            what = f"'{end}' is no member of zone {name}{nearest(end, members)}"
            found.append(FileProblem((*place, word), what))
        elif gate is not None and end not in zones:
            found.append(FileProblem((*place, gate_word), f"its end '{end}' is no zone"))
        elif gate is not None and (gate in zones or end not in around.get(gate, ())):
            what = f"'{gate}' is no host or router in zone {end}"
            found.append(FileProblem((*place, gate_word), what))
        elif gate is None and end in zones:
            what = f"say where it {gate_word} zone {end}: a host or router in it"
            found.append(FileProblem(place, what))
