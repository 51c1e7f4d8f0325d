"""Detection of livelocks, in which a scheduler wakes workers for ever and gives them no task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.runtime.rules import livelock

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.runtime.ledger import Ledger
    from tasksim.runtime.view import Facts

__all__ = ["AllDone", "Patience"]

MIN_EMPTY_POPS: Final = 1_000
"""Minimum number of pops without a task between two checks for progress: some milliseconds of a
replay, a second of threads that have to take turns."""
EMPTY_POPS_PER_WORKER: Final = 10
"""Minimum number of pops without a task per worker between two checks. Between two events, such as
a push or an end, only the pop of another worker can wake a sleeping worker; a chain of such pops
ends after one round of all workers, or never. Ten rounds leave room for schedulers that poll some
workers twice."""


TASKS_PER_EMPTY_POP: Final = 10
"""Number of tasks per pop without a task between two checks. A check goes over all tasks: with ten
tasks per pop, a million tasks are checked every 100,000 pops, which take fifty times as long as the
check (measured: 0.2 s and 5 ms)."""


class AllDone(Exception):
    """The end of a replay whose scheduler still wakes workers after the last task."""


class Patience:
    """A counter of pops without a task, which raises an error in a livelock.

    At intervals, it checks whether any task has moved since the last check. The run can make no
    more progress if none has moved and the time is still the same, or if the run is *idle*, so
    that no event is pending.
    """

    def __init__(
        self,
        facts: Facts,
        ledger: Ledger,
        idle: Callable[[], bool],
        over: Callable[[], bool] | None = None,
    ) -> None:
        workers, graph = len(facts.platform.workers), facts.graph
        self._scheduler = facts.scheduler
        self._graph = graph
        self._ledger = ledger
        self._idle = idle
        self._over = over or ledger.over
        self._limit = max(
            MIN_EMPTY_POPS, EMPTY_POPS_PER_WORKER * workers, len(graph) // TASKS_PER_EMPTY_POP
        )
        self._seen = (-1, -1.0)
        self.left = self._limit
        """Number of pops without a task left until the next :meth:`look`."""

    def look(self, now_s: float) -> None:
        """Raise :exc:`SchedulerError` if the run can make no more progress.

        Raises :exc:`AllDone` instead if all tasks are done.
        """
        if self._over():
            raise AllDone
        moves = self._ledger.moves()
        seen_moves, seen_s = self._seen
        if moves == seen_moves and (now_s == seen_s or self._idle()):
            state = self._ledger.state
            raise livelock(self._scheduler, self._graph, state, now_s, self._limit)
        self._seen = (moves, now_s)
        self.left = self._limit
