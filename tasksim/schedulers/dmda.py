"""dmda and its variants: decisions by expected ends and transfer times."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.data_readiness import ReadyTasks
from tasksim.schedulers.dm import Choice, DequeModel
from tasksim.schedulers.ends_ahead import EndsAhead, WeighedTasks
from tasksim.schedulers.level_sums import Ranks
from tasksim.schedulers.tasklists import PushOrder, SortedTasks, TaskList
from tasksim.schedulers.weights import (
    DEFAULT_GAMMA_US_PER_J,
    EnergyWeights,
    check_weights,
    energy_weights,
    number,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from tasksim.schedulers.base import View
    from tasksim.schedulers.expected_ends import Ends

    Candidate = tuple[float, float, int, float, float]

__all__ = [
    "DataAware",
    "DataAwarePriority",
    "DataAwareReady",
    "DataAwareSorted",
    "DataAwareSortedDecision",
]


class DataAware(DequeModel):
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
        self.alpha, self.beta = number(self.name, "alpha", alpha), number(self.name, "beta", beta)
        check_weights(self.name, gamma, idle_power)
        self.gamma, self.idle_power = gamma, idle_power

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

    def energy_weights(self, view: View) -> EnergyWeights:
        """Return the cost of energy in decisions."""
        return energy_weights(self.name, self.gamma, self.idle_power, view)

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
        return self._fittest(candidates, latest)

    def _new_queue(self, worker: int) -> TaskList:
        if self.uses_priorities:
            return SortedTasks(self.view.priority, self._new_level(worker))
        return self._new_level(worker)()

    def _new_level(self, worker: int) -> Callable[[], TaskList]:
        """Return a function that makes a list for tasks of one priority."""
        if self.ready_first:
            return partial(ReadyTasks, self.view, self._memory[worker])
        return PushOrder

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


class DataAwarePriority(DataAware):
    """The dmda policy with queues sorted by priority, StarPU's ``dmdap``."""

    name: ClassVar[str] = "dmdap"
    uses_priorities: ClassVar[bool] = True


class DataAwareReady(DataAware):
    """The dmda policy with the task that lacks the fewest bytes first, StarPU's ``dmdar``."""

    name: ClassVar[str] = "dmdar"
    ready_first: ClassVar[bool] = True


class DataAwareSorted(DataAware):
    """The dmda policy with queues sorted by priority, then by missing bytes, StarPU's ``dmdas``."""

    name: ClassVar[str] = "dmdas"
    uses_priorities: ClassVar[bool] = True
    ready_first: ClassVar[bool] = True


class DataAwareSortedDecision(DataAwareSorted):
    """The dmdas policy with decisions that count only queued tasks that would run earlier.

    This is StarPU's ``dmdasd`` for an application that declares no range of priorities. A decision
    has to look at the queue of each worker.
    """

    name: ClassVar[str] = "dmdasd"

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues."""
        self._ahead_of: list[EndsAhead] = []
        self._sorted: list[WeighedTasks] = []
        self._ranks = Ranks(view.priority)
        # Only decisions about unknown durations need the numbers of queued tasks.
        self._counts = any(not length > 0.0 for row in view.estimates for length in row)
        super().attach(view, rng)

    def choose(self, task: int) -> Choice:
        """Return the worker with the least fitness for *task*."""
        for ends in self._ahead_of:
            ends.task = task
        return super().choose(task)

    def _new_queue(self, worker: int) -> TaskList:
        view = self.view
        lengths = view.estimates[view.class_of[worker]]
        queue = WeighedTasks(
            view.priority, self._ranks, lengths, self._new_level(worker), counts=self._counts
        )
        self._sorted.append(queue)
        return queue

    def _new_ends(self, workers: tuple[int, ...]) -> Ends:
        ends = EndsAhead(workers, self._exp_start, self._exp_len, self._pipeline_len, self._sorted)
        self._ahead_of.append(ends)
        return ends

    def _ahead(self, worker: int, task: int, queued: int) -> int:
        count = self._sorted[worker].count_ahead(task)
        return queued if count is None else count
