"""Explicit topology, with links by name and routes between pairs of hosts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from tasksim.base.documents import FileProblem
from tasksim.base.documents.sections import (
    FLAG,
    ILLEGAL,
    TEXT,
    FileProblems,
    ListOf,
    MappingOf,
    Section,
    SectionOf,
    given,
)
from tasksim.base.errors import InputError, nearest
from tasksim.network.description import Links
from tasksim.network.topologies.switch import BANDWIDTH, LATENCY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tasksim.base.documents import Location

__all__ = [
    "Explicit",
    "ExplicitSection",
    "NamedLink",
    "NamedTopology",
    "NetworkLinkSection",
    "check_links",
    "named_links",
]


class NamedLink(NamedTuple):
    """A link of an explicit topology."""

    name: str
    bandwidth_bytes_per_s: float
    latency_s: float
    shared: bool = True


@dataclass(frozen=True)
class NamedTopology:
    """Named hosts and *named* links; subclasses know the routes."""

    hosts: tuple[str, ...]
    named: tuple[NamedLink, ...]

    @property
    def nodes(self) -> int:
        """Number of hosts."""
        return len(self.hosts)

    def sized(self, nodes: int) -> Self:  # noqa: ARG002
        """Return the topology, whose number of hosts is fixed."""
        return self

    @property
    def link_count(self) -> int:
        """Number of links."""
        return len(self.named)

    @cached_property
    def links(self) -> Links:
        """The links in the given order."""
        return Links.of(
            (link.bandwidth_bytes_per_s, link.latency_s, link.shared) for link in self.named
        )

    def no_route(self, source: int, target: int) -> InputError:
        """Return the error of two hosts without a route."""
        ends = f"{self.hosts[source]} to {self.hosts[target]}"
        return InputError(f"the network has no route from {ends}, which must communicate")

    @property
    def kinds(self) -> dict[str, NDArray[np.int64]]:
        """Each link, by its name."""
        return {link.name: np.array([number]) for number, link in enumerate(self.named)}

    def link_name(self, link: int) -> str:
        """Return the given name."""
        return self.named[link].name


@dataclass(frozen=True)
class Explicit(NamedTopology):
    """A route for each pair of hosts, by their numbers."""

    route_of: Mapping[tuple[int, int], tuple[int, ...]]

    def __str__(self) -> str:
        return "explicit links"

    def route(self, source: int, target: int) -> tuple[int, ...]:
        """Return the route.

        Raises
        ------
        InputError
            If there is none between hosts that must communicate.
        """
        found = self.route_of.get((source, target))
        if found is None:
            raise self.no_route(source, target)
        return found


class NetworkLinkSection(Section):
    """Section of a link."""

    bandwidth: float = given(BANDWIDTH, description="e.g. 12.5 GB/s")
    latency: float = given(LATENCY, 0, "e.g. 1 us")
    shared: bool = given(FLAG, True, "whether messages share its bandwidth")


class NetworkRouteSection(Section):
    """Section of a route."""

    source: str = given(TEXT, alias="from")
    target: str = given(TEXT, alias="to")
    links: list[str] = given(ListOf(TEXT, least=1), description="its links, in order")
    one_way: bool = given(FLAG, False, "whether it holds in this direction only")


class ExplicitSection(Section):
    """Section of an explicit topology."""

    hosts: list[str] = given(ListOf(TEXT, least=1), description="the hosts by name; node 0 first")
    links: dict[str, NetworkLinkSection] = given(
        MappingOf(SectionOf(NetworkLinkSection)), description="the links by name"
    )
    routes: list[NetworkRouteSection] = given(
        ListOf(SectionOf(NetworkRouteSection)), description="from host to host"
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
        """Return *value*, if it names each host once, and only known hosts and links."""
        count = len(found)
        if name == "hosts":
            first = {host: place for place, host in reversed([*enumerate(value)])}
            for place, host in enumerate(value):
                if first[host] < place:
                    found.append(FileProblem((*location, place), f"'{host}' again"))
        if name == "routes" and ILLEGAL not in (before["hosts"], before["links"]):
            known = {**before, "hosts": dict.fromkeys(before["hosts"])}
            ends: dict[tuple[str, str], None] = {}
            for place, route in enumerate(value):
                _check_route(route, ends, known, (*location, place), found)
        return value if len(found) == count else ILLEGAL

    def build(self) -> Any:
        """Return the topology."""
        number = {name: n for n, name in enumerate(self.links)}
        host = {name: n for n, name in enumerate(self.hosts)}
        routes: dict[tuple[int, int], tuple[int, ...]] = {}
        for route in self.routes:
            links = tuple(number[link] for link in route.links)
            routes[host[route.source], host[route.target]] = links
            if not route.one_way:
                routes[host[route.target], host[route.source]] = links[::-1]
        return Explicit(tuple(self.hosts), named_links(self.links), routes)


def named_links(sections: Mapping[str, NetworkLinkSection]) -> tuple[NamedLink, ...]:
    """Return the links of *sections*."""
    return tuple(
        NamedLink(name, link.bandwidth, link.latency, link.shared)
        for name, link in sections.items()
    )


def _check_route(
    route: NetworkRouteSection,
    ends: dict[tuple[str, str], None],
    known: Mapping[str, Mapping[str, Any]],
    location: Location,
    found: FileProblems,
) -> None:
    """Note problems of a *route*, whose *ends* other routes may have already."""
    for word, end in (("from", route.source), ("to", route.target)):
        if end not in known["hosts"]:
            what = f"no such host '{end}'{nearest(end, known['hosts'])}"
            found.append(FileProblem((*location, word), what))
    check_links(route.links, known["links"], location, found)
    ways = [(route.source, route.target)]
    if not route.one_way and route.source != route.target:
        ways.append((route.target, route.source))
    for way in ways:
        if way in ends:
            found.append(FileProblem(location, f"another route from {way[0]} to {way[1]}"))
        ends[way] = None


def check_links(
    names: list[str],
    links: Mapping[str, NetworkLinkSection],
    location: Location,
    found: FileProblems,
) -> None:
    """Note names of a route's links that are no *links*."""
    for place, link in enumerate(names):
        if link not in links:
            what = f"no such link '{link}'{nearest(link, links)}"
            found.append(FileProblem((*location, "links", place), what))
