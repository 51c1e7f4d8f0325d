"""Hosts, links and routes of a platform file of SimGrid; shortest ways where it leaves them out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import nearest
from tasksim.base.units import exact_quantity
from tasksim.formats.simgrid.xmltext import BANDWIDTHS, TIMES

if TYPE_CHECKING:
    from tasksim.formats.simgrid.xmltext import Element, XmlProblems

__all__ = ["explicit_fields"]

POLICIES: Final = ("SHARED", "SPLITDUPLEX", "FATPIPE")
BETWEEN_ANY: Final = ("floyd", "dijkstra", "dijkstracache")
"""The routings that find ways over several routes."""
MOST_HOSTS: Final = 1000
"""Hosts of an explicit network, whose routes are listed: a million of them take 300 MB."""


@dataclass
class _Found:
    """Contents of the file."""

    hosts: dict[str, None] = field(default_factory=dict)
    routers: dict[str, None] = field(default_factory=dict)
    links: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Links by their names in a section ``network:``."""
    split: dict[str, bool] = field(default_factory=dict)
    """Name of a link in the file -> whether each direction has a link of its own."""
    routes: dict[tuple[str, str], list[str]] = field(default_factory=dict)


def explicit_fields(root: Element, problems: XmlProblems) -> dict[str, Any]:
    """Return the fields of a section ``network:`` with the hosts, links and routes below *root*."""
    found = _Found()
    shortest = False
    for element in root.below():
        if element.name in ("AS", "zone"):
            shortest |= element.attributes.get("routing", "").lower() in BETWEEN_ANY
        elif element.name == "host":
            found.hosts[problems.attribute(element, "id")] = None
        elif element.name == "router":
            found.routers[problems.attribute(element, "id")] = None
        elif element.name == "link":
            _link(element, found, problems)
        elif element.name == "route":
            _route(element, found, problems)
    if not found.hosts:
        problems.at(root, "a <cluster>, or a <host> or more", "neither")
    if len(found.hosts) > MOST_HOSTS:
        problems.at(root, f"at most {MOST_HOSTS} hosts outside clusters", f"{len(found.hosts)}")
        return {}
    routes = _shortest(found) if shortest else _between_hosts(found)
    return {
        "topology": "explicit",
        "hosts": list(found.hosts),
        "links": found.links,
        "routes": [
            {"from": source, "to": target, "links": links, "one_way": True}
            for (source, target), links in routes.items()
        ],
    }


def _link(element: Element, found: _Found, problems: XmlProblems) -> None:
    name = problems.attribute(element, "id")
    if name in found.split:
        problems.at(element, "each link once", f"'{name}' again")
    bandwidth = problems.quantity(element, "bandwidth", "bandwidth", BANDWIDTHS)
    if not bandwidth > 0:
        problems.at(element, "bandwidth: a number above 0", f"'{element.attributes['bandwidth']}'")
    fields = {"bandwidth": exact_quantity(bandwidth, "bandwidth")}
    if "latency" in element.attributes:
        latency = problems.quantity(element, "latency", "time", TIMES)
        fields["latency"] = exact_quantity(latency, "time")
    policy = element.attributes.get("sharing_policy", "SHARED")
    if policy not in POLICIES:
        problems.at(element, f"sharing_policy: {', '.join(POLICIES)}", f"'{policy}'")
    shared = {"shared": False} if policy == "FATPIPE" else {}
    found.split[name] = policy == "SPLITDUPLEX"
    for way in ("UP", "DOWN") if found.split[name] else ("",):
        found.links[_plain(name, way)] = {**fields, **shared}


def _plain(name: str, way: str) -> str:
    """Return *name* as a file of tasksim may have it: other characters by their numbers."""
    plain = re.sub(r"[^A-Za-z0-9-]", lambda match: f"_{ord(match[0]):x}_", name)
    return f"link-{plain}-{way}" if way else f"link-{plain}-0"


def _route(element: Element, found: _Found, problems: XmlProblems) -> None:
    source, target = problems.attribute(element, "src"), problems.attribute(element, "dst")
    ends = {**found.hosts, **found.routers}
    for end in (source, target):
        if end and end not in ends:
            problems.at(element, "a host that is there", f"'{end}'{nearest(end, ends)}")
    there, back = [], []
    for child in element.children:
        if child.name == "link_ctn":
            way = child.attributes.get("direction", "")
            there.append(_crossed(child, way, found, problems))
            back.append(_crossed(child, {"UP": "DOWN", "DOWN": "UP"}.get(way, ""), found, problems))
    _add(element, (source, target), there, found, problems)
    if element.attributes.get("symmetrical", "YES").upper() == "YES" and source != target:
        _add(element, (target, source), back[::-1], found, problems)


def _add(
    element: Element,
    ends: tuple[str, str],
    links: list[str],
    found: _Found,
    problems: XmlProblems,
) -> None:
    if ends in found.routes:
        problems.at(element, "one route from a host to another", f"another, {ends[0]} to {ends[1]}")
    if not links:
        problems.at(element, "a route of one link or more", "none")
    found.routes[ends] = links


def _crossed(child: Element, way: str, found: _Found, problems: XmlProblems) -> str:
    """Return the link that a ``<link_ctn>`` names."""
    name = problems.attribute(child, "id")
    if name and name not in found.split:
        known = found.split
        problems.at(child, "a link that is there", f"'{name}'{nearest(name, known)}")
    elif name and found.split[name] and way not in ("UP", "DOWN"):
        problems.at(child, f"direction='UP' or 'DOWN' of '{name}', which is split", f"'{way}'")
    return _plain(name, way if found.split.get(name) else "")


def _between_hosts(found: _Found) -> dict[tuple[str, str], list[str]]:
    return {
        (source, target): links
        for (source, target), links in found.routes.items()
        if source in found.hosts and target in found.hosts
    }


def _shortest(found: _Found) -> dict[tuple[str, str], list[str]]:
    """Return the ways with the fewest links between all hosts, over hosts and routers."""
    onward: dict[str, list[tuple[str, list[str]]]] = {}
    for (source, target), links in found.routes.items():
        onward.setdefault(source, []).append((target, links))
    routes = {}
    for source in found.hosts:
        for target, links in _ways_from(source, onward).items():
            if target in found.hosts and target != source:
                routes[source, target] = links
    return routes


def _ways_from(source: str, onward: dict[str, list[tuple[str, list[str]]]]) -> dict[str, list[str]]:
    """Return the way with the fewest links from *source* to each end (Dijkstra)."""
    ways: dict[str, list[str]] = {}
    heap: list[tuple[int, int, str, list[str]]] = [(0, 0, source, [])]
    count = 0
    while heap:
        _, _, end, way = heappop(heap)
        if end not in ways:
            ways[end] = way
            for following, links in onward.get(end, ()):
                if following not in ways:
                    count += 1
                    longer = way + links
                    heappush(heap, (len(longer), count, following, longer))
    return ways
