"""Paths over ranks: the records of :mod:`tasksim.runtime.pathrecords`, also carried by messages.

A message carries its sender's record to the receiver, whose tasks continue with the later of both
records: the winner's replaces the loser's. Messages are on the path like tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.runtime.pathrecords import PathRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["RankPaths"]

Key = tuple[int, int]
"""Rank, and number of a task of its part."""


class RankPaths:
    """Path records of all workers of all ranks, and of released tasks.

    Parameters
    ----------
    kinds : int
        Number of kinds of tasks and messages to count.
    workers : sequence of int
        Number of workers of each rank.

    Attributes
    ----------
    longest : PathRecord
        Record of the task that ended last.
    """

    def __init__(self, kinds: int, workers: Sequence[int]) -> None:
        self._empty = PathRecord(0.0, (0,) * kinds, (0.0,) * kinds, 0.0)
        self._own = [[self._empty] * count for count in workers]
        self._carried: dict[Key, PathRecord] = {}
        self.longest = self._empty

    def before(self, key: Key, worker: int, ready_s: float) -> PathRecord:
        """Return the record of the predecessor that a task on *worker* started after."""
        own = self._own[key[0]][worker]
        return own if own.end_s > ready_s else self._carried.get(key, self._empty)

    def before_message(self, key: Key) -> PathRecord:
        """Return the record that released a message at *key*, its end that was ready last."""
        return self._carried.get(key, self._empty)

    def ended(
        self, key: Key, kind: int, times: tuple[float, float, float], worker: int | None = None
    ) -> PathRecord:
        """Note that a task ended on *worker* (None: a message); return its record.

        *times* are the ready, start and end times in seconds.
        """
        ready_s, start_s, end_s = times
        before = self.before_message(key) if worker is None else self.before(key, worker, ready_s)
        record = before.then(kind, start_s, end_s)
        self._carried.pop(key, None)
        if worker is not None:
            self._own[key[0]][worker] = record
        if end_s > self.longest.end_s:
            self.longest = record
        return record

    def carry(self, record: PathRecord, rank: int, released: Iterable[int]) -> None:
        """Let *released* tasks of a *rank* continue with *record*."""
        for task in released:
            self._carried[rank, task] = record
