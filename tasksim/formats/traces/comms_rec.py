"""comms.rec: the messages between the ranks of a StarPU-MPI program."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.formats.traces.records import LARGEST_SIZE, CopyRecords
from tasksim.formats.traces.recutils import job_id, nanoseconds, node_memory, records

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.traces.records import Records

__all__ = ["add_messages"]

MOST_RANKS: Final = 10_000
"""Each is a memory of the run, of which a table of copies numbers 32767."""


class _Message(NamedTuple):
    source: int
    target: int
    size: int
    sent_s: float
    received_s: float
    handle: str
    before: str
    after: str


def add_messages(found: Records, path: Path) -> None:
    """Add the messages of ``comms.rec`` at *path* to *found*.

    Each is a copy from the memory of one node to that of another. Its datum is one of its own: what
    the sender calls it is another datum for who receives it. Where both ids are there, what came
    after its receipt depends on what came before it was sent.
    """
    copies = CopyRecords()
    bound = backwards = 0
    for line, fields in records(path):
        message = _message(found, fields, line, path)
        if message is None:
            continue
        # Clocks of nodes differ, and StarPU writes these times with the digits of 32 bits.
        late = message.received_s < message.sent_s
        backwards += late
        end_s = max(message.sent_s, message.received_s)
        copies.add(
            f"message {message.handle}",
            (node_memory(message.source), node_memory(message.target)),
            message.size,
            (message.sent_s, message.sent_s, end_s),
        )
        if not late and message.before in found.number and message.after in found.number:
            _bind(found, message.before, message.after)
            bound += 1
    if not len(copies):
        return
    text = (
        f"{path.name}: {len(copies)} messages between nodes are copies of the run, {bound} of them "
        "dependencies, too; a replay moves none of these data"
    )
    if backwards:
        text += (
            f"; {backwards} were received before they were sent, by their clocks: they took no time"
        )
    found.note(text)
    found.copies = copies


def _bind(found: Records, before: str, after: str) -> None:
    at = found.number[after]
    found.before[at] = f"{found.before[at]} {before}".strip()
    found.has_edges = True


def _message(found: Records, fields: dict[str, str], line: int, path: Path) -> _Message | None:
    """Return a record as a message; None if it is wrong."""
    try:
        source, target, size = (int(fields.get(name, "")) for name in ("Src", "Dst", "Size"))
        sent, received = (float(fields.get(name, "")) for name in ("SendTime", "RecvTime"))
    except ValueError:
        found.bad(
            "Src, Dst, Size, SendTime or RecvTime is no number; legal: ranks, bytes, milliseconds",
            line, path,
        )  # fmt: skip
        return None
    if not (0 <= source < MOST_RANKS and 0 <= target < MOST_RANKS and source != target):
        found.bad(f"a message from rank {source} to rank {target}", line, path)
    elif not 0 <= size < LARGEST_SIZE:
        found.bad(f"Size: got {size}; legal: bytes", line, path)
    elif not all(math.isfinite(time) and time >= 0 for time in (sent, received)):
        found.bad("SendTime or RecvTime is no time; legal: milliseconds from 0", line, path)
    else:
        return _Message(
            source, target, size, nanoseconds(sent), nanoseconds(received),
            f"{source}_{fields.get('SendHandle', '0')} {size}",
            job_id(fields.get("SendJobId", "")), job_id(fields.get("RecvJobId", "")),
        )  # fmt: skip
    return None
