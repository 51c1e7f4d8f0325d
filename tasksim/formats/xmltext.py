"""XML of other tools, with the positions of elements, and SimGrid's units.

The parser reads nothing outside the file and refuses entities, so that no file can expand a short
text into a long one.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn
from xml.parsers import expat

from tasksim.base.errors import InputError, nearest
from tasksim.base.files import read_text
from tasksim.base.progress import follow_text
from tasksim.base.units import parse_quantity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from tasksim.base.units import Dimension

__all__ = [
    "BANDWIDTH_UNITS",
    "TIME_UNITS",
    "Element",
    "Problems",
    "XmlProblems",
    "goes_back",
    "parse_xml",
]

BANDWIDTH_UNITS: Final = {"": "B/s"} | {
    f"{prefix}Bps": f"{prefix}B/s" for prefix in ("", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti")
}
BIT_RATE_UNITS: Final = {
    f"{prefix}bps": f"{prefix}B/s" for prefix in ("", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti")
}
"""Bandwidths in bits per second, of which eight are a byte."""
TIME_UNITS: Final = {"": "s", "s": "s", "ms": "ms", "us": "us", "ns": "ns"}
MAX_NESTING: Final = 100
"""Maximum nesting of elements, as functions that walk them are recursive: StarPU's files have four
levels, those of hwloc some fifteen."""

MAX_ELEMENTS: Final = 4_000_000
"""Maximum number of elements: with 400 bytes each (measured), they take 1.6 GB, as much as the text
of the largest file. A workflow of 100,000 jobs has a million."""

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?)\s*([A-Za-z]*)")


@dataclass
class Element:
    """An element with its position and contents."""

    name: str
    attributes: dict[str, str]
    line: int
    column: int
    children: list[Element] = field(default_factory=list)
    text: str = ""
    """Characters directly inside, joined across its children."""

    def below(self) -> Iterator[Element]:
        """Yield the descendants in the order of the file."""
        for child in self.children:
            yield child
            yield from child.below()


class Problems:
    """Collector of problems of the file at *path*."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._texts: list[str] = []

    def add(self, line: int, column: int, expected: str, found: str) -> None:
        """Note what was *expected* and *found* at a place."""
        self._texts.append(f"{self.path}:{line}:{column}: expected {expected}, found {found}")

    def raise_any(self) -> None:
        """Raise :exc:`InputError` with all problems, if there are any."""
        if self._texts:
            raise InputError("\n".join(self._texts))


class XmlProblems(Problems):
    """Problems of an XML file, with readers of elements and attributes."""

    def at(self, element: Element, expected: str, found: str) -> None:
        """Note what was *expected* and *found* at an *element*."""
        self.add(element.line, element.column, expected, found)

    def attribute(self, element: Element, name: str) -> str:
        """Return a required attribute."""
        if not element.attributes.get(name):
            got = ", ".join(element.attributes) or "none"
            self.at(element, f"<{element.name} {name}='...'>", f"the attributes {got}")
        return element.attributes.get(name, "")

    def reference(self, element: Element, name: str, known: Collection[str], what: str) -> str:
        """Return a required attribute that must be one of the *known* names of a *what*."""
        found = self.attribute(element, name)
        if found and found not in known:
            self.at(element, f"a {what} of the file", f"'{found}'{nearest(found, known)}")
        return found

    def quantity(
        self, element: Element, name: str, dimension: Dimension, units: Mapping[str, str]
    ) -> float:
        """Return an attribute that is a number with one of the *units*, in tasksim's notation."""
        text = self.attribute(element, name)
        match = _QUANTITY.fullmatch(text.strip())
        bits = BIT_RATE_UNITS if units is BANDWIDTH_UNITS else {}
        if match is not None and match[2] in {**units, **bits}:
            with suppress(InputError):  # beyond the range of floats
                unit = {**units, **bits}[match[2]]
                number = parse_quantity(f"{match[1]} {unit}", dimension)
                return number / 8 if match[2] in bits else number
        if text:
            legal = ", ".join(unit for unit in units if unit)
            self.at(element, f"{name}: a number and one of {legal}", f"'{text[:40]}'")
        return 1.0


def goes_back(route: Element) -> bool:
    """Return whether SimGrid's *route* leads back, too, by the same links."""
    ends = [route.attributes.get(name) for name in ("src", "dst")]
    # Both directions are SimGrid's default, which StarPU switches off.
    return route.attributes.get("symmetrical", "YES").upper() == "YES" and ends[0] != ends[1]


def parse_xml(path: Path, text: str | None = None) -> Element:
    """Return the root of the XML in the file at *path*, or in a *text* labelled *path*."""
    parser = expat.ParserCreate("utf-8")
    open_elements = [Element("", {}, 1, 1)]
    open_texts: list[list[str]] = [[]]
    started = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal started
        started += 1
        if started > MAX_ELEMENTS:
            problem(f"at most {MAX_ELEMENTS} elements", "more")
        place = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        element = Element(name, attributes, *place)
        open_elements[-1].children.append(element)
        open_elements.append(element)
        open_texts.append([])
        if len(open_elements) > MAX_NESTING:
            problem(f"at most {MAX_NESTING} elements inside each other", "more")

    def problem(expected: str, found: str) -> NoReturn:
        place = f"{path}:{parser.CurrentLineNumber}:{parser.CurrentColumnNumber + 1}"
        raise InputError(f"{place}: expected {expected}, found {found}")

    def end(_: str) -> None:
        open_elements.pop().text = "".join(open_texts.pop())

    data = (read_text(path) if text is None else text).encode()
    follow_text(lambda: parser.CurrentByteIndex, len(data))
    parser.buffer_text = True
    parser.StartElementHandler = start
    # Joined at the end: adding each part to the text would take the square of its length.
    parser.CharacterDataHandler = lambda part: open_texts[-1].append(part)
    parser.EndElementHandler = end
    parser.EntityDeclHandler = lambda name, *_: problem("no entities", f"the entity '{name}'")
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        place = f"{path}:{error.lineno}:{error.offset + 1}"
        what = expat.ErrorString(error.code)
        raise InputError(f"{place}: expected XML, found what is not: {what}") from None
    return open_elements[0].children[0]
