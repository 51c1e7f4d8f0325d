"""Elements of SimGrid's platform files: links, routes, hosts by numbers, quantities."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.units import exact_quantity
from tasksim.formats.xmltext import BANDWIDTH_UNITS, TIME_UNITS, goes_back
from tasksim.network.description import MAX_HOSTS

if TYPE_CHECKING:
    from tasksim.formats.xmltext import Element, XmlProblems

__all__ = [
    "COMBINING_ROUTINGS",
    "OPPOSITE_WAYS",
    "STAR_ROUTINGS",
    "ZONE_ELEMENTS",
    "FileLinks",
    "bandwidth_of",
    "duplex_of",
    "host_numbers",
    "link_fields",
    "read_link",
    "routing_of",
    "spelled",
    "ways_of",
]

OPPOSITE_WAYS: Final = {"UP": "DOWN", "DOWN": "UP"}
"""Direction of a split link -> the other one."""
SHARING_POLICIES: Final = ("SHARED", "SPLITDUPLEX", "FATPIPE")
COMBINING_ROUTINGS: Final = ("floyd", "dijkstra", "dijkstracache")
"""Routings that combine several routes."""
STAR_ROUTINGS: Final = ("cluster", "star")
"""Routings over the middle of a zone."""
ROUTELESS_ROUTINGS: Final = ("none", "empty", "vivaldi")
"""Routings of zones with one member, or whose members cannot communicate."""
ZONE_ELEMENTS: Final = ("zone", "AS")
"""Elements of zones, today and in version 3."""
DUPLEX_POLICIES: Final = {"SPLITDUPLEX": True, "FULLDUPLEX": True, "SHARED": False}
_RANGE: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


@dataclass
class FileLinks:
    """Links of a platform file.

    Attributes
    ----------
    sections : dict of str -> dict
        Links by their names in a section ``network:``.
    split : dict of str -> bool
        Name of a link in the file -> whether each direction has a link of its own.
    """

    sections: dict[str, dict[str, Any]] = field(default_factory=dict)
    split: dict[str, bool] = field(default_factory=dict)

    @staticmethod
    def named(name: str, way: str) -> str:
        """Return the name of a link, or of one direction of it, in tasksim's files."""
        return f"link-{spelled(name)}-{way or 0}"


def spelled(name: str) -> str:
    """Return *name* in the alphabet of tasksim's files: other characters become numbers."""
    return re.sub(r"[^A-Za-z0-9-]", lambda match: f"_{ord(match[0]):x}_", name)


def routing_of(zone: Element, problems: XmlProblems) -> str:
    """Return the routing of a *zone* in small letters."""
    routing = zone.attributes.get("routing", "").lower()
    legal = ("full", *COMBINING_ROUTINGS, *STAR_ROUTINGS, *ROUTELESS_ROUTINGS)
    if routing not in legal:
        words = ", ".join(map(str.capitalize, legal))
        problems.at(zone, f"routing: {words}", f"'{zone.attributes.get('routing', '')}'")
    members = [
        child for child in zone.children if child.name in (*ZONE_ELEMENTS, "cluster", "host")
    ]
    if routing == "vivaldi" and len(members) > 1:
        what = "a routing other than Vivaldi, whose latencies follow from coordinates"
        problems.at(zone, f"{what}, or one member", f"{len(members)}")
    return routing


def read_link(element: Element, links: FileLinks, problems: XmlProblems) -> None:
    """Add the link that an *element* describes to *links*."""
    name = problems.attribute(element, "id")
    if name in links.split:
        problems.at(element, "each link once", f"'{name}' again")
    fields = link_fields(element, "bandwidth", "latency", problems)
    policy = element.attributes.get("sharing_policy", "SHARED")
    if policy not in SHARING_POLICIES:
        problems.at(element, f"sharing_policy: {', '.join(SHARING_POLICIES)}", f"'{policy}'")
    shared = {"shared": False} if policy == "FATPIPE" else {}
    links.split[name] = policy == "SPLITDUPLEX"
    for way in OPPOSITE_WAYS if links.split[name] else ("",):
        links.sections[links.named(name, way)] = {**fields, **shared}


def ways_of(route: Element, links: FileLinks, problems: XmlProblems) -> list[list[str]]:
    """Return the links of a *route*, and those of the way back if it leads back, too."""
    crossed = []
    for child in route.children:
        if child.name != "link_ctn":
            continue
        name = problems.reference(child, "id", links.split, "link")
        way = child.attributes.get("direction", "") if links.split.get(name) else ""
        if links.split.get(name) and way not in OPPOSITE_WAYS:
            problems.at(child, f"direction='UP' or 'DOWN' of '{name}', which is split", f"'{way}'")
        crossed.append((name, way))
    if not crossed:
        problems.at(route, "a route of one link or more", "none")
    ways = [[links.named(*link) for link in crossed]]
    if goes_back(route):
        back = [(name, OPPOSITE_WAYS.get(way, "")) for name, way in reversed(crossed)]
        ways.append([links.named(*link) for link in back])
    return ways


def host_numbers(cluster: Element, problems: XmlProblems) -> list[int]:
    """Return the numbers in the ``radical`` of a *cluster*: ``0-3,7``."""
    text = problems.attribute(cluster, "radical")
    numbers: list[int] = []
    for part in text.split(",") if text else ():
        match = _RANGE.fullmatch(part.strip())
        first = int(match[1]) if match else 0
        last = int(match[2] or match[1]) if match else -1
        if last < first:
            problems.at(cluster, "radical: numbers and ranges such as 0-15,20", f"'{text[:40]}'")
            return [0]
        if len(numbers) + last - first >= MAX_HOSTS:
            problems.at(cluster, f"at most {MAX_HOSTS} hosts", f"'{text[:40]}'")
            return [0]
        numbers += range(first, last + 1)
    return numbers


def bandwidth_of(element: Element, name: str, problems: XmlProblems) -> str:
    """Return a bandwidth among the attributes of an *element*."""
    value = problems.quantity(element, name, "bandwidth", BANDWIDTH_UNITS)
    if not value > 0:
        problems.at(element, f"{name}: a number above 0", f"'{element.attributes[name]}'")
    return exact_quantity(value, "bandwidth")


def link_fields(
    element: Element, bandwidth: str, latency: str, problems: XmlProblems, *, needed: bool = False
) -> dict[str, str]:
    """Return the fields of a link by these attributes of an *element*."""
    fields = {"bandwidth": bandwidth_of(element, bandwidth, problems)}
    if needed or latency in element.attributes:
        value = problems.quantity(element, latency, "time", TIME_UNITS)
        fields["latency"] = exact_quantity(value, "time")
    return fields


def duplex_of(cluster: Element, problems: XmlProblems) -> bool:
    """Return whether both directions of the cables of a *cluster* have the bandwidth at once."""
    policy = cluster.attributes.get("sharing_policy", "SPLITDUPLEX")
    if policy not in DUPLEX_POLICIES:
        problems.at(cluster, f"sharing_policy: {', '.join(DUPLEX_POLICIES)}", f"'{policy}'")
    return DUPLEX_POLICIES.get(policy, True)
