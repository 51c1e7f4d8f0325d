"""Bus files of StarPU, with measurements between memories, in ``sampling/bus``.

The text files have one item per line; lines that begin with ``#`` are comments. Missing numbers
(``nan``) stay missing. See StarPU's ``src/core/perfmodel/perfmodel_bus.c``.

``HOST.platform.xml`` (version 3, bare numbers) and ``HOST.platform.v4.xml`` (numbers with units)
are the files that StarPU writes for SimGrid: hosts, links and routes.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.files import read_text
from tasksim.formats.starpu.words import Word
from tasksim.formats.xmltext import (
    BANDWIDTH_UNITS,
    TIME_UNITS,
    Element,
    Problems,
    XmlProblems,
    goes_back,
    parse_xml,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = [
    "Affinity",
    "DeviceCounts",
    "Host",
    "PlatformXml",
    "XmlLink",
    "XmlRoute",
    "read_affinity",
    "read_bandwidth",
    "read_config",
    "read_latency",
    "read_platform_xml",
]

OLD_MEMORY_KINDS: Final = ("CUDA", "OpenCL", "MIC")
NEW_MEMORY_KINDS: Final = ("NUMA", "CUDA", "OpenCL")

_NUMBER = re.compile(r"[+-]?nan|\+?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")
_WHOLE = re.compile(r"[0-9]{1,9}")
_COMMENT = re.compile(r"Number of (\S+)")


@dataclass(frozen=True)
class DeviceCounts:
    """Numbers of devices of a machine, from its ``.config`` file."""

    cpus: int
    devices: dict[str, int]
    """Kind of memory node (``CUDA``, ``OpenCL``, ``NUMA``, ...) -> number of devices."""

    @property
    def numa_nodes(self) -> int:
        """The number of memory nodes before those of devices; 1 if the file has no count."""
        return max(1, self.devices.get("NUMA", 1))


@dataclass(frozen=True)
class Affinity:
    """Processors near a device."""

    device: int
    nearest: tuple[int, ...]
    """NUMA nodes (older files: cores), the nearest first."""


def read_bandwidth(path: Path) -> NDArray[np.float64]:
    """Return the bandwidths between memory nodes, in bytes/s: ``[source, target]``, square.

    Nodes are in StarPU's order: NUMA nodes, CUDA devices, others. 0 on the diagonal, NaN for
    nodes that do not exist. The file has MB/s of 10**6 bytes.

    Raises
    ------
    InputError
        All that is wrong: ``file:line:column: expected ..., found ...``.
    """
    return _read_matrix(path, "a bandwidth in MB/s", 6)


def read_latency(path: Path) -> NDArray[np.float64]:
    """Return the latencies between memory nodes, in seconds; else like :func:`read_bandwidth`."""
    return _read_matrix(path, "a latency in us", -6)


def read_config(path: Path) -> DeviceCounts:
    """Return the devices of a machine: CPUs, and memory nodes by kind.

    Comments name the kinds, ``3 # Number of CUDA devices``. Without them the order does: files of
    four numbers are by StarPU before 1.4 (CPUs, CUDA, OpenCL, MIC), longer ones are newer (CPUs,
    NUMA, CUDA, OpenCL, ...).
    """
    rows, problems = list(_rows(path)), _Problems(path)
    counts: list[int] = []
    named: list[str | None] = []
    for row in rows:
        end = next((i for i, word in enumerate(row) if word.text.startswith("#")), len(row))
        if end != 1:
            problems.at(row[0], "one number", f"{end}")
            continue
        counts.append(problems.whole(row[0], "a number of devices"))
        kind = _COMMENT.search(" ".join(word.text for word in row[end:]))
        named.append(None if kind is None else kind[1])
    if not rows:
        problems.at(Word("", 1, 1), "the number of CPUs", "nothing")
    problems.raise_any()
    order = [
        "CPUs",
        *(OLD_MEMORY_KINDS if len(counts) <= 1 + len(OLD_MEMORY_KINDS) else NEW_MEMORY_KINDS),
    ]
    order += [f"kind {i}" for i in range(len(order), len(counts))]
    kinds = [name or default for name, default in zip(named, order, strict=False)]
    return DeviceCounts(counts[0], dict(zip(kinds[1:], counts[1:], strict=True)))


def read_affinity(path: Path) -> tuple[Affinity, ...]:
    """Return the affinities of the devices, as in the file: CUDA devices, then others."""
    problems = _Problems(path)
    found = []
    for row in _rows(path):
        numbers = [problems.whole(word, "a number of a device or of a core") for word in row]
        if len(numbers) < 2:
            problems.at(row[0], "a device and its nearest nodes", f"'{row[0].text}' alone")
        found.append(Affinity(numbers[0], tuple(numbers[1:])))
    problems.raise_any()
    return tuple(found)


def _read_matrix(path: Path, what: str, exponent: int) -> NDArray[np.float64]:
    """Return the matrix, times ten to the *exponent*."""
    problems = _Problems(path)
    rows = list(_rows(path))
    size = len(rows[0]) if rows else 0
    # Only a square matrix is as large as the file: a first line may have any length.
    values = np.full((size, size if len(rows) == size else 0), np.nan)
    for index, row in enumerate(rows):
        numbers = [problems.number(word, what, exponent) for word in row]
        if len(row) != size:
            problems.at(row[min(size, len(row) - 1)], f"{size} numbers", f"{len(row)}")
        elif len(rows) == size:
            values[index] = numbers
    if not rows or len(rows) != size:
        where = rows[-1][0] if rows else Word("", 1, 1)
        problems.at(where, f"as many lines as columns ({size or 'some'})", f"{len(rows)}")
    problems.raise_any()
    return values


def _rows(path: Path) -> Iterator[list[Word]]:
    """Yield the words of each line that is neither empty nor a comment."""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        words = [Word(m[0], number, m.start() + 1) for m in re.finditer(r"\S+", line)]
        if words and not words[0].text.startswith("#"):
            yield words


class _Problems(Problems):
    """Problems of a bus file, with readers of words and numbers."""

    def at(self, word: Word, expected: str, found: str) -> None:
        self.add(word.line, word.column, expected, found)

    def number(self, word: Word, what: str, exponent: int) -> float:
        """Return a number times ten to the *exponent*, or NaN if the file has it."""
        if not self._legal(word, _NUMBER, what) or "nan" in word.text:
            return math.nan
        # Decimal, so that 9.836008 us stays 9.836008 us when it is written again.
        return float(Decimal(word.text).scaleb(exponent))

    def whole(self, word: Word, what: str) -> int:
        return int(word.text) if self._legal(word, _WHOLE, what) else 0

    def _legal(self, word: Word, pattern: re.Pattern[str], what: str) -> bool:
        legal = pattern.fullmatch(word.text) is not None
        if not legal:
            self.at(word, what, f"'{word.text[:40]}'")
        return legal


VERSIONS: Final = ("3", "4")
SHARED: Final = "SHARED"


@dataclass(frozen=True)
class Host:
    """A core, a device or a memory, such as ``CPU3``, ``CUDA0``, ``RAM``."""

    name: str
    properties: dict[str, str] = field(default_factory=dict)
    """Properties; devices have ``model``, ``memsize`` (bytes), ``memcpy_peer``."""


@dataclass(frozen=True)
class XmlLink:
    """A connection that data move over."""

    name: str
    bandwidth_bytes_per_s: float
    latency_s: float


@dataclass(frozen=True)
class XmlRoute:
    """Ordered links from one host to another; a link may occur twice."""

    source: str
    target: str
    links: tuple[str, ...]


@dataclass
class PlatformXml:
    """Contents of the file, in the order of the file."""

    hosts: dict[str, Host] = field(default_factory=dict)
    links: dict[str, XmlLink] = field(default_factory=dict)
    routes: list[XmlRoute] = field(default_factory=list)
    connected: set[tuple[str, str]] = field(default_factory=set, repr=False, compare=False)
    """Source and target of each route of the file."""

    def count(self, kind: str) -> int:
        """Return the number of hosts of a *kind*: ``count("CPU")`` counts CPU0, CPU1, ..."""
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
    # StarPU writes links of bandwidth 0 for the buses of a machine without accelerators (`Host`,
    # since 1.4 `NUMA0` and `Interconnect`): no route crosses them.
    crossed = {link for route in platform.routes for link in route.links}
    for element in root.below():
        name = element.attributes.get("id")
        if element.name != "link" or name not in crossed:
            continue
        if not platform.links[name].bandwidth_bytes_per_s > 0:
            found = f"'{element.attributes['bandwidth']}'"
            problems.at(element, "bandwidth: a number above 0", found)
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
    bandwidth = problems.quantity(element, "bandwidth", "bandwidth", BANDWIDTH_UNITS)
    latency = 0.0
    if "latency" in element.attributes:
        latency = problems.quantity(element, "latency", "time", TIME_UNITS)
    sharing = element.attributes.get("sharing_policy", SHARED)
    if sharing != SHARED:
        problems.at(element, f"sharing_policy: {SHARED}, as StarPU's links", f"'{sharing}'")
    platform.links[name] = XmlLink(name, bandwidth, latency)


def _route(element: Element, platform: PlatformXml, problems: XmlProblems) -> None:
    source = problems.reference(element, "src", platform.hosts, "host")
    target = problems.reference(element, "dst", platform.hosts, "host")
    links = tuple(
        problems.reference(child, "id", platform.links, "link")
        for child in element.children
        if child.name == "link_ctn"
    )
    if not links:
        problems.at(element, "a route of one link or more", f"none from {source} to {target}")
    found = [XmlRoute(source, target, links)]
    if goes_back(element):
        found.append(XmlRoute(target, source, links[::-1]))
    for route in found:
        ends = route.source, route.target
        if ends in platform.connected:
            again = f"another from {route.source} to {route.target}"
            problems.at(element, "one route from a host to another", again)
    platform.connected.update((route.source, route.target) for route in found)
    platform.routes += found


_READERS: Final[dict[str, Callable[[Element, PlatformXml, XmlProblems], None]]] = {
    "host": _host,
    "link": _link,
    "route": _route,
}
