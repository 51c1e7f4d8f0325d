"""Scheduling of a study, with batches of cells for an executor and answers for the store.

Each worker has one batch in progress and one waiting; the cells of a batch take some tenths of a
second. If a worker dies, its batch is sent again in halves, down to single cells. A cell whose
worker dies three times has failed.
"""

from __future__ import annotations

import gc
from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.base.errors import TasksimError
from tasksim.base.interruption import Interrupts
from tasksim.base.log import Log
from tasksim.study.sweep.columns import COMPUTED, LOST, Answer
from tasksim.study.sweep.workbench import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tasksim.study.executors.pool import ExecutorPool
    from tasksim.study.sweep.plan import PlannedCell
    from tasksim.study.sweep.store import StudyStore
    from tasksim.study.sweep.study import Limits

__all__ = ["Progress", "Sweep"]

_log = Log("study")

BATCH_S: Final = 0.2
"""Duration of a batch, in seconds: a thousand times the time to send it."""
FIRST_BATCH_CELLS: Final = 8
"""Maximum number of cells of a batch as long as the time of a cell is unknown."""
MAX_BATCH_CELLS: Final = 2000
"""Maximum number of cells of a batch: a larger one delays its answers, and loses more of them if
its worker dies."""
MAX_ATTEMPTS: Final = 3
"""Attempts before a cell whose worker dies has failed: one death may be chance, and a second one a
neighbour's fault."""
PROGRESS_PERIOD_S: Final = 0.5
"""Longest time between two progress reports while no cell ends, in seconds."""


class Progress(NamedTuple):
    """Progress of a study."""

    cells: int
    """Number of cells of the study."""
    done: int
    """Number of cells computed now or before, failed ones included."""
    failed: int
    """Number of cells that failed."""
    rate: float
    """Cells per second since the start of this run."""
    left_s: float
    """Remaining time at this rate, in seconds."""

    def __str__(self) -> str:
        """Return the line for users: ``312/1000 cells, 2 failed, 410/s``."""
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.done}/{self.cells} cells{failed}, {self.rate:.3g}/s"


@contextmanager
def _frozen() -> Iterator[None]:
    """Exempt the plan from garbage collection, which would take 3 us per cell, again and again."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@dataclass
class Sweep:
    """One run of a study, with its remaining cells and the state of their computation.

    Parameters
    ----------
    cells : sequence of PlannedCell
        All cells of the study.
    store : StudyStore
    pool : ExecutorPool
    limits : Limits
        Limits per cell.
    study : str
        Identity of the study and of the content of its files.
    metrics : tuple of str
    tell : callable, optional
        Called with the progress, a few times per second.
    failed : int
        Number of failed cells that the store has already.
    """

    cells: Sequence[PlannedCell]
    store: StudyStore
    pool: ExecutorPool
    limits: Limits
    study: str
    metrics: tuple[str, ...] = ()
    tell: Callable[[Progress], None] | None = None
    failed: int = 0
    computed: int = 0
    engine_s: float = 0.0
    """Time spent computing cells, summed over all workers."""
    _before: int = 0
    """Number of cells that the store had at the start."""
    _todo: deque[PlannedCell] = field(default_factory=deque)
    _suspects: deque[list[PlannedCell]] = field(default_factory=deque)
    """Batches whose worker has died: each runs alone, so that a death shows its cause."""
    _attempts: dict[str, int] = field(default_factory=dict)
    _under_way: dict[Future[list[Answer]], list[PlannedCell]] = field(default_factory=dict)
    _begun: float = field(default_factory=monotonic)
    _recent: tuple[float, float] = (0.0, 0.0)
    """Number of recent cells, and the time spent computing them: older answers count half as much
    with each batch, so that the slow first cells of a new worker are soon forgotten."""
    _first: tuple[int, float] = (0, 0.0)
    """Number of cells with the first answers, and the time spent computing them."""

    def run(self) -> None:
        """Compute all cells that are not in the store.

        If an error ends the run (an interrupt, a full disk), the store keeps all answers so far.
        """
        self._todo.extend(one for one in self.cells if one.cell not in self.store.done)
        self._before = len(self.cells) - len(self._todo)
        try:
            with _frozen():
                while self._todo or self._suspects or self._under_way:
                    self._submit()
                    self._collect()
            self.store.flush()
        except BaseException:
            self._keep_what_is_done()
            raise

    @property
    def progress(self) -> Progress:
        """Current progress."""
        passed_s = monotonic() - self._begun
        rate = self.computed / passed_s if passed_s else 0.0
        done = self._before + self.computed
        left = len(self.cells) - done
        return Progress(len(self.cells), done, self.failed, rate, left / rate if rate else 0.0)

    def _submit(self) -> None:
        most = 1 if self.pool.careful else 2 * self.pool.workers
        while self._todo and len(self._under_way) < most:
            self._send([self._todo.popleft() for _ in range(self._size())])
        if not self._under_way and self._suspects:
            self._send(self._suspects.popleft())

    def _size(self) -> int:
        """Return the number of cells of the next batch.

        Batches get smaller at the end, so that all workers end at the same time.
        """
        fair = -(-len(self._todo) // (2 * self.pool.workers))
        if self.pool.coarse:  # two batches for every worker
            coarse = -(-len(self.cells) // (2 * self.pool.workers))
            return min(max(fair, coarse), len(self._todo), MAX_BATCH_CELLS)
        if not self.computed:
            return 1 if self.pool.careful else min(FIRST_BATCH_CELLS, fair)
        count, seconds = self._recent
        known = BATCH_S * count / max(seconds, 1e-9)
        return max(1, min(int(known), fair, MAX_BATCH_CELLS))

    def _send(self, batch: list[PlannedCell]) -> None:
        jobs = [Job.of(one, self.study, self.metrics) for one in batch]
        try:
            future = self.pool.submit(jobs, self.limits)
        except BrokenExecutor as error:
            future = Future()
            future.set_exception(error)
        self._under_way[future] = batch

    def _collect(self) -> None:
        # An interrupt within wait() would leave the futures locked, and their workers would hang.
        with Interrupts(held=True) as interrupts:
            ended, _ = wait(self._under_way, timeout=PROGRESS_PERIOD_S, return_when=FIRST_COMPLETED)
        interrupts.check()
        broken = False
        for future in ended:
            batch = self._under_way.pop(future)
            error = future.exception()
            if error is None:
                self._keep(batch, future.result())
            else:
                broken = broken or isinstance(error, BrokenExecutor)
                self._try_again(batch, error)
        if broken:
            if self.pool.renew is None:
                raise TasksimError(
                    "the executor is broken; finished cells are kept, run the study again"
                )
            _log.info("the executor is broken, a new one starts")
            self.pool.executor = self.pool.renew()
        if self.computed and not self._first[0]:
            self._first = self.computed, self.engine_s
        self.pool.grow(self._left_s)
        if self.tell is not None:
            self.tell(self.progress)

    @property
    def _left_s(self) -> float:
        """Time that one worker would need for the remaining cells, at the mean time per cell.

        The first cells do not count, because they also read files that the others share.
        """
        count, seconds = self._first
        rest = self.computed - count
        return len(self._todo) * (self.engine_s - seconds) / rest if rest else 0.0

    def _keep(self, batch: list[PlannedCell], answers: list[Answer]) -> None:
        """Put the answers of a batch into the store; send lost cells again."""
        by_cell = {one.cell: one for one in batch}
        answered = [(by_cell.pop(answer.cell), answer) for answer in answers]
        lost = [one for one in answered if one[1].status == LOST]
        self._add([one for one in answered if one[1].status != LOST] if lost else answered)
        for asked, answer in lost:
            self._try_again([asked], answer.error or "")
        if by_cell:
            self._try_again(list(by_cell.values()), "no answer came back")

    def _keep_what_is_done(self) -> None:
        """Cancel the pending batches, and store the answers of those that have ended."""
        for future, batch in self._under_way.items():
            if not future.cancel() and future.done() and future.exception() is None:
                answers = {answer.cell: answer for answer in future.result()}
                found = [(asked, answers.get(asked.cell)) for asked in batch]
                self._add([(asked, one) for asked, one in found if one and one.status != LOST])
        self.store.flush()

    def _add(self, answered: list[tuple[PlannedCell, Answer]]) -> None:
        self.store.extend(answered)
        seconds = sum(answer.seconds or 0.0 for _, answer in answered)
        self._recent = self._recent[0] / 2 + len(answered), self._recent[1] / 2 + seconds
        self.computed += len(answered)
        self.engine_s += seconds
        self.failed += sum(answer.status != COMPUTED for _, answer in answered)

    def _try_again(self, batch: list[PlannedCell], why: BaseException | str) -> None:
        """Send a batch again in halves, or a single cell until its last attempt has failed."""
        _log.info("a batch of %d cells is sent again: %s", len(batch), why)
        if len(batch) > 1:
            half = len(batch) // 2
            self._suspects.extend([batch[:half], batch[half:]])
            return
        (asked,) = batch
        self._attempts[asked.cell] = self._attempts.get(asked.cell, 0) + 1
        if self._attempts[asked.cell] < MAX_ATTEMPTS:
            self._suspects.append(batch)
            return
        text = why if isinstance(why, str) else f"{type(why).__name__}: {why}"
        error = f"given up after {MAX_ATTEMPTS} attempts: {text}"
        self._add([(asked, Answer(asked.cell, "failed", error))])
