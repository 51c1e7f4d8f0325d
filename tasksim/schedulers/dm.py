"""The dm family of schedulers, which assign each task to the worker with the earliest expected end.

dm looks at durations alone, dmda and its variants at transfers and energy too.
"""

from __future__ import annotations

from math import inf, isnan, nan
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tasksim.base.arguments import switch
from tasksim.schedulers.base import NOMINAL_SPEED, Scheduler, View, option_of
from tasksim.schedulers.decisions import Estimate
from tasksim.schedulers.expected_ends import Ends, expected_ends
from tasksim.schedulers.queues import PushOrder, TaskList, task_list
from tasksim.schedulers.weights import DEFAULT_GAMMA_US_PER_J, Weighing

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    Candidate = tuple[float, float, int, float, float]

__all__ = [
    "Choice",
    "DataAware",
    "DataAwarePriority",
    "DataAwareReady",
    "DataAwareSorted",
    "DequeModel",
    "WorkerGroup",
]

Choice = tuple[int, float, float]
"""A worker, the expected duration of a task there, and its expected transfer time, in seconds."""


class WorkerGroup(NamedTuple):
    """The properties of a class of workers that a decision needs."""

    ends: Ends
    estimates: Sequence[float]
    memory: int
    workers: tuple[int, ...]
    rates: Sequence[float] = ()
    """Cost of a second of a task by kernel, in seconds; empty if no power is known."""


class DequeModel(Scheduler):
    """A policy that assigns a task at push to the worker with the earliest expected end.

    This is StarPU's ``dm`` (``sched_policies/deque_modeling_policy_data_aware.c``). Each worker
    runs its own queue. The policy keeps three estimates per worker: the end of the tasks handed out
    (``exp_start``), the duration of the tasks in the queue (``exp_len``), and the duration of the
    tasks handed out and not finished (``pipeline_len``). Real durations never enter: a task that
    ends early leaves the expected start late until the worker's next pop or start. A tie goes to
    the worker of lowest number.

    If the duration of a task is unknown (NaN or 0) on some worker, the task goes to the worker with
    the fewest waiting tasks relative to the nominal speed. If it is NaN on some workers, only these
    are candidates.

    Parameters
    ----------
    prefetch : int
        Whether a push starts to bring the task's data to its worker's memory: 1 or 0.
    """

    name: ClassVar[str] = "dm"
    core: ClassVar[str] = "dm"
    needs_estimates: ClassVar[bool] = True
    looks_at_data: ClassVar[bool] = True

    def __init__(self, prefetch: int = 1) -> None:
        self.prefetch = switch(prefetch, option_of(self, "prefetch"))

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues."""
        super().attach(view, rng)
        workers = len(view.workers)
        self._memory = [worker.memory for worker in view.workers]
        self._queues = [self._new_queue(worker) for worker in range(workers)]
        self._exp_start = [0.0] * workers
        self._exp_len = [0.0] * workers
        self._pipeline_len = [0.0] * workers
        self._unstarted = [0] * workers
        self._held = [0] * workers
        self._predicted = [0.0] * len(view.priority)
        self._predicted_transfer = [0.0] * len(view.priority)
        self._groups = [
            WorkerGroup(self._new_ends(group.workers), estimates, group.memory, group.workers)
            for group, estimates in zip(view.classes, view.estimates, strict=True)
        ]
        self._changed = [self._groups[c].ends.changed for c in view.class_of]
        self._able: dict[int, tuple[WorkerGroup, ...]] = {}

    def core_options(self) -> dict[str, float]:
        """Return whether pushes prefetch."""
        return {"prefetch": self.prefetch}

    def choose(self, task: int) -> Choice:
        """Return the worker with the earliest expected end of *task*."""
        now = self.view.now
        best, best_end, best_length = -1, 0.0, 0.0
        for ends, estimates, _, _, _ in self._groups_for(task):
            length = estimates[task]
            if not length > 0.0:
                return self._greedy(task)
            end, worker = ends.earliest(now)
            end += length
            if best < 0 or end < best_end or (end == best_end and worker < best):
                best, best_end, best_length = worker, end, length
        if (log := self.view.decisions) is not None:
            log.decided(task, best, self._estimates(task))
        return best, best_length, 0.0

    def chosen(self, choice: Choice) -> int:
        """Return the worker of *choice*."""
        return choice[0]

    def commit(self, task: int, choice: Choice) -> None:
        """Add *task* to the queue of the chosen worker, and wake the worker.

        Only the part of the transfer that is expected to outlast the worker's earlier tasks counts.
        """
        worker, length, transfer = choice
        view, exp_len = self.view, self._exp_len
        now = view.now
        if self._exp_start[worker] < now:
            self._exp_start[worker] = now
        transfer = now + transfer - (self._exp_start[worker] + exp_len[worker])
        if transfer > 0.0:
            self._predicted_transfer[task] = transfer
            exp_len[worker] += transfer
        self._predicted[task] = length
        exp_len[worker] += length
        self._unstarted[worker] += 1
        self._changed[worker](worker)
        if self.prefetch:
            view.prefetch(task, self._memory[worker])
        self._queues[worker].append(task)
        if (log := view.decisions) is not None:
            log.queued(task, worker, -view.priority[task] * self.uses_priorities)
        view.wake(worker)

    def pop(self, worker: int) -> int | None:
        """Return the first task of *worker*'s own queue."""
        queue = self._queues[worker]
        if not queue:  # StarPU moves a late exp_start to now; here, every reader does that
            return None
        task = queue.popleft()
        self._handed_out(task, worker)
        return task

    def started(self, task: int, worker: int) -> None:
        """Move the duration of *task*, whose data are there, from the queue to the pipeline."""
        length = self._predicted[task]
        self._unstarted[worker] -= 1
        # The sum of an empty queue is set to exactly 0: a rounding error would break ties between
        # idle workers.
        if self._unstarted[worker]:
            self._exp_len[worker] -= length
        else:
            self._exp_len[worker] = 0.0
        pipeline = self._pipeline_len[worker] - self._predicted_transfer[task] + length
        self._pipeline_len[worker] = pipeline
        self._exp_start[worker] = self.view.now + pipeline
        self._changed[worker](worker)

    def finished(self, task: int, worker: int) -> None:
        """Remove the duration of *task* from the pipeline."""
        self._held[worker] -= 1
        if self._held[worker]:
            self._pipeline_len[worker] -= self._predicted[task]
        else:
            self._pipeline_len[worker] = 0.0
        start = self.view.now + self._pipeline_len[worker]
        if self._exp_start[worker] < start:
            self._exp_start[worker] = start
            self._changed[worker](worker)

    def _new_queue(self, worker: int) -> TaskList:  # noqa: ARG002
        return PushOrder()

    def _new_ends(self, workers: tuple[int, ...]) -> Ends:
        return expected_ends(workers, self._exp_start, self._exp_len)

    def _handed_out(self, task: int, worker: int) -> None:
        """Move the transfer of *task* from the queue to the pipeline."""
        self._held[worker] += 1
        transfer = self._predicted_transfer[task]
        self._exp_len[worker] -= transfer
        self._pipeline_len[worker] += transfer
        self._exp_start[worker] = self.view.now + self._pipeline_len[worker]
        self._changed[worker](worker)

    def _groups_for(self, task: int) -> tuple[WorkerGroup, ...]:
        """Return the classes whose workers can run *task*."""
        able = self.view.able[task]
        groups = self._able.get(able)
        if groups is None:
            chosen = (g for index, g in enumerate(self._groups) if able >> index & 1)
            groups = self._able[able] = tuple(chosen)
        return groups

    def _greedy(self, task: int) -> Choice:
        """Return the able worker with the least load; *task* adds no expected time there."""
        groups = self._groups_for(task)
        unmeasured = [g for g in groups if isnan(g.estimates[task])]
        workers = (w for group in unmeasured or groups for w in group.workers)
        worker = min(workers, key=lambda w: (self._load(w, task), w))
        if (log := self.view.decisions) is not None:
            log.decided(task, worker)
        return worker, 0.0, 0.0

    def _estimates(self, task: int) -> list[Estimate]:
        """Return the terms of *task* on each able worker, for the record of decisions."""
        now, found = self.view.now, []
        for ends, estimates, _, workers, _ in self._groups_for(task):
            for worker in workers:
                free, length = ends.end_of(worker, now), estimates[task]
                found.append(Estimate(worker, free, nan, length, nan, free + length, nan))
        return found

    def _load(self, worker: int, task: int) -> float:
        """Return the number of tasks that wait or run on *worker*, relative to its speed."""
        queued = len(self._queues[worker])
        speed = NOMINAL_SPEED.get(self.view.workers[worker].architecture, 0.5)
        # A queued task counts twice, as in StarPU: in the queue, and in the pipeline.
        return (self._ahead(worker, task, queued) + queued + self._held[worker]) / speed

    def _ahead(self, worker: int, task: int, queued: int) -> int:  # noqa: ARG002
        """Return the number of tasks in the queue that count as ahead of *task*."""
        return queued


class DataAware(Weighing, DequeModel):
    """The dm policy with transfers, which count in the expected end and as a cost of their own.

    This is StarPU's ``dmda``, also called ``heft``. Let D be the estimated transfer time of a task
    to a worker's memory and L its expected duration there. The expected end of the task is ``END =
    max(end of the worker's work, now + D) + L``. The task goes to the worker with the least ::

        alpha·(END − least END) + beta·D + gamma·G + [END > MAXE]·gamma·idle_power·(END − MAXE)

    and in a tie to the one of lowest number. MAXE is the latest end of the current work of the
    able workers. G is the energy of the task there above idle: L times the power that the platform
    gives, or 0 if it gives none.

    Parameters
    ----------
    alpha, beta : float
        Weights of the end time and of the transfer, at least 0.
    gamma : float
        Cost of a joule in microseconds; used only if the platform's power or *idle_power* is known.
    idle_power : float, optional
        Idle power of the whole machine in watts; by default that of the platform, or none.
    prefetch : int
        Whether a push starts to bring the task's data to its worker's memory: 1 or 0.
    """

    name: ClassVar[str] = "dmda"
    core: ClassVar[str] = "dmda"
    ready_first: ClassVar[bool] = False
    """Whether a worker takes the task that lacks the fewest bytes among its most urgent ones."""

    def __init__(
        self,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = DEFAULT_GAMMA_US_PER_J,
        idle_power: float | None = None,
        prefetch: int = 1,
    ) -> None:
        super().__init__(prefetch)
        self.weigh(alpha, beta, gamma, idle_power)

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues."""
        weights = self.energy_weights(view)
        super().attach(view, rng)
        self._idle = weights.idle
        self._kernel = view.graph.kernel.tolist() if weights.rates else []
        rates: Sequence[Sequence[float]] = weights.rates or [() for _ in view.classes]
        self._groups = [
            group._replace(rates=of) for group, of in zip(self._groups, rates, strict=True)
        ]

    def choose(self, task: int) -> Choice:
        """Return the worker with the least fitness for *task*."""
        now, transfer_estimate = self.view.now, self.view.transfer_estimate
        groups = self._groups_for(task)
        latest = max(group.ends.latest(now) for group in groups) if self._idle else inf
        candidates: list[Candidate] = []
        for ends, estimates, memory, _, rates in groups:
            length = estimates[task]
            if not length > 0.0:
                return self._greedy(task)
            transfer = transfer_estimate(task, memory)
            arrival = now + transfer
            # With alpha = 0, all ends up to the latest cost the same.
            limit = arrival if self.alpha else max(arrival, latest - length)
            end, worker = ends.earliest(now, limit)
            if end < arrival:
                end = arrival
            charge = rates[self._kernel[task]] * length if rates else 0.0
            candidates.append((end + length, transfer, worker, length, charge))
        choice = self._fittest(candidates, latest)
        if (log := self.view.decisions) is not None:
            log.decided(task, choice[0], self._data_estimates(task, candidates, latest))
        return choice

    def _new_queue(self, worker: int) -> TaskList:
        return task_list(
            self.view,
            self._memory[worker],
            by_priority=self.uses_priorities,
            ready_first=self.ready_first,
        )

    def _fittest(self, candidates: list[Candidate], latest: float) -> Choice:
        """Return the candidate with the least cost.

        A candidate has the end, transfer, worker, duration and cost of energy of a task.
        """
        alpha, beta, idle = self.alpha, self.beta, self._idle
        least = min([candidate[0] for candidate in candidates])
        best, best_fitness, choice = -1, inf, candidates[0]
        for candidate in candidates:
            end, transfer, worker, _, charge = candidate
            fitness = alpha * (end - least) + beta * transfer + charge
            if idle and end > latest:
                fitness += idle * (end - latest)
            if best < 0 or fitness < best_fitness or (fitness == best_fitness and worker < best):
                best, best_fitness, choice = worker, fitness, candidate
        return best, choice[3], choice[1]

    def _data_estimates(
        self, task: int, candidates: list[Candidate], latest: float
    ) -> list[Estimate]:
        """Return the terms of *task* on each able worker, for the record of decisions.

        *candidates* has the best worker of each class.
        """
        now, idle, found = self.view.now, self._idle, []
        least = min(candidate[0] for candidate in candidates)
        for group, candidate in zip(self._groups_for(task), candidates, strict=True):
            _, transfer, _, length, charge = candidate
            for worker in group.workers:
                free = group.ends.end_of(worker, now)
                end = max(free, now + transfer) + length
                cost, energy = self.alpha * (end - least) + self.beta * transfer + charge, charge
                if idle and end > latest:
                    cost += idle * (end - latest)
                    energy += idle * (end - latest)
                found.append(Estimate(worker, free, transfer, length, energy, end, cost))
        return found


class DataAwarePriority(DataAware):
    """The dmda policy with queues sorted by priority, StarPU's ``dmdap``."""

    name: ClassVar[str] = "dmdap"
    core: ClassVar[str] = "dmdap"
    uses_priorities: ClassVar[bool] = True


class DataAwareReady(DataAware):
    """The dmda policy with the task that lacks the fewest bytes first, StarPU's ``dmdar``."""

    name: ClassVar[str] = "dmdar"
    core: ClassVar[str] = "dmdar"
    ready_first: ClassVar[bool] = True


class DataAwareSorted(DataAware):
    """The dmda policy with queues sorted by priority, then by missing bytes, StarPU's ``dmdas``."""

    name: ClassVar[str] = "dmdas"
    core: ClassVar[str] = "dmdas"
    uses_priorities: ClassVar[bool] = True
    ready_first: ClassVar[bool] = True
