"""Nodes of a folder of StarVZ that has several MPI ranks, and the messages between them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tasksim.formats.traces.records import LARGEST_SIZE, CopyRecords
from tasksim.formats.traces.recutils import LONGEST_RANK, nanoseconds, node_memory

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tasksim.formats.traces.records import Records

__all__ = ["MESSAGE_PREFIX", "add_message_copies", "bind_messages", "name_nodes"]

MESSAGE_PREFIX: Final = "mpi_"
"""Begin of the id that StarPU gives a message among the tasks of ``dag.csv``."""
MESSAGE_TYPE: Final = "MPI communication"
_ON_RANK: Final = re.compile(rf"(\d{{1,{LONGEST_RANK - 1}}})_(.+)", re.DOTALL)
"""Name of a container with its rank: ``1_CPU0``."""


def name_nodes(found: Records) -> bool:
    """Name the workers after their nodes, ``node1/CPU0`` for ``1_CPU0``.

    Names stay unless all of them have a rank, and there are several ranks. Return whether the
    workers have nodes now.
    """
    parts = {name: _ON_RANK.fullmatch(name) for name in {*found.worker} - {""}}
    nodes = {name: int(part[1]) for name, part in parts.items() if part}
    if len(nodes) < len(parts) or len(set(nodes.values())) < 2:
        return False
    own = {name: f"node{nodes[name]}/{part[2]}" for name, part in parts.items() if part}
    found.worker = [own.get(name, "") for name in found.worker]
    found.architectures = {own.get(n, n): kind for n, kind in found.architectures.items()}
    found.node_of = {own[name]: node for name, node in nodes.items()}
    # As in StarPU's own records of several ranks, each node is one memory.
    found.memory_of = {own[name]: node_memory(node) for name, node in nodes.items()}
    return True


def bind_messages(found: Records, pairs: Iterable[tuple[str, str]]) -> int:
    """Make tasks after a message depend on the tasks before it; return the number of messages.

    *pairs* are those of ``dag.csv``: a task or message, and one that it depends on.
    """
    senders: dict[str, list[str]] = {}
    receivers: dict[str, list[str]] = {}
    for task, one in pairs:
        if task.startswith(MESSAGE_PREFIX) and one in found.number:
            senders.setdefault(task, []).append(one)
        elif one.startswith(MESSAGE_PREFIX) and task in found.number:
            receivers.setdefault(one, []).append(task)
    both = [message for message in receivers if message in senders]
    for message in both:
        for task in receivers[message]:
            at = found.number[task]
            found.before[at] = " ".join([found.before[at], *senders[message]]).strip()
            found.has_edges = True
    return len(both)


def add_message_copies(
    found: Records, path: Path, rows: Iterable[tuple[int, dict[str, str]]]
) -> int:
    """Add the messages in ``paje.link.csv`` at *path* as copies between the memories of nodes."""
    copies = CopyRecords()
    for line, row in rows:
        ends = [_ON_RANK.fullmatch(row.get(name, "")) for name in ("Origin", "Dest")]
        if row.get("Type") != MESSAGE_TYPE or None in ends:
            continue
        try:
            size = int(float(row.get("Size", "0")))
            start_s, end_s = (nanoseconds(float(row.get(name, ""))) for name in ("Start", "End"))
        except (ValueError, OverflowError):
            size, start_s, end_s = -1, 0.0, 0.0
        if not (0 <= size < LARGEST_SIZE and 0 <= start_s <= end_s < float("inf")):
            found.bad("Start, End or Size of a message is malformed; legal: ms, bytes", line, path)
            continue
        source, target = (node_memory(int(part[1])) for part in ends if part)
        times = (start_s, start_s, end_s)
        copies.add(f"message {row.get('Key', line)}", (source, target), size, times)
    if len(copies):
        found.copies = copies
    return len(copies)
