"""Records of a run over ranks, merged from all ranks onto one clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import CheckFailed
from tasksim.graph.csr import owner_of_each, pointers_of_counts
from tasksim.run.disturbance import MAX_OWN_GAP_S
from tasksim.run.record import Disturbance, TaskTable, WorkerInfo
from tasksim.run.recordtables import MessageTable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats, Ints
    from tasksim.graph.distribution.parts import Distribution, LocalPart
    from tasksim.platform.description import Platform

__all__ = [
    "RankRecord",
    "aligned",
    "check_part",
    "disturbance_of_ranks",
    "message_table",
    "rank_workers",
    "task_table",
    "without_own_thread",
]

TIME_COLUMNS = ("submitted_s", "ready_s", "popped_s", "start_s", "end_s")


@dataclass(frozen=True, eq=False)
class RankRecord:
    """Record of the tasks of one rank's part, with times of rank 0's clock.

    Attributes
    ----------
    tasks : TaskTable
        Tasks of the part, with the rank's numbers of tasks and workers.
    workers : int
        Number of workers of the rank.
    disturbance : Disturbance or None
        Time that others took from the workers.
    """

    tasks: TaskTable
    workers: int
    disturbance: Disturbance | None = None

    def earliest_s(self) -> float:
        """Return the time of the first submission."""
        return float(self.tasks.submitted_s.min(initial=np.inf))


def check_part(part: LocalPart, tasks: TaskTable) -> None:
    """Raise :exc:`CheckFailed` unless each task of *part* started after its predecessors ended."""
    graph = part.graph
    before = owner_of_each(graph.successor_ptr)
    early = tasks.start_s[graph.successors] < tasks.end_s[before]
    if early.any():
        edge = int(np.argmax(early))
        one, other = graph.label(int(before[edge])), graph.label(int(graph.successors[edge]))
        raise CheckFailed(
            f"{other} of this rank began before {one}, which it depends on, had ended"
        )


def rank_workers(platforms: Sequence[Platform]) -> tuple[WorkerInfo, ...]:
    """Return the workers of a run over ranks: those of each platform in turn."""
    return tuple(
        WorkerInfo(f"{rank}.{worker.name}", worker.architecture, rank)
        for rank, platform in enumerate(platforms)
        for worker in platform.workers
    )


def task_table(cut: Distribution, records: Sequence[RankRecord]) -> TaskTable:
    """Return the task table of the whole graph; the first submission is at 0.

    Pulses are left out: ranks on the hyper-threads of one core would count as others.
    """
    graph = cut.graph
    zero_s = min(record.earliest_s() for record in records)
    columns: dict[str, NDArray[Any]] = {name: np.zeros(len(graph)) for name in TIME_COLUMNS}
    columns["cpu_s"] = np.full(len(graph), np.nan)
    worker, released_by, preemptions = (np.full(len(graph), -1, np.int32) for _ in range(3))
    sent_by, first = _senders(cut, records), 0
    for part, record in zip(cut.parts, records, strict=True):
        ours = part.task >= 0
        numbers = part.task[ours]
        for name in TIME_COLUMNS:
            columns[name][numbers] = getattr(record.tasks, name)[ours] - zero_s
        columns["cpu_s"][numbers] = record.tasks.cpu_s[ours]
        preemptions[numbers] = record.tasks.preemptions[ours]
        worker[numbers] = record.tasks.worker[ours] + first
        released_by[numbers] = _in_whole_graph(part, record.tasks.released_by[ours], sent_by)
        first += record.workers
    return TaskTable(
        task=np.arange(len(graph), dtype=np.int32),
        kernel=graph.kernel.astype(np.int16),
        priority=graph.priority.astype(np.int32),
        worker=worker,
        released_by=released_by,
        preemptions=preemptions,
        **columns,
    )


def disturbance_of_ranks(records: Sequence[RankRecord]) -> Disturbance | None:
    """Return the disturbance of all ranks' workers; None if it is unknown for a rank.

    Time that hosts or limits took is left out: several ranks may run on one machine.
    """
    parts = [record.disturbance for record in records if record.disturbance is not None]
    if len(parts) < len(records):
        return None
    return Disturbance(
        tuple(waited for part in parts for waited in part.waited_s),
        tuple(count for part in parts for count in part.preemptions),
    )


def message_table(cut: Distribution, records: Sequence[RankRecord]) -> MessageTable:
    """Return all messages; a message starts when it is posted to MPI and ends at its reader."""
    zero_s = min(record.earliest_s() for record in records)
    messages = cut.messages
    first = pointers_of_counts(np.array([len(record.tasks) for record in records]))
    send, receive = (
        first[messages.source] + messages.send,
        first[messages.target] + messages.receive,
    )

    def of(tasks: Ints, name: str) -> Floats:
        found: Floats = np.concatenate([getattr(record.tasks, name) for record in records])[tasks]
        return found - zero_s

    return MessageTable(
        source=messages.source,
        target=messages.target,
        handle=messages.handle,
        size_bytes=messages.size_bytes,
        priority=messages.priority,
        task=messages.task,
        posted_s=of(send, "submitted_s"),
        ready_s=of(send, "ready_s"),
        awaited_s=of(receive, "ready_s"),
        start_s=of(send, "start_s"),
        end_s=of(receive, "end_s"),
    )


def _senders(cut: Distribution, records: Sequence[RankRecord]) -> NDArray[np.int32]:
    """Return, per message, the task of the whole graph that released its send, or -1."""
    messages = cut.messages
    found = np.full(len(messages), -1, np.int32)
    for message, (node, send) in enumerate(
        zip(messages.source.tolist(), messages.send.tolist(), strict=True)
    ):
        by = int(records[node].tasks.released_by[send])
        if by >= 0:
            found[message] = _in_whole_graph(cut.parts[node], np.array([by]), found)[0]
    return found


def _in_whole_graph(
    part: LocalPart, by: NDArray[Any], sent_by: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return tasks *by* of a part as tasks of the whole graph; for a message, its sender."""
    known = np.maximum(by, 0)
    message = part.message[known]
    senders = np.append(sent_by, -1)
    found = np.where(message >= 0, senders[np.where(message >= 0, message, -1)], part.task[known])
    return np.where(by < 0, -1, found).astype(np.int32)


def aligned(tasks: TaskTable, shift: Any) -> TaskTable:
    """Return *tasks* with their times mapped by *shift*."""
    return replace(tasks, **{name: shift(getattr(tasks, name)) for name in TIME_COLUMNS})


def without_own_thread(tasks: TaskTable, used_s: Floats) -> TaskTable:
    """Return *tasks* with the time that their rank's communication thread took credited to them.

    That thread had a core for *used_s* while each task ran. It takes this time in every run, so it
    counts as processor time of the tasks. A task that lost hardly more, less than another program
    takes at a time, was not preempted.
    """
    lost_s = tasks.duration_s - tasks.cpu_s  # NaN where it is unknown
    own_s = np.fmin(used_s, np.fmax(lost_s, 0.0))
    by_others = lost_s - own_s > MAX_OWN_GAP_S
    return replace(
        tasks,
        cpu_s=tasks.cpu_s + own_s,
        preemptions=np.where(by_others, tasks.preemptions, np.minimum(tasks.preemptions, 0)),
    )
