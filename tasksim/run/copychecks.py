"""Checks of a run's copies for :func:`tasksim.run.runchecks.check_run`.

The coherence of data is replayed from tasks and copies: as in StarPU's protocol (MSI), a task that
writes a datum leaves the only valid copy in the memory of its worker; a copy made since then is
also valid, in its target memory.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import CheckFailed
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.csr import owner_of_each
from tasksim.graph.dependencies import MODE_READS, MODE_WRITES
from tasksim.run.copystatistics import data_arrival_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tasksim.base.arrays import Bools, Floats, Ints
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run
    from tasksim.run.recordtables import TransferTable

__all__ = ["CopyChecker", "others", "place", "require", "require_order"]


def place(run: Run, graph: TaskGraph | None, row: int) -> str:
    """Return a task and its worker as messages name them: ``gemm #1 on worker gpu0``."""
    worker = run.workers[run.tasks.worker[row]].name
    name = run.label(row) if graph is None else graph.label(row)
    return f"task {name} on worker {worker}"


def others(wrong: Bools) -> str:
    """Return the number of further errors as text."""
    more = int(np.count_nonzero(wrong)) - 1
    return f" (and {more} more)" if more else ""


def require(holds: Bools, message: Callable[[int], str]) -> None:
    """Raise :exc:`CheckFailed` with the *message* of the first row where *holds* is false."""
    if not holds.all():
        raise CheckFailed(message(int(np.argmin(holds))) + others(~holds))


def require_order(times: Mapping[str, Floats], slack_s: float, name: Callable[[int], str]) -> None:
    """Raise :exc:`CheckFailed` unless *times*, by what happens then, are finite and in order.

    *name* returns what a message calls a row.
    """
    for (before, earlier), (after, later) in pairwise(times.items()):
        early = ~((later >= earlier - slack_s) & np.isfinite(later))
        if early.any():
            row = int(np.argmax(early))
            raise CheckFailed(
                f"{name(row)} {after} at {later[row]} s, but {before} at {earlier[row]} s"
                + others(early)
            )


class CopyChecker:
    """Checks of one run's copies and memories; each names the first faulty row."""

    def __init__(self, run: Run, graph: TaskGraph | None, slack_s: float) -> None:
        self.run = run
        self.graph = graph
        self.slack_s = slack_s

    def check(self) -> None:
        """Run all checks that the run and, if given, the graph allow."""
        for worker in self.run.workers:
            if not 0 <= worker.memory < max(len(self.run.memories), 1):
                raise CheckFailed(
                    f"worker {worker.name}: memory {worker.memory} does not exist, "
                    f"the run has {len(self.run.memories)}"
                )
        if self.run.memory is not None:
            self.memory()
        if self.run.transfers is not None:
            self.ends(self.run.transfers)
            self.arrivals()
            if self.graph is not None and len(self.graph):
                self.sizes(self.run.transfers, self.graph)
                if self.run.messages is None:  # else each node has copies of its own
                    self.coherence(self.run.transfers, self.graph)

    # Memories

    def memory(self) -> None:
        """Check that changes are in order of time, and that no memory exceeds its size."""
        table, memories = self.run.memory, self.run.memories
        assert table is not None
        earlier = np.concatenate(([0.0], table.time_s[:-1]))
        require(
            (table.time_s >= earlier - self.slack_s) & np.isfinite(table.time_s),
            lambda row: (
                f"change #{row} of what is allocated is at {table.time_s[row]} s, "
                f"the one before at {earlier[row]} s"
            ),
        )
        sizes = np.array([np.inf if m.size_bytes is None else m.size_bytes for m in memories])
        require(
            table.used_bytes <= sizes[table.memory],
            lambda row: (
                f"memory {memories[table.memory[row]].name}: {table.used_bytes[row]} bytes are "
                f"allocated at {table.time_s[row]} s, it has {sizes[table.memory[row]]:.0f}"
            ),
        )

    # Copies

    def ends(self, transfers: TransferTable) -> None:
        """Check that copies lead from one memory to another, and their times are in order."""
        if self.graph is not None:
            require(
                transfers.handle < self.graph.handles,
                lambda row: f"copy #{row}: handle {transfers.handle[row]} does not exist",
            )
        require(
            transfers.source != transfers.target,
            lambda row: f"{self.copy(row)} has the same source and target",
        )
        times = {
            "the run begins": np.zeros(len(transfers)),
            "is requested": transfers.requested_s,
            "starts": transfers.start_s,
            "ends": transfers.end_s,
        }
        require_order(times, self.slack_s, self.copy)

    def arrivals(self) -> None:
        """Check that tasks wait for the copies made for them."""
        tasks, arrival_s = self.run.tasks, data_arrival_s(self.run)
        require(
            tasks.start_s >= arrival_s - self.slack_s,
            lambda row: (
                f"{place(self.run, self.graph, row)}: starts at {tasks.start_s[row]} s, before "
                f"the data that are copied for it arrive at {arrival_s[row]} s"
            ),
        )

    def sizes(self, transfers: TransferTable, graph: TaskGraph) -> None:
        """Check that copies have the sizes of their data."""
        sizes = graph.handle_size[transfers.handle]
        require(
            transfers.size_bytes == sizes,
            lambda row: (
                f"{self.copy(row)} has {transfers.size_bytes[row]} bytes, the datum {sizes[row]}"
            ),
        )

    def coherence(self, transfers: TransferTable, graph: TaskGraph) -> None:
        """Check that reads and copies find valid data at their source."""
        replayed = Coherence(self.run, graph, self.slack_s)
        names = [memory.name for memory in self.run.memories]
        require(
            ~replayed.invalid_sources(),
            lambda row: (
                f"{self.copy(row)} starts at {transfers.start_s[row]} s, "
                f"but {names[transfers.source[row]]} has no valid copy then"
            ),
        )
        task, handle = replayed.invalid_reads()
        if len(task):
            row = int(task[0])
            memory = names[self.run.workers[self.run.tasks.worker[row]].memory]
            raise CheckFailed(
                f"{place(self.run, graph, row)}: starts at {self.run.tasks.start_s[row]} s, but "
                f"{memory} has no valid copy of {graph.handle_name(int(handle[0]))} then"
                + others(np.ones(len(task), dtype=bool))
            )

    # Helpers

    def copy(self, row: int) -> str:
        """Return a copy as messages name it: ``copy #3 of A[1, 0] from ram to gpu0``."""
        transfers, memories = self.run.transfers, self.run.memories
        assert transfers is not None
        handle = int(transfers.handle[row])
        name = f"handle #{handle}" if self.graph is None else self.graph.handle_name(handle)
        ends = memories[transfers.source[row]].name, memories[transfers.target[row]].name
        return f"copy #{row} of {name} from {ends[0]} to {ends[1]}"


PIECE_ROWS: Final = 2**18
"""Number of rows whose validity is computed at a time: a dozen temporary columns of ten million
accesses would need some GB."""


def _pieces(rows: int) -> Iterator[slice]:
    """Yield slices of :data:`PIECE_ROWS` rows that together are all *rows*."""
    for begin in range(0, rows, PIECE_ROWS):
        yield slice(begin, begin + PIECE_ROWS)


class Coherence:
    """Coherence of the data of a *run* of *graph*, by valid copies at its reads and copies.

    Times closer than *slack_s* count as one instant. Evictions are not recorded, so a datum counts
    as valid until it is written elsewhere. Two kinds of data are skipped: those with reductions, of
    which every worker has a part of its own, and those that are copied but accessed by no task, as
    a trace without accesses does not show the writer and its memory.
    """

    def __init__(self, run: Run, graph: TaskGraph, slack_s: float) -> None:
        self._graph = graph
        self._slack_s = slack_s
        self._end_s, self._start_s = run.tasks.end_s, run.tasks.start_s
        memories = np.array([worker.memory for worker in run.workers], dtype=np.int64)
        self._memory = memories[run.tasks.worker]
        # Of tasks at one instant, all but the last take no time: sort by ends, then by numbers.
        order = np.lexsort((run.tasks.task, run.tasks.end_s, run.tasks.start_s))
        self._starts = run.tasks.start_s[order]
        self._rank = np.empty(len(order), dtype=np.int64)
        self._rank[order] = np.arange(len(order))
        self._reduced = np.zeros(graph.handles, dtype=bool)
        self._reduced[graph.access_handle[graph.access_mode == AccessMode.REDUCTION]] = True

        # The writes, sorted by datum and time.
        task, handle = self._accesses(MODE_WRITES)
        keys = self._write_keys(handle, self._rank[task])
        order = np.argsort(keys)
        self._writer, self._written, self._writes = task[order], handle[order], keys[order]

        # The copies, sorted by datum, memory and end, and the latest start up to each.
        assert run.transfers is not None
        transfers = self._transfers = run.transfers
        self._memories = len(run.memories)
        group = transfers.handle.astype(np.int64) * self._memories + transfers.target
        self._ends, self._departures = np.sort(transfers.end_s), np.sort(transfers.start_s)
        width = len(transfers) + 1
        keys = group * width + np.searchsorted(self._ends, transfers.end_s)
        order = np.argsort(keys, kind="stable")
        departure = np.searchsorted(self._departures, transfers.start_s)
        self._arrivals, self._arrived = keys[order], group[order]
        self._latest = np.maximum.accumulate((group * width + departure)[order]) % width

    def invalid_reads(self) -> tuple[Ints, Ints]:
        """Return task and handle of every read that found no valid copy in its memory."""
        task, handle = self._accesses(MODE_READS)
        valid = np.empty(len(task), dtype=bool)
        for part in _pieces(len(task)):
            by = task[part]
            valid[part] = self._valid(
                handle[part], self._memory[by], self._start_s[by], self._rank[by]
            )
        return task[~valid], handle[~valid]

    def invalid_sources(self) -> Bools:
        """Return, per copy, whether its source was invalid when it started."""
        accessed = np.zeros(self._graph.handles, dtype=bool)
        accessed[self._graph.access_handle] = True
        valid = (self._reduced | ~accessed)[self._transfers.handle]
        for part in _pieces(len(valid)):
            handle = self._transfers.handle[part].astype(np.int64)
            source = self._transfers.source[part].astype(np.int64)
            start_s = self._transfers.start_s[part]
            # A task that starts at the same instant may write before or after the copy.
            first = np.searchsorted(self._starts, start_s - self._slack_s, side="left")
            last = np.searchsorted(self._starts, start_s + self._slack_s, side="right")
            for before in (first, last):
                valid[part] |= self._valid(handle, source, start_s, before)
        return ~valid

    def _accesses(self, of_mode: Bools) -> tuple[Ints, Ints]:
        """Return task and handle of all accesses with modes *of_mode*, without reduced data."""
        handle = self._graph.access_handle.astype(np.int64)
        wanted = of_mode[self._graph.access_mode] & ~self._reduced[handle]
        task = owner_of_each(self._graph.access_ptr)
        return task[wanted], handle[wanted]

    def _write_keys(self, handle: Ints, rank: Ints) -> Ints:
        return handle * (len(self._rank) + 1) + rank

    def _last_writer(self, handle: Ints, before: Ints) -> Ints:
        """Return the last task of a rank below *before* that wrote *handle*; -1: none."""
        place = np.searchsorted(self._writes, self._write_keys(handle, before)) - 1
        found = place >= 0
        found[found] = self._written[place[found]] == handle[found]
        writer = np.full(len(handle), -1, dtype=np.int64)
        writer[found] = self._writer[place[found]]
        return writer

    def _last_departure_s(self, handle: Ints, memory: Ints, time_s: Floats) -> Floats:
        """Return the latest start of copies of *handle* to *memory* that ended by *time_s*."""
        group, width = handle * self._memories + memory, len(self._ends) + 1
        ended = np.searchsorted(self._ends, time_s + self._slack_s, side="right")
        place = np.searchsorted(self._arrivals, group * width + ended) - 1
        found = place >= 0
        found[found] = self._arrived[place[found]] == group[found]
        departure_s = np.full(len(handle), -np.inf)
        departure_s[found] = self._departures[self._latest[place[found]]]
        return departure_s

    def _valid(self, handle: Ints, memory: Ints, time_s: Floats, before: Ints) -> Bools:
        """Return whether *memory* has *handle* at *time_s*, after the writes that came *before*."""
        writer = self._last_writer(handle, before)
        initial = writer < 0
        # Not minus infinity: that is the departure of a datum that was never copied.
        since_s = np.where(initial, -self._slack_s, self._end_s[writer])
        place = np.where(initial, self._graph.handle_home[handle], self._memory[writer])
        there = (place == memory) & (since_s <= time_s + self._slack_s)
        copied = self._last_departure_s(handle, memory, time_s) >= since_s - self._slack_s
        valid: Bools = there | copied
        return valid
