"""Archives of OTF2, by Score-P, APEX and others, as tasks and their dependencies."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, TypeAlias

from tasksim.formats.traces.otf2.definitions import Definitions
from tasksim.formats.traces.otf2.printed import is_printed, printed_lines
from tasksim.formats.traces.otf2.tasks import Event, OpenMPTasks, OutermostRegions, TaskRegions
from tasksim.formats.traces.records import Records
from tasksim.formats.traces.stretches import LONGEST_NS, NS_PER_S, Stretches

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace

__all__ = ["read_otf2"]

_EVENT: Final = re.compile(r"([A-Z][A-Z0-9_]+) +(\d{1,20}) +(\d{1,20})  (.*)")
_REGION: Final = re.compile(r'Region: ".*" <(\d{1,20})>$')
_TASK: Final = re.compile(
    r'Thread Team: (?:".*" <(\d{1,20})>|[A-Z]+), Creating Thread: (\d{1,20})\b.*, '
    r"Generation Number: (\d{1,20})$"
)
_GUID: Final = re.compile(r'\("GUID" <\d+>; U?INT\d+; (\d{1,20})\)')
_ATTRIBUTES_HEADING: Final = "ADDITIONAL ATTRIBUTES:"
_EVENTS_HEADING: Final = "=== Events ="
_HEADINGS: Final = ("Event ", "-----", "=====", "=== ")
"""Beginnings of lines that otf2-print adds to those of events."""
_ACCELERATORS: Final = ("ACCELERATOR_STREAM", "GPU")
_OF_REGIONS: Final = ("ENTER", "LEAVE")
_OF_TASKS: Final = ("THREAD_TASK_CREATE", "THREAD_TASK_SWITCH", "THREAD_TASK_COMPLETE")
"""Types of events that concern regions, and OpenMP's tasks."""
Reader: TypeAlias = OpenMPTasks | TaskRegions | OutermostRegions
READERS: Final[dict[type[Reader], tuple[str, str]]] = {
    OpenMPTasks: (
        "tasks are those of OpenMP, and their creations outside of tasks",
        "dependences by depend are not in the trace; whatever created tasks before a barrier waits"
        " for them there",
    ),
    TaskRegions: (
        "tasks are the regions of role TASK",
        "the creators of tasks may be in the trace, but not their dependencies",
    ),
    OutermostRegions: ("the trace has no tasks: the outermost regions of threads count", ""),
}
"""Reader -> its notion of tasks, and its gaps, in the order in which they are tried."""
MAX_NAMES_IN_NOTE: Final = 4
"""Maximum number of types of events that a note names."""


def read_otf2(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in an OTF2 archive, by the output of ``otf2-print``.

    Parameters
    ----------
    path : Path
        The anchor file of the archive (``traces.otf2``), or output of ``otf2-print -A``.
    skip_bad : bool, default False
        Whether malformed lines are skipped and counted.

    Raises
    ------
    InputError
        ``file:line: problem``; or if otf2-print is missing, or refuses the archive.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    found = Records(path, skip_bad=skip_bad)
    if not is_printed(path):
        found.place = "{path}: line {line} of otf2-print"
        found.name = path.resolve().parent.name
    content = _Content(found)
    content.read()
    stretches = content.tasks()
    stretches.sort()
    stretches.add_to(found)
    return assembled(found)


class _Content:
    """Content of an archive, taken line by line."""

    def __init__(self, found: Records) -> None:
        self._found = found
        self._definitions = Definitions()
        self._workers: list[str] = []
        self._readers: list[Reader] = []
        self._row: dict[int, int] = {}
        self._last_ns = 0
        self._others: Counter[str] = Counter()
        self._unknown_lines = 0
        self._waiting: Event | None = None
        """The last event, whose attributes may follow it."""

    def read(self) -> None:
        """Read all lines."""
        in_events = False
        for number, line in printed_lines(self._found.path):
            if line.startswith(_EVENTS_HEADING):
                in_events = True
            elif not in_events:
                self._definitions.take(self._found, line, number)
            elif line and line[0] != " ":
                self._event(line, number)
            elif self._waiting is not None and line.lstrip().startswith(_ATTRIBUTES_HEADING):
                guid = _GUID.search(line)
                if guid is not None:
                    self._waiting = self._waiting._replace(guid=int(guid[1]))
        self._hand_on()

    def _event(self, line: str, number: int) -> None:
        """Keep an event of a region or a task until its attributes are read; count the others."""
        match = _EVENT.match(line)
        if match is None:  # perhaps part of a name with a line break
            self._unknown_lines += not line.startswith(_HEADINGS)
            return
        word, location, ticks, text = match.groups()
        if word not in _OF_REGIONS and word not in _OF_TASKS:
            self._others[word] += 1
            return
        row = self._definitions.row(int(location))
        wrong = ""
        if not self._definitions.has_clock:
            wrong = "an event before the clock (CLOCK_PROPERTIES): 'otf2-print -A' prints both"
        elif row is None:
            wrong = f"location {location} is not defined"
        detail = (_REGION if word in _OF_REGIONS else _TASK).match(text)
        key = () if detail is None else tuple(int(part or 0) for part in detail.groups())
        if not wrong and not key:
            wrong = f"{word}: got '{text[:60]}'; legal: as otf2-print 3 has it"
        elif not wrong and word in _OF_REGIONS and key[0] not in self._definitions.regions:
            wrong = f"{word}: region {key[0]} is not defined"
        time_ns = self._definitions.time_ns(int(ticks)) if not wrong else 0
        if abs(time_ns) > LONGEST_NS:
            wrong = f"time: {ticks} ticks are {time_ns // NS_PER_S} s; legal: at most 146 years"
        if wrong or row is None:
            self._found.bad(wrong, number)
            return
        self._hand_on()
        self._last_ns = max(self._last_ns, time_ns)
        self._waiting = Event(word, row, time_ns, key, number)

    def _hand_on(self) -> None:
        """Give the last event to the readers that may still be chosen."""
        event, self._waiting = self._waiting, None
        if event is None:
            return
        if not self._readers:
            self._readers = [kind(Stretches(self._workers), self._definitions) for kind in READERS]
        for reader in self._readers:
            reader.take(event)
            if len(reader.stretches):
                break

    def tasks(self) -> Stretches:
        """Return the stretches of tasks, and note what counts as a task."""
        found = self._found
        for each in self._readers:
            each.close(self._last_ns)
        reader = next((each for each in self._readers if len(each.stretches)), None)
        if reader is None:
            return Stretches([])
        self._name_workers(reader.stretches)
        for text in READERS[type(reader)]:
            if text:
                found.note(text)
        for text, count in reader.counts.items():
            found.note(f"{count} tasks {text}")
        if self._unknown_lines:
            found.note(f"{self._unknown_lines} lines are not events, and are left out")
        if self._others:
            total = sum(self._others.values())
            named = ", ".join(
                f"{count} {word}" for word, count in self._others.most_common(MAX_NAMES_IN_NOTE)
            )
            found.note(f"{total} events are not about tasks, and are not used ({named})")
        return reader.stretches

    def _name_workers(self, stretches: Stretches) -> None:
        """Name the rows that executed tasks as workers of a platform: cpu0, node1/gpu0."""
        found, definitions = self._found, self._definitions
        executed = stretches.executing()
        locations = [definitions.locations[row] for row in executed]
        places = [definitions.nodes.get(each.process, 0) for each in locations]
        nodes = {place: number for number, place in enumerate(dict.fromkeys(places))}
        known = [
            ("gpu" if each.kind in _ACCELERATORS else "cpu", nodes[place], each.name)
            for each, place in zip(locations, places, strict=True)
        ]
        self._workers[:] = [""] * len(definitions.locations)
        names = found.named_workers(known, nodes=len(nodes) > 1)
        for row, name in zip(executed, names, strict=True):
            self._workers[row] = name
