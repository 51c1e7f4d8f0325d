"""Header of a Paraver trace: duration, unit of times, and its applications, processes, threads."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tasksim.formats.traces.stretches import LONGEST_NS

if TYPE_CHECKING:
    from tasksim.formats.traces.records import Records

__all__ = ["Header", "parse_header"]

TIME_UNITS_NS: Final = {"_ns": 1, "_us": 1000, "": 1000}
"""Units of times in ns; a number without one is in microseconds."""

_FORM: Final = re.compile(r"#Paraver \([^)]*\):(\d{1,20})([_a-z]*):([^:]*):(\d{1,9})(?::|$)")
_NODES: Final = re.compile(r"\d+(\(\d+(,\d+)*\))?")
_PAIRS: Final = r"\d{1,9}:\d{1,9}(?:,\d{1,9}:\d{1,9})*"
_APPLICATION: Final = re.compile(rf"\d+\(((?:{_PAIRS})?)\)(?:,\d+)?(?::|$)")
_LEGAL: Final = "#Paraver (DATE):DURATION[_ns]:NODES:APPLICATIONS:PROCESSES(THREADS:NODE,...)..."


@dataclass(frozen=True)
class Header:
    """Header of a trace.

    Attributes
    ----------
    end_ns
        Duration of the trace.
    scale
        Nanoseconds in a unit of its times.
    applications
        Per application and process the number of its threads, and its node from 1.
    """

    end_ns: int
    scale: int
    applications: tuple[tuple[tuple[int, int], ...], ...] = ()
    _first: dict[tuple[int, int], int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        count = 0
        for at, processes in enumerate(self.applications, 1):
            for process, (threads, _) in enumerate(processes, 1):
                self._first[at, process] = count
                count += threads

    def number(self, application: int, process: int, thread: int) -> int | None:
        """Return the number of a thread among all, from 0; None if the header has none."""
        first = self._first.get((application, process))
        if first is None or not 0 < thread <= self.applications[application - 1][process - 1][0]:
            return None
        return first + thread - 1

    def node(self, application: int, process: int) -> int:
        """Return the node of a process, from 1."""
        if (application, process) not in self._first:
            return 1
        return self.applications[application - 1][process - 1][1]

    @property
    def nodes(self) -> int:
        """Number of nodes with processes."""
        return len({node for each in self.applications for _, node in each})


def parse_header(found: Records, line: str) -> Header:
    """Return the header in the first line of a trace; report problems to *found*."""
    match = _FORM.match(line)
    if match is None:
        found.bad(f"got '{line[:60]}'; legal: {_LEGAL}", 1, column=1)
        return Header(0, TIME_UNITS_NS[""])
    duration, unit, nodes, count = match.groups()
    if unit not in TIME_UNITS_NS:
        legal = ", ".join(each for each in TIME_UNITS_NS if each)
        found.bad(f"unit: got '{unit}'; legal: {legal}, or none for us", 1, column=match.start(2))
    if not _NODES.fullmatch(nodes):
        found.bad(
            f"nodes: got '{nodes[:40]}'; legal: 0, or such as 2(4,4)", 1, column=match.start(3) + 1
        )
    scale = TIME_UNITS_NS.get(unit, 1)
    if not unit:
        found.note("times are in microseconds, as the header names no other unit")
    applications: list[tuple[tuple[int, int], ...]] = []
    at = match.end()
    while at < len(line):
        one = _APPLICATION.match(line, at)
        if one is None:
            found.bad(
                f"application: got '{line[at : at + 40]}'; legal: such as 2(4:1,4:2), for "
                "processes of 4 threads on nodes 1 and 2",
                1,
                column=at + 1,
            )
            break
        pairs = [pair.split(":") for pair in one[1].split(",")] if one[1] else []
        applications.append(tuple((int(threads), int(node)) for threads, node in pairs))
        at = one.end()
    if len(applications) != int(count):
        found.bad(
            f"{count} applications, but threads of {len(applications)}",
            1,
            column=match.start(4) + 1,
        )
    return Header(min(int(duration) * scale, LONGEST_NS), scale, tuple(applications))
