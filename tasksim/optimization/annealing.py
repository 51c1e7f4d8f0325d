"""Simulated annealing on workers and places of tasks, with a replay for each candidate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.optimization.drafts import SEED_BITS, Drafts
from tasksim.optimization.schedule import ReplayedPlan

if TYPE_CHECKING:
    import random

    from tasksim.graph.csr import Int64
    from tasksim.optimization.replayer import Replayer
    from tasksim.run.record import TaskTable

__all__ = ["Annealing", "temperature"]

FIRST_TEMPERATURE: Final = 1.5e-3
"""First temperature, as a share of the makespan: a candidate longer by it is taken one time in e.

Hotter, the search forgets a good start; with 1e-2, 1,000 tasks never came back to it in a minute.
"""
LAST_TEMPERATURE: Final = 2e-5
"""Last temperature, as a share of the makespan."""
FIRST_CHANGES: Final = 20
"""Number of changes in the first walk."""
MAX_CHANGES: Final = 2000
"""Most changes of a walk: where no estimate is wrong, more of them gain little per replay."""
CHANGES_GROWTH: Final = 1.05
"""Factor of the number of changes after a candidate that was taken."""
TAKEN_SHARE: Final = 0.25
"""Share of the candidates that are taken if the number of changes stays the same."""


def temperature(share: float) -> float:
    """Return the temperature when *share* of the search is over, as a share of the makespan."""
    return FIRST_TEMPERATURE * math.exp(share * math.log(LAST_TEMPERATURE / FIRST_TEMPERATURE))


class Annealing:
    """A schedule under change, by walks over drafts.

    A candidate is the end of a walk: some changes of the schedule, each of which was taken or not
    by an estimate. It is replayed, and taken or not by its makespan. The estimates learn from each
    replay, last from that of the schedule that is changed next. Walks become longer where
    candidates are taken, and shorter where they are not.

    Parameters
    ----------
    replayer : Replayer
        The replays of the graph.
    start : ReplayedPlan
        The schedule from which the search begins.
    rng : random.Random
        The source of random choices.
    """

    def __init__(self, replayer: Replayer, start: ReplayedPlan, rng: random.Random) -> None:
        self._replayer, self._rng = replayer, rng
        problem = replayer.problem
        self._narrow = np.min_scalar_type(problem.workers)
        self._drafts = Drafts(problem, replayer.platform)
        self._changes = float(FIRST_CHANGES)
        # Tasks that commute may run in another order than that of their list.
        self._by_start = not problem.commuting
        self.best = start
        self.restart(start)

    def restart(self, schedule: ReplayedPlan) -> None:
        """Continue from *schedule*."""
        if schedule.makespan_s < self.best.makespan_s:
            self.best = schedule
        found_s = self._replayer.makespan_s(schedule.worker, schedule.order)
        table = self._replayer.table()
        self._drafts.learn(schedule.worker, schedule.order, table)
        self._take(schedule.worker.copy(), schedule.order, found_s, table)

    @property
    def now_s(self) -> float:
        """The makespan of the schedule that the next candidate changes, in seconds."""
        return self._now_s

    def step(self, share: float) -> bool:
        """Try one candidate; return whether it is better than all before.

        *share* is the share of the search that is over: the temperature falls with it.
        """
        allowed_s = temperature(share) * self.best.makespan_s
        worker, order, *_ = self._drafts.walk(
            self._worker,
            self._order,
            steps=int(self._changes),
            temperature_s=allowed_s,
            seed=self._rng.getrandbits(SEED_BITS),
        )
        moved = not np.array_equal(worker, self._worker)
        if not moved and np.array_equal(self._lists_of(worker, order), self._lists):
            self._walk_longer()
            return False  # no change was taken, or no worker sees it
        found_s = self._replayer.makespan_s(worker, order, moved=True)
        worse_s = found_s - self._now_s
        taken = worse_s <= 0 or self._rng.random() < math.exp(-worse_s / allowed_s)
        if math.isfinite(found_s):
            table = self._replayer.table()
            self._drafts.learn(worker, order, table)
        if not taken:
            # The estimate of the schedule that stays is again that of its own replay.
            self._drafts.learn(self._worker, self._order, self._table)
            shorter = CHANGES_GROWTH ** (-TAKEN_SHARE / (1 - TAKEN_SHARE))
            self._changes = max(1.0, self._changes * shorter)
            return False
        self._walk_longer()
        self._take(worker, order, found_s, table)
        if found_s < self.best.makespan_s:
            self.best = ReplayedPlan(worker, self._order, found_s)
            return True
        return False

    def _walk_longer(self) -> None:
        self._changes = min(float(MAX_CHANGES), self._changes * CHANGES_GROWTH)

    def _take(self, worker: Int64, order: Int64, found_s: float, table: TaskTable) -> None:
        """Make a replayed schedule the one that the next candidate changes."""
        if self._by_start:
            # This changes no list: each list is in the order of the starts of its tasks.
            order = order[np.argsort(table.start_s[order], kind="stable")]
        self._worker, self._order, self._now_s = worker, order, found_s
        self._table = table
        self._lists = self._lists_of(worker, order)

    def _lists_of(self, worker: Int64, order: Int64) -> Int64:
        """Return the lists of all workers in turn."""
        # NumPy sorts small integers by their digits, three times as fast as others.
        owner = worker[order].astype(self._narrow)
        return np.asarray(order[np.argsort(owner, kind="stable")])
