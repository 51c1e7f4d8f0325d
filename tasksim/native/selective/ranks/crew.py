"""Crew of one rank: a thread per worker, each of which executes what it is ordered to."""

from __future__ import annotations

from math import nan
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tasksim.native.processor_time import ThreadClock
from tasksim.native.selective.timedtasks import TimedTasks

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.graph.distribution.parts import LocalPart
    from tasksim.kernels.program import Program

__all__ = ["BEGUN", "FAILED", "RETURNED", "Answer", "Cores", "Crew"]

Cores = Literal["to spare", "one each", "too few"]

BEGUN: Final = 1
RETURNED: Final = 2
FAILED: Final = 3


class Answer(NamedTuple):
    """What a rank says: of a task that has begun, has returned or has failed, or of a message.

    *place* is a worker, or a message; *first_s* when it began, on rank 0's clock, or what it took.
    """

    what: int
    place: int
    first_s: float = 0.0
    text: str = ""


class Crew:
    """The workers of one rank.

    Parameters
    ----------
    program : Program
        Of the whole graph.
    part : LocalPart
        What the rank does.
    workers : int
    offset_s : float
        What is to be added to this rank's clock to have that of rank 0.
    cores : {"to spare", "one each", "too few"}
        Whether the thread that gives orders has a core besides those of the workers; or these have
        each one, which it shares with them; or other ranks share these, and nobody knows who takes
        what from whom.
    """

    def __init__(
        self,
        program: Program,
        part: LocalPart,
        workers: int,
        offset_s: float = 0.0,
        cores: Cores = "to spare",
    ) -> None:
        self._ordering_s: Callable[[], float] = lambda: 0.0
        beside: dict[Cores, Callable[[], float]] = {
            "one each": lambda: self._ordering_s(),
            "too few": lambda: nan,
        }
        self._tasks = TimedTasks(program, workers, beside.get(cores))
        self._counts = [False] * workers
        """Whether the task of each that is to be measured has begun."""
        self._number: list[int] = part.task.tolist()
        self._offset_s = offset_s
        self._orders: list[SimpleQueue[tuple[int, int, bool] | None]] = [
            SimpleQueue() for _ in range(workers)
        ]
        self._told: SimpleQueue[Answer] = SimpleQueue()
        self._heard: list[Answer] = []
        self._under_way = 0

    def order(self, worker: int, task: int, rehearsed: int, *, safe: bool) -> None:
        """Let *worker* execute *task* of the part; before that one to be rehearsed; -1: none."""
        self._under_way += 1
        self._counts[worker] = False
        self._orders[worker].put((task, rehearsed, safe))

    def ordered_from_here(self) -> None:
        """Note that the calling thread gives the orders."""
        self._ordering_s = ThreadClock().now_s

    def elapsed_s(self, worker: int) -> float:
        """Return how long the task of *worker* has taken so far, without what others took."""
        return self._tasks.elapsed_s(worker) if self._counts[worker] else 0.0

    @property
    def busy(self) -> bool:
        """Whether all workers have orders."""
        return self._under_way >= len(self._orders)

    def answers(self) -> list[Answer]:
        """Return what workers have to say."""
        found, self._heard = self._heard, []
        try:
            while True:
                found.append(self._told.get_nowait())
        except Empty:
            self._under_way -= sum(answer.what != BEGUN for answer in found)
            return found

    def listen(self, patience_s: float) -> None:
        """Wait until a worker has something to say, so long at most."""
        try:
            self._heard.append(self._told.get(timeout=patience_s))
        except Empty:
            return

    def end(self) -> None:
        """Let all workers end after what they have been ordered."""
        for orders in self._orders:
            orders.put(None)

    def work(self, worker: int) -> None:
        """Execute what *worker* is ordered to until there is no more."""
        while (order := self._orders[worker].get()) is not None:
            try:
                self._execute(worker, *order)
            except (Exception, SystemExit) as error:
                self._told.put(Answer(FAILED, worker, text=str(error)))

    def _execute(self, worker: int, task: int, rehearsed: int, safe: bool) -> None:
        tasks = self._tasks
        if rehearsed >= 0:
            tasks.run(self._number[rehearsed], worker, safe=True)
        tasks.expect(worker)
        self._counts[worker] = True
        self._told.put(Answer(BEGUN, worker, perf_counter() + self._offset_s))
        tasks.run(self._number[task], worker, safe=safe)
        self._told.put(Answer(RETURNED, worker, tasks.elapsed_s(worker)))
