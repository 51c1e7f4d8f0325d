"""Outcome of a cluster's replay: what is left on all nodes, as the tables of one run.

Tasks and data have their numbers in the whole graph; workers and memories come node after node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tasksim.engine.ticks import TICKS_PER_S
from tasksim.run.record import MemoryInfo, MemoryTable, TaskTable, TransferTable, WorkerInfo
from tasksim.run.recordtables import MessageTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tasksim.engine.cluster.cluster import ClusterReplay, Member
    from tasksim.platform.description import Platform

__all__ = ["cluster_machine", "cluster_records"]


def cluster_machine(nodes: Sequence[Platform]) -> dict[str, Any]:
    """Return the fields of a run that say where it ran: ``cpu0`` of node 2 is ``2.cpu0``."""
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
    return {"workers": tuple(workers), "memories": tuple(memories) if several else ()}


def cluster_records(replay: ClusterReplay) -> dict[str, Any]:
    """Return the fields of a run that say what happened, by name."""
    fields: dict[str, Any] = {"tasks": _tasks(replay), "messages": _messages(replay)}
    members = replay.members
    if any(len(member.node.platform.memories) > 1 for member in members):
        fields["transfers"] = _transfers(replay)
        fields["memory"] = _memory(members)
        fields["evictions"] = sum(m.node.memories.copies.evictions for m in members)
    return fields


def _tasks(replay: ClusterReplay) -> TaskTable:
    graph, members = replay.distribution.graph, replay.members
    tasks = len(graph)
    times = {name: np.zeros(tasks) for name in ("submitted", "ready", "popped", "start", "end")}
    worker, released_by = np.zeros(tasks, np.int32), np.full(tasks, -1, np.int32)
    sent_by = _senders(replay)
    first = 0
    for member in members:
        work, ledger = member.work, member.ledger
        here, own = work.task, work.own_tasks
        for name, column in times.items():
            column[here] = np.frombuffer(getattr(ledger, name))[:own]
        worker[here] = np.array(ledger.worker[:own], np.int32) + first
        by = np.array(ledger.released_by[:own], np.int64)
        released_by[here] = _in_whole_graph(member, by, sent_by)
        first += len(member.node.platform.workers)
    return TaskTable(
        task=np.arange(tasks, dtype=np.int32),
        kernel=graph.kernel.astype(np.int16),
        worker=worker,
        priority=graph.priority.astype(np.int32),
        submitted_s=times["submitted"],
        ready_s=times["ready"],
        start_s=times["start"],
        end_s=times["end"],
        released_by=released_by,
        popped_s=times["popped"],
    )


def _senders(replay: ClusterReplay) -> NDArray[np.int32]:
    """Return per message the task whose end has released its sending; -1: its submission has.

    What is sent on after it was received was released by the message before it: messages are
    posted in that order, so that its entry is there already.
    """
    messages, members = replay.messages, replay.members
    found = np.full(len(messages.source), -1, np.int32)
    for message, (node, send) in enumerate(zip(messages.source, messages.send, strict=True)):
        member = members[node]
        by, own = member.ledger.released_by[send], member.work.own_tasks
        if by >= own:
            found[message] = found[member.work.message[by - own]]
        elif by >= 0:
            found[message] = member.work.task[by]
    return found


def _in_whole_graph(
    member: Member, by: NDArray[np.int64], sent_by: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the tasks *by* of a node by their numbers in the whole graph.

    For a message, the task whose end has released it.
    """
    work, own = member.work, member.work.own_tasks
    message = np.append(np.array(work.message, np.int64), -1)
    numbers = np.append(work.task, -1)
    of_message = np.append(sent_by, -1)[message[np.where(by >= own, by - own, -1)]]
    return np.where(by >= own, of_message, numbers[np.where(by < own, by, -1)]).astype(np.int32)


def _messages(replay: ClusterReplay) -> MessageTable:
    table, noted, members = replay.distribution.messages, replay.messages, replay.members

    def of_sender(name: str) -> list[float]:
        columns = [getattr(member.ledger, name) for member in members]
        return [columns[n][task] for n, task in zip(noted.source, noted.send, strict=True)]

    awaited = [
        members[n].ledger.ready[task] for n, task in zip(noted.target, noted.receive, strict=True)
    ]
    return MessageTable(
        source=table.source,
        target=table.target,
        handle=table.handle,
        size_bytes=table.size_bytes,
        priority=table.priority,
        task=table.task,
        posted_s=np.array(of_sender("submitted")),
        ready_s=np.array(of_sender("ready")),
        awaited_s=np.array(awaited, float),
        start_s=np.array(noted.started) / TICKS_PER_S,
        end_s=np.array(noted.ended) / TICKS_PER_S,
    )


def _transfers(replay: ClusterReplay) -> TransferTable:
    parts, first = [], 0
    for member, part in zip(replay.members, replay.distribution.parts, strict=True):
        memories = member.node.memories
        table = memories.log.transfers(member.work.graph)
        columns = dict(zip(table.dtypes, table.columns(), strict=True))
        columns["handle"] = part.handle[columns["handle"]]
        task = columns["task"]
        own = (task >= 0) & (task < member.work.own_tasks)
        columns["task"] = np.where(
            own, np.append(member.work.task, -1)[np.where(own, task, -1)], -1
        )
        columns |= {name: columns[name] + first for name in ("source", "target")}
        parts.append(columns)
        first += len(member.node.platform.memories)
    return _joined(TransferTable, parts, "end_s")


def _memory(members: Iterable[Member]) -> MemoryTable:
    parts, first = [], 0
    for member in members:
        table = member.node.memories.log.memory_use()
        columns = dict(zip(table.dtypes, table.columns(), strict=True))
        columns["memory"] = columns["memory"] + first
        parts.append(columns)
        first += len(member.node.platform.memories)
    return _joined(MemoryTable, parts, "time_s")


Table = TypeVar("Table", TransferTable, MemoryTable)


def _joined(kind: type[Table], parts: Sequence[dict[str, NDArray[Any]]], by: str) -> Table:
    """Return the rows of all *parts* in order of the column *by*."""
    columns = {name: np.concatenate([part[name] for part in parts]) for name in kind.dtypes}
    order = np.argsort(columns[by], kind="stable")
    return kind(**{name: column[order] for name, column in columns.items()})
