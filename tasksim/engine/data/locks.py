"""Locks of data that are being handed to a copy engine: nobody else may look at them meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasksim.engine.clock import Clock, Routine, Steps

__all__ = ["Locks"]


class Locks:
    """Until when each datum is locked.

    A driver that begins a copy holds its datum until the copy is with the engine. Others look
    again every *poll* ticks (StarPU's spinning, ``common/starpu_spinlock.c``).
    """

    def __init__(self, clock: Clock, poll: int) -> None:
        self._clock = clock
        self._poll = poll
        self.until: dict[int, int] = {}
        """Per datum that is locked, the tick at which it is free again."""

    def wait_ticks(self, handle: int) -> int:
        """Return how many ticks to wait before looking at *handle* again; 0: it is free."""
        left = self.until.get(handle, 0) - self._clock.now
        if left <= 0:
            return 0
        return -(-left // self._poll) * self._poll if self._poll else left

    def all_free(self, needs: Iterable[tuple[int, bool, bool]], routine: Routine) -> Steps:
        """Let *routine* wait until each of the data in *needs* was free once."""
        for handle, _, _ in needs:
            yield from self.free(handle, routine)

    def free(self, handle: int, routine: Routine) -> Steps:
        """Let *routine* wait until *handle* is free."""
        while delay := self.wait_ticks(handle):
            yield routine.wait(delay)
