"""The modular schedulers, StarPU's trees of components in flattened form.

A tree has a central queue, a decision, a queue per worker, and the expected work of each worker.
"""

from __future__ import annotations

from collections import deque
from math import inf, isnan
from typing import TYPE_CHECKING, ClassVar

from tasksim.base.arguments import number_from
from tasksim.schedulers.base import Scheduler, View, option_of
from tasksim.schedulers.decisions import Estimate
from tasksim.schedulers.queues import PushOrder, SortedTasks, task_list
from tasksim.schedulers.weights import DEFAULT_GAMMA_US_PER_J, Weighing

if TYPE_CHECKING:
    import random

    from tasksim.schedulers.queues import TaskList

__all__ = [
    "Expected",
    "ModularDmda",
    "ModularDmdap",
    "ModularDmdar",
    "ModularDmdas",
    "ModularEager",
    "ModularHeft",
    "ModularPrio",
]


class Expected:
    """Expected work of one worker in seconds, handed out and queued.

    ``start`` is the end of the tasks handed out and ``pipeline`` their duration. ``length`` is the
    duration of the task that was taken and has not started, and ``queued`` that of the queue above
    the worker. As in StarPU's ``component_worker.c``, a worker that asks for a task counts as
    free *even if it still runs one*: when a device with two tasks at hand asks for the second, the
    first one no longer counts.
    """

    __slots__ = ("length", "pipeline", "queued", "start")

    def __init__(self) -> None:
        self.start = self.length = self.pipeline = self.queued = 0.0

    def end(self, now: float) -> float:
        """Return the expected end of all work of the worker."""
        if now > self.start:
            self.start = now
        return self.start + self.length + self.queued

    def seen_end(self, now: float) -> float:
        """Return the result of :meth:`end` without moving the start."""
        return max(self.start, now) + self.length + self.queued

    def asked(self, now: float) -> None:
        """Note that the worker asks for a task, and count it as free."""
        self.start = now
        self.length = self.pipeline = 0.0

    def queue(self, now: float, duration: float, transfer: float) -> float:
        """Add a task to the queue; return the part of *transfer* that no earlier work hides."""
        transfer = max(0.0, now + transfer - self.end(now))
        self.queued += duration + transfer
        return transfer

    def unqueue(self, duration: float, transfer: float, left: int) -> None:
        """Remove a task from the queue, which has *left* others."""
        rest = max(0.0, self.queued - duration)
        self.queued = max(0.0, rest - transfer) if left else 0.0  # no rounding error stays

    def take(self, now: float, duration: float, transfer: float) -> float:
        """Hand out a task and start its transfer; return the part that no earlier work hides."""
        end = self.start + self.length
        if now > self.start:
            self.start = now
        transfer = max(0.0, now + transfer - end)
        self.length += duration
        self.pipeline += transfer
        self.start = now + self.pipeline
        return transfer

    def begin(self, now: float, duration: float, transfer: float) -> None:
        """Note that the data have arrived and the task starts."""
        self.length -= duration
        self.pipeline += duration - transfer
        self.start = now + self.pipeline

    def finish(self, now: float, duration: float) -> None:
        """Note the end of a task."""
        self.pipeline -= duration
        self.start = max(self.start, now + self.pipeline)


class ModularEager(Scheduler):
    """A central first-in first-out queue whose first task holds back the tasks behind it.

    This is StarPU's ``modular-eager`` (``modular_eager.c``, ``component_eager.c``). A push wakes
    all workers. A worker can take only the first task; if it cannot run that task, it wakes a
    worker that can and gets nothing.
    """

    name: ClassVar[str] = "modular-eager"
    core: ClassVar[str] = "modular-eager"

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with an empty queue."""
        super().attach(view, rng)
        self._queue: TaskList = SortedTasks(view.priority) if self.uses_priorities else PushOrder()
        self._everybody = [worker.id for worker in view.workers]

    def push(self, task: int) -> None:
        """Append *task* and wake all workers."""
        self._queue.append(task)
        if (log := self.view.decisions) is not None:
            log.queued(task, log.shared(), -self.view.priority[task] * self.uses_priorities)
        for worker in self._everybody:
            self.view.wake(worker)

    def pop(self, worker: int) -> int | None:
        """Return the first task if *worker* can run it."""
        if not self._queue:
            return None
        task = next(iter(self._queue))
        if not self.view.can_run(task, worker):
            self.view.wake_any(task)
            return None
        return self._queue.popleft()


class ModularPrio(ModularEager):
    """The ``modular-eager`` policy with the central queue sorted by priority."""

    name: ClassVar[str] = "modular-prio"
    core: ClassVar[str] = "modular-prio"
    uses_priorities: ClassVar[bool] = True


PossibleEnd = tuple[float, float, float, int, float]
"""The best worker of a class: the end, the transfer time and the duration of the task there, the
number of the worker, and the cost of the task's energy."""


class ModularDmda(Weighing):
    """A policy that assigns a task to the worker with the earliest expected end, with transfers.

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
    core: ClassVar[str] = "modular-dmda"
    needs_estimates: ClassVar[bool] = True
    looks_at_data: ClassVar[bool] = True
    ready_first: ClassVar[bool] = False

    def __init__(
        self,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = DEFAULT_GAMMA_US_PER_J,
        idle_power: float | None = None,
    ) -> None:
        self.weigh(alpha, beta, gamma, idle_power)

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues."""
        super().attach(view, rng)
        weights = self.energy_weights(view)
        self._idle_cost, self._rates = weights.idle, weights.rates
        self._kernel = view.graph.kernel.tolist() if weights.rates else []
        self._memories = [worker.memory for worker in view.workers]
        self._several = len(set(self._memories)) > 1
        self._queues = [
            task_list(view, memory, by_priority=self.uses_priorities, ready_first=self.ready_first)
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

    def push(self, task: int) -> None:
        """Choose a worker for *task* and queue it there."""
        self._place(task)

    def pop(self, worker: int) -> int | None:
        """Return the next task of *worker*'s queue."""
        if self._own[worker]:
            return self._own[worker].popleft()
        now, expected, queue = self.view.now, self._expected[worker], self._queues[worker]
        expected.asked(now)
        if not queue:
            return None
        task = queue.popleft()
        expected.unqueue(self._durations[task], self._transfers[task], len(queue))
        self._left(worker)
        self._transfers[task] = expected.take(
            now, self._durations[task], self._transfer(task, self._memories[worker])
        )
        return task

    def started(self, task: int, worker: int) -> None:
        """Move *task* from the taken tasks to the running ones."""
        self._expected[worker].begin(self.view.now, self._durations[task], self._transfers[task])

    def finished(self, task: int, worker: int) -> None:
        """Remove *task* from the expected work."""
        self._expected[worker].finish(self.view.now, self._durations[task])

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
        if (log := self.view.decisions) is not None:
            log.decided(task, worker, self._estimates(task, ends, now))
            log.queued(task, worker, -self.view.priority[task] * self.uses_priorities)
        self._durations[task] = duration
        self._transfers[task] = self._expected[worker].queue(now, duration, transfer)
        self._queues[worker].append(task)
        if self._several:
            self.view.prefetch(task, self._memories[worker])
        self.view.wake(worker)
        return True

    def _full(self, worker: int, duration: float) -> bool:  # noqa: ARG002
        return False

    def _ends(self, task: int, now: float) -> list[PossibleEnd] | None:
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

    def _best(self, ends: list[PossibleEnd], now: float) -> PossibleEnd:
        earliest = min(ends)[0]
        latest = max(worker.end(now) for worker in self._expected) if self._idle_cost else inf
        best, least, lowest = ends[0], inf, -1
        for entry in ends:
            end, transfer, _, worker, charge = entry
            fitness = self._fitness(end - earliest, transfer, charge, end - latest)
            if fitness < least or (fitness == least and worker < lowest):
                best, least, lowest = entry, fitness, worker
        return best

    def _fitness(self, delay: float, transfer: float, charge: float, extension: float) -> float:
        """Return the cost of a candidate; *extension* is its end after the latest of all."""
        fitness = self.alpha * delay + self.beta * transfer + charge
        return fitness + self._idle_cost * extension if extension > 0.0 else fitness

    def _estimates(self, task: int, ends: list[PossibleEnd], now: float) -> list[Estimate]:
        """Return the terms of *task* on each able worker, for the record of decisions."""
        earliest = min(ends)[0]
        latest = max(each.seen_end(now) for each in self._expected) if self._idle_cost else inf
        able = self.view.able[task]
        members = [workers for bit, _, workers, _ in self._members if able & bit]
        found = []
        for workers, (_, transfer, duration, _, charge) in zip(members, ends, strict=True):
            for worker in workers:
                free = self._expected[worker].seen_end(now)
                end = max(free, now + transfer) + duration
                cost = self._fitness(end - earliest, transfer, charge, end - latest)
                energy = charge + self._idle_cost * max(0.0, end - latest)
                found.append(Estimate(worker, free, transfer, duration, energy, end, cost))
        return found

    def _place_unknown(self, task: int) -> bool:
        able = [w.id for w in self.view.workers if self.view.can_run(task, w.id)]
        worker = min(able, key=lambda worker: (self._gone[worker], worker))
        self._gone[worker] += 1
        self._own[worker].append(task)
        if (log := self.view.decisions) is not None:
            log.decided(task, worker)
            log.queued_at(
                task, worker, len(self._own[worker]) - 1
            )  # before those of known duration
        self.view.wake(worker)
        return True


class ModularDmdap(ModularDmda):
    """The ``modular-dmda`` policy with the workers' queues sorted by priority."""

    name: ClassVar[str] = "modular-dmdap"
    core: ClassVar[str] = "modular-dmdap"
    uses_priorities: ClassVar[bool] = True


class ModularDmdar(ModularDmda):
    """The ``modular-dmda`` policy with the task that lacks the fewest bytes first."""

    name: ClassVar[str] = "modular-dmdar"
    core: ClassVar[str] = "modular-dmdar"
    ready_first: ClassVar[bool] = True


class ModularDmdas(ModularDmda):
    """The ``modular-dmda`` policy with queues sorted by priority, then by missing bytes."""

    name: ClassVar[str] = "modular-dmdas"
    core: ClassVar[str] = "modular-dmdas"
    uses_priorities: ClassVar[bool] = True
    ready_first: ClassVar[bool] = True


class ModularHeft(ModularDmdas):
    """The ``modular-dmdas`` policy with bounded queues below a central queue.

    This is StarPU's ``modular-heft`` (``modular_heft.c``, ``modular_ez.c``). The queue of a worker
    is full when it has *tasks* tasks (30, StarPU's default of ``STARPU_NTASKS_THRESHOLD``), or when
    its expected work would reach *seconds* (1000 s, the default of ``STARPU_EXP_LEN_THRESHOLD``).
    An empty queue takes any task. A task that finds its queue full stays first in the central
    queue, which is sorted by priority, and holds back the tasks behind it. Whenever a worker asks
    for a task, the policy decides again for as many tasks as fit. Decisions during the pop of a
    task do not count that task: it has left the queue and is not handed out yet.
    """

    name: ClassVar[str] = "modular-heft"
    core: ClassVar[str] = "modular-heft"

    def __init__(
        self,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = DEFAULT_GAMMA_US_PER_J,
        idle_power: float | None = None,
        tasks: int = 30,
        seconds: float = 1000.0,
    ) -> None:
        super().__init__(alpha, beta, gamma, idle_power)
        self.tasks = number_from(tasks, option_of(self, "tasks"), 1)
        self.seconds = number_from(seconds, option_of(self, "seconds"), 0)

    def core_options(self) -> dict[str, float]:
        """Return the weights of decisions and the bounds of a queue."""
        return {**super().core_options(), "tasks": self.tasks, "seconds": self.seconds}

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues."""
        super().attach(view, rng)
        self._above = SortedTasks(view.priority)

    def push(self, task: int) -> None:
        """Add *task* to the central queue, then bind as many tasks as fit."""
        self._above.append(task)
        if (log := self.view.decisions) is not None:
            log.queued(task, log.shared(), -self.view.priority[task])
        self._bind()

    def pop(self, worker: int) -> int | None:
        """Return the next task of *worker*'s queue, and fill the room that it leaves."""
        task = super().pop(worker)
        if task is None and self._above:
            self._bind()
            task = super().pop(worker)
        return task

    def _bind(self) -> None:
        """Bind tasks of the central queue to workers until one finds no room."""
        above = self._above
        while above:
            task = above.popleft()
            if not self._place(task):
                above.appendleft(task)
                return

    def _left(self, worker: int) -> None:  # noqa: ARG002
        self._bind()

    def _full(self, worker: int, duration: float) -> bool:
        queue = self._queues[worker]
        if not queue:
            return False
        return len(queue) >= self.tasks or self._expected[worker].queued + duration >= self.seconds
