"""Comments of tasksim's own tasks.rec: its workers and memories, its copies, homes of data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.formats.traces.records import REASONS, CopyRecords
from tasksim.formats.traces.textlines import lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.formats.traces.records import Records
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["OwnNotes", "own_lines", "own_notes"]

NANOSECONDS = 1e9


@dataclass
class OwnNotes:
    """Facts from the comments before the first record; empty if StarPU wrote the file.

    Attributes
    ----------
    workers : dict of str -> (str, str, int)
        By its number, a worker's name, architecture and node.
    memories : list of str
    copies : CopyRecords or None
    homes : dict of str -> int
        Of data that are not at home in the first memory.
    """

    workers: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    memories: list[str] = field(default_factory=list)
    copies: CopyRecords | None = None
    homes: dict[str, int] = field(default_factory=dict)

    def add_to(self, found: Records) -> None:
        """Give *found* the names, the memories and the copies."""
        names = {number: name for number, (name, _, _) in self.workers.items()}
        found.worker = [names.get(worker, worker) for worker in found.worker]
        found.architectures = {name: kind for name, kind, _ in self.workers.values()}
        found.node_of = {name: node for name, _, node in self.workers.values()}
        found.memory_of = {
            names.get(worker, worker): memory for worker, memory in found.memory_of.items()
        }
        found.home.update(self.homes)
        if self.copies is not None:
            found.memories, found.copies = tuple(self.memories), self.copies
            known = dict(enumerate(self.memories))
            found.memory_of = {
                worker: known.get(int(memory) if memory.isdecimal() else -1, memory)
                for worker, memory in found.memory_of.items()
            }


def own_notes(path: Path) -> OwnNotes:
    """Return the comments at the beginning of the ``tasks.rec`` at *path* that tasksim wrote.

    Raises
    ------
    InputError
        ``file:line``, if one says nothing that it can.
    """
    found = OwnNotes()
    for number, line in lines(path):
        if not line.startswith("# "):
            break
        try:
            _take(found, line[2:])
        except (ValueError, KeyError, IndexError):
            what = "a worker, a memory, a datum's home or a copy, as tasksim writes it"
            raise InputError(f"{path}:{number}: got '{line[:60]}'; legal: {what}") from None
    return found


def _take(found: OwnNotes, text: str) -> None:
    """Take one comment; those of others say something else."""
    what, _, rest = text.partition(" ")
    if what == "worker":
        number, kind, *more = rest.split(maxsplit=2)
        node, _, name = more[0].partition(" ") if more[0][:1] == "@" else ("@0", "", more[0])
        found.workers[number] = (name, kind, int(node[1:]))
    elif what == "memory" and found.workers:
        found.memories.append(rest)
        found.copies = found.copies or CopyRecords()
    elif what == "home" and found.workers:
        handle, home = rest.split()
        found.homes[handle] = int(home)
    elif what == "copy" and found.copies is not None:
        handle, source, target, size, *times, reason, task = rest.split()
        requested, start, end = (int(time) / NANOSECONDS for time in times)
        ends = found.memories[int(source)], found.memories[int(target)]
        found.copies.add(
            handle, ends, int(size), (requested, start, end), REASONS[reason], task.strip("-")
        )


def own_lines(run: Run, graph: TaskGraph | None) -> Iterator[str]:
    """Yield the comments about *run*: recutils passes over them, and so do StarPU's tools."""
    for number, worker in enumerate(run.workers):
        node = f"@{worker.node} " if worker.node else ""
        yield f"# worker {number} {worker.architecture} {node}{worker.name}\n"
    if run.transfers is None:
        return
    yield from (f"# memory {memory.name}\n" for memory in run.memories)
    homes = [] if graph is None else graph.handle_home.tolist()
    yield from (f"# home {at + 1:x} {home}\n" for at, home in enumerate(homes) if home)
    yield from _copies(run)


def _copies(run: Run) -> Iterator[str]:
    import numpy as np

    copies = run.transfers
    assert copies is not None  # who asks has looked
    words = list(REASONS)
    ns = [
        np.round(times * 1e9).astype(np.int64).tolist()
        for times in (copies.requested_s, copies.start_s, copies.end_s)
    ]
    for handle, source, target, size, requested, start, end, reason, task in zip(
        copies.handle.tolist(), copies.source.tolist(), copies.target.tolist(),
        copies.size_bytes.tolist(), *ns, copies.reason.tolist(), copies.task.tolist(), strict=True,
    ):  # fmt: skip
        made_for = task + 1 if task >= 0 else "-"
        yield (
            f"# copy {handle + 1:x} {source} {target} {size} {requested} {start} {end} "
            f"{words[reason]} {made_for}\n"
        )
