"""Coherence of a run's data: where they are valid, replayed from its tasks and copies.

As in StarPU's protocol (MSI), a task that writes a datum leaves the only valid copy in the memory
of its worker; a copy made since then is also valid, in its target memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.graph.access_mode import AccessMode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run
    from tasksim.run.recordtables import TransferTable

__all__ = ["Coherence"]

_WRITES = (AccessMode.W, AccessMode.RW, AccessMode.COMMUTATIVE)
_READS = (AccessMode.R, AccessMode.RW, AccessMode.COMMUTATIVE)


class Coherence:
    """Test which reads and copies of a *run* of *graph* found a valid copy.

    Times closer than *slack_s* count as one instant. Evictions are not recorded, so a datum counts
    as valid until it is written elsewhere. Two kinds of data are skipped: those with reductions, of
    which every worker has a part of its own, and those that are copied but accessed by no task, as
    a trace without accesses does not show who wrote them where.
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
        self._index_writes()
        assert run.transfers is not None
        self._transfers = run.transfers
        self._index_arrivals(run.transfers, len(run.memories))

    def invalid_reads(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return task and handle of every read that found no valid copy in its memory."""
        task, handle = self._accesses(_READS)
        valid = self._valid(handle, self._memory[task], self._start_s[task], self._rank[task])
        return task[~valid], handle[~valid]

    def invalid_sources(self) -> NDArray[np.bool_]:
        """Return, per copy, whether its source was invalid when it started."""
        handle = self._transfers.handle.astype(np.int64)
        source, start_s = self._transfers.source.astype(np.int64), self._transfers.start_s
        valid = (self._reduced() | ~self._accessed())[handle]
        # A task that starts at the same instant may write before or after the copy.
        first = np.searchsorted(self._starts, start_s - self._slack_s, side="left")
        last = np.searchsorted(self._starts, start_s + self._slack_s, side="right")
        for before in (first, last):
            valid = valid | self._valid(handle, source, start_s, before)
        return ~valid

    # Writes

    def _accesses(
        self, modes: tuple[AccessMode, ...]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return task and handle of all accesses with these *modes*, without reduced data."""
        handle = self._graph.access_handle.astype(np.int64)
        wanted = np.isin(self._graph.access_mode, modes) & ~self._reduced()[handle]
        counts = np.diff(self._graph.access_ptr)
        task = np.repeat(np.arange(len(self._graph), dtype=np.int64), counts)
        return task[wanted], handle[wanted]

    def _reduced(self) -> NDArray[np.bool_]:
        reduced = np.zeros(self._graph.handles, dtype=bool)
        reduced[self._graph.access_handle[self._graph.access_mode == AccessMode.REDUCTION]] = True
        return reduced

    def _accessed(self) -> NDArray[np.bool_]:
        accessed = np.zeros(self._graph.handles, dtype=bool)
        accessed[self._graph.access_handle] = True
        return accessed

    def _index_writes(self) -> None:
        """Sort the writes by datum and time."""
        task, handle = self._accesses(_WRITES)
        keys = self._write_keys(handle, self._rank[task])
        order = np.argsort(keys)
        self._writer, self._written, self._writes = task[order], handle[order], keys[order]

    def _write_keys(self, handle: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.int64]:
        return handle * (len(self._rank) + 1) + rank

    def _last_writer(
        self, handle: NDArray[np.int64], before: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the last task of a rank below *before* that wrote *handle*; -1: none."""
        place = np.searchsorted(self._writes, self._write_keys(handle, before)) - 1
        found = place >= 0
        found[found] = self._written[place[found]] == handle[found]
        writer = np.full(len(handle), -1, dtype=np.int64)
        writer[found] = self._writer[place[found]]
        return writer

    # Copies

    def _index_arrivals(self, transfers: TransferTable, memories: int) -> None:
        """Sort the copies by datum, memory and end; record the latest start up to each."""
        self._memories = memories
        group = transfers.handle.astype(np.int64) * memories + transfers.target
        self._ends, self._departures = np.sort(transfers.end_s), np.sort(transfers.start_s)
        width = len(transfers) + 1
        keys = group * width + np.searchsorted(self._ends, transfers.end_s)
        order = np.argsort(keys, kind="stable")
        departure = np.searchsorted(self._departures, transfers.start_s)
        self._arrivals, self._arrived = keys[order], group[order]
        self._latest = np.maximum.accumulate((group * width + departure)[order]) % width

    def _last_departure_s(
        self, handle: NDArray[np.int64], memory: NDArray[np.int64], time_s: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the latest start of copies of *handle* to *memory* that ended by *time_s*."""
        group, width = handle * self._memories + memory, len(self._ends) + 1
        ended = np.searchsorted(self._ends, time_s + self._slack_s, side="right")
        place = np.searchsorted(self._arrivals, group * width + ended) - 1
        found = place >= 0
        found[found] = self._arrived[place[found]] == group[found]
        departure_s = np.full(len(handle), -np.inf)
        departure_s[found] = self._departures[self._latest[place[found]]]
        return departure_s

    def _valid(
        self,
        handle: NDArray[np.int64],
        memory: NDArray[np.int64],
        time_s: NDArray[np.float64],
        before: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Return whether *memory* has *handle* at *time_s*, after the writes that came *before*."""
        writer = self._last_writer(handle, before)
        initial = writer < 0
        # Not minus infinity: that is the departure of a datum that was never copied.
        since_s = np.where(initial, -self._slack_s, self._end_s[writer])
        place = np.where(initial, self._graph.handle_home[handle], self._memory[writer])
        there = (place == memory) & (since_s <= time_s + self._slack_s)
        copied = self._last_departure_s(handle, memory, time_s) >= since_s - self._slack_s
        valid: NDArray[np.bool_] = there | copied
        return valid
