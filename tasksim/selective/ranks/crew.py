"""Crew of one rank, a thread per worker that executes tasks on order."""

from __future__ import annotations

from math import nan
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tasksim.native.processor_time import ThreadClock
from tasksim.selective.timedtasks import TimedTasks

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.graph.distribution.parts import LocalPart
    from tasksim.kernels.program import Program

__all__ = ["BEGUN", "FAILED", "RETURNED", "Cores", "Crew", "RankReport"]

Cores = Literal["to spare", "one each", "too few"]

BEGUN: Final = 1
RETURNED: Final = 2
FAILED: Final = 3


class RankReport(NamedTuple):
    """Report of a rank on a task that started, returned or failed, or on a message.

    *place* is a worker or a message; *first_s* is the start on rank 0's clock, or the duration.
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
        Program of the whole graph.
    part : LocalPart
        The part of the rank.
    workers : int
    offset_s : float
        Offset to add to this rank's clock to get that of rank 0.
    cores : {"to spare", "one each", "too few"}
        Cores of the ordering thread: ``"to spare"`` if it has one besides the workers' cores;
        ``"one each"`` if it shares the workers' cores; ``"too few"`` if other ranks share them,
        too, so that lost time cannot be attributed.
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
        """Whether the measured task of each worker has started."""
        self._number: list[int] = part.task.tolist()
        self._offset_s = offset_s
        self._orders: list[SimpleQueue[tuple[int, int, bool] | None]] = [
            SimpleQueue() for _ in range(workers)
        ]
        self._told: SimpleQueue[RankReport] = SimpleQueue()
        self._heard: list[RankReport] = []
        self._under_way = 0

    def order(self, worker: int, task: int, rehearsed: int, *, safe: bool) -> None:
        """Order *worker* to execute *task* of the part, after *rehearsed*; -1: no rehearsal."""
        self._under_way += 1
        self._counts[worker] = False
        self._orders[worker].put((task, rehearsed, safe))

    def ordered_from_here(self) -> None:
        """Note that the calling thread gives the orders."""
        self._ordering_s = ThreadClock().now_s

    def elapsed_s(self, worker: int) -> float:
        """Return the time that the task of *worker* has run so far, less time taken by others."""
        return self._tasks.elapsed_s(worker) if self._counts[worker] else 0.0

    @property
    def busy(self) -> bool:
        """Whether all workers have orders."""
        return self._under_way >= len(self._orders)

    def answers(self) -> list[RankReport]:
        """Return the reports of the workers since the last call."""
        found, self._heard = self._heard, []
        try:
            while True:
                found.append(self._told.get_nowait())
        except Empty:
            self._under_way -= sum(answer.what != BEGUN for answer in found)
            return found

    def listen(self, patience_s: float) -> None:
        """Wait up to *patience_s* for a report."""
        try:
            self._heard.append(self._told.get(timeout=patience_s))
        except Empty:
            return

    def end(self) -> None:
        """Let all workers end after their pending orders."""
        for orders in self._orders:
            orders.put(None)

    def work(self, worker: int) -> None:
        """Execute orders as *worker* until there are no more."""
        tasks = self._tasks
        while (order := self._orders[worker].get()) is not None:
            task, rehearsed, safe = order
            try:
                if rehearsed >= 0:
                    tasks.run(self._number[rehearsed], worker, safe=True)
                tasks.expect(worker)
                self._counts[worker] = True
                self._told.put(RankReport(BEGUN, worker, perf_counter() + self._offset_s))
                tasks.run(self._number[task], worker, safe=safe)
                self._told.put(RankReport(RETURNED, worker, tasks.elapsed_s(worker)))
            except (Exception, SystemExit) as error:
                self._told.put(RankReport(FAILED, worker, text=str(error)))
