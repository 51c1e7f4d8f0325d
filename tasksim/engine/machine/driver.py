"""Driver: a worker of a machine with devices as its node sees it, and its place in an instant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tasksim.engine.clock import Routine
    from tasksim.engine.data.turns import Turns
    from tasksim.engine.machine.intake import Intake

__all__ = ["COMMIT", "POP", "PUSH", "RUN", "Driver"]

RUN: Final = 1.0
"""The rank, within an instant, of what ends: SimPy's own."""
POP: Final = 2.0
"""The rank of workers that ask for tasks, plus their number divided by :data:`MOST`."""
MOST: Final = 1 << 20
"""More workers than any machine has: ranks of their own for a million, a power of two, so exact."""
PUSH: Final = 3.0
"""The rank of pushes that take time, and of choices when pushes do not see each other."""
COMMIT: Final = 4.0
"""The rank of what was chosen without seeing the others."""


class Driver:
    """A worker: its number, its memory, the routine that it is, the data it takes in.

    *pipeline* says how many tasks it holds at a time; 0: it is a core, which runs them itself.
    *turns* orders the workers that share a limited memory.
    """

    __slots__ = ("intake", "memory", "pipeline", "rank", "routine", "turns", "worker")

    def __init__(
        self,
        worker: int,
        memory: int,
        pipeline: int,
        routine: Routine,
        intake: Intake,
        turns: Turns | None,
    ) -> None:
        self.worker, self.memory, self.pipeline = worker, memory, pipeline
        self.routine, self.intake, self.turns = routine, intake, turns
        self.rank = POP + worker / MOST
