"""Turns of workers that share a memory too small for the data of all their tasks."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.engine.data.copies import Copies
    from tasksim.engine.data.pool import Pool

__all__ = ["Turns", "turns_of"]


class Turns:
    """Turns of workers that fetch the data of their tasks to the memory of *pool*.

    A task keeps its first data while the others are fetched. Two tasks in a memory too small for
    both would wait for each other for ever. So the data of a task are fetched only if they fit
    together with all data of other tasks, or if no other task still waits for its data.
    """

    def __init__(self, pool: Pool, sizes: Sequence[int]) -> None:
        self._pool = pool
        self._sizes = sizes
        self._held: dict[int, int] = {}
        self._incomplete = 0
        self._waiting: deque[tuple[list[int], Callable[[], bool]]] = deque()

    def ask(self, handles: list[int], bring: Callable[[], bool]) -> None:
        """Call *bring* for a task that needs *handles* when its turn comes, now or later.

        *bring* returns whether the task has to wait for data; if so, the caller calls
        :meth:`completed` when it has them all.
        """
        self._waiting.append((handles, bring))
        self._go_on()

    def completed(self) -> None:
        """Note that a task has all its data."""
        self._incomplete -= 1
        self._go_on()

    def leave(self, handles: list[int]) -> None:
        """Note that a task no longer needs *handles*."""
        for handle in handles:
            self._held[handle] -= 1
            if not self._held[handle]:
                del self._held[handle]
        self._go_on()

    def _go_on(self) -> None:
        while self._waiting:
            handles, bring = self._waiting[0]
            if self._incomplete:
                together = dict.fromkeys([*self._held, *handles])
                if not self._pool.fits([self._sizes[handle] for handle in together]):
                    return
            self._waiting.popleft()
            for handle in handles:
                self._held[handle] = self._held.get(handle, 0) + 1
            if bring():
                self._incomplete += 1


def turns_of(copies: Copies, memory_of: Sequence[int]) -> list[Turns | None]:
    """Return the turns of each limited memory that several workers share; None for others.

    *memory_of* has the memory of each worker.
    """
    return [
        Turns(store.pool, copies.size)
        if store is not None and memory_of.count(memory) > 1
        else None
        for memory, store in enumerate(copies.stores)
    ]
