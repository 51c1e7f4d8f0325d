"""Locks of data: threads that find one taken try again, and then whenever the time advances."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasksim.engine.data.accesses import Need
    from tasksim.engine.threads.kernel import Calls

__all__ = ["DataLocks"]


class DataLocks:
    """Which data are locked (StarPU's spinlocks, ``common/thread.h``).

    Who finds one taken waits *patience* ticks and then for each advance of the time.
    """

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self._taken: set[int] = set()

    def try_take(self, handle: int) -> bool:
        """Lock *handle* if it is free; return whether it was."""
        if handle in self._taken:
            return False
        self._taken.add(handle)
        return True

    def take(self, handle: int) -> Calls:
        """Lock *handle*, as soon as it is free."""
        if self.try_take(handle):
            return
        yield self._patience
        if self.try_take(handle):
            return
        yield -2  # the mutex and the condition of those who wait for the time
        while not self.try_take(handle):
            yield None
        yield -1

    def give(self, handle: int) -> None:
        """Unlock *handle*."""
        self._taken.remove(handle)

    def touch(self, handle: int) -> Calls:
        """Lock *handle* for no longer than a look at it takes."""
        yield from self.take(handle)
        self.give(handle)

    def touch_all(self, needs: Iterable[Need]) -> Calls:
        """Lock the data of a task, one after the other."""
        for handle, _, _ in needs:
            yield from self.touch(handle)
