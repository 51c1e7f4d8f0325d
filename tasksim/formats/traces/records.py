"""Records of another tool's trace, tasks and copies, in columns."""

from __future__ import annotations

import heapq
import math
import re
from array import array
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError, listed
from tasksim.base.files import bare_name
from tasksim.graph.access_mode import AccessMode
from tasksim.run.recordtables import TransferReason, TransferTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "LARGEST_SIZE",
    "MODE_OF_LETTER",
    "REASON_OF_NAME",
    "CopyRecords",
    "Records",
    "transfer_table",
]

REASON_OF_NAME: Final = {reason.name.lower(): reason for reason in TransferReason}
"""Reasons of copies by their names in files."""

MODE_OF_LETTER: Final[Mapping[str, AccessMode]] = {
    "R": AccessMode.R,
    "W": AccessMode.W,
    "RW": AccessMode.RW,
    "S": AccessMode.SCRATCH,
    "X": AccessMode.REDUCTION,
    "RWC": AccessMode.COMMUTATIVE,
    "WC": AccessMode.COMMUTATIVE,
    "RC": AccessMode.R,
}
"""StarPU's letters for modes: S scratch, X redux, C commute, which says nothing about reading."""

LARGEST_SIZE: Final = 2**60
"""Maximum size of a datum in bytes: an exbibyte, so that sums of several fit into 64 bits."""
_LETTERS: Final = re.compile(r"[A-Za-z]+")

LARGEST_PRIORITY: Final = 2**31 - 1
"""Maximum priority: graphs store 32 bits."""
MAX_WORKERS_IN_NOTE: Final = 4
"""Maximum number of workers that a note names."""


class Records:
    """Tasks of a trace in columns, in the order of the file.

    Parameters
    ----------
    path : Path
        The trace, for messages.
    skip_bad : bool, default False
        Whether malformed records are skipped and counted instead of refused.

    Attributes
    ----------
    notes : list of str
        Gaps of the trace, and the assumptions made for them.
    skipped : list of str
        The skipped records.
    """

    def __init__(self, path: Path, *, skip_bad: bool = False) -> None:
        self.path = path
        self.skip_bad = skip_bad
        self.place = "{path}:{line}"
        """Form of positions in messages."""
        self.name = bare_name(path) or "trace"
        self.notes: list[str] = []
        self.skipped: list[str] = []
        self.number: dict[str, int] = {}
        self.kernel: list[str] = []
        self.worker: list[str] = []
        self.start_s, self.end_s = array("d"), array("d")
        self.submitted_s, self.order = array("d"), array("d")
        self.ready_s, self.popped_s = array("d"), array("d")
        """When the scheduler got each task, and gave it to a worker; NaN if unknown."""
        self.priority = array("q")
        self.line = array("q")
        self.before: list[str] = []
        """Per task the ids of its dependencies, separated by spaces."""
        self.parameters: list[dict[str, float | str]] = []
        self.access_end = array("q")
        self.access_handle, self.access_size = array("q"), array("q")
        self.access_mode = array("b")
        self.handle: dict[str, int] = {}
        self.home: dict[str, int] = {}
        self.home_memory: dict[str, str] = {}
        """Datum -> name of its home memory."""
        self.handle_name: dict[str, str] = {}
        """Datum -> its name in the program, if the trace has it."""
        self.worker_states: dict[str, dict[str, float]] = {}
        """Worker -> state -> seconds of the run, if the trace has them."""
        self.memory_of: dict[str, str] = {}
        """Worker -> name of its memory, if the trace has it."""
        self.known_workers: set[str] = set()
        """Workers that the trace names, also those that executed nothing."""
        self.architectures: dict[str, str] = {}
        """Worker -> its architecture, if the trace has it."""
        self.node_of: dict[str, int] = {}
        """Worker -> its node, if the trace has it."""
        self.transfers: TransferTable | None = None
        self.copies: CopyRecords | None = None
        """The copies by names, if a file has these instead of numbers."""
        self.copied_size: dict[str, int] = {}
        """Datum -> size of its copies, for data that tasks need not access."""
        self.memories: tuple[str, ...] = ()
        self.numbered_memories = False
        """Whether the trace has numbers of memories, and these names were made of them."""
        self.has_data = False
        self.has_edges = False

    def __len__(self) -> int:
        return len(self.kernel)

    def bad(
        self, message: str, line: int | None = None, path: Path | None = None, column: int = 0
    ) -> None:
        """Raise :exc:`InputError` about a *line*, or note that it is skipped.

        The line belongs to the trace, unless *path* is a file beside it; a *column* counts from 1.
        """
        where = str(path or self.path)
        if path is not None and line is not None:
            where = f"{path}:{line}"
        elif line is not None:
            where = self.place.format(path=self.path, line=line)
        if column:
            where = f"{where}:{column}"
        if not self.skip_bad:
            raise InputError(f"{where}: {message}")
        self.skipped.append(f"{where}: {message}")

    def add(
        self,
        task: str,
        kernel: str,
        worker: str,
        start_s: float,
        end_s: float,
        *,
        line: int,
        submitted_s: float = math.nan,
        ready_s: float = math.nan,
        popped_s: float = math.nan,
        order: float = math.nan,
        priority: int = 0,
        before: str = "",
        parameters: Mapping[str, float | str] | None = None,
    ) -> bool:
        """Append a task; return whether it was accepted.

        *worker* is empty for tasks that ran nowhere, such as synchronisations, whose times are then
        NaN. *before* has the ids of its dependencies, separated by spaces.
        """
        if task in self.number:
            self.bad(f"task {task}: a second task of this id", line)
            return False
        if worker and not (math.isfinite(start_s) and math.isfinite(end_s)):
            self.bad(f"task {task}: worker {worker}, but no finite start and end", line)
            return False
        if worker and end_s < start_s:
            self.bad(
                f"task {task}: it ends ({end_s:.9g} s) before it starts ({start_s:.9g} s)", line
            )
            return False
        self.number[task] = len(self.kernel)
        self.kernel.append(kernel)
        self.worker.append(worker)
        self.start_s.append(start_s)
        self.end_s.append(end_s)
        self.submitted_s.append(submitted_s)
        self.ready_s.append(ready_s)
        self.popped_s.append(popped_s)
        self.order.append(order)
        self.priority.append(self.within(priority))
        self.line.append(line)
        self.before.append(before)
        self.has_edges = self.has_edges or bool(before)
        self.parameters.append(dict(parameters or {}))
        self.access_end.append(len(self.access_handle))
        return True

    @staticmethod
    def within(priority: int) -> int:
        """Return a priority, clipped to 32 bits."""
        return max(-LARGEST_PRIORITY, min(LARGEST_PRIORITY, priority))

    def accesses(self, handles: Iterable[str], modes: Iterable[str], sizes: Iterable[str]) -> str:
        """Set the accesses of the task added last; return a problem, if there is one."""
        found = []
        try:
            for handle, mode, text in zip(handles, modes, sizes, strict=True):
                if mode not in MODE_OF_LETTER:
                    return f"mode: got '{mode}'; legal: {', '.join(MODE_OF_LETTER)}"
                found.append((handle, MODE_OF_LETTER[mode], int(text)))
        except ValueError:
            return "the numbers of handles, modes and sizes differ, or a size is not a whole number"
        if any(not 0 <= size < LARGEST_SIZE for _, _, size in found):
            return "a size is negative, or too large for any memory"
        for handle, access, size in found:
            self.has_data = True
            self.access_handle.append(self.handle.setdefault(handle, len(self.handle)))
            self.access_mode.append(access)
            self.access_size.append(size)
        self.access_end[-1] = len(self.access_handle)
        return ""

    def architecture(self, worker: str) -> str:
        """Return the architecture of a worker, by the trace or by the letters of its name."""
        known = self.architectures.get(worker)
        if known:
            return known
        letters = _LETTERS.match(worker.rpartition("/")[2])
        return letters[0].lower() if letters else "worker"

    def spread_over_workers(self, slack_s: float = 0.0) -> None:
        """Put the tasks of each worker on as many as overlap: the trace names places, not cores.

        A task may begin up to *slack_s* before its worker is free, by the step of the trace's
        clock, and then begins when it is.
        """
        self._spread(slack_s, "{place}{number}".format)
        count = len(set(self.worker) - {""})
        self.note(f"no workers are named: as many as tasks ran at once are assumed, {count}")

    def spread_overlaps(self, slack_s: float) -> None:
        """Put tasks that overlap others of their worker on workers of their own.

        *slack_s* is as for :meth:`spread_over_workers`.
        """
        named = set(self.worker)
        self._spread(slack_s, lambda place, number: f"{place} ({number + 1})" if number else place)
        if more := sorted(set(self.worker) - named):
            self.note(
                "tasks overlap others of their thread, and are on workers of their own: "
                + listed(more, MAX_WORKERS_IN_NOTE)
            )

    def chain_by_worker(self, workers: str) -> None:
        """Let each task depend on the one before it on its worker, unless they overlap.

        *workers* names the workers in a note: "a thread".
        """
        names, last = list(self.number), dict[str, int]()
        for task in sorted(range(len(self)), key=lambda at: (self.start_s[at], self.end_s[at])):
            one = last.get(self.worker[task])
            last[self.worker[task]] = task
            if one is not None and self.end_s[one] <= self.start_s[task]:
                words = dict.fromkeys([*self.before[task].split(), names[one]])
                self.before[task] = " ".join(words)
                self.has_edges = True
        self.note(f"tasks of {workers} are in order: each depends on the one before")

    def _spread(self, slack_s: float, name_of: Callable[..., str]) -> None:
        idle: dict[str, list[int]] = {}
        running: dict[str, list[tuple[float, int]]] = {}
        until: dict[str, float] = {}
        ran = [at for at in range(len(self)) if self.worker[at]]
        for at in sorted(ran, key=lambda at: (self.start_s[at], self.end_s[at])):
            place = self.worker[at]
            free, busy = idle.setdefault(place, []), running.setdefault(place, [])
            while busy and busy[0][0] <= self.start_s[at] + slack_s:
                heapq.heappush(free, heapq.heappop(busy)[1])
            number = heapq.heappop(free) if free else len(busy)
            self.worker[at] = worker = name_of(place=place, number=number)
            self.start_s[at] = max(self.start_s[at], until.get(worker, -math.inf))
            self.end_s[at] = until[worker] = max(self.end_s[at], self.start_s[at])
            heapq.heappush(busy, (self.end_s[at], number))

    def note(self, text: str) -> None:
        """Add a note, once."""
        if text not in self.notes:
            self.notes.append(text)

    def named_workers(self, places: Sequence[tuple[str, int, str]], *, nodes: bool) -> list[str]:
        """Return names for workers as a platform has them: cpu0, or node1/cuda0 with *nodes*.

        *places* has the architecture, the node and the trace's name of each worker, which a note
        tells.
        """
        counts: Counter[tuple[str, int]] = Counter()
        names = []
        for kind, node, _ in places:
            name = f"{kind}{counts[kind, node]}"
            names.append(f"node{node}/{name}" if nodes else name)
            counts[kind, node] += 1
            self.architectures[names[-1]], self.node_of[names[-1]] = kind, node
        told = [f"{name} is {own}" for name, (_, _, own) in zip(names, places, strict=True)]
        self.note(f"workers: {listed(told, MAX_WORKERS_IN_NOTE)}")
        return names


class CopyRecords:
    """Copies of a trace in columns, which become a table once its tasks are numbered."""

    def __init__(self) -> None:
        self._copies: list[tuple[str, str, str, int, float, float, float, int, str]] = []

    def __len__(self) -> int:
        return len(self._copies)

    def add(
        self,
        handle: str,
        ends: tuple[str, str],
        size: int,
        times: tuple[float, float, float],
        reason: TransferReason = TransferReason.FETCH,
        task: str = "",
    ) -> None:
        """Append a copy of *size* bytes of a datum from one memory to another.

        *times* are those of its request, start and end; *task* is the task that needed it, or
        empty.
        """
        self._copies.append((handle, *ends, size, *times, reason, task))

    def register(self, found: Records) -> None:
        """Register the copied data and memories with *found*, so that they get numbers."""
        names = list(found.memories)
        for handle, source, target, size, *_ in self._copies:
            found.handle.setdefault(handle, len(found.handle))
            found.copied_size[handle] = max(size, found.copied_size.get(handle, 0))
            names += [source, target]
        found.memories = tuple(dict.fromkeys([*names, *found.memory_of.values()]))

    def table(self, found: Records, number: NDArray[np.int64]) -> TransferTable:
        """Return the table; *number* has the task of each record of *found*, or -1."""
        memory = {name: at for at, name in enumerate(found.memories)}
        rows = [
            (
                found.handle[handle], memory[source], memory[target], *others,
                int(number[found.number[task]]) if task in found.number else -1,
            )
            for handle, source, target, *others, task in self._copies
        ]  # fmt: skip
        return transfer_table(rows)


def transfer_table(rows: Sequence[Sequence[float]]) -> TransferTable:
    """Return the table of copies in *rows* of its columns, in their order."""
    columns: Any = zip(*rows, strict=True)
    return TransferTable(*columns) if rows else TransferTable.empty()
