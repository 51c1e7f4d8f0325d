"""Definitions of an OTF2 archive that concern tasks: clock, regions, locations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tasksim.formats.traces.stretches import NS_PER_S

if TYPE_CHECKING:
    from tasksim.formats.traces.records import Records

__all__ = ["Definitions", "Location", "Region"]

_NUMBER: Final = r"(\d{1,20})"
_CLOCK: Final = re.compile(
    rf"CLOCK_PROPERTIES +Ticks per Seconds: {_NUMBER}, Global Offset: {_NUMBER},"
)
_REGION: Final = re.compile(
    rf'REGION +{_NUMBER}  Name: "(.*)" <\d+> \(Aka\. .*, Role: (\w+), '
    r'Paradigm: (?:"[^"]*" <\d+>|\w+), Flags: '
)
_LOCATION: Final = re.compile(
    rf'LOCATION +{_NUMBER}  Name: "(.*)" <\d+>, Type: (\w+), # Events: \d+, '
    rf'Group: (?:".*" <{_NUMBER}>|.*)$'
)
_PROCESS: Final = re.compile(
    rf'LOCATION_GROUP +{_NUMBER}  Name: "(.*)" <\d+>, Type: \w+, '
    rf'Parent: (?:".*" <{_NUMBER}>|[^,]*)'
)
_DEFINITION_WORDS: Final = ("CLOCK_PROPERTIES", "REGION", "LOCATION", "LOCATION_GROUP")


@dataclass(frozen=True)
class Region:
    """Code of a program.

    Attributes
    ----------
    name
    role
        Role by OTF2: FUNCTION, TASK, ...
    """

    name: str
    role: str


@dataclass(frozen=True)
class Location:
    """Place of events: a thread, or a stream of an accelerator.

    Attributes
    ----------
    name
    kind
        Kind by OTF2: CPU_THREAD, ACCELERATOR_STREAM, ...
    process
        Number of its process.
    """

    name: str
    kind: str
    process: int


class Definitions:
    """Definitions of an archive.

    Attributes
    ----------
    regions : dict of int -> Region
    locations : list of Location
        Locations in the order of the archive, which numbers the rows.
    nodes : dict of int -> int
        Process -> number of its place in the tree of the system.
    """

    def __init__(self) -> None:
        self.regions: dict[int, Region] = {}
        self.locations: list[Location] = []
        self._rows: dict[int, int] = {}
        self.nodes: dict[int, int] = {}
        self._ticks_per_s, self._offset = 0, 0

    def take(self, found: Records, line: str, number: int) -> None:
        """Take a line; report a malformed one to *found*."""
        word = line.partition(" ")[0]
        if word not in _DEFINITION_WORDS:
            return
        if match := _REGION.match(line):
            self.regions[int(match[1])] = Region(match[2], match[3])
        elif match := _LOCATION.match(line):
            self._rows[int(match[1])] = len(self.locations)
            self.locations.append(Location(match[2], match[3], int(match[4] or 0)))
        elif match := _PROCESS.match(line):
            self.nodes[int(match[1])] = int(match[3] or 0)
        elif (match := _CLOCK.match(line)) and int(match[1]):
            self._ticks_per_s, self._offset = int(match[1]), int(match[2])
        else:
            found.bad(f"definition: got '{line[:60]}'; legal: as otf2-print 3 has them", number)

    def row(self, location: int) -> int | None:
        """Return the row of a location; None if it is not defined."""
        return self._rows.get(location)

    @property
    def has_clock(self) -> bool:
        """Whether times can be read."""
        return self._ticks_per_s > 0

    def time_ns(self, ticks: int) -> int:
        """Return a time in ns from the begin of the trace."""
        return (ticks - self._offset) * NS_PER_S // self._ticks_per_s
