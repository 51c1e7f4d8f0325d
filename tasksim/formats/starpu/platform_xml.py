"""The platform that StarPU wrote for SimGrid: hosts, links and routes, in XML.

Versions 3 (``HOST.platform.xml``, bare numbers) and 4 (``HOST.platform.v4.xml``, numbers with
units) of SimGrid's format, as far as StarPU uses it. Nothing outside the file is read and
entities are refused, so that no file can make a short text long.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import nearest
from tasksim.formats.simgrid.xmltext import BANDWIDTHS, TIMES, Element, XmlProblems, parse_xml

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Host", "PlatformXml", "XmlLink", "XmlRoute", "read_platform_xml"]

VERSIONS: Final = ("3", "4")
SHARED: Final = "SHARED"


@dataclass(frozen=True)
class Host:
    """A core, a device, a memory: ``CPU3``, ``CUDA0``, ``RAM``."""

    name: str
    properties: dict[str, str] = field(default_factory=dict)
    """Properties; devices have ``model``, ``memsize`` (bytes), ``memcpy_peer``."""


@dataclass(frozen=True)
class XmlLink:
    """Something that data move over."""

    name: str
    bandwidth_bytes_per_s: float
    latency_s: float


@dataclass(frozen=True)
class XmlRoute:
    """The links from one host to another, in order; a link may come twice."""

    source: str
    target: str
    links: tuple[str, ...]


@dataclass
class PlatformXml:
    """Contents of the file, in its order."""

    hosts: dict[str, Host] = field(default_factory=dict)
    links: dict[str, XmlLink] = field(default_factory=dict)
    routes: list[XmlRoute] = field(default_factory=list)

    def count(self, kind: str) -> int:
        """Return how many hosts are of a *kind*: ``count("CPU")`` counts CPU0, CPU1, ..."""
        return sum(re.fullmatch(rf"{kind}[0-9]+", name) is not None for name in self.hosts)


def read_platform_xml(path: Path) -> PlatformXml:
    """Return the platform in the XML file at *path*.

    Raises
    ------
    InputError
        All that is wrong: ``file:line:column: expected ..., found ...``.
    """
    problems = XmlProblems(path)
    root = parse_xml(path)
    if root.name != "platform" or root.attributes.get("version", "")[:1] not in VERSIONS:
        found = f"<{root.name} version='{root.attributes.get('version', '')}'>"
        problems.at(root, "<platform version='3'> or <platform version='4'>", found)
    platform = PlatformXml()
    for element in root.below():
        if element.name in _READERS:
            _READERS[element.name](element, platform, problems)
    _refuse_used_without_bandwidth(root, platform, problems)
    problems.raise_any()
    return platform


def _host(element: Element, platform: PlatformXml, problems: XmlProblems) -> None:
    name = problems.attribute(element, "id")
    if name in platform.hosts:
        problems.at(element, "each host once", f"'{name}' again")
    properties = {
        problems.attribute(child, "id"): child.attributes.get("value", "")
        for child in element.children
        if child.name == "prop"
    }
    size = properties.get("memsize", "0")
    if not re.fullmatch(r"[0-9]{1,18}", size):
        problems.at(element, "memsize: a number of bytes", f"'{size[:40]}'")
    platform.hosts[name] = Host(name, properties)


def _link(element: Element, platform: PlatformXml, problems: XmlProblems) -> None:
    name = problems.attribute(element, "id")
    if name in platform.links:
        problems.at(element, "each link once", f"'{name}' again")
    bandwidth = problems.quantity(element, "bandwidth", "bandwidth", BANDWIDTHS)
    latency = 0.0
    if "latency" in element.attributes:
        latency = problems.quantity(element, "latency", "time", TIMES)
    sharing = element.attributes.get("sharing_policy", SHARED)
    if sharing != SHARED:
        problems.at(element, f"sharing_policy: {SHARED}, as StarPU's links", f"'{sharing}'")
    platform.links[name] = XmlLink(name, bandwidth, latency)


def _route(element: Element, platform: PlatformXml, problems: XmlProblems) -> None:
    source, target = problems.attribute(element, "src"), problems.attribute(element, "dst")
    for end in (source, target):
        if end and end not in platform.hosts:
            problems.at(element, "a host that is there", f"'{end}'{nearest(end, platform.hosts)}")
    crossed = [child for child in element.children if child.name == "link_ctn"]
    links = tuple(problems.attribute(child, "id") for child in crossed)
    for child, link in zip(crossed, links, strict=True):
        if link and link not in platform.links:
            problems.at(child, "a link that is there", f"'{link}'{nearest(link, platform.links)}")
    if not links:
        problems.at(element, "a route of one link or more", f"none from {source} to {target}")
    found = [XmlRoute(source, target, links)]
    # SimGrid's default, which StarPU switches off.
    if element.attributes.get("symmetrical", "YES").upper() == "YES" and source != target:
        found.append(XmlRoute(target, source, links[::-1]))
    for route in found:
        if any((r.source, r.target) == (route.source, route.target) for r in platform.routes):
            again = f"another from {route.source} to {route.target}"
            problems.at(element, "one route from a host to another", again)
    platform.routes += found


def _refuse_used_without_bandwidth(
    root: Element, platform: PlatformXml, problems: XmlProblems
) -> None:
    """Refuse links of bandwidth 0 that a route crosses.

    StarPU writes links of bandwidth 0 for the buses of a machine without accelerators (``Host``,
    since 1.4 ``NUMA0`` and ``Interconnect``): no route crosses them.
    """
    crossed = {link for route in platform.routes for link in route.links}
    for element in root.below():
        if element.name != "link" or element.attributes.get("id") not in crossed:
            continue
        if not platform.links[element.attributes["id"]].bandwidth_bytes_per_s > 0:
            found = f"'{element.attributes['bandwidth']}'"
            problems.at(element, "bandwidth: a number above 0", found)


_READERS: Final[dict[str, Callable[[Element, PlatformXml, XmlProblems], None]]] = {
    "host": _host,
    "link": _link,
    "route": _route,
}
