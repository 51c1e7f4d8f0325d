"""Simulated annealing on workers and places of tasks, with a replay for each candidate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.optimization.schedule import Schedule, critical_tasks

if TYPE_CHECKING:
    import random

    from tasksim.optimization.replayer import Replayer

__all__ = ["Annealing"]

HOT: Final = 3e-3
"""First temperature, as a share of the makespan: a candidate longer by it is taken one time in e.

Hotter, the search forgets a good start; with 1e-2, 1,000 tasks never came back to it in a minute.
"""
COLD: Final = 2e-5
"""Last temperature, as a share of the makespan."""
CRITICAL_SHARE: Final = 0.7
"""Share of the candidates that change a task which the end of the schedule waits for."""


class Annealing:
    """A schedule under change, one task at a time.

    A candidate gives a task another worker, another place among the tasks, or both, or it swaps the
    workers of two tasks. Places stay between those of the predecessors and the successors, so that
    no candidate is a deadlock.

    Parameters
    ----------
    replayer : Replayer
        The replays of the question.
    start : Schedule
        Where the search begins.
    rng : random.Random
        Its choices.
    """

    def __init__(self, replayer: Replayer, start: Schedule, rng: random.Random) -> None:
        self._replayer, self._rng = replayer, rng
        edges = replayer.problem.edges
        bounds, sources = edges.target_ptr.tolist(), edges.source[edges.by_target].tolist()
        starts, targets = edges.ptr.tolist(), edges.target.tolist()
        tasks = range(replayer.problem.tasks)
        self._before = [sources[bounds[t] : bounds[t + 1]] for t in tasks]
        self._after = [targets[starts[t] : starts[t + 1]] for t in tasks]
        self._able = [np.flatnonzero(row).tolist() for row in replayer.able]
        self.best = start
        self.restart(start)

    def restart(self, schedule: Schedule) -> None:
        """Go on from *schedule*."""
        self._worker = schedule.worker.copy()
        self._key = np.empty(len(schedule.order))
        self._key[schedule.order] = np.arange(len(schedule.order))
        self._order = schedule.order
        self._now_s = self._replayer.makespan_s(self._worker, self._order)
        self._look()

    def step(self, share: float) -> bool:
        """Try one candidate; return whether it is better than all before.

        *share* of the search is done: it is the colder, the more.
        """
        rng = self._rng
        tasks = len(self._key)
        if self._critical and rng.random() < CRITICAL_SHARE:
            task = self._critical[int(rng.random() * len(self._critical))]
        else:
            task = int(rng.random() * tasks)
        old = [(task, int(self._worker[task]), float(self._key[task]))]
        kind = rng.random()
        if kind < 0.4:
            self._place(task)
        elif kind < 0.8 and len(self._able[task]) > 1:
            self._assign(task)
            if rng.random() < 0.6:
                self._place(task)
        else:
            other = int(rng.random() * tasks)
            if rng.random() < 0.7:
                other = self._neighbour(task)
            old.append((other, int(self._worker[other]), float(self._key[other])))
            self._swap(task, other)
        moved = any(self._worker[t] != worker for t, worker, _ in old)
        if not moved and all(self._key[t] == key for t, _, key in old):
            return False
        order = np.argsort(self._key, kind="stable")
        found_s = self._replayer.makespan_s(self._worker, order, moved=True)
        worse = found_s - self._now_s
        temperature = HOT * (COLD / HOT) ** share * self.best.makespan_s
        if worse > 0 and rng.random() >= math.exp(-worse / temperature):
            for t, worker, key in reversed(old):
                self._worker[t], self._key[t] = worker, key
            return False
        self._order, self._now_s = order, found_s
        if worse < 0 or rng.random() < 0.2:
            self._look()
        if found_s < self.best.makespan_s:
            self.best = Schedule(self._worker.copy(), order, found_s)
            return True
        return False

    def _assign(self, task: int) -> None:
        """Give *task* another worker."""
        able = self._able[task]
        worker = able[int(self._rng.random() * (len(able) - 1))]
        self._worker[task] = able[-1] if worker == self._worker[task] else worker

    def _place(self, task: int) -> None:
        """Move *task* to another place between its predecessors and its successors."""
        low = max((self._key[t] for t in self._before[task]), default=-1.0)
        high = min((self._key[t] for t in self._after[task]), default=float(len(self._key)))
        self._key[task] = low + (high - low) * self._rng.random()

    def _neighbour(self, task: int) -> int:
        """Return a task whose place is near that of *task*."""
        place = int(np.searchsorted(self._key[self._order], self._key[task]))
        far = 2 * len(set(self._able[task]))
        place += self._rng.randint(-far, far)
        return int(self._order[min(max(place, 0), len(self._order) - 1)])

    def _swap(self, one: int, other: int) -> None:
        """Swap the workers of two tasks, and their places where that is possible."""
        first, second = int(self._worker[one]), int(self._worker[other])
        if second in self._able[one] and first in self._able[other]:
            self._worker[one], self._worker[other] = second, first
        keys = float(self._key[one]), float(self._key[other])
        for task, key in ((one, keys[1]), (other, keys[0])):
            low = max((self._key[t] for t in self._before[task]), default=-1.0)
            high = min((self._key[t] for t in self._after[task]), default=math.inf)
            if low < key < high:
                self._key[task] = key

    def _look(self) -> None:
        """Note which tasks the end waits for, and number the places by the starts of tasks."""
        table = self._replayer.table()
        self._critical = critical_tasks(table, self._order)
