"""modular-dmda and its variants: decisions by expected ends at push, in a tree of components."""

from __future__ import annotations

from collections import deque
from math import inf, isnan
from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.base import Scheduler, View
from tasksim.schedulers.modular_expected import Expected
from tasksim.schedulers.modular_queue import WorkerQueue
from tasksim.schedulers.weights import (
    DEFAULT_GAMMA_US_PER_J,
    EnergyWeights,
    check_weights,
    energy_weights,
    number,
)

if TYPE_CHECKING:
    import random

__all__ = ["ModularDmda", "ModularDmdap", "ModularDmdar", "ModularDmdas"]

Candidate = tuple[float, float, float, int, float]
"""The best worker of a class: the end, the transfer time and the duration of the task there, the
number of the worker, and the cost of the task's energy."""


class ModularDmda(Scheduler):
    """Each task goes to the worker where it is expected to end first, transfers included.

    This is StarPU's ``modular-dmda`` (``modular_heft.c``, ``component_mct.c``, ``helper_mct.c``).
    A task goes to the able worker with the least ``alpha·(end − earliest end) + beta·transfer +
    gamma·energy + gamma·idle_power·(end − latest end of all)``; the last term counts only if it is
    positive. The end is the expected end of the worker's work, or of the transfer if that is
    later, plus the duration. The energy is that of the task above idle, or 0 if the platform gives
    no power. A tie goes to the worker of lowest number. *gamma* is in microseconds per joule,
    *idle_power* in watts.

    A task of unknown or zero duration goes to the worker that got the fewest such tasks.
    """

    name: ClassVar[str] = "modular-dmda"
    needs_estimates: ClassVar[bool] = True
    looks_at_data: ClassVar[bool] = True
    by_priority: ClassVar[bool] = False
    ready_first: ClassVar[bool] = False

    def __init__(
        self,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = DEFAULT_GAMMA_US_PER_J,
        idle_power: float | None = None,
    ) -> None:
        self.alpha = number(self.name, "alpha", alpha)
        self.beta = number(self.name, "beta", beta)
        check_weights(self.name, gamma, idle_power)
        self.gamma, self.idle_power = gamma, idle_power

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues."""
        super().attach(view, rng)
        weights = self.energy_weights(view)
        self._idle_cost, self._rates = weights.idle, weights.rates
        self._kernel = view.graph.kernel.tolist() if weights.rates else []
        self._memories = [worker.memory for worker in view.workers]
        self._several = len(set(self._memories)) > 1
        self._queues = [
            WorkerQueue(view, memory, by_priority=self.by_priority, ready_first=self.ready_first)
            for memory in self._memories
        ]
        self._expected = [Expected() for _ in view.workers]
        self._own: list[deque[int]] = [deque() for _ in view.workers]
        self._gone = [0] * len(view.workers)
        self._durations = [0.0] * len(view.priority)
        self._transfers = [0.0] * len(view.priority)
        self._members = [
            (1 << index, index, list(group.workers), group.memory)
            for index, group in enumerate(view.classes)
        ]

    def energy_weights(self, view: View) -> EnergyWeights:
        """Return the cost of energy in decisions."""
        return energy_weights(self.name, self.gamma, self.idle_power, view)

    def push(self, task: int) -> None:
        """Choose a worker for *task* and queue it there."""
        self._place(task)

    def pop(self, worker: int) -> int | None:
        """Return the next task of *worker*'s queue."""
        if self._own[worker]:
            return self._own[worker].popleft()
        return self._pull(worker)

    def started(self, task: int, worker: int) -> None:
        """Move *task* from the taken tasks to the running ones."""
        self._expected[worker].begin(self.view.now, self._durations[task], self._transfers[task])

    def finished(self, task: int, worker: int) -> None:
        """Remove *task* from the expected work."""
        self._expected[worker].finish(self.view.now, self._durations[task])

    def _pull(self, worker: int) -> int | None:
        now, expected, queue = self.view.now, self._expected[worker], self._queues[worker]
        expected.asked(now)
        task = queue.pop()
        if task is None:
            return None
        expected.unqueue(self._durations[task], self._transfers[task], len(queue))
        self._left(worker)
        self._transfers[task] = expected.take(
            now, self._durations[task], self._transfer(task, self._memories[worker])
        )
        return task

    def _left(self, worker: int) -> None:
        """Note that a task has left *worker*'s queue and is not handed out yet."""

    def _transfer(self, task: int, memory: int) -> float:
        return self.view.transfer_estimate(task, memory) if self._several else 0.0

    def _place(self, task: int) -> bool:
        """Choose a worker for *task* and queue it; return whether the queue had room."""
        now = self.view.now
        ends = self._ends(task, now)
        if ends is None:
            return self._place_unknown(task)
        _, transfer, duration, worker, _ = self._best(ends, now)
        if self._full(worker, duration):
            return False
        self._durations[task] = duration
        self._transfers[task] = self._expected[worker].queue(now, duration, transfer)
        self._queues[worker].push(task)
        if self._several:
            self.view.prefetch(task, self._memories[worker])
        self.view.wake(worker)
        return True

    def _full(self, worker: int, duration: float) -> bool:  # noqa: ARG002
        return False

    def _ends(self, task: int, now: float) -> list[Candidate] | None:
        """Return a candidate per able class; None if a duration is unknown or all are zero."""
        able, ends, known = self.view.able[task], [], 0.0
        for bit, index, workers, memory in self._members:
            if able & bit:
                duration = self.view.estimates[index][task]
                if isnan(duration):
                    return None
                known += duration
                transfer = self._transfer(task, memory)
                start, worker = self._earliest(workers, now, now + transfer)
                charge = 0.0
                if self._rates is not None:
                    charge = self._rates[index][self._kernel[task]] * duration
                ends.append((start + duration, transfer, duration, worker, charge))
        return ends if known else None

    def _earliest(self, workers: list[int], now: float, arrival: float) -> tuple[float, int]:
        """Return the earliest start on *workers* of a task with data at *arrival*, and its worker.

        All workers that are free by *arrival* are ties, so the first of them is the result.
        """
        earliest, chosen = inf, -1
        for worker in workers:
            free = self._expected[worker].end(now)
            if free <= arrival:
                return arrival, worker
            if free < earliest:
                earliest, chosen = free, worker
        return earliest, chosen

    def _best(self, ends: list[Candidate], now: float) -> Candidate:
        alpha, beta, earliest = self.alpha, self.beta, min(ends)[0]
        latest = max(worker.end(now) for worker in self._expected) if self._idle_cost else inf
        best, least, lowest = ends[0], inf, -1
        for entry in ends:
            end, transfer, _, worker, charge = entry
            fitness = alpha * (end - earliest) + beta * transfer + charge
            if end > latest:
                fitness += self._idle_cost * (end - latest)
            if fitness < least or (fitness == least and worker < lowest):
                best, least, lowest = entry, fitness, worker
        return best

    def _place_unknown(self, task: int) -> bool:
        able = [w.id for w in self.view.workers if self.view.can_run(task, w.id)]
        worker = min(able, key=lambda worker: (self._gone[worker], worker))
        self._gone[worker] += 1
        self._own[worker].append(task)
        self.view.wake(worker)
        return True


class ModularDmdap(ModularDmda):
    """The ``modular-dmda`` policy with the workers' queues sorted by priority."""

    name: ClassVar[str] = "modular-dmdap"
    uses_priorities: ClassVar[bool] = True
    by_priority: ClassVar[bool] = True


class ModularDmdar(ModularDmda):
    """The ``modular-dmda`` policy with the task that lacks the fewest bytes first."""

    name: ClassVar[str] = "modular-dmdar"
    ready_first: ClassVar[bool] = True


class ModularDmdas(ModularDmda):
    """The ``modular-dmda`` policy with queues sorted by priority, then by missing bytes."""

    name: ClassVar[str] = "modular-dmdas"
    uses_priorities: ClassVar[bool] = True
    by_priority: ClassVar[bool] = True
    ready_first: ClassVar[bool] = True
