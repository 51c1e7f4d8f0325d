"""Path records: the practical critical path of every worker, kept while a run goes on.

Longest-path propagation: a task's record is that of what its start waited for, the task before it
on its worker or the one that released it, and the task itself. Records go along a worker's order,
and with dependencies; where two meet, that of the later one is kept and the other is dropped. The
record of the task that ends last is what a walk back from it finds when all is over
(:func:`tasksim.run.critical.practical_critical_path`), without records of all tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["PathRecord", "PathRecords"]


class PathRecord(NamedTuple):
    """What is on a path so far.

    Attributes
    ----------
    end_s : float
        When its last task ended.
    counts : tuple of int
        Tasks per kind, of kernels or whatever is counted.
    seconds : tuple of float
        What they took, per kind.
    waited_s : float
        Between them, and before the first.
    """

    end_s: float
    counts: tuple[int, ...]
    seconds: tuple[float, ...]
    waited_s: float

    def then(self, kind: int, start_s: float, end_s: float) -> PathRecord:
        """Return the record with one more task."""
        counts, seconds = list(self.counts), list(self.seconds)
        counts[kind] += 1
        seconds[kind] += end_s - start_s
        waited_s = self.waited_s + (start_s - self.end_s)
        return PathRecord(end_s, tuple(counts), tuple(seconds), waited_s)


class PathRecords:
    """The records of the workers of one run, and those that wait with released tasks.

    Parameters
    ----------
    kinds : sequence of int
        Of each task, what it is counted as: from 0.
    workers : int
        How many.

    Attributes
    ----------
    kinds : sequence of int
        As given.
    longest : PathRecord
        That of the task that ended last, of those that have ended.
    """

    def __init__(self, kinds: Sequence[int], workers: int) -> None:
        count = max(kinds, default=-1) + 1
        self._empty: Final = PathRecord(0.0, (0,) * count, (0.0,) * count, 0.0)
        self.kinds: Final = kinds
        self._own = [self._empty] * workers
        self._carried: dict[int, PathRecord] = {}
        self.longest = self._empty

    def before(self, task: int, worker: int, ready_s: float) -> PathRecord:
        """Return the record of what the start of *task* on *worker* waits for.

        Its worker, if that was busy after the task was ready; else who released it.
        """
        own = self._own[worker]
        return own if own.end_s > ready_s else self._carried.get(task, self._empty)

    def ended(
        self, task: int, worker: int, times: tuple[float, float, float], releases: Iterable[int]
    ) -> None:
        """Note that *task* has ended on *worker*, and which tasks that *releases*.

        *times* are when it was ready, started and ended, in seconds.
        """
        ready_s, start_s, end_s = times
        record = self.before(task, worker, ready_s).then(self.kinds[task], start_s, end_s)
        self._carried.pop(task, None)
        self._own[worker] = record
        if end_s > self.longest.end_s:
            self.longest = record
        for released in releases:
            self._carried[released] = record
