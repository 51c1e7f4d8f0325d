"""dm: each task to the worker that is expected to end it first."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tasksim.base.errors import InputError
from tasksim.schedulers.base import SPEEDUP, Scheduler, View
from tasksim.schedulers.expected_ends import Ends, expected_ends
from tasksim.schedulers.tasklists import PushOrder, TaskList

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

__all__ = ["Choice", "DequeModel", "WorkerGroup"]


Choice = tuple[int, float, float]
"""A worker, and what a task is expected to take there: its length, its transfer, in seconds."""


class WorkerGroup(NamedTuple):
    """A class of workers as a decision sees it."""

    ends: Ends
    estimates: Sequence[float]
    memory: int
    workers: tuple[int, ...]
    rates: Sequence[float] = ()
    """What a second of a task costs besides, by kernel, where its energy is known."""


class DequeModel(Scheduler):
    """Expected end times from kernel models decide at push; each worker runs its own queue.

    As StarPU's ``dm`` (``sched_policies/deque_modeling_policy_data_aware.c``). Per worker it
    keeps what it believes: when the tasks handed out are done (``exp_start``), how long
    those in the queue take (``exp_len``), and how long those handed out and not finished
    take (``pipeline_len``). Real durations never enter: a task that ends early leaves the
    expected start late until the worker's next pop or start. Equal expected ends go to the worker
    of lowest number.

    A task whose duration is not known (NaN or 0) on some worker goes where the fewest tasks
    wait, relative to the nominal speed; only to workers where it is NaN, if there are such.

    Parameters
    ----------
    prefetch : int
        1: a task's data are brought to its worker's memory as soon as it is pushed; 0: not.
    """

    name: ClassVar[str] = "dm"
    needs_estimates: ClassVar[bool] = True
    looks_at_data: ClassVar[bool] = True

    def __init__(self, prefetch: int = 1) -> None:
        if prefetch not in (0, 1):
            raise InputError(
                f"scheduler '{self.name}': option 'prefetch' is {prefetch!r}, not 0 or 1"
            )
        self.prefetch = prefetch

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
        return best, best_length, 0.0

    def chosen(self, choice: Choice) -> int:
        """Return the worker that was chosen."""
        return choice[0]

    def commit(self, task: int, choice: Choice) -> None:
        """Add *task* to the queue of the worker that was chosen, and wake it.

        Of the transfer, what is expected to be over before the worker gets to *task* is hidden.
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
        view.wake(worker)

    def pop(self, worker: int) -> int | None:
        """Return the first task of *worker*'s own queue."""
        queue = self._queues[worker]
        if not queue:  # StarPU moves a late exp_start to now; here, all who read it do that
            return None
        task = queue.popleft()
        self._handed_out(task, worker)
        return task

    def started(self, task: int, worker: int) -> None:
        """Move *task*, whose data are there, from what is queued to what is handed out."""
        length = self._predicted[task]
        self._unstarted[worker] -= 1
        # What is left of sums of nothing is set to 0, not kept as a rounding error: an idle
        # worker must be exactly as free as the next, or ties would not be ties.
        if self._unstarted[worker]:
            self._exp_len[worker] -= length
        else:
            self._exp_len[worker] = 0.0
        pipeline = self._pipeline_len[worker] - self._predicted_transfer[task] + length
        self._pipeline_len[worker] = pipeline
        self._exp_start[worker] = self.view.now + pipeline
        self._changed[worker](worker)

    def finished(self, task: int, worker: int) -> None:
        """Forget *task*."""
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
        """Move the transfer of *task* from what is queued to what is handed out."""
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
        """Return the able worker with the least load; *task* counts for nothing there."""
        groups = self._groups_for(task)
        unmeasured = [g for g in groups if isnan(g.estimates[task])]
        workers = (w for group in unmeasured or groups for w in group.workers)
        return min(workers, key=lambda w: (self._load(w, task), w)), 0.0, 0.0

    def _load(self, worker: int, task: int) -> float:
        """Return how many tasks wait for *worker*, or run there, relative to its speed."""
        queued = len(self._queues[worker])
        speed = SPEEDUP.get(self.view.workers[worker].architecture, 0.5)
        # A queued task counts twice, as in StarPU: in the queue, and in the pipeline.
        return (self._ahead(worker, task, queued) + queued + self._held[worker]) / speed

    def _ahead(self, worker: int, task: int, queued: int) -> int:  # noqa: ARG002
        """Return how many tasks of the queue count as ahead of *task*."""
        return queued
