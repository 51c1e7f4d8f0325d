"""Main memory for data from other nodes, pinned so that devices can copy them.

Pinning takes long (650 us per MiB with CUDA), so whole chunks are pinned, and freed memory is kept
for the next datum of its size. The next worker that handles main memory pins it, and does nothing
else in that time; all other requests for unpinned memory wait for it.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Final, TypeAlias

from tasksim.engine.data.pool import Pool
from tasksim.engine.ticks import ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.engine.clock import Clock, Routine, Steps
    from tasksim.platform.costs import Allocation

__all__ = ["MAIN_MEMORY", "MAX_PIN_TURN_TICKS", "PIN_UNIT_BYTES", "Landing"]

MAIN_MEMORY: Final = 0
"""Main memory, the source and the target of messages."""

PIN_UNIT_BYTES: Final = 1 << 20
"""Size in bytes whose pinning takes ``pin_s``."""

Asked: TypeAlias = "tuple[int, int, int, Callable[[], None]]"
"""A waiting request for memory: urgency, turn, size in bytes, and the function to call."""

MAX_PIN_TURN_TICKS: Final = 1_000_000
"""Ticks after which a worker leaves further requests to others (StarPU's ``MAX_PUSH_TIME``)."""


class Landing:
    """The main memory of a node for received data.

    Parameters
    ----------
    clock : Clock
        The clock.
    allocation : Allocation
        Size of chunks, and the time to pin memory.
    workers : sequence of Routine
        Workers that pin memory: sleeping ones are woken in this order.
    at_once : int
        Number of requests that a worker serves at a time.
    """

    def __init__(
        self,
        clock: Clock,
        allocation: Allocation,
        workers: Sequence[Routine],
        at_once: int,
    ) -> None:
        self._clock = clock
        self._allocation = allocation
        self._workers = workers
        self._at_once = at_once
        self._pool = Pool(inf, allocation)
        self._kept: dict[int, int] = {}
        self._queue: list[Asked] = []
        """The waiting requests."""
        self._turn = 0
        self._pinned_by = 0  # end of the last pinning, in ticks: only one worker pins at a time
        self.open = 0
        """Number of requests without memory."""

    def ask(self, size: int, priority: int, done: Callable[[], None]) -> bool:
        """Return whether *size* bytes are available at once; if not, call *done* later."""
        if self._take_kept(size):
            return True
        heappush(self._queue, (-priority, self._turn, size, done))
        self._turn += 1
        self.open += 1
        self._wake()
        return False

    def _wake(self) -> None:
        for routine in self._workers:
            if routine.asleep:
                routine.wake()

    def give_back(self, size: int) -> None:
        """Keep the room of a datum of *size* bytes for the next."""
        self._kept[size] = self._kept.get(size, 0) + 1

    def serve(self, routine: Routine) -> Steps:
        """Make room for the most urgent waiting requests, as the worker of *routine*.

        Returns whether any request waited. A worker serves a few requests at a time, and leaves
        those that take too long to others.
        """
        if not self._queue:
            return False
        taken = [heappop(self._queue) for _ in range(min(self._at_once, len(self._queue)))]
        begun = self._clock.now
        while taken and self._clock.now < begun + MAX_PIN_TURN_TICKS:
            _, _, size, done = taken.pop(0)
            if not self._take_kept(size):
                now = self._clock.now
                self._pinned_by = max(now, self._pinned_by) + self._allocate(size)
                if self._pinned_by > now:
                    yield routine.wait(self._pinned_by - now)
            self.open -= 1
            done()
        if taken:
            for each in taken:
                heappush(self._queue, each)
            self._wake()
        return True

    def _take_kept(self, size: int) -> bool:
        """Take freed memory of *size* bytes, if there is any."""
        kept = self._kept.get(size, 0)
        if kept:
            self._kept[size] = kept - 1
        return bool(kept)

    def _allocate(self, size: int) -> int:
        """Allocate *size* bytes; return the time that it takes, in ticks."""
        allocation = self._allocation
        found = self._pool.allocate(size)
        if found is None or not found[0]:
            return 0
        small = size <= allocation.largest_bytes
        pinned = allocation.chunk_bytes if small else size
        return ticks(allocation.pin_s * pinned / PIN_UNIT_BYTES)
