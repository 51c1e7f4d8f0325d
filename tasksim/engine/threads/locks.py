"""Locks of data: threads that find one taken try again, and then whenever the time advances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.threads.kernel import Condition, Mutex, Wait

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasksim.engine.data.accesses import Need
    from tasksim.engine.threads.kernel import Calls, Kernel

__all__ = ["DataLocks"]


class DataLocks:
    """Which data are locked (StarPU's spinlocks, ``common/thread.h``).

    Who finds one taken waits *patience* ticks and then for each advance of the time, which *kernel*
    signals. Those that wait look one after the other: each holds the mutex of the condition then.
    """

    def __init__(self, patience: int, kernel: Kernel) -> None:
        self._patience = patience
        self._taken: set[int] = set()
        self._mutex, self._advance = Mutex(), Condition()
        self._wait = Wait(self._advance, self._mutex)
        kernel.advances.append(self._advance)

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
        yield self._mutex
        while not self.try_take(handle):
            yield self._wait
        yield self._mutex

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
