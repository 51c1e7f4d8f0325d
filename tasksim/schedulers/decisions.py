"""Record of a scheduler's decisions: estimates for candidates, and moves of tasks in queues."""

from __future__ import annotations

from bisect import bisect_right
from math import nan
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from tasksim.run.decisions import NO_QUEUE, TERMS, DecisionStep, DecisionTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Decisions", "Estimate"]

NO_TERMS = (nan,) * len(TERMS)


class Estimate(NamedTuple):
    """The terms of a task on one worker, in seconds: see :class:`DecisionTable`.

    A term that the policy does not have is NaN.
    """

    worker: int
    free_s: float
    transfer_s: float
    duration_s: float
    energy_s: float
    end_s: float
    cost_s: float


class Decisions:
    """The decisions of one run, which its scheduler notes as it makes them.

    The runtime makes the object if it is asked for decisions, and notes itself which worker takes
    a task. It finds positions in queues by a copy of each queue.

    Parameters
    ----------
    workers : int
        Number of workers. Queues with smaller numbers are the workers' own.
    ticks : callable
        Returns the time as a whole number.
    """

    def __init__(self, workers: int, ticks: Callable[[], int]) -> None:
        self._workers, self._ticks = workers, ticks
        self._rows: list[tuple[float, ...]] = []
        self._queues: dict[int, list[tuple[tuple[int, ...], int]]] = {}
        """Per queue, keys and tasks in order."""
        self._queues_of: dict[int, list[int]] = {}
        """Per task, the queues that it is in."""

    def shared(self, number: int = 0) -> int:
        """Return the queue with *number* among those that belong to no single worker."""
        return self._workers + number

    def decided(self, task: int, worker: int, estimates: Iterable[Estimate] = ()) -> None:
        """Note that *task* goes to *worker*, by *estimates* for all candidates if there are any."""
        rows = sorted(estimates) or [Estimate(worker, *NO_TERMS)]
        for candidate, *terms in rows:
            step = DecisionStep.CHOSEN if candidate == worker else DecisionStep.CANDIDATE
            self._note(task, step, candidate, NO_QUEUE, -1, *terms)

    def queued(self, task: int, queue: int, *key: int) -> None:
        """Note that *task* entered a queue sorted by *key*, behind tasks with the same key.

        It leaves the queues that it was in.
        """
        tasks = self._queues.setdefault(queue, [])
        self._leave(task)
        self._enter(task, queue, bisect_right(tasks, key, key=itemgetter(0)), key)

    def queued_at(self, task: int, queue: int, position: int, *, also: bool = False) -> None:
        """Note that *task* entered a queue at *position*.

        It leaves the queues that it was in, unless it is now *also* in this one.
        """
        if not also:
            self._leave(task)
        self._enter(task, queue, position, ())

    def left(self, task: int, queue: int) -> None:
        """Note that *task* left a queue without being taken."""
        self._remove(task, queue, DecisionStep.LEFT, self._owner(queue))

    def taken(self, task: int, worker: int) -> None:
        """Note that *worker* took *task*; the runtime calls it."""
        queues = self._queues_of.get(task)
        if not queues:
            self._note(task, DecisionStep.TAKEN, worker, NO_QUEUE, -1, *NO_TERMS)
            return
        self._remove(task, queues[-1], DecisionStep.TAKEN, worker)
        self._leave(task)

    def table(self, ticks_per_s: float) -> DecisionTable:
        """Return the decisions as the table of a run."""
        names = DecisionTable.dtypes
        if not self._rows:
            return DecisionTable.empty()
        columns = dict(zip(names, map(list, zip(*self._rows, strict=True)), strict=True))
        columns["time_s"] = [ticks / ticks_per_s for ticks in columns["time_s"]]
        return DecisionTable(**columns)  # type: ignore[arg-type]

    def _owner(self, queue: int) -> int:
        return queue if queue < self._workers else -1

    def _enter(self, task: int, queue: int, position: int, key: tuple[int, ...]) -> None:
        self._queues.setdefault(queue, []).insert(position, (key, task))
        self._queues_of.setdefault(task, []).append(queue)
        owner = self._owner(queue)
        self._note(task, DecisionStep.QUEUED, owner, queue, position, *NO_TERMS)

    def _leave(self, task: int) -> None:
        for queue in self._queues_of.get(task, [])[::-1]:
            self.left(task, queue)

    def _remove(self, task: int, queue: int, step: DecisionStep, worker: int) -> None:
        tasks = self._queues[queue]
        position = next(place for place, (_, each) in enumerate(tasks) if each == task)
        del tasks[position]
        self._queues_of[task].remove(queue)
        self._note(task, step, worker, queue, position, *NO_TERMS)

    def _note(
        self, task: int, step: int, worker: int, queue: int, position: int, *terms: float
    ) -> None:
        self._rows.append((self._ticks(), task, step, worker, queue, position, *terms))
