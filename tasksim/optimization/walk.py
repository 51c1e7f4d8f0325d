"""Walks from draft to draft in Python, where there is no compiled core.

``core/optimization/drafts.cpp`` does the same with the same numbers in the same order.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.csr import Int64

__all__ = ["Walk"]

WAIT_SHARE: Final = 0.2
"""Share of the changes at a wait on the path that ends the schedule.

With .5 and with 0, Cholesky of 10 tiles on mirage was 1 % longer after 20,000 replayed changes.
"""
CRITICAL_SHARE: Final = 0.7
"""Share of the other changes at a task on that path."""
ANYWHERE_SHARE: Final = 0.25
"""Share of the new workers that are drawn evenly; others are the likelier, the faster they are.

Of 9 cores and 3 GPUs, three in four workers are cores, where a product of tiles takes 20 times as
long.
"""
LEAST_COST_S: Final = 1e-12
"""Duration in seconds that replaces zero in the comparison of speeds."""
_MASK: Final = (1 << 64) - 1


class _Random:
    """The generator SplitMix64, of which the core has a twin."""

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def unit(self) -> float:
        """Return a number from 0 to 1, without 1."""
        self._state = mixed = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return ((mixed ^ (mixed >> 31)) >> 11) * 2.0**-53

    def below(self, count: int) -> int:
        """Return a whole number from 0 to *count*, without *count*."""
        return int(self.unit() * count)


class Walk:
    """A schedule under change, with the estimate of its makespan.

    The parameters are the arrays of ``tasksim_drafts`` in ``core/tasksim_core.h``.
    """

    def __init__(
        self,
        cost: NDArray[np.float64],
        class_of: Int64,
        memory_of: Int64,
        before_ptr: Int64,
        before: Int64,
        copies: NDArray[np.float64],
        size_bytes: NDArray[np.float64],
        next_ptr: Int64,
        next: Int64,  # noqa: A002  # the name of the column
        latency_s: NDArray[np.float64],
        seconds_per_byte: NDArray[np.float64],
        initial_s: NDArray[np.float64],
        lag: NDArray[np.float64],
        tick_s: float,
    ) -> None:
        self._tasks, self._workers = len(cost), len(class_of)
        self._cost: list[list[float]] = cost[:, class_of].tolist()
        self._memory: list[int] = memory_of.tolist()
        self._latency_s: list[list[float]] = latency_s.tolist()
        self._per_byte_s: list[list[float]] = seconds_per_byte.tolist()
        self._initial_s: list[list[float]] = initial_s.tolist()
        self._lag, self._tick_s = lag, tick_s
        self._worker: list[int] = []
        self._start_s: list[float] = []
        self._end_s: list[float] = []
        rows = list(zip(before.tolist(), copies.tolist(), size_bytes.tolist(), strict=True))
        bounds = before_ptr.tolist()
        self._before = [rows[bounds[t] : bounds[t + 1]] for t in range(self._tasks)]
        bounds, targets = next_ptr.tolist(), next.tolist()
        self._next = [targets[bounds[t] : bounds[t + 1]] for t in range(self._tasks)]
        self._able: list[list[int]] = []
        self._chance: list[list[float]] = []
        for costs, kinds in zip(self._cost, cost.tolist(), strict=True):
            able = [worker for worker, value in enumerate(costs) if value < math.inf]
            fastest, speeds, chance = min(kinds), 0.0, 0.0
            for worker in able:
                speeds += fastest / max(costs[worker], LEAST_COST_S)
            chances = []
            for worker in able:
                chance += ANYWHERE_SHARE / len(able)
                speed = fastest / max(costs[worker], LEAST_COST_S)
                chance += (1.0 - ANYWHERE_SHARE) * (speed / speeds) if speeds > 0.0 else 0.0
                chances.append(chance)
            self._able.append(able)
            self._chance.append(chances)

    def go(
        self, worker: Int64, order: Int64, steps: int, temperature_s: float, seed: int
    ) -> tuple[Int64, Int64, float, float]:
        """Return a schedule after *steps* changes, and the estimates of the first and the last."""
        self._rng = rng = _Random(seed)
        self._worker, self._order = worker.tolist(), order.tolist()
        self._lags = self._lag.tolist()
        self._place = [0] * self._tasks
        self._now_s = first_s = self._estimate()
        self._sort()
        self._look()
        taken = 0
        for _ in range(steps):
            before = self._worker.copy(), self._order.copy(), self._place.copy()
            ends = self._start_s, self._end_s
            self._change()
            limit_s = self._now_s - temperature_s * math.log(1.0 - rng.unit())
            found_s = self._estimate()
            if found_s > limit_s:
                self._worker, self._order, self._place = before
                self._start_s, self._end_s = ends
                continue
            better, same = found_s < self._now_s, found_s == self._now_s
            self._now_s = found_s
            taken += 1
            if taken >= self._tasks // 4:
                taken = 0
                self._sort()
                self._look()
            elif better or rng.unit() < (0.02 if same else 0.2):
                self._look()
        return np.array(self._worker), np.array(self._order), first_s, self._now_s

    def learn(
        self,
        worker: Int64,
        order: Int64,
        start: NDArray[np.float64],
        end: NDArray[np.float64],
    ) -> None:
        """Note the lags of the tasks in the replay of a schedule."""
        self._worker = worker.tolist()
        starts, ends = start.tolist(), end.tolist()
        idle = [0.0] * self._workers
        for task in order.tolist():
            here = self._worker[task]
            memory = self._memory[here]
            late = starts[task] - self._inputs(task, memory, ends)[1]
            # Of a task that waited for its worker, only the most that it may have waited is known.
            waited = starts[task] > idle[here] + self._tick_s
            self._lag[task, memory] = late if waited else min(self._lag[task, memory], late)
            idle[here] = ends[task]

    def _arrival(self, row: tuple[int, float, float], memory: int, end: list[float]) -> float:
        """Return when the data of an edge are in *memory*."""
        source, copies, size_bytes = row
        origin = self._memory[self._worker[source]]
        if origin == memory or copies <= 0.0:
            return end[source]
        return end[source] + (
            copies * self._latency_s[origin][memory] + size_bytes * self._per_byte_s[origin][memory]
        )

    def _inputs(self, task: int, memory: int, end: list[float]) -> tuple[float, float]:
        """Return when the predecessors end, and when their data are there."""
        released, arrived = 0.0, self._initial_s[task][memory]
        for row in self._before[task]:
            released = max(released, end[row[0]])
            arrived = max(arrived, self._arrival(row, memory, end))
        return released, arrived

    def _estimate(self) -> float:
        """Return the estimate of the makespan; keep the starts and ends of the tasks."""
        idle = [0.0] * self._workers
        self._start_s, self._end_s = start_s, end_s = [0.0] * self._tasks, [0.0] * self._tasks
        for place, task in enumerate(self._order):
            self._place[task] = place
            worker = self._worker[task]
            memory = self._memory[worker]
            released_s, arrived_s = self._inputs(task, memory, end_s)
            arrived_s += self._lags[task][memory]
            start_s[task] = max(idle[worker], released_s, arrived_s)
            idle[worker] = end_s[task] = start_s[task] + self._cost[task][worker]
        return max(idle)

    def _sort(self) -> None:
        """Order all tasks by their starts, which changes no worker's list."""
        self._order.sort(key=self._start_s.__getitem__)
        self._now_s = self._estimate()

    def _look(self) -> None:
        """Find the tasks that the end waits for, the last one first, and what each waited for."""
        worker, end_s = self._worker, self._end_s
        latest = [-1] * self._workers
        before = [-1] * self._tasks
        task = -1
        for here in self._order:
            before[here], latest[worker[here]] = latest[worker[here]], here
            if task < 0 or end_s[here] > end_s[task]:
                task = here
        self._critical: list[int] = []
        self._waits: list[tuple[int, int]] = []
        while task >= 0:
            self._critical.append(task)
            memory = self._memory[worker[task]]
            lag = self._lags[task][memory]
            cause = before[task]
            when = end_s[cause] if cause >= 0 else -1.0
            for row in self._before[task]:
                at = max(end_s[row[0]], self._arrival(row, memory, end_s) + lag)
                if at > when:
                    when, cause = at, row[0]
            if cause >= 0 and (
                worker[cause] == worker[task] or self._memory[worker[cause]] != memory
            ):
                self._waits.append((cause, task))
            task = cause

    def _change(self) -> None:
        """Change a task or two."""
        rng = self._rng
        if self._waits and rng.unit() < WAIT_SHARE:
            self._change_wait(*self._waits[rng.below(len(self._waits))])
            return
        if self._critical and rng.unit() < CRITICAL_SHARE:
            task = self._critical[rng.below(len(self._critical))]
        else:
            task = rng.below(self._tasks)
        kind = rng.unit()
        if kind < 0.4:
            self._put(task)
        elif kind < 0.8 and len(self._able[task]) > 1:
            self._assign(task)
            if rng.unit() < 0.6:
                self._put(task)
        else:
            far = 2 * len(self._able[task])
            if rng.unit() < 0.7:
                near = self._place[task] + rng.below(2 * far + 1) - far
                other = self._order[min(max(near, 0), self._tasks - 1)]
            else:
                other = rng.below(self._tasks)
            self._swap(task, other)

    def _change_wait(self, before: int, task: int) -> None:
        """Change *before* or *task*, which waited for it.

        On one worker they change places, or one gets another worker; in two memories, one gets a
        worker in the memory of the other.
        """
        rng = self._rng
        if self._worker[before] != self._worker[task]:
            if rng.unit() < 0.5:
                before, task = task, before
            memory = self._memory[self._worker[before]]
            near = [worker for worker in self._able[task] if self._memory[worker] == memory]
            if near:
                self._worker[task] = near[rng.below(len(near))]
            return
        kind = rng.unit()
        if kind < 0.4:
            early, late = self._place[before], self._place[task]
            if not self._fits(task, early) and not self._fits(before, late):
                self._assign(task)
            return
        chosen = task if kind < 0.7 else before
        self._assign(chosen)
        if rng.unit() < 0.3:
            self._put(chosen)

    def _assign(self, task: int) -> None:
        """Give *task* another worker, a fast one more likely."""
        able, chances = self._able[task], self._chance[task]
        for _ in range(3):
            drawn = bisect_left(chances, self._rng.unit())
            worker = able[min(drawn, len(able) - 1)]
            if worker != self._worker[task]:
                self._worker[task] = worker
                return

    def _room(self, task: int) -> tuple[int, int]:
        """Return the first and the last place between predecessors and successors of *task*."""
        low = max((self._place[row[0]] + 1 for row in self._before[task]), default=0)
        high = min((self._place[after] - 1 for after in self._next[task]), default=self._tasks - 1)
        return low, high

    def _put(self, task: int) -> None:
        """Move *task* to another place between its predecessors and its successors."""
        low, high = self._room(task)
        self._shift(task, low + self._rng.below(high - low + 1))

    def _fits(self, task: int, place: int) -> bool:
        """Move *task* to this *place* if it may be there; return whether it may."""
        low, high = self._room(task)
        if low <= place <= high:
            self._shift(task, place)
            return True
        return False

    def _shift(self, task: int, place: int) -> None:
        old = self._place[task]
        self._order.insert(place, self._order.pop(old))
        low, high = min(old, place), max(old, place)
        for k in range(low, high + 1):
            self._place[self._order[k]] = k

    def _swap(self, one: int, other: int) -> None:
        """Swap the workers of two tasks, and their places where that is possible."""
        worker, cost = self._worker, self._cost
        first, second = worker[one], worker[other]
        if first != second and cost[one][second] < math.inf and cost[other][first] < math.inf:
            worker[one], worker[other] = second, first
        early, late = self._place[one], self._place[other]
        self._fits(one, late)
        self._fits(other, early)
