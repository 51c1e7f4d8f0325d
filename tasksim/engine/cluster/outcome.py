"""Result of a cluster's replay, with all nodes as the tables of one run.

Tasks and data have their numbers in the whole graph; workers and memories are numbered node after
node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np

from tasksim.engine.ticks import TICKS_PER_S
from tasksim.graph.csr import pointers_of_counts
from tasksim.run.power import power_info
from tasksim.run.record import MemoryInfo, MemoryTable, TaskTable, TransferTable, WorkerInfo
from tasksim.run.recordtables import MessageTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.engine.cluster.communicator import Messages, NotedMessages
    from tasksim.engine.cluster.work import Work
    from tasksim.engine.outcome import RecordedCopies
    from tasksim.graph.distribution.parts import Distribution
    from tasksim.platform.description import Platform
    from tasksim.run.numa import NumaUse

__all__ = ["ClusterOutcome", "NodeOutcome", "cluster_machine", "cluster_records"]


TIME_COLUMNS: Final = ("submitted_s", "ready_s", "popped_s", "start_s", "end_s")
"""Columns of times in the table of tasks."""


class NodeOutcome(NamedTuple):
    """Result of a replay on one node.

    *lives* are columns of its tasks, followed by communication, by their names in a run's task
    table. *log* is None if there is one memory, *numa* if memory is uniform.
    """

    work: Work
    platform: Platform
    lives: Mapping[str, NDArray[Any]]
    log: RecordedCopies | None
    evictions: int
    numa: NumaUse | None = None


class ClusterOutcome(NamedTuple):
    """Result of a cluster's replay."""

    distribution: Distribution
    nodes: Sequence[NodeOutcome]
    messages: Messages | NotedMessages


def cluster_machine(nodes: Sequence[Platform]) -> dict[str, Any]:
    """Return the fields of a run that describe the machine: ``cpu0`` of node 2 is ``2.cpu0``."""
    several = any(len(platform.memories) > 1 for platform in nodes)
    workers: list[WorkerInfo] = []
    memories: list[MemoryInfo] = []
    for node, platform in enumerate(nodes):
        first = len(memories) if several else 0
        workers += [
            WorkerInfo(f"{node}.{w.name}", w.architecture, node, first + w.memory)
            for w in platform.workers
        ]
        memories += [MemoryInfo(f"{node}.{m.name}", node, m.size_bytes) for m in platform.memories]
    held = tuple(memories) if several else ()
    return {"workers": tuple(workers), "memories": held, "power": power_info(nodes)}


def cluster_records(outcome: ClusterOutcome) -> dict[str, Any]:
    """Return the fields of a run with its records, by name."""
    fields: dict[str, Any] = {"tasks": _tasks(outcome), "messages": _messages(outcome)}
    if any(node.log is not None for node in outcome.nodes):
        fields["transfers"] = _transfers(outcome.nodes)
        fields["memory"] = _memory(outcome.nodes)
        fields["evictions"] = sum(node.evictions for node in outcome.nodes)
    if any(node.numa is not None for node in outcome.nodes):
        from tasksim.run.numa import of_nodes

        fields["numa"] = of_nodes([node.numa for node in outcome.nodes])
    return fields


def _tasks(outcome: ClusterOutcome) -> TaskTable:
    graph = outcome.distribution.graph
    tasks = len(graph)
    times: dict[str, NDArray[Any]] = {name: np.zeros(tasks) for name in TIME_COLUMNS}
    worker, released_by = np.zeros(tasks, np.int32), np.full(tasks, -1, np.int32)
    sent_by = np.append(_senders(outcome), np.int32(-1))  # the last entry stands for no message
    first = 0
    for node in outcome.nodes:
        here, own = node.work.task, node.work.own_tasks
        for name, column in times.items():
            column[here] = node.lives[name][:own]
        worker[here] = node.lives["worker"][:own] + first
        released_by[here] = _in_whole_graph(node, sent_by)
        first += len(node.platform.workers)
    return TaskTable(
        task=np.arange(tasks, dtype=np.int32),
        kernel=graph.kernel.astype(np.int16),
        priority=graph.priority.astype(np.int32),
        worker=worker,
        released_by=released_by,
        **times,
    )


def _senders(outcome: ClusterOutcome) -> NDArray[np.int32]:
    """Return, per message, the task whose end released its sending; -1: its submission did.

    A received datum that is sent on was released by the message that brought it.
    """
    found = np.full(len(outcome.distribution.messages), -1, np.int32)
    after = found.copy()
    for number, node in enumerate(outcome.nodes):
        work, own = node.work, node.work.own_tasks
        sent = outcome.distribution.messages.source[work.message] == number
        message, by = work.message[sent], node.lives["released_by"][own:][sent]
        ours, theirs = (by >= 0) & (by < own), by >= own
        found[message[ours]] = work.task[by[ours]]
        after[message[theirs]] = work.message[by[theirs] - own]
    while len(forwarded := np.flatnonzero(after >= 0)):
        before = after[forwarded]
        found[forwarded], after[forwarded] = found[before], after[before]
    return found


def _in_whole_graph(node: NodeOutcome, sent_by: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the releasers of the tasks of *node*, by their numbers in the whole graph.

    For a message, that is the task whose end released it, from *sent_by*; its last entry stands for
    no message.
    """
    work, own = node.work, node.work.own_tasks
    by = node.lives["released_by"][:own].astype(np.int64)
    message = np.append(work.message, np.int32(-1))
    numbers = np.append(work.task, -1)
    of_message = sent_by[message[np.where(by >= own, by - own, -1)]]
    return np.where(by >= own, of_message, numbers[np.where(by < own, by, -1)]).astype(np.int32)


def _messages(outcome: ClusterOutcome) -> MessageTable:
    table, noted, nodes = outcome.distribution.messages, outcome.messages, outcome.nodes
    first = pointers_of_counts(np.array([len(node.work.graph) for node in nodes]))
    send = first[table.source] + np.asarray(noted.send, np.int64)
    receive = first[table.target] + np.asarray(noted.receive, np.int64)

    def of(tasks: NDArray[np.int64], name: str) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.concatenate([node.lives[name] for node in nodes])[tasks]
        return found

    return MessageTable(
        source=table.source,
        target=table.target,
        handle=table.handle,
        size_bytes=table.size_bytes,
        priority=table.priority,
        task=table.task,
        posted_s=of(send, "submitted_s"),
        ready_s=of(send, "ready_s"),
        awaited_s=of(receive, "ready_s"),
        start_s=np.asarray(noted.started) / TICKS_PER_S,
        end_s=np.asarray(noted.ended) / TICKS_PER_S,
    )


def _transfers(nodes: Sequence[NodeOutcome]) -> TransferTable:
    parts = []
    for work, log, first in _logs(nodes):
        columns = _columns(log.transfers(work.graph))
        columns["handle"] = work.graph.data[columns["handle"]]
        task = columns["task"]
        own = (task >= 0) & (task < work.own_tasks)
        numbers = np.append(work.task, -1)
        columns["task"] = np.where(own, numbers[np.where(own, task, -1)], -1)
        columns |= {name: columns[name] + first for name in ("source", "target")}
        parts.append(columns)
    return _joined(TransferTable, parts, "end_s")


def _memory(nodes: Sequence[NodeOutcome]) -> MemoryTable:
    parts = []
    for _, log, first in _logs(nodes):
        columns = _columns(log.memory_use())
        columns["memory"] = columns["memory"] + first
        parts.append(columns)
    return _joined(MemoryTable, parts, "time_s")


def _logs(nodes: Sequence[NodeOutcome]) -> Iterator[tuple[Work, RecordedCopies, int]]:
    """Yield the work and the log of each node that has one, and the number of its first memory."""
    first = 0
    for node in nodes:
        if node.log is not None:
            yield node.work, node.log, first
        first += len(node.platform.memories)


def _columns(table: TransferTable | MemoryTable) -> dict[str, NDArray[Any]]:
    return dict(zip(table.dtypes, table.columns(), strict=True))


Table = TypeVar("Table", TransferTable, MemoryTable)


def _joined(kind: type[Table], parts: Sequence[dict[str, NDArray[Any]]], by: str) -> Table:
    """Return the rows of all *parts* in order of the column *by*."""
    columns = {name: np.concatenate([part[name] for part in parts]) for name in kind.dtypes}
    order = np.argsort(columns[by], kind="stable")
    return kind(**{name: column[order] for name, column in columns.items()})
