"""When workers are expected to be free, ordered so that the earliest is at hand."""

from __future__ import annotations

from heapq import heappop, heappush

__all__ = ["ExpectedEnds"]


class ExpectedEnds:
    """The expected end of the work of each worker of one class.

    Worker *w* is expected to end what it has at ``max(start[w], now) + length[w]``:
    *start*, when the tasks handed out are done; *length*, how long its queue takes. Both
    lists belong to the caller, who calls :meth:`changed` after a change.

    Two heaps, both cleaned lazily: workers with something to do by expected end, which is right
    or, for a worker that is late, too early; and workers that should have nothing to do, by number.
    So :meth:`earliest` costs a logarithm, however many workers there are.
    """

    def __init__(self, workers: tuple[int, ...], start: list[float], length: list[float]) -> None:
        self._start, self._length = start, length
        self._ends: list[tuple[float, int, int]] = []
        self._free: list[tuple[int, int]] = []
        self._version = dict.fromkeys(workers, 0)
        for worker in workers:
            self.changed(worker)

    def changed(self, worker: int) -> None:
        """Note that the start or the length of *worker* has changed."""
        version = self._version[worker] + 1
        self._version[worker] = version
        heappush(self._ends, (self._start[worker] + self._length[worker], worker, version))

    def earliest(self, now: float) -> tuple[float, int]:
        """Return the earliest expected end, and its worker: of equals, the lowest number."""
        self._settle(now)
        free, version = self._free, self._version
        while free and version[free[0][0]] != free[0][1]:
            heappop(free)
        if free and (not self._ends or self._ends[0][0] > now or self._ends[0][1] > free[0][0]):
            return now, free[0][0]
        end, worker, _ = self._ends[0]
        return end, worker

    def _settle(self, now: float) -> None:
        """Make the first of the busy workers valid and its end right."""
        ends = self._ends
        while ends:
            end, worker, version = ends[0]
            if version != self._version[worker]:
                heappop(ends)
            elif self._start[worker] >= now:
                return
            elif not self._length[worker]:
                heappop(ends)
                heappush(self._free, (worker, version))
            elif end < (late := now + self._length[worker]):
                heappop(ends)
                heappush(ends, (late, worker, version))
            else:
                return
