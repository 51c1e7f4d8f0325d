"""Networks in platform files of SimGrid: a cluster, hosts with links and routes, nested zones.

The reader supports the networks of SimGrid's versions 4 and 4.1, including the files that StarPU
writes for its runs over MPI, which describe the nodes beside the cluster. The contents become the
fields of a section ``network:``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import prod
from typing import TYPE_CHECKING, Any, Final

import yaml

from tasksim.base.errors import nearest
from tasksim.base.files import write_text
from tasksim.base.numerals import whole_number
from tasksim.formats.simgrid_elements import (
    COMBINING_ROUTINGS,
    ZONE_ELEMENTS,
    FileLinks,
    bandwidth_of,
    duplex_of,
    host_numbers,
    link_fields,
    read_link,
    routing_of,
    ways_of,
)
from tasksim.formats.simgrid_zones import has_zones, zones_fields
from tasksim.formats.xmltext import XmlProblems, parse_xml
from tasksim.network.load import network_of_fields, read_network

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tasksim.formats.xmltext import Element
    from tasksim.network.description import Network

__all__ = ["DEFAULT_MODEL", "import_network", "network_fields", "read_network_xml"]

DEFAULT_MODEL: Final = "smpi"
"""Model of messages for files of SimGrid, which name none: the default of ``smpirun``."""

REFUSED_ELEMENTS: Final = {
    "peer": "its latencies follow from coordinates",
    "bypassRoute": "routes follow from zones",
    "bypassZoneRoute": "routes follow from zones",
    "bypassASroute": "routes follow from zones",
    "trace_connect": "networks do not change over time",
}
"""Elements that change a network in a way which has no counterpart here, with the reason."""
MAX_HOSTS: Final = 1000
"""Largest number of hosts of an explicit network, whose routes are listed: a million routes take
300 MB."""


def read_network_xml(path: Path, changes: Mapping[str, Any] | None = None) -> Network:
    """Return the network in the XML file at *path*, with *changes* of its fields.

    Raises
    ------
    InputError
        With all problems: ``file:line:column: expected ..., found ...``.
    """
    fields = {**network_fields(path), **(changes or {})}
    return network_of_fields(fields, path.stem, str(path), model=DEFAULT_MODEL)


def network_fields(path: Path) -> dict[str, Any]:
    """Return the fields of a section ``network:`` for the XML file at *path*.

    Raises
    ------
    InputError
        As :func:`read_network_xml`.
    """
    problems = XmlProblems(path)
    root = parse_xml(path)
    if root.name != "platform" or root.attributes.get("version", "")[:1] != "4":
        found = f"<{root.name} version='{root.attributes.get('version', '')}'>"
        problems.at(root, "<platform version='4'> or <platform version='4.1'>", found)
        problems.raise_any()
    for element in root.below():
        if element.name in REFUSED_ELEMENTS:
            problems.at(element, f"no <{element.name}>: {REFUSED_ELEMENTS[element.name]}", "one")
    clusters = [element for element in root.below() if element.name == "cluster"]
    if any(element.name == "actor" for element in root.below()):
        problems.at(root, "a platform: a <cluster>, or a <host> or more", "a deployment of actors")
        problems.raise_any()
    if has_zones(root):
        fields = zones_fields(root, problems)
    elif clusters:
        fields = _cluster_fields(clusters[0], problems)
    else:
        fields = _explicit_fields(root, problems)
    problems.raise_any()
    return fields


@dataclass
class _Found:
    """Contents of the file."""

    hosts: dict[str, None] = field(default_factory=dict)
    ends: dict[str, None] = field(default_factory=dict)
    """Hosts and routers, at which routes begin and end."""
    links: FileLinks = field(default_factory=FileLinks)
    routes: dict[tuple[str, str], list[str]] = field(default_factory=dict)


def _explicit_fields(root: Element, problems: XmlProblems) -> dict[str, Any]:
    """Return the fields of a section ``network:`` with the hosts, links and routes below *root*."""
    found = _Found()
    shortest = False
    for element in root.below():
        if element.name in ZONE_ELEMENTS:
            shortest |= routing_of(element, problems) in COMBINING_ROUTINGS
        elif element.name in ("host", "router"):
            name = problems.attribute(element, "id")
            found.ends[name] = None
            if element.name == "host":
                found.hosts[name] = None
        elif element.name == "link":
            read_link(element, found.links, problems)
        elif element.name == "route":
            _route(element, found, problems)
    if not found.hosts:
        problems.at(root, "a <cluster>, or a <host> or more", "neither")
    if len(found.hosts) > MAX_HOSTS:
        problems.at(root, f"at most {MAX_HOSTS} hosts outside clusters", f"{len(found.hosts)}")
        return {}
    hosts = found.hosts
    routes = _shortest(found) if shortest else found.routes
    return {
        "topology": "explicit",
        "hosts": list(hosts),
        "links": found.links.sections,
        "routes": [
            {"from": source, "to": target, "links": links, "one_way": True}
            for (source, target), links in routes.items()
            if source in hosts and target in hosts
        ],
    }


def _route(element: Element, found: _Found, problems: XmlProblems) -> None:
    source = problems.reference(element, "src", found.ends, "host")
    target = problems.reference(element, "dst", found.ends, "host")
    ways = ways_of(element, found.links, problems)
    routes = dict(zip([(source, target), (target, source)], ways, strict=False))
    for one, other in routes:
        if (one, other) in found.routes:
            problems.at(element, "one route from a host to another", f"another, {one} to {other}")
    found.routes |= routes


def _shortest(found: _Found) -> dict[tuple[str, str], list[str]]:
    """Return the paths with the fewest links between all hosts, over hosts and routers (Dijkstra).

    Of several, the path found first counts.
    """
    onward: dict[str, list[tuple[str, list[str]]]] = {}
    for (source, target), links in found.routes.items():
        onward.setdefault(source, []).append((target, links))
    routes = {}
    for source in found.hosts:
        reached: set[str] = set()
        heap: list[tuple[int, int, str, list[str]]] = [(0, 0, source, [])]
        pushed = 0
        while heap:
            _, _, end, way = heappop(heap)
            if end in reached:
                continue
            reached.add(end)
            if end != source:
                routes[source, end] = way
            for following, links in onward.get(end, ()):
                if following not in reached:
                    pushed += 1
                    longer = way + links
                    heappush(heap, (len(longer), pushed, following, longer))
    return routes


def _cluster_fields(cluster: Element, problems: XmlProblems) -> dict[str, Any]:
    """Return the fields of a section ``network:`` for a *cluster*."""
    topology = cluster.attributes.get("topology", "FLAT")
    legal = ("FLAT", *_SHAPES)
    if topology not in legal:
        found = f"'{topology}'{nearest(topology, legal)}"
        problems.at(cluster, f"topology: {', '.join(legal)}", found)
        return {}
    hosts = len(host_numbers(cluster, problems))
    fields: dict[str, Any] = {**link_fields(cluster, "bw", "lat", problems, needed=True)}
    if not duplex_of(cluster, problems):
        fields["full_duplex"] = False
    if "loopback_bw" in cluster.attributes:
        loopback = link_fields(cluster, "loopback_bw", "loopback_lat", problems)
        fields |= {f"loopback_{name}": value for name, value in loopback.items()}
    if topology == "FLAT":
        return {**_flat(cluster, hosts, problems), **fields}
    return {**_structured(cluster, topology, hosts, problems), **fields}


def _flat(cluster: Element, hosts: int, problems: XmlProblems) -> dict[str, Any]:
    """Return the fields of a cluster around a switch, or a backbone."""
    fields: dict[str, Any] = {"topology": "switch", "nodes": hosts}
    if "limiter_link" in cluster.attributes:
        fields["limiter"] = bandwidth_of(cluster, "limiter_link", problems)
    if "bb_bw" in cluster.attributes:
        fields["topology"] = "backbone"
        backbone = link_fields(cluster, "bb_bw", "bb_lat", problems)
        fields |= {f"backbone_{name}": value for name, value in backbone.items()}
        policy = cluster.attributes.get("bb_sharing_policy", "SHARED")
        if policy not in ("SHARED", "FATPIPE"):
            problems.at(cluster, "bb_sharing_policy: SHARED, FATPIPE", f"'{policy}'")
        if policy == "FATPIPE":
            fields["backbone_shared"] = False
    return fields


def _parameters(cluster: Element, topology: str, problems: XmlProblems) -> list[list[int]]:
    """Return the numbers of ``topo_parameters``, or nothing if they do not fit the *topology*."""
    shape, example = _SHAPES[topology]
    text = problems.attribute(cluster, "topo_parameters")
    if "limiter_link" in cluster.attributes:
        what = f"no limiter_link on a {topology}: without it, hosts send and receive at full speed"
        problems.at(cluster, f"{what} at once, as cables with SPLITDUPLEX do", "one")
    groups = [[whole_number(word.strip()) for word in part.split(",")] for part in text.split(";")]
    lengths = [int(length) if length != "n" else None for length in shape.split(";")]
    fits = len(groups) == len(lengths) and all(
        length in (None, len(group)) for length, group in zip(lengths, groups, strict=True)
    )
    numbers = [[n for n in group if n is not None and n > 0] for group in groups]
    if not fits or list(map(len, numbers)) != list(map(len, groups)):
        problems.at(cluster, f"topo_parameters: counts such as {example}", f"'{text[:40]}'")
        return []
    return numbers


_SHAPES: Final = {
    "FAT_TREE": ("1;n;n;n", "2;4,4;1,2;1,2"),
    "TORUS": ("n", "4,4,4"),
    "DRAGONFLY": ("2;2;2;1", "3,4;3,2;3,1;2"),
}
"""Topology -> the numbers in each part of ``topo_parameters``, and an example."""


def _structured(
    cluster: Element, topology: str, hosts: int, problems: XmlProblems
) -> dict[str, Any]:
    """Return the fields of a torus, a fat tree or a dragonfly with *hosts* hosts."""
    numbers = _parameters(cluster, topology, problems)
    if not numbers:
        return {}
    fields: dict[str, Any]
    if topology == "TORUS":
        (dimensions,) = numbers
        made, fields = prod(dimensions), {"topology": "torus", "dimensions": dimensions}
    elif topology == "FAT_TREE":
        (levels,), children, parents, cables = numbers
        if not len(children) == len(parents) == len(cables) == levels:
            problems.at(cluster, f"topo_parameters: {levels} numbers per part", "others")
        made, fields = prod(children), {
            "topology": "fat-tree", "children": children, "parents": parents, "cables": cables
        }  # fmt: skip
    else:
        (groups, blue), (chassis, black), (routers, green), (nodes,) = numbers
        if routers < groups:
            problems.at(cluster, "at least as many routers in a chassis as groups", f"{routers}")
        made, fields = groups * chassis * routers * nodes, {
            "topology": "dragonfly", "groups": groups, "chassis": chassis, "routers": routers,
            "hosts": nodes, "blue": blue, "black": black, "green": green,
        }  # fmt: skip
    if made != hosts:
        problems.at(cluster, f"a radical of {made} hosts, as topo_parameters make", f"{hosts}")
    return fields


def import_network(
    path: Path, library: Path, name: str | None = None, *, force: bool = False
) -> tuple[Path, Network]:
    """Write the network in SimGrid's file at *path* to ``networks/`` of a *library*.

    Parameters
    ----------
    path : Path
        A platform file of SimGrid, XML.
    library : Path
        A folder.
    name : str, optional
        Default: the name of the file.
    force : bool, default False
        Whether a network of that name is replaced.

    Returns
    -------
    Path, Network
        The file written, and its network.

    Raises
    ------
    InputError
        With all problems of the file, by line and column; nothing is written then.
    """
    fields = {"name": name or path.stem, **network_fields(path), "model": DEFAULT_MODEL}
    head = f"# Imported by tasksim from {path.name}.\n"
    data = {"version": 1, "network": fields}
    text = head + yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=100)
    target = library / "networks" / f"{name or path.stem}.yaml"
    write_text(target, text, force=force)
    return target, read_network(target)
