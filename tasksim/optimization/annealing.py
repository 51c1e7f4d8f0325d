"""Simulated annealing on workers and places of tasks, with a replay for each candidate."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.optimization.schedule import Schedule, critical_tasks

if TYPE_CHECKING:
    import random

    from tasksim.graph.csr import Int64
    from tasksim.optimization.replayer import Replayer

__all__ = ["Annealing", "temperature"]

HOT: Final = 3e-3
"""First temperature, as a share of the makespan: a candidate longer by it is taken one time in e.

Hotter, the search forgets a good start; with 1e-2, 1,000 tasks never came back to it in a minute.
"""
COLD: Final = 2e-5
"""Last temperature, as a share of the makespan."""
WAIT_SHARE: Final = 0.2
"""Share of the candidates that change a wait on the path that ends the schedule.

With .5 and with 0, Cholesky of 10 tiles on mirage is 1 % longer after 20,000 candidates.
"""
CRITICAL_SHARE: Final = 0.7
"""Share of the other candidates that change a task on that path."""
ANYWHERE_SHARE: Final = 0.25
"""Share of the new workers that are drawn evenly; others are the likelier, the faster they are.

Of 9 cores and 3 GPUs, three in four workers are cores, where a product of tiles takes 20 times as
long.
"""
STEP_SHARE: Final = 1e-9
"""Distance of two keys at least, as a share of the makespan: a place in the order by starts."""

Change = tuple[int, int, float]
"""A task, and its worker and its key before a change."""


def temperature(share: float) -> float:
    """Return the temperature when *share* of the search is over, as a share of the makespan."""
    return HOT * math.exp(share * math.log(COLD / HOT))


class Annealing:
    """A schedule under change, one or two tasks at a time.

    A candidate gives a task another worker, another place among the tasks, or both, or it swaps the
    workers of two tasks. Places stay between those of the predecessors and the successors, so that
    no candidate is a deadlock. The key of a task orders it among others: its start in the last
    schedule that was looked at.

    Parameters
    ----------
    replayer : Replayer
        The replays of the graph.
    start : Schedule
        The schedule from which the search begins.
    rng : random.Random
        The source of random choices.
    """

    def __init__(self, replayer: Replayer, start: Schedule, rng: random.Random) -> None:
        self._replayer, self._rng = replayer, rng
        problem = replayer.problem
        self._narrow = np.min_scalar_type(problem.workers)
        edges = problem.edges
        bounds, sources = edges.target_ptr.tolist(), edges.source[edges.by_target].tolist()
        starts, targets = edges.ptr.tolist(), edges.target.tolist()
        self._predecessors = (bounds, sources)
        self._successors = (starts, targets)
        # Made at the first use: of a million tasks, the search changes few.
        self._able: dict[int, list[int]] = {}
        self._chances: dict[int, list[float]] = {}
        self._memory: list[int] = problem.memory_of.tolist()
        # Tasks that commute may run in another order than that of their list.
        self._by_start = not problem.commuting
        self.best = start
        self.restart(start)

    def restart(self, schedule: Schedule) -> None:
        """Continue from *schedule*."""
        if schedule.makespan_s < self.best.makespan_s:
            self.best = schedule
        self._worker = schedule.worker.copy()
        self._order: Int64 = schedule.order
        self._lists = self._lists_of(self._order)
        self._now_s = self._replayer.makespan_s(self._worker, self._order)
        self._key = np.empty(len(schedule.order))
        self._key[schedule.order] = np.linspace(0.0, self._now_s, len(schedule.order))
        self._look()

    @property
    def now_s(self) -> float:
        """The makespan of the schedule that the next candidate changes, in seconds."""
        return self._now_s

    def step(self, share: float) -> bool:
        """Try one candidate; return whether it is better than all before.

        *share* is the share of the search that is over: the temperature falls with it.
        """
        rng = self._rng
        old = self._changed()
        order = np.argsort(self._key, kind="stable")
        moved = any(self._worker[task] != worker for task, worker, _ in old)
        lists = self._lists_of(order)
        if not moved and np.array_equal(lists, self._lists):
            return False  # places differ, but no worker sees it
        found_s = self._replayer.makespan_s(self._worker, lists, moved=True)
        worse = found_s - self._now_s
        allowed = temperature(share) * self.best.makespan_s
        if worse > 0 and rng.random() >= math.exp(-worse / allowed):
            for task, worker, key in reversed(old):
                self._worker[task], self._key[task] = worker, key
            return False
        self._order, self._now_s, self._lists = order, found_s, lists
        if worse < 0 or rng.random() < 0.2:
            self._look()
        if found_s < self.best.makespan_s:
            self.best = Schedule(self._worker.copy(), order, found_s)
            return True
        return False

    def _able_of(self, task: int) -> list[int]:
        """Return the workers that can run *task*."""
        found = self._able.get(task)
        if found is None:
            found = self._able[task] = np.flatnonzero(self._replayer.able[task]).tolist()
        return found

    def _chances_of(self, task: int) -> list[float]:
        """Return the cumulated chances of the workers that can run *task*."""
        known = self._chances.get(task)
        if known is not None:
            return known
        problem = self._replayer.problem
        cost_s = np.maximum(problem.costs_s[task, problem.class_of[self._able_of(task)]], 1e-12)
        chance = cost_s.min() / cost_s
        even = ANYWHERE_SHARE / len(cost_s)
        found: list[float] = np.cumsum(even + (1 - ANYWHERE_SHARE) * chance / chance.sum()).tolist()
        self._chances[task] = found
        return found

    def _changed(self) -> list[Change]:
        """Change a task or two; return their state before the change."""
        rng = self._rng
        if self._waits and rng.random() < WAIT_SHARE:
            before, task = self._waits[int(rng.random() * len(self._waits))]
            old = [self._as_is(before), self._as_is(task)]
            self._change_wait(before, task)
            return old
        tasks = len(self._key)
        if self._critical and rng.random() < CRITICAL_SHARE:
            task = self._critical[int(rng.random() * len(self._critical))]
        else:
            task = int(rng.random() * tasks)
        old = [self._as_is(task)]
        kind = rng.random()
        if kind < 0.4:
            self._place(task)
        elif kind < 0.8 and len(self._able_of(task)) > 1:
            self._assign(task)
            if rng.random() < 0.6:
                self._place(task)
        else:
            other = self._neighbour(task) if rng.random() < 0.7 else int(rng.random() * tasks)
            old.append(self._as_is(other))
            self._swap(task, other)
        return old

    def _as_is(self, task: int) -> Change:
        return task, int(self._worker[task]), float(self._key[task])

    def _change_wait(self, before: int, task: int) -> None:
        """Change *before* or *task*, which waited for it.

        On one worker they change places, or one gets another worker; in two memories, one gets a
        worker in the memory of the other.
        """
        rng = self._rng
        first, second = int(self._worker[before]), int(self._worker[task])
        if first != second:
            if rng.random() < 0.5:
                before, task, first = task, before, second
            memory = self._memory[first]
            near = [worker for worker in self._able_of(task) if self._memory[worker] == memory]
            if near:
                self._worker[task] = near[int(rng.random() * len(near))]
            return
        kind = rng.random()
        step = STEP_SHARE * self._now_s
        if kind < 0.4:
            keys = float(self._key[before]), float(self._key[task])
            if not self._fits(task, keys[0] - step) and not self._fits(before, keys[1] + step):
                self._assign(task)
            return
        chosen = task if kind < 0.7 else before
        self._assign(chosen)
        if rng.random() < 0.3:
            self._place(chosen)

    def _assign(self, task: int) -> None:
        """Give *task* another worker, a fast one more likely."""
        able, chances = self._able_of(task), self._chances_of(task)
        for _ in range(3):
            drawn = bisect_left(chances, self._rng.random())
            worker = able[min(drawn, len(able) - 1)]
            if worker != self._worker[task]:
                self._worker[task] = worker
                return

    def _room(self, task: int) -> tuple[float, float]:
        """Return the bounds of the key of *task*."""
        bounds, sources = self._predecessors
        starts, targets = self._successors
        before = sources[bounds[task] : bounds[task + 1]]
        after = targets[starts[task] : starts[task + 1]]
        low = max((self._key[t] for t in before), default=-self._now_s)
        high = min((self._key[t] for t in after), default=2 * self._now_s)
        return float(low), float(high)

    def _fits(self, task: int, key: float) -> bool:
        """Give *task* this *key* if it is within the bounds; return whether it is."""
        low, high = self._room(task)
        if low < key < high:
            self._key[task] = key
            return True
        return False

    def _place(self, task: int) -> None:
        """Move *task* to another place between its predecessors and its successors."""
        low, high = self._room(task)
        low, high = max(low, -STEP_SHARE * self._now_s), min(high, (1 + STEP_SHARE) * self._now_s)
        self._key[task] = low + (high - low) * self._rng.random()

    def _neighbour(self, task: int) -> int:
        """Return a task whose place is near that of *task*."""
        place = int(np.searchsorted(self._key[self._order], self._key[task]))
        far = 2 * len(self._able_of(task))
        place += self._rng.randint(-far, far)
        return int(self._order[min(max(place, 0), len(self._order) - 1)])

    def _swap(self, one: int, other: int) -> None:
        """Swap the workers of two tasks, and their places where that is possible."""
        first, second = int(self._worker[one]), int(self._worker[other])
        if second in self._able_of(one) and first in self._able_of(other):
            self._worker[one], self._worker[other] = second, first
        keys = float(self._key[one]), float(self._key[other])
        self._fits(one, keys[1])
        self._fits(other, keys[0])

    def _lists_of(self, order: Int64) -> Int64:
        """Return the lists of all workers in turn, for tasks in this *order*."""
        # NumPy sorts small integers by their digits, three times as fast as others.
        owner = self._worker[order].astype(self._narrow)
        found: Int64 = order[np.argsort(owner, kind="stable")]
        return found

    def _look(self) -> None:
        """Find the tasks that the end waits for, and order the tasks by their starts."""
        table = self._replayer.table()
        if self._by_start:
            # This changes no list: each list is in the order of the starts of its tasks.
            self._order = self._order[np.argsort(table.start_s[self._order], kind="stable")]
            step_s = STEP_SHARE * self._now_s
            self._key[self._order] = table.start_s[self._order] + step_s * np.arange(
                len(self._order)
            )
        self._lists = self._lists_of(self._order)
        self._critical = critical_tasks(table, self._order)
        worker, memory = self._worker, self._memory
        self._waits = [
            (before, task)
            for task, before in zip(self._critical, self._critical[1:], strict=False)
            if worker[before] == worker[task] or memory[worker[before]] != memory[worker[task]]
        ]
