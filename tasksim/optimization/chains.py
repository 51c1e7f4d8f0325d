"""Annealing by several chains, side by side on threads where there are cores for them.

A :class:`Limit` ends a search.
"""

from __future__ import annotations

import math
import random
import time
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.base.interruption import Stop, Stopped, give_up_if_asked
from tasksim.native.this_machine import usable_cores
from tasksim.optimization.annealing import Annealing, temperature

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.optimization.replayer import Replayer
    from tasksim.optimization.schedule import ReplayedPlan

__all__ = ["CHAIN_COUNT", "Better", "Chains", "Limit"]

CHAIN_COUNT: Final = 2
"""Chains of a search, whatever the number of cores, so that the result does not depend on it."""
ROUND_COUNT: Final = 100
"""Number of rounds of a search, between which the chains compare their schedules."""
ALONE_SHARE: Final = 0.5
"""Share of a search in which no chain goes on from the schedule of another."""


class Limit(NamedTuple):
    """The end of a search, by a number of candidates, by a duration in seconds, or by both."""

    steps: int | None
    time_s: float | None
    begun_s: float

    def share(self, steps: int) -> float:
        """Return the share of the search that is over after *steps* candidates."""
        shares = [0.0]
        if self.steps is not None:
            shares.append(steps / self.steps if self.steps else 1.0)
        if self.time_s is not None:
            shares.append(self.spent_s / self.time_s if self.time_s else 1.0)
        return max(shares)

    @property
    def spent_s(self) -> float:
        """The time since the search began, in seconds."""
        return time.perf_counter() - self.begun_s

    @property
    def left_s(self) -> float:
        """The time that is left, in seconds; infinite if steps alone count."""
        return math.inf if self.time_s is None else self.time_s - self.spent_s

    def part(self, number: int, count: int) -> Limit:
        """Return the limit of one of *count* searches that share the candidates."""
        if self.steps is None:
            return self
        return self._replace(steps=self.steps // count + (number < self.steps % count))


class Better(NamedTuple):
    """A schedule that was better than all before it in its chain."""

    step: int
    """Candidates of the chain before it."""
    found_s: float
    """Time on the clock of the limit, in seconds."""
    schedule: ReplayedPlan


class _Chain:
    """An annealing with the limit of its share of the candidates, and its better schedules."""

    def __init__(self, annealing: Annealing, limit: Limit, first: float) -> None:
        self.annealing, self._limit, self._first = annealing, limit, first
        self.steps = 0
        self.found: list[Better] = []

    def go_on(self, until: float, enough_s: float) -> None:
        """Try candidates until this share of the search is over, or a makespan is reached."""
        annealing, limit, first = self.annealing, self._limit, self._first
        while annealing.best.makespan_s > enough_s:
            share = (limit.share(self.steps) - first) / (1.0 - first)
            if share >= until:
                break
            give_up_if_asked()
            self.steps += 1
            if annealing.step(share):
                self.found.append(Better(self.steps, time.perf_counter(), annealing.best))


class Chains:
    """Chains of annealing that begin with different schedules.

    Each has its own share of the candidates and its own random numbers; between two rounds, a chain
    may go on from the schedule of another. So the result depends on the number of candidates, not
    on how many chains run side by side.

    Parameters
    ----------
    replayer : Replayer
        The replays of the graph.
    starts : sequence of ReplayedPlan
        The schedule from which each chain begins, the best first.
    limit : Limit
        The end of the search, by candidates of all chains, or by the clock.
    seed : str
        Seed of the random choices.

    Attributes
    ----------
    count : int
        The number of chains.
    """

    def __init__(
        self, replayer: Replayer, starts: Sequence[ReplayedPlan], limit: Limit, seed: str
    ) -> None:
        self.count = count = len(starts)
        first = limit.share(0)
        self._replayers = [replayer, *(replayer.beside() for _ in starts[1:])]
        self._chains = [
            _Chain(
                Annealing(own, start, random.Random(f"{seed} {number}" if number else seed)),
                limit.part(number, count),
                first,
            )
            for number, (own, start) in enumerate(zip(self._replayers, starts, strict=True))
        ]
        self._threads = min(count, len(usable_cores())) if replayer.compiled else 1

    @property
    def steps(self) -> int:
        """The number of candidates so far."""
        return sum(chain.steps for chain in self._chains)

    @property
    def replays(self) -> int:
        """The number of replays so far, including those before this search."""
        return sum(replayer.replays for replayer in self._replayers)

    def rounds(self, enough_s: float) -> Iterator[list[Better]]:
        """Search, and yield the better schedules of each round, in the order of the candidates.

        The search is over when a makespan of at most *enough_s* is found. Ctrl-C ends a round; its
        better schedules are yielded first.
        """
        stop = Stop()
        with ThreadPoolExecutor(self._threads, initializer=stop.begin) as pool:
            for number in range(1, ROUND_COUNT + 1):
                until = number / ROUND_COUNT
                under_way = [pool.submit(chain.go_on, until, enough_s) for chain in self._chains]
                interrupted = None
                try:
                    for future in under_way:
                        future.result()
                except KeyboardInterrupt as error:
                    interrupted = error
                    stop.ask()
                    for future in under_way:
                        error_of_chain = future.exception()
                        if error_of_chain is not None and not isinstance(error_of_chain, Stopped):
                            raise error_of_chain from error
                found = [better for chain in self._chains for better in chain.found]
                for chain in self._chains:
                    chain.found.clear()
                yield sorted(found, key=lambda better: better.step)
                if interrupted is not None:
                    raise interrupted
                schedules = [chain.annealing.best for chain in self._chains]
                best = min(schedules, key=attrgetter("makespan_s"))
                if best.makespan_s <= enough_s:
                    return
                self._compare(best, until)

    def _compare(self, best: ReplayedPlan, share: float) -> None:
        """Restart chains from the best schedule if they are worse by more than the temperature."""
        if share < ALONE_SHARE:
            return
        near_s = best.makespan_s * (1 + temperature(share))
        for chain in self._chains:
            if chain.annealing.now_s > near_s:
                chain.annealing.restart(best)
