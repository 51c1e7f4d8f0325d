"""Reports of a replay: its progress while it runs, and its records as the fields of a run."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol

from tasksim.run.record import MemoryInfo, WorkerInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.base.progress import CountProgress
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.run.decisions import DecisionTable
    from tasksim.run.numa import NumaUse
    from tasksim.run.record import MemoryTable, TaskTable, TransferTable

__all__ = ["Ended", "RecordedCopies", "Reports", "machine", "records"]

PERIOD_S: Final = 0.5
"""Shortest time between two reports, in seconds."""
PAUSES_PER_COUNT: Final = 100
"""Ratio of the time between two reports to that of a count, which goes over all tasks: a tenth of
a second for ten million."""


class Reports:
    """Reports of a replay that runs, at most two per second.

    Parameters
    ----------
    progress : callable
        Called with the number of finished tasks and of all tasks.
    tasks : int
        Number of all tasks.
    finished : callable
        Returns the number of finished tasks.
    """

    def __init__(self, progress: CountProgress, tasks: int, finished: Callable[[], int]) -> None:
        self._progress, self._tasks, self._finished = progress, tasks, finished
        self._next_s = monotonic() + PERIOD_S
        progress(0, tasks)

    def look(self) -> None:
        """Report if it is time."""
        now_s = monotonic()
        if now_s < self._next_s:
            return
        self._progress(self._finished(), self._tasks)
        ended_s = monotonic()
        self._next_s = ended_s + max(PERIOD_S, PAUSES_PER_COUNT * (ended_s - now_s))


class RecordedCopies(Protocol):
    """Copies of the data, from a log or from columns of the core."""

    def transfers(self, graph: TaskGraph) -> TransferTable:
        """Return the copies of the data of *graph* as the table of a run."""

    def memory_use(self) -> MemoryTable:
        """Return the use of the memories as the table of a run."""


class Ended(Protocol):
    """A replay that has ended, on either engine, of one node or of several."""

    def records(self) -> dict[str, Any]:
        """Return the fields of a run with its records, by name."""


def machine(platform: Platform) -> dict[str, Any]:
    """Return the fields of a run that describe the machine."""
    workers = (WorkerInfo(w.name, w.architecture, w.node, w.memory) for w in platform.workers)
    several = platform.memories if len(platform.memories) > 1 else ()
    memories = (MemoryInfo(m.name, m.node, m.size_bytes) for m in several)
    fields: dict[str, Any] = {"workers": tuple(workers), "memories": tuple(memories)}
    if platform.power is not None:
        from tasksim.run.power import power_info

        fields["power"] = power_info([platform])
    return fields


def records(
    graph: TaskGraph,
    tasks: TaskTable,
    copies: RecordedCopies | None,
    evictions: int,
    numa: NumaUse | None,
    decisions: DecisionTable | None,
) -> dict[str, Any]:
    """Return the fields of a run with its records, by name.

    *copies* are None with a single memory, accesses between memory domains, *numa*, where memory is
    uniform, and the *decisions* of the scheduler unless they were asked for.
    """
    fields: dict[str, Any] = {"tasks": tasks}
    if copies is not None:
        fields["transfers"] = copies.transfers(graph)
        fields["memory"] = copies.memory_use()
        fields["evictions"] = evictions
    if numa is not None:
        fields["numa"] = numa
    if decisions is not None:
        fields["decisions"] = decisions
    return fields
