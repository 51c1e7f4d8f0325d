"""Livelock: how a run finds out that its scheduler asks workers to look again for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.runtime.rules import livelock

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.runtime.facts import Facts
    from tasksim.runtime.ledger import Ledger

__all__ = ["AllDone", "Patience"]

AT_LEAST: Final = 1_000
"""Pops that gave nothing before a run looks whether anything else happens: some milliseconds of a
replay, a second of threads that have to take turns."""
ROUNDS: Final = 10
"""So often each worker may be asked in vain, at least. Without a push, an end or the like between,
a worker that sleeps is woken only by another's pop; a chain of those ends after one round of all
workers, unless it never does. Ten leave room for schedulers that ask some twice."""


TASKS: Final = 10
"""A look goes over all tasks; with a pop in vain for every ten of them, a million tasks are looked
at every 100,000 pops, which take fifty times as long (measured: 5 ms and 0.2 s)."""


class AllDone(Exception):
    """Ends a replay whose scheduler goes on to wake workers when all tasks are done."""


class Patience:
    """Counts pops that gave nothing; raises when they never will give anything.

    Every so many of them it looks whether a task has moved since it last looked. If none has, and
    it is the same instant still, or the run is *idle*, so that nothing will happen by itself, then
    nothing ever will.
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
        self._limit = max(AT_LEAST, ROUNDS * workers, len(graph) // TASKS)
        self._seen = (-1, -1.0)
        self.left = self._limit
        """How many more pops may give nothing before :meth:`look`."""

    def look(self, now_s: float) -> None:
        """Raise :exc:`SchedulerError` if nothing has happened since the last look, nor will.

        Raises :exc:`AllDone` instead if nothing was left to be done.
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
