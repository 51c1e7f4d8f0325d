"""The platform that StarPU wrote for SimGrid: hosts, links and routes, in XML.

Versions 3 (``HOST.platform.xml``, bare numbers) and 4 (``HOST.platform.v4.xml``, numbers with
units) of SimGrid's format, as far as StarPU uses it. Nothing outside the file is read and
entities are refused, so that no file can make a short text long.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn
from xml.parsers import expat

from tasksim.base.errors import InputError, nearest
from tasksim.base.files import read_text
from tasksim.base.units import parse_quantity
from tasksim.formats.starpu.problems import Problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tasksim.base.units import Dimension

__all__ = ["Host", "PlatformXml", "XmlLink", "XmlRoute", "read_platform_xml"]

BANDWIDTHS: Final = {"": "B/s"} | {
    f"{prefix}Bps": f"{prefix}B/s" for prefix in ("", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti")
}
TIMES: Final = {"": "s", "s": "s", "ms": "ms", "us": "us", "ns": "ns"}
VERSIONS: Final = ("3", "4")
SHARED: Final = "SHARED"
DEEPEST: Final = 100
"""Elements inside each other: StarPU's files have four, and what walks them is recursive."""

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?)\s*([A-Za-z]*)")


@dataclass(frozen=True)
class Host:
    """A core, a device, a memory: ``CPU3``, ``CUDA0``, ``RAM``."""

    name: str
    properties: dict[str, str] = field(default_factory=dict)
    """Of devices ``model``, ``memsize`` (bytes), ``memcpy_peer``."""


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
    """What the file says, in its order."""

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
    problems = _Problems(path)
    root = _parse(path)
    if root.name != "platform" or root.attributes.get("version", "")[:1] not in VERSIONS:
        found = f"<{root.name} version='{root.attributes.get('version', '')}'>"
        problems.at(root, "<platform version='3'> or <platform version='4'>", found)
    platform = PlatformXml()
    for element in root.below():
        if element.name in _READERS:
            _READERS[element.name](element, platform, problems)
    problems.raise_any()
    return platform


@dataclass
class _Element:
    name: str
    attributes: dict[str, str]
    line: int
    column: int
    children: list[_Element] = field(default_factory=list)

    def below(self) -> Iterator[_Element]:
        """Yield what is inside, zones in zones too, in the order of the file."""
        for child in self.children:
            yield child
            yield from child.below()


class _Problems(Problems):
    """Knows elements and their attributes."""

    def at(self, element: _Element, expected: str, found: str) -> None:
        self.add(element.line, element.column, expected, found)

    def attribute(self, element: _Element, name: str) -> str:
        """Return an attribute, which must be there."""
        if not element.attributes.get(name):
            got = ", ".join(element.attributes) or "none"
            self.at(element, f"<{element.name} {name}='...'>", f"the attributes {got}")
        return element.attributes.get(name, "")

    def quantity(
        self, element: _Element, name: str, dimension: Dimension, units: Mapping[str, str]
    ) -> float:
        """Return an attribute that is a number and one of the *units*, given as tasksim's."""
        text = self.attribute(element, name)
        match = _QUANTITY.fullmatch(text.strip())
        if match is not None and match[2] in units:
            with suppress(InputError):  # a number that no float can hold
                return parse_quantity(f"{match[1]} {units[match[2]]}", dimension)
        if text:
            legal = ", ".join(unit for unit in units if unit)
            self.at(element, f"{name}: a number and one of {legal}", f"'{text[:40]}'")
        return 1.0


def _parse(path: Path) -> _Element:
    """Return the root of the XML in the file at *path*."""
    parser = expat.ParserCreate("utf-8")
    open_elements = [_Element("", {}, 1, 1)]

    def start(name: str, attributes: dict[str, str]) -> None:
        place = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        element = _Element(name, attributes, *place)
        open_elements[-1].children.append(element)
        open_elements.append(element)
        if len(open_elements) > DEEPEST:
            problem(f"at most {DEEPEST} elements inside each other", "more")

    def problem(expected: str, found: str) -> NoReturn:
        place = f"{path}:{parser.CurrentLineNumber}:{parser.CurrentColumnNumber + 1}"
        raise InputError(f"{place}: expected {expected}, found {found}")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: open_elements.pop()
    parser.EntityDeclHandler = lambda name, *_: problem("no entities", f"the entity '{name}'")
    try:
        parser.Parse(read_text(path).encode(), True)
    except expat.ExpatError as error:
        place = f"{path}:{error.lineno}:{error.offset + 1}"
        what = expat.ErrorString(error.code)
        raise InputError(f"{place}: expected XML, found what is not: {what}") from None
    return open_elements[0].children[0]


def _host(element: _Element, platform: PlatformXml, problems: _Problems) -> None:
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


def _link(element: _Element, platform: PlatformXml, problems: _Problems) -> None:
    name = problems.attribute(element, "id")
    if name in platform.links:
        problems.at(element, "each link once", f"'{name}' again")
    bandwidth = problems.quantity(element, "bandwidth", "bandwidth", BANDWIDTHS)
    if not bandwidth > 0:
        problems.at(element, "bandwidth: a number above 0", f"'{element.attributes['bandwidth']}'")
    latency = 0.0
    if "latency" in element.attributes:
        latency = problems.quantity(element, "latency", "time", TIMES)
    sharing = element.attributes.get("sharing_policy", SHARED)
    if sharing != SHARED:
        problems.at(element, f"sharing_policy: {SHARED}, as StarPU's links", f"'{sharing}'")
    platform.links[name] = XmlLink(name, bandwidth, latency)


def _route(element: _Element, platform: PlatformXml, problems: _Problems) -> None:
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


_READERS: Final[dict[str, Callable[[_Element, PlatformXml, _Problems], None]]] = {
    "host": _host,
    "link": _link,
    "route": _route,
}
