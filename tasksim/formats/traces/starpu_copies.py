"""Copies between memories in StarPU's ``paje.trace``, and the memory of each worker.

A copy is an arrow between the managers of two memory nodes. The heads of the file (``%EventDef``)
name the fields of each kind of line, so that no number of an event is assumed. An arrow starts
when the driver submits the copy, and ends when a worker sees that it is complete.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.formats.traces.records import LARGEST_SIZE, CopyRecords
from tasksim.formats.traces.recutils import LONGEST_NODE, nanoseconds
from tasksim.formats.traces.textlines import lines
from tasksim.run.recordtables import TransferReason

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.traces.records import Records

__all__ = ["PajeCopies", "read_copies"]

REASON_OF_ARROW: Final = {
    "Intra-node data Fetch": TransferReason.FETCH,
    "Intra-node data TaskPreFetch": TransferReason.PREFETCH,
    "Intra-node data PreFetch": TransferReason.PREFETCH,
    "Intra-node data IdleFetch": TransferReason.IDLE,
}
"""Names of the types of arrows that are copies -> their reasons."""
UNKNOWN_DATUM: Final = "unknown"
"""Name of the datum of copies whose arrows do not say what they carry."""
MEMORY_NODE_TYPE: Final = "Memory Node"
WORKER_TYPE: Final = "Worker"
"""Names of types of containers."""

_WORD: Final = re.compile(r'"[^"]*"|\S+')
_NUMBER_AT_END: Final = re.compile(rf"\D*(\d{{1,{LONGEST_NODE}}})")
_START, _END = "PajeStartLink", "PajeEndLink"
_EVENTS: Final = frozenset(
    ("PajeDefineContainerType", "PajeDefineLinkType", "PajeCreateContainer", _START, _END)
)


class _Begun(NamedTuple):
    """A copy whose end has not been read."""

    memory: int
    size: int
    start_s: float
    handle: str
    line: int


class PajeCopies:
    """Contents of a ``paje.trace``: memories, workers in them, copies.

    Attributes
    ----------
    copies : CopyRecords
    memories : set of int
        Numbers of the memory nodes.
    memory_of : dict of str -> int
        Number of a worker -> its memory node.
    unfinished : int
        Copies without an end: the program stopped before a worker saw it.
    unknown : int
        Copies whose datum the trace does not name.
    """

    def __init__(self) -> None:
        self.copies = CopyRecords()
        self.memories: set[int] = set()
        self.memory_of: dict[str, int] = {}
        self.unfinished = self.unknown = 0
        self.types: dict[str, str] = {}
        """Alias of a type -> its name."""
        self.inside: dict[str, int] = {}
        """Alias of a container -> its memory node."""
        self.open: dict[tuple[str, str], _Begun] = {}
        """Type and key of an arrow -> its start."""


def memory_name(number: int) -> str:
    """Return the name of a memory node: node 0 is the main memory."""
    return f"memory{number}" if number else "ram"


def read_copies(found: Records, path: Path) -> PajeCopies:
    """Return the memories and copies of the ``paje.trace`` at *path*.

    Problems are reported to *found*.
    """
    read = PajeCopies()
    heads: dict[str, tuple[str, list[str]]] = {}
    fields: list[str] = []
    for number, line in lines(path):
        code = line.split(None, 1)[0] if line.strip() else ""
        if code.startswith("%"):
            words = line[1:].split()
            if words[:1] == ["EventDef"] and len(words) == 3:
                fields = []
                heads[words[2]] = words[1], fields
            elif len(words) == 2:
                fields.append(words[0])
            continue
        event, names = heads.get(code, ("", []))
        if event not in _EVENTS:
            continue
        values = [word.strip('"') for word in _WORD.findall(line)[1:]]
        problem = _apply(read, event, dict(zip(names, values, strict=False)), number)
        if problem:
            found.bad(problem, number, path)
    read.unfinished += len(read.open)
    return read


def _apply(read: PajeCopies, event: str, fields: dict[str, str], line: int) -> str:
    """Apply an event; return a problem, if there is one."""
    alias, kind = fields.get("Alias", ""), fields.get("Type", "")
    if event in (_START, _END):
        return _arrow(read, event, fields, line) if read.types.get(kind) in REASON_OF_ARROW else ""
    if event != "PajeCreateContainer":
        read.types[alias] = fields.get("Name", "")
        return ""
    # A container is in the memory of the container around it.
    kind = read.types.get(kind, kind)
    number = _NUMBER_AT_END.fullmatch(fields.get("Name", ""))
    if kind == MEMORY_NODE_TYPE and number:
        read.inside[alias] = int(number[1])
        read.memories.add(int(number[1]))
    elif fields.get("Container") in read.inside:
        read.inside[alias] = read.inside[fields["Container"]]
        worker = _NUMBER_AT_END.fullmatch(alias)
        if kind == WORKER_TYPE and worker:
            read.memory_of[worker[1]] = read.inside[alias]
    return ""


def _arrow(read: PajeCopies, event: str, fields: dict[str, str], line: int) -> str:
    """Apply the start or the end of a copy; return a problem, if there is one."""
    key = fields.get("Type", ""), fields.get("Key", "")
    container = fields.get("StartContainer" if event == _START else "EndContainer", "")
    begun = read.open.pop(key, None)
    if container not in read.inside:
        known = ", ".join(sorted(read.inside)[:8])
        return f"copy {key[1]}: no memory is called '{container[:40]}'; legal: {known}"
    time, value = fields.get("Time", ""), fields.get("Value", "")
    got = f"got Time '{time[:40]}', Value '{value[:40]}'; legal: milliseconds, bytes"
    try:
        time_ms, size = float(time), int(value)
    except ValueError:
        return f"copy {key[1]}: Time or Value is not a number ({got})"
    if not (math.isfinite(time_ms) and time_ms >= 0 and 0 <= size < LARGEST_SIZE):
        return f"copy {key[1]}: Time or Value is out of range ({got})"
    memory, time_s = read.inside[container], nanoseconds(time_ms)
    if event == _START:
        read.unfinished += begun is not None
        read.open[key] = _Begun(memory, size, time_s, fields.get("Handle", ""), line)
        return ""
    if begun is None:
        return f"copy {key[1]}: it ends, but did not start"
    if time_s < begun.start_s or memory == begun.memory:
        return f"copy {key[1]}: it ends before its start in line {begun.line}, or where it started"
    read.unknown += not begun.handle
    read.copies.add(
        begun.handle or UNKNOWN_DATUM, (memory_name(begun.memory), memory_name(memory)),
        begun.size, (begun.start_s, begun.start_s, time_s), REASON_OF_ARROW[read.types[key[0]]],
    )  # fmt: skip
    return ""
