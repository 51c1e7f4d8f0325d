"""Checks of a run's copies for :func:`tasksim.run.runchecks.check_run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import CheckFailed
from tasksim.run.coherence import Coherence
from tasksim.run.copystatistics import data_arrival_s
from tasksim.run.recordtables import TransferReason

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run
    from tasksim.run.recordtables import TransferTable

__all__ = ["CopyChecker", "others", "place"]


def place(run: Run, graph: TaskGraph | None, row: int) -> str:
    """Return a task and its worker as messages name them: ``gemm #1 on worker gpu0``."""
    worker = run.workers[run.tasks.worker[row]].name
    name = run.label(row) if graph is None else graph.label(row)
    return f"task {name} on worker {worker}"


def others(wrong: NDArray[np.bool_]) -> str:
    """Return the number of further errors as text."""
    more = int(np.count_nonzero(wrong)) - 1
    return f" (and {more} more)" if more else ""


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
            self.indices(self.run.transfers)
            self.times(self.run.transfers)
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
        self.demand(
            (table.memory >= 0) & (table.memory < len(memories)),
            lambda row: (
                f"change #{row} of what is allocated: memory {table.memory[row]} does not exist, "
                f"the run has {len(memories)}"
            ),
        )
        earlier = np.concatenate(([0.0], table.time_s[:-1]))
        self.demand(
            (table.time_s >= earlier - self.slack_s) & np.isfinite(table.time_s),
            lambda row: (
                f"change #{row} of what is allocated is at {table.time_s[row]} s, "
                f"the one before at {earlier[row]} s"
            ),
        )
        sizes = np.array([np.inf if m.size_bytes is None else m.size_bytes for m in memories])
        self.demand(
            (table.used_bytes >= 0) & (table.used_bytes <= sizes[table.memory]),
            lambda row: (
                f"memory {memories[table.memory[row]].name}: {table.used_bytes[row]} bytes are "
                f"allocated at {table.time_s[row]} s, it has {sizes[table.memory[row]]:.0f}"
            ),
        )

    # Copies

    def indices(self, transfers: TransferTable) -> None:
        """Check that the indices in the copies exist."""
        memories, tasks = len(self.run.memories), len(self.run)
        limits = {
            "source": (0, memories),
            "target": (0, memories),
            "task": (-1, tasks),
            "reason": (0, len(TransferReason)),
            "handle": (0, None if self.graph is None else self.graph.handles),
        }
        for name, (low, high) in limits.items():
            column = getattr(transfers, name)
            wrong = (column < low) | (False if high is None else column >= high)
            if wrong.any():
                row = int(np.argmax(wrong))
                raise CheckFailed(f"copy #{row}: {name} {column[row]} does not exist")
        self.demand(
            transfers.source != transfers.target,
            lambda row: f"{self.copy(row)} has the same source and target",
        )

    def times(self, transfers: TransferTable) -> None:
        """Check that copies are requested, start and end in this order."""
        requested_s, start_s, end_s = transfers.requested_s, transfers.start_s, transfers.end_s
        zero = np.zeros(len(transfers))
        for before, earlier, after, later in (
            ("the run begins", zero, "is requested", requested_s),
            ("is requested", requested_s, "starts", start_s),
            ("starts", start_s, "ends", end_s),
        ):
            early = ~((later >= earlier - self.slack_s) & np.isfinite(later))
            if early.any():
                row = int(np.argmax(early))
                raise CheckFailed(
                    f"{self.copy(row)} {after} at {later[row]} s, but {before} at {earlier[row]} s"
                    + others(early)
                )

    def arrivals(self) -> None:
        """Check that tasks wait for the copies made for them."""
        tasks, arrival_s = self.run.tasks, data_arrival_s(self.run)
        self.demand(
            tasks.start_s >= arrival_s - self.slack_s,
            lambda row: (
                f"{place(self.run, self.graph, row)}: starts at {tasks.start_s[row]} s, before "
                f"the data that are copied for it arrive at {arrival_s[row]} s"
            ),
        )

    def sizes(self, transfers: TransferTable, graph: TaskGraph) -> None:
        """Check that copies have the sizes of their data."""
        sizes = graph.handle_size[transfers.handle]
        self.demand(
            transfers.size_bytes == sizes,
            lambda row: (
                f"{self.copy(row)} has {transfers.size_bytes[row]} bytes, the datum {sizes[row]}"
            ),
        )

    def coherence(self, transfers: TransferTable, graph: TaskGraph) -> None:
        """Check that reads and copies find valid data at their source."""
        replayed = Coherence(self.run, graph, self.slack_s)
        names = [memory.name for memory in self.run.memories]
        self.demand(
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

    def demand(self, holds: NDArray[np.bool_], message: Callable[[int], str]) -> None:
        """Raise an error for the first row where *holds* is false."""
        if not holds.all():
            raise CheckFailed(message(int(np.argmin(holds))) + others(~holds))
