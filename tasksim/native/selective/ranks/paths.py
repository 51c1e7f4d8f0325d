"""Paths over ranks: the records of :mod:`tasksim.runtime.pathrecords`, carried by messages, too.

A message carries its sender's record to the receiver, whose tasks go on with that of them that is
the later one: the winner's replaces the loser's. Messages are on the path as tasks are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.runtime.pathrecords import PathRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["RankPaths"]

Key = tuple[int, int]
"""A rank, and a task of its part."""


class RankPaths:
    """The records of all workers of all ranks, and those that wait with released tasks.

    Parameters
    ----------
    kinds : int
        How many kinds of tasks and messages are counted.
    workers : sequence of int
        How many workers each rank has.

    Attributes
    ----------
    longest : PathRecord
        That of what ended last.
    """

    def __init__(self, kinds: int, workers: Sequence[int]) -> None:
        self._empty = PathRecord(0.0, (0,) * kinds, (0.0,) * kinds, 0.0)
        self._own = [[self._empty] * count for count in workers]
        self._carried: dict[Key, PathRecord] = {}
        self.longest = self._empty

    def before(self, key: Key, worker: int, ready_s: float) -> PathRecord:
        """Return the record of what the start of a task on *worker* waits for."""
        own = self._own[key[0]][worker]
        return own if own.end_s > ready_s else self._carried.get(key, self._empty)

    def before_message(self, key: Key) -> PathRecord:
        """Return the record of what released a message where it became ready last: at *key*."""
        return self._carried.get(key, self._empty)

    def ended(
        self, key: Key, kind: int, times: tuple[float, float, float], worker: int | None = None
    ) -> PathRecord:
        """Note that a task has ended on *worker*, None: a message; return its record.

        *times* are when it was ready, started and ended, in seconds.
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
        """Let tasks of a *rank* that were *released* go on with *record*."""
        for task in released:
            self._carried[rank, task] = record
