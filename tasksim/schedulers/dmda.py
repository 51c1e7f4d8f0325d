"""dmda and its relatives: expected ends with what moving the data costs."""

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
    GAMMA,
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
    """As dm, and moving data counts: in the expected end, and as a cost by itself.

    As StarPU's ``dmda``, also called ``heft``. With D the transfer estimate of a task in a worker's
    memory and L its expected duration there, the task is expected to end at ``END = max(end of the
    worker's work, now + D) + L``; the worker of least ::

        alpha·(END − least END) + beta·D + gamma·G + [END > MAXE]·gamma·idle_power·(END − MAXE)

    gets it, of equals the one of lowest number. MAXE is the latest end of the work that the able
    workers have. G is the energy of the task there beside idleness, L times what the platform says
    of power; 0 where it says nothing.

    Parameters
    ----------
    alpha, beta : float
        Weights of the end time and of the transfer, at least 0.
    gamma : float
        What a joule costs, in microseconds; only where power or *idle_power* is known.
    idle_power : float, optional
        Of the whole machine, in watts; default: what the platform says, or none.
    prefetch : int
        1: a task's data are brought to its worker's memory as soon as it is pushed; 0: not.
    """

    name: ClassVar[str] = "dmda"
    ready_first: ClassVar[bool] = False
    """Whether a worker takes, of its most urgent tasks, the one that lacks the fewest bytes."""

    def __init__(
        self,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = GAMMA,
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
        """Return what energy costs in decisions."""
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
            # Without alpha, no end is better than another, up to the latest.
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
        """Return what makes a list for tasks of one priority."""
        if self.ready_first:
            return partial(ReadyTasks, self.view, self._memory[worker])
        return PushOrder

    def _fittest(self, candidates: list[Candidate], latest: float) -> Choice:
        """Return the fittest candidate: ends, transfers, workers, lengths, costs of energy."""
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
    """As dmda, with each worker's queue sorted by priority. As StarPU's ``dmdap``."""

    name: ClassVar[str] = "dmdap"
    uses_priorities: ClassVar[bool] = True


class DataAwareReady(DataAware):
    """As dmda; a worker takes the task that lacks the fewest bytes. As StarPU's ``dmdar``."""

    name: ClassVar[str] = "dmdar"
    ready_first: ClassVar[bool] = True


class DataAwareSorted(DataAware):
    """As dmda; by priority, and of equal priority the task that lacks the fewest bytes.

    As StarPU's ``dmdas``.
    """

    name: ClassVar[str] = "dmdas"
    uses_priorities: ClassVar[bool] = True
    ready_first: ClassVar[bool] = True


class DataAwareSortedDecision(DataAwareSorted):
    """As dmdas, and a decision looks only at what would run before the task.

    As StarPU's ``dmdasd`` where the application declares no range of priorities. Costs a look at
    each worker's queue.
    """

    name: ClassVar[str] = "dmdasd"

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues."""
        self._ahead_of: list[EndsAhead] = []
        self._sorted: list[WeighedTasks] = []
        self._ranks = Ranks(view.priority)
        # Some duration is not known: then queues are compared by their tasks.
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
