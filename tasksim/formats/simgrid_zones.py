"""Nested zones in platform files of SimGrid, with the clusters and hosts in them.

Routes in and between zones are as in SimGrid's ``NetZoneImpl``, ``StarZone``, ``FullZone`` and
``FloydZone`` (versions 3.3 to 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import nearest
from tasksim.formats.simgrid_elements import (
    COMBINING_ROUTINGS,
    OPPOSITE_WAYS,
    STAR_ROUTINGS,
    ZONE_ELEMENTS,
    FileLinks,
    bandwidth_of,
    duplex_of,
    host_numbers,
    link_fields,
    read_link,
    routing_of,
    spelled,
    ways_of,
)

if TYPE_CHECKING:
    from tasksim.formats.xmltext import Element, XmlProblems

__all__ = ["has_zones", "zones_fields"]

ZONE_ROUTE_ELEMENTS: Final = ("zoneRoute", "ASroute")
"""Elements of routes between zones, today and in version 3."""
LINK_ELEMENTS: Final = ("link", "backbone")


def has_zones(root: Element) -> bool:
    """Return whether a file is more than one cluster, or than hosts and routes between them.

    Hosts beside a cluster to which no route leads are those of StarPU's nodes, not of the network.
    """
    below = list(root.below())
    return (
        sum(element.name == "cluster" for element in below) > 1
        or any(element.name in ZONE_ROUTE_ELEMENTS for element in below)
        or any(
            element.name in ZONE_ELEMENTS
            and element.attributes.get("routing", "").lower() in STAR_ROUTINGS
            for element in below
        )
    )


@dataclass
class _Read:
    """Contents of the file so far."""

    problems: XmlProblems
    links: FileLinks = field(default_factory=FileLinks)
    zones: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Zones by their names in a section ``network:``."""
    members: dict[str, dict[str, None]] = field(default_factory=dict)
    """Members of each zone, by the names in the file."""
    ends: dict[str, str] = field(default_factory=dict)
    """Host or router -> what it is."""
    after: list[tuple[Element, str]] = field(default_factory=list)
    """Elements that name others, each with its zone: they are read when all names are known."""
    routed: set[tuple[str, str, str]] = field(default_factory=set)
    """Zones, and members of them, between which a route is known."""
    backbones: dict[str, str] = field(default_factory=dict)
    """Zone -> the link in its middle."""


def zones_fields(root: Element, problems: XmlProblems) -> dict[str, Any]:
    """Return the fields of a section ``network:`` with the zones below *root*."""
    read = _Read(problems)
    outermost = [
        element for element in root.children if element.name in (*ZONE_ELEMENTS, "cluster")
    ]
    if len(outermost) != 1:
        problems.at(root, "one zone around all others", f"{len(outermost)}")
    for element in outermost[:1]:
        _zone(element, None, read)
    if "host" not in read.ends.values():
        problems.at(root, "a <cluster>, or a <host> or more", "neither")
    ends = {
        zone: {name: None for name in members if name in read.ends}
        for zone, members in read.members.items()
    }
    for element, zone in read.after:
        if element.name == "host_link":
            _host_link(element, zone, ends[zone], read)
        else:
            _route(element, zone, read)
    return {"topology": "zones", "links": read.links.sections, "zones": read.zones}


def _zone(element: Element, within: str | None, read: _Read) -> None:
    """Read a zone with all that is in it."""
    problems = read.problems
    name = problems.attribute(element, "id")
    _add_member(element, name, within, read)
    read.members[name] = {}
    if element.name == "cluster":
        _cluster(element, name, within, read)
        return
    routing = routing_of(element, problems)
    read.zones[_word(name)] = _section(within, combines=routing in COMBINING_ROUTINGS)
    # Links first: a backbone is in the middle of all cabinets, wherever it stands.
    for child in sorted(element.children, key=lambda child: child.name not in LINK_ELEMENTS):
        if child.name in (*ZONE_ELEMENTS, "cluster"):
            _zone(child, name, read)
        elif child.name in ("host", "router"):
            end = problems.attribute(child, "id")
            _add_end(child, end, child.name, name, read)
            if routing in STAR_ROUTINGS and child.name == "router":
                _spoke(end, name, [], [], read)
        elif child.name in LINK_ELEMENTS:
            read_link(child, read.links, problems)
            if child.name == "backbone":
                read.backbones[name] = read.links.named(child.attributes.get("id", ""), "")
        elif child.name == "cabinet":
            _cabinet(child, name, read)
        elif child.name in ("route", *ZONE_ROUTE_ELEMENTS, "host_link"):
            read.after.append((child, name))


def _section(within: str | None, *, combines: bool = False) -> dict[str, Any]:
    """Return the section of a zone without members."""
    found: dict[str, Any] = {} if within is None else {"within": _word(within)}
    if combines:
        found["combines"] = True
    return {**found, "hosts": [], "routers": [], "routes": []}


def _word(name: str) -> str:
    """Return the *name* of a zone in tasksim's files."""
    return f"zone-{spelled(name)}-0"


def _add_member(element: Element, name: str, within: str | None, read: _Read) -> None:
    """Add a zone, host or router to the members of the zone *within*."""
    if name in read.members or name in read.ends:
        read.problems.at(element, "each name once", f"'{name}' again")
    if within is not None:
        read.members[within][name] = None


def _add_end(element: Element, name: str, what: str, zone: str, read: _Read) -> None:
    """Add a host or router to a zone."""
    _add_member(element, name, zone, read)
    read.ends[name] = what
    read.zones[_word(zone)][f"{what}s"].append(name)


def _spoke(end: str, zone: str, up: list[str], down: list[str], read: _Read) -> None:
    """Add the ways of a host or router to the middle of its star, and back."""
    routes = read.zones[_word(zone)]["routes"]
    routes += [{"from": end, "links": up}, {"to": end, "links": down}]


def _cluster(element: Element, name: str, within: str | None, read: _Read) -> None:
    """Read a flat cluster: a star of hosts, with a router to leave it by."""
    problems, attributes, sections = read.problems, element.attributes, read.links.sections
    if attributes.get("topology", "FLAT") != "FLAT":
        problems.at(element, "flat clusters beside others", f"topology '{attributes['topology']}'")
    read.zones[_word(name)] = _section(within)
    prefix, suffix = attributes.get("prefix", ""), attributes.get("suffix", "")
    cable = link_fields(element, "bw", "lat", problems, needed=True)
    ways = OPPOSITE_WAYS if duplex_of(element, problems) else ("",) * 2
    middle = []
    if "bb_bw" in attributes:
        middle = [read.links.named(f"{name}_backbone", "")]
        sections[middle[0]] = {**link_fields(element, "bb_bw", "bb_lat", problems)}
        if attributes.get("bb_sharing_policy", "SHARED") == "FATPIPE":
            sections[middle[0]]["shared"] = False
    for number in host_numbers(element, problems):
        host = f"{prefix}{number}{suffix}"
        _add_end(element, host, "host", name, read)
        link = f"{name}_link_{number}"
        limiter = []
        if "limiter_link" in attributes:
            limiter = [read.links.named(f"{link}_limiter", "")]
            sections[limiter[0]] = {"bandwidth": bandwidth_of(element, "limiter_link", problems)}
        up, down = (read.links.named(link, way) for way in ways)
        sections[up] = sections[down] = cable
        _spoke(host, name, [*limiter, up, *middle], [*middle, down, *limiter], read)
        if "loopback_bw" in attributes:
            loopback = read.links.named(f"{link}_loopback", "")
            fields = link_fields(element, "loopback_bw", "loopback_lat", problems)
            sections[loopback] = {**fields, "shared": False}
            routes = read.zones[_word(name)]["routes"]
            routes.append({"from": host, "to": host, "links": [loopback]})
    router = attributes.get("router_id") or f"{prefix}{name}_router{suffix}"
    _add_end(element, router, "router", name, read)
    _spoke(router, name, [], [], read)


def _cabinet(element: Element, zone: str, read: _Read) -> None:
    """Read hosts with a cable each, up and down."""
    cable = link_fields(element, "bw", "lat", read.problems, needed=True)
    prefix, suffix = (element.attributes.get(word, "") for word in ("prefix", "suffix"))
    middle = [read.backbones[zone]] if zone in read.backbones else []
    for number in host_numbers(element, read.problems):
        host = f"{prefix}{number}{suffix}"
        _add_end(element, host, "host", zone, read)
        up, down = (read.links.named(f"link_{host}", way) for way in OPPOSITE_WAYS)
        read.links.sections[up] = read.links.sections[down] = cable
        _spoke(host, zone, [up, *middle], [*middle, down], read)


def _host_link(element: Element, zone: str, ends: dict[str, None], read: _Read) -> None:
    """Read the ways of a host, one of the *ends* in the zone, to the middle of its star."""
    host = read.problems.reference(element, "id", ends, "host")
    middle = [read.backbones[zone]] if zone in read.backbones else []
    up, down = (_one_way(element, word, read) for word in ("up", "down"))
    if host in ends:
        _spoke(host, zone, [up, *middle], [*middle, down], read)


def _one_way(element: Element, attribute: str, read: _Read) -> str:
    """Return a link by its name, or one direction of a split link: ``NAME_UP``."""
    name = read.problems.attribute(element, attribute)
    base, _, way = name.rpartition("_")
    if read.links.split.get(base) and way in OPPOSITE_WAYS:
        return read.links.named(base, way)
    if read.links.split.get(name, True):
        known = [each for each, split in read.links.split.items() if not split]
        what = f"{attribute}: a link of the file, or NAME_UP of a split one"
        read.problems.at(element, what, f"'{name}'{nearest(name, known)}")
    return read.links.named(name, "")


def _route(element: Element, zone: str, read: _Read) -> None:
    """Read a route between two members of a zone."""
    members, problems = read.members[zone], read.problems
    ends = []
    for word, gate in (("src", "gw_src"), ("dst", "gw_dst")):
        member = problems.reference(element, word, members, "member")
        if member in read.members:
            inside = problems.reference(element, gate, _inside(member, read), "host")
            ends.append((_word(member), inside))
        else:
            ends.append((member, ""))
    ways = ways_of(element, read.links, problems)
    for ((source, leaves), (target, enters)), links in zip((ends, ends[::-1]), ways, strict=False):
        if (zone, source, target) in read.routed:
            what = "one route from a member to another"
            problems.at(element, what, f"another, {source} to {target}")
        read.routed.add((zone, source, target))
        gates = {"leaves": leaves, "enters": enters}
        read.zones[_word(zone)]["routes"].append(
            {"from": source, "to": target, "links": links}
            | {word: end for word, end in gates.items() if end}
        )


def _inside(zone: str, read: _Read) -> dict[str, None]:
    """Return the hosts and routers in a zone and in those inside it."""
    found: dict[str, None] = {}
    for member in read.members[zone]:
        found.update(_inside(member, read) if member in read.members else {member: None})
    return found
