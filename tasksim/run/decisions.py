"""Decisions of a scheduler during a run, and the queues that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import numpy as np

from tasksim.base.errors import InputError
from tasksim.run.recordtables import FLOAT64, INT8, INT32, RecordTable, no_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NO_QUEUE", "TERMS", "Decision", "DecisionStep", "DecisionTable"]

NO_QUEUE: Final = -1
"""Queue of a row without one, or of a scheduler that does not tell it."""
TERMS: Final = ("free_s", "transfer_s", "duration_s", "energy_s", "end_s", "cost_s")
"""Columns with the terms of an estimate."""

_TERM: Final = FLOAT64 | {"unknown": np.nan}


class DecisionStep(IntEnum):
    """A step of a decision, a code in the column ``step`` of a :class:`DecisionTable`."""

    CANDIDATE = 0
    """A worker that was considered and not chosen."""
    CHOSEN = 1
    """The worker that was chosen."""
    QUEUED = 2
    """The task was put into a queue."""
    LEFT = 3
    """The task left a queue without being taken."""
    TAKEN = 4
    """A worker took the task."""


@dataclass(frozen=True, eq=False, repr=False)
class DecisionTable(RecordTable):
    """The decisions of a scheduler, one row per step in the order in which they were made.

    Times are in seconds since the start of the run, and NaN is a term that the policy does not
    have. Queues below the number of workers are those of the workers; the following ones are shared
    queues.

    See Also
    --------
    Run : Has a table if the simulation was asked for decisions.
    """

    what: ClassVar[str] = "decision table"
    rows: ClassVar[str] = "decision steps"

    time_s: NDArray[np.float64] = field(metadata=FLOAT64)
    task: NDArray[np.int32] = field(metadata=INT32)
    """Number of the task in its graph."""
    step: NDArray[np.int8] = field(metadata=INT8)
    """A :class:`DecisionStep`."""
    worker: NDArray[np.int32] = field(metadata=INT32)
    """Worker that is considered, whose queue it is, or that takes the task; -1 for any."""
    queue: NDArray[np.int32] = field(metadata=INT32)
    """Queue that the task enters or leaves; :data:`NO_QUEUE` if there is none."""
    position: NDArray[np.int32] = field(metadata=INT32)
    """Number of tasks before it in the queue; -1 if there is no queue."""
    free_s: NDArray[np.float64] = field(default_factory=no_column, metadata=_TERM)
    """Time at which the worker is expected to end its earlier work."""
    transfer_s: NDArray[np.float64] = field(default_factory=no_column, metadata=_TERM)
    """Expected time to bring the data of the task to the worker's memory."""
    duration_s: NDArray[np.float64] = field(default_factory=no_column, metadata=_TERM)
    """Expected duration of the task on the worker."""
    energy_s: NDArray[np.float64] = field(default_factory=no_column, metadata=_TERM)
    """Cost of energy, in seconds."""
    end_s: NDArray[np.float64] = field(default_factory=no_column, metadata=_TERM)
    """Time at which the worker is expected to end the task."""
    cost_s: NDArray[np.float64] = field(default_factory=no_column, metadata=_TERM)
    """Number whose least value is chosen; NaN if the earliest end is."""

    def of_task(self, task: int) -> list[Decision]:
        """Return the steps of *task* in order."""
        return [self.row(row) for row in np.flatnonzero(self.task == task).tolist()]

    def row(self, row: int) -> Decision:
        """Return one row."""
        time_s, task, step, *others = (column[row].item() for column in self.columns())
        return Decision(time_s, task, DecisionStep(step), *others)

    def queues_at(self, time_s: float) -> dict[int, list[int]]:
        """Return the tasks in each queue after all steps until *time_s*, first to last.

        Empty queues are left out. Raise :exc:`InputError` if the steps contradict each other.
        """
        queues: dict[int, list[int]] = {}
        end = int(np.searchsorted(self.time_s, time_s, side="right"))
        moves = np.flatnonzero(self.queue[:end] != NO_QUEUE)
        columns = (self.task, self.step, self.queue, self.position)
        for task, step, queue, place in zip(*(c[moves].tolist() for c in columns), strict=True):
            tasks = queues.setdefault(queue, [])
            enters = step == DecisionStep.QUEUED
            if place > len(tasks) or not (enters or tasks[place : place + 1] == [task]):
                raise InputError(
                    f"{self.what}: task {task} is not at position {place} of queue {queue}"
                )
            if enters:
                tasks.insert(place, task)
            else:
                del tasks[place]
        return {queue: tasks for queue, tasks in sorted(queues.items()) if tasks}


class Decision(NamedTuple):
    """One row of a :class:`DecisionTable`."""

    time_s: float
    task: int
    step: DecisionStep
    worker: int
    queue: int
    position: int
    free_s: float
    transfer_s: float
    duration_s: float
    energy_s: float
    end_s: float
    cost_s: float
