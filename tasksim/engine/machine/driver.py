"""A worker of a machine with devices, and what it holds."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from tasksim.engine.clock import Routine

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.engine.clock import Clock

__all__ = ["COMMIT", "POP", "PUSH", "Driver"]

POP: Final = 2.0
"""The rank, within an instant, of workers that ask for tasks; plus their number / 65536."""
PUSH: Final = 3.0
"""The rank of pushes that take time, and of choices when pushes do not see each other."""
COMMIT: Final = 4.0
"""The rank of what was chosen without seeing the others."""


class Driver:
    """A worker and what it holds."""

    __slots__ = (
        "arrive", "fetching", "held", "memory", "missing", "on_complete", "over", "pipeline",
        "queue", "rank", "routine", "running", "stuck", "worker",
    )  # fmt: skip

    def __init__(self, env: Clock, worker: int, memory: int, pipeline: int) -> None:
        self.worker, self.memory, self.pipeline = worker, memory, pipeline
        self.routine = Routine(env)
        self.rank = POP + worker / 65536
        self.held: deque[int] = deque()
        """The tasks it has popped and not finished, the oldest first."""
        self.fetching = -1
        """The one of them whose data are being brought."""
        self.missing = 0
        """How many of these data are not there yet."""
        self.arrive = self._arrive
        self.on_complete: Callable[[], None] | None = None
        self.over = 0
        """How many of the oldest have ended on the device."""
        self.queue: deque[int] = deque()
        """Kernels queued on the device behind the one that runs."""
        self.running = -1
        self.stuck = False
        """Whether a kernel that must be alone waits for those before it."""

    def _arrive(self) -> None:
        self.missing -= 1
        if not self.missing and self.on_complete is not None:
            self.on_complete()
        self.routine.wake()
