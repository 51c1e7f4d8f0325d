"""The set of sleeping workers, with fast access to the first that can run a task."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.platform.description import WorkerClass

__all__ = ["Sleepers"]


class Sleepers:
    """The set of sleeping workers, initially all; ``asleep`` has a flag per worker."""

    def __init__(self, classes: Sequence[WorkerClass], class_of: Sequence[int]) -> None:
        self._class_of = class_of
        self.asleep = [True] * len(class_of)
        # Per class, a heap of its sleeping workers. A worker that is woken by number stays in its
        # heap until it comes to the top; `_listed` tells that it must not be added again.
        self._heaps: list[list[int]] = [list(group.workers) for group in classes]
        self._listed = [True] * len(class_of)

    def sleep(self, worker: int) -> None:
        """Note that *worker* sleeps."""
        self.asleep[worker] = True
        if not self._listed[worker]:
            self._listed[worker] = True
            heappush(self._heaps[self._class_of[worker]], worker)

    def first(self, able: int) -> int | None:
        """Return the sleeping worker of lowest number among the classes in the mask *able*."""
        best: list[int] | None = None
        for index, heap in enumerate(self._heaps):
            if able >> index & 1:
                while heap and not self.asleep[heap[0]]:
                    self._listed[heappop(heap)] = False
                if heap and (best is None or heap[0] < best[0]):
                    best = heap
        return None if best is None else best[0]

    def all(self, able: int) -> list[int]:
        """Return the sleeping workers of the classes in the mask *able*, in order of number."""
        found: list[int] = []
        for index, heap in enumerate(self._heaps):
            if heap and able >> index & 1:
                asleep = sorted(worker for worker in heap if self.asleep[worker])
                for worker in heap:
                    self._listed[worker] = self.asleep[worker]
                heap[:] = asleep
                found += asleep
        return sorted(found)
