"""Result of a replay, as the tables of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tasksim.run.record import MemoryInfo, WorkerInfo

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.run.decisions import DecisionTable
    from tasksim.run.numa import NumaUse
    from tasksim.run.record import MemoryTable, TaskTable, TransferTable

__all__ = ["Ended", "Outcome", "machine", "records"]


class Lives(Protocol):
    """Lives of the tasks, from a ledger or from columns of the core."""

    def table(self) -> TaskTable:
        """Return the lives as the task table of a run."""


class Copies(Protocol):
    """Copies of the data, from a log or from columns of the core."""

    def transfers(self, graph: TaskGraph) -> TransferTable:
        """Return the copies of the data of *graph* as the table of a run."""

    def memory_use(self) -> MemoryTable:
        """Return the use of the memories as the table of a run."""


class Ended(Protocol):
    """A replay that has ended, on either engine, of one node or of several."""

    def records(self) -> dict[str, Any]:
        """Return the fields of a run with its records, by name."""


class Outcome(NamedTuple):
    """Result of a replay, with the lives of the tasks and, for several memories, the copies.

    *numa* has the accesses between memory domains; None if memory is uniform. *decisions* are those
    of the scheduler; None if they were not asked for.
    """

    ledger: Lives
    log: Copies | None = None
    evictions: int = 0
    numa: NumaUse | None = None
    decisions: DecisionTable | None = None


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


def records(graph: TaskGraph, outcome: Outcome) -> dict[str, Any]:
    """Return the fields of a run with its records, by name."""
    fields: dict[str, Any] = {"tasks": outcome.ledger.table()}
    if outcome.log is not None:
        fields["transfers"] = outcome.log.transfers(graph)
        fields["memory"] = outcome.log.memory_use()
        fields["evictions"] = outcome.evictions
    if outcome.numa is not None:
        fields["numa"] = outcome.numa
    if outcome.decisions is not None:
        fields["decisions"] = outcome.decisions
    return fields
