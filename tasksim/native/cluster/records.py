"""Records of a run over ranks: the columns of all ranks on one clock, as one run has them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import CheckFailed
from tasksim.run.record import TaskTable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from tasksim.graph.distribution.parts import Distribution, LocalPart

__all__ = ["RankRecord", "check_part", "message_times", "task_table"]

TIMES = ("submitted_s", "ready_s", "popped_s", "start_s", "end_s")


@dataclass(frozen=True, eq=False)
class RankRecord:
    """What became of the tasks of one rank's part, its times on the clock of rank 0.

    Attributes
    ----------
    tasks : TaskTable
        Of the part: numbers and workers are the rank's.
    workers : int
        How many workers the rank has.
    """

    tasks: TaskTable
    workers: int

    def earliest_s(self) -> float:
        """Return when the first task was submitted."""
        return float(self.tasks.submitted_s.min(initial=np.inf))


def check_part(part: LocalPart, tasks: TaskTable) -> None:
    """Raise :exc:`CheckFailed` unless each task of *part* began after those that it waits for."""
    graph = part.graph
    before = np.repeat(np.arange(len(graph)), np.diff(graph.successor_ptr))
    early = tasks.start_s[graph.successors] < tasks.end_s[before]
    if early.any():
        edge = int(np.argmax(early))
        one, other = graph.label(int(before[edge])), graph.label(int(graph.successors[edge]))
        raise CheckFailed(
            f"{other} of this rank begins before {one}, which it waits for, has ended"
        )


def task_table(cut: Distribution, records: Sequence[RankRecord]) -> TaskTable:
    """Return the tasks of the whole graph; the first submission is at 0."""
    graph = cut.graph
    zero_s = min(record.earliest_s() for record in records)
    columns: dict[str, NDArray[Any]] = {name: np.zeros(len(graph)) for name in TIMES}
    worker, released_by = (np.full(len(graph), -1, np.int32) for _ in range(2))
    first = 0
    for part, record in zip(cut.parts, records, strict=True):
        ours = part.task >= 0
        numbers = part.task[ours]
        for name in TIMES:
            columns[name][numbers] = getattr(record.tasks, name)[ours] - zero_s
        worker[numbers] = record.tasks.worker[ours] + first
        by = record.tasks.released_by[ours]
        released_by[numbers] = np.where(by < 0, -1, part.task[np.maximum(by, 0)])
        first += record.workers
    return TaskTable(
        task=np.arange(len(graph), dtype=np.int32),
        kernel=graph.kernel.astype(np.int16),
        priority=graph.priority.astype(np.int32),
        worker=worker,
        released_by=released_by,
        **columns,
    )


def message_times(
    cut: Distribution, records: Sequence[RankRecord]
) -> dict[str, NDArray[np.float64]]:
    """Return when each message was posted and ready, began to be sent, and had arrived."""
    zero_s = min(record.earliest_s() for record in records)
    messages = cut.messages
    found = {
        name: np.zeros(len(messages)) for name in ("posted_s", "ready_s", "started_s", "ended_s")
    }
    of_send = {"posted_s": "submitted_s", "ready_s": "ready_s", "started_s": "start_s"}
    for rank, record in enumerate(records):
        sent, received = messages.source == rank, messages.target == rank
        for name, column in of_send.items():
            found[name][sent] = getattr(record.tasks, column)[messages.send[sent]] - zero_s
        found["ended_s"][received] = record.tasks.end_s[messages.receive[received]] - zero_s
    return found


def aligned(tasks: TaskTable, shift: Any) -> TaskTable:
    """Return *tasks* with their times as *shift* makes them."""
    columns = {field.name: getattr(tasks, field.name) for field in fields(tasks)}
    return TaskTable(**{n: shift(c) if n in TIMES else c for n, c in columns.items()})
