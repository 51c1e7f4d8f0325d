"""Drivers of the workers of a machine, and the intake of data for their tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.clock import Routine
    from tasksim.engine.data.accesses import Needs
    from tasksim.engine.data.mover import Mover
    from tasksim.engine.data.turns import Turns

__all__ = ["BLOCKED", "COMING", "EMPTY", "THERE", "Driver", "Intake"]

EMPTY: Final = 0
"""State without a task: the last one was launched, or there was none yet."""
COMING: Final = 1
"""State in which data of the task are missing, or the task waits for its turn to request them."""
THERE: Final = 2
"""State in which all data of the task are there, and the task was not launched yet."""
BLOCKED: Final = 3
"""State in which the data are there, but the task must be alone on the device, and others precede
it."""


@dataclass(slots=True, eq=False)
class Driver:
    """A worker with its number, its memory, its routine, and the intake of data for its tasks.

    *pipeline* is the number of tasks that the worker holds at a time; 0 means a core, which runs
    tasks itself. *turns* orders the workers that share a limited memory. *phase* is the
    phase of its pops within an instant.
    """

    worker: int
    memory: int
    pipeline: int
    routine: Routine
    intake: Intake
    turns: Turns | None
    phase: float


class Intake:
    """The data of the next task of the worker of *routine*.

    *needs* and *priorities* have an entry per task of the graph; *cost* is the worker's cost per
    datum in ticks. Without a *mover*, one memory has all data.
    """

    __slots__ = (
        "_cost", "_mover", "_needs", "_priorities", "_routine", "_turns",
        "memory", "missing", "priority", "state", "task",
    )  # fmt: skip

    def __init__(
        self,
        routine: Routine,
        memory: int,
        mover: Mover | None,
        turns: Turns | None,
        needs: Sequence[Needs],
        priorities: Sequence[int],
        cost: int,
    ) -> None:
        self._routine, self.memory = routine, memory
        self._mover, self._turns = mover, turns
        self._needs, self._priorities, self._cost = needs, priorities, cost
        self.state = EMPTY
        self.task = -1
        """The task whose data arrived last, or arrive now."""
        self.priority = 0
        self.missing = 0
        """Number of its missing data."""

    def fetch(self, task: int) -> int:
        """Request the data of *task*; return the worker's time for that, in ticks."""
        needs = self._needs[task]
        if self._mover is None:
            self.state = THERE
        else:
            self.task, self.priority = task, self._priorities[task]
            if self._turns is None:
                self._bring(needs)
            else:
                self.state = COMING
                woken = self._routine.woken
                self._turns.ask([handle for handle, _, _ in needs], self._take_turn)
                if self.state == THERE:  # at once, so the worker need not check again
                    self._routine.woken = woken
        return self._cost * len(needs)

    def arrive(self) -> None:
        """Note that one of the data has arrived."""
        self.missing -= 1
        if not self.missing:
            self.state = THERE
            if self._turns is not None:
                self._turns.completed()
        self._routine.wake()

    def _take_turn(self) -> bool:
        """Bring the data when the worker's turn has come; return whether that takes time."""
        self._bring(self._needs[self.task])
        if self.state == COMING:
            return True
        self._routine.wake()
        return False

    def _bring(self, needs: Needs) -> None:
        assert self._mover is not None
        self.missing = self._mover.fetch(needs, self)
        self.state = COMING if self.missing else THERE
