"""Path records of the practical critical path of every worker, updated during the run.

This is longest-path propagation. The start of a task waited for the previous task of its worker or
for the task that released it, whichever ended later; its record is the record of that task, plus
the task itself. The other record is dropped. At the end of the run, the record of the last task
equals the result of a walk back from that task
(:func:`tasksim.run.critical.practical_critical_path`), without a record per task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["PathRecord", "PathRecords"]


class PathRecord(NamedTuple):
    """A path up to one task.

    Attributes
    ----------
    end_s : float
        End of the last task.
    counts : tuple of int
        Number of tasks per kind, such as the kernel.
    seconds : tuple of float
        Total duration of the tasks per kind.
    waited_s : float
        Total time before the first task and between the tasks.
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
    """The records of the workers of one run, and of released tasks that wait for a worker.

    Parameters
    ----------
    kinds : sequence of int
        The kind of each task, a number from 0.
    workers : int
        The number of workers.

    Attributes
    ----------
    kinds : sequence of int
        The kinds as given.
    longest : PathRecord
        The record of the task with the latest end so far.
    """

    def __init__(self, kinds: Sequence[int], workers: int) -> None:
        count = max(kinds, default=-1) + 1
        self._empty: Final = PathRecord(0.0, (0,) * count, (0.0,) * count, 0.0)
        self.kinds: Final = kinds
        self._own = [self._empty] * workers
        self._carried: dict[int, PathRecord] = {}
        self.longest = self._empty

    def before(self, task: int, worker: int, ready_s: float) -> PathRecord:
        """Return the record of the task that the start of *task* on *worker* waits for.

        This is the previous task of the worker if it ended after *ready_s*, else the task that
        released *task*.
        """
        own = self._own[worker]
        return own if own.end_s > ready_s else self._carried.get(task, self._empty)

    def ended(
        self, task: int, worker: int, times: tuple[float, float, float], releases: Iterable[int]
    ) -> None:
        """Note that *task* has ended on *worker* and that this *releases* other tasks.

        *times* are the times at which it became ready, started and ended, in seconds.
        """
        ready_s, start_s, end_s = times
        record = self.before(task, worker, ready_s).then(self.kinds[task], start_s, end_s)
        self._carried.pop(task, None)
        self._own[worker] = record
        if end_s > self.longest.end_s:
            self.longest = record
        for released in releases:
            self._carried[released] = record
