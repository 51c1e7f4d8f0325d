"""Running a study: batches of its cells go to an executor, their answers to the store.

At any time each worker has one batch and the next one; batches have as many cells as take some
tenths of a second. A batch whose worker has died is sent again in parts, then cell by cell, and
what kills its worker three times has failed.
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
from tasksim.study.sweep.columns import LOST, Answer
from tasksim.study.sweep.workbench import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tasksim.study.executors.pool import Pool
    from tasksim.study.sweep.plan import Planned
    from tasksim.study.sweep.store import Store
    from tasksim.study.sweep.study import Limits

__all__ = ["Progress", "Sweep"]

MESSAGE_S: Final = 0.2
"""Of work that is sent to a worker at a time: a thousand times what it takes to send it."""
FIRST_BATCH: Final = 8
"""Cells, as long as nobody knows how long one takes."""
LARGEST_BATCH: Final = 2000
"""Cells: the answers of more are long in coming, and are lost when the worker is."""
ATTEMPTS: Final = 3
"""Of a cell whose worker dies: once may be chance, twice its neighbour's fault."""
TICK_S: Final = 0.5
"""How often progress is told where no cell ends."""


class Progress(NamedTuple):
    """How far a study is."""

    cells: int
    """Of the whole study."""
    done: int
    """Of these, computed now or before."""
    failed: int
    """Of those, without an answer."""
    rate: float
    """Cells a second, now."""
    left_s: float
    """Until the end, at this rate."""

    def __str__(self) -> str:
        """Return the line that a user sees: ``312/1000 cells, 2 failed, 410/s, 2 s left``."""
        from tasksim.base.units import format_time

        failed = f", {self.failed} failed" if self.failed else ""
        left = f", {format_time(self.left_s)} left" if self.rate and self.done < self.cells else ""
        return f"{self.done}/{self.cells} cells{failed}, {self.rate:.3g}/s{left}"


@contextmanager
def _frozen() -> Iterator[None]:
    """Spare the collector of garbage the plan: to look through it takes 3 us per cell."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@dataclass
class Sweep:
    """The cells of a study on their way to the store.

    Parameters
    ----------
    cells : sequence of Planned
        All of the study's.
    store : Store
    pool : Pool
    limits : Limits
        Of each cell.
    study : str
        What tells the study, and the files that it names, from others.
    metrics : tuple of str
    tell : callable, optional
        Is told the progress, a few times a second.
    failed : int
        Cells without an answer that the store has already.
    """

    cells: Sequence[Planned]
    store: Store
    pool: Pool
    limits: Limits
    study: str
    metrics: tuple[str, ...] = ()
    tell: Callable[[Progress], None] | None = None
    failed: int = 0
    computed: int = 0
    engine_s: float = 0.0
    """What computing the cells took, on all workers together."""
    _before: int = 0
    """Cells that the store had when this began."""
    _todo: deque[Planned] = field(default_factory=deque)
    _suspects: deque[list[Planned]] = field(default_factory=deque)
    """Batches whose worker has died: computed one at a time, with nothing beside them."""
    _attempts: dict[str, int] = field(default_factory=dict)
    _under_way: dict[Future[list[Answer]], list[Planned]] = field(default_factory=dict)
    _begun: float = field(default_factory=monotonic)
    _first: tuple[int, float] = (0, 0.0)
    """The cells whose answers came first, and what computing them took."""

    def run(self) -> None:
        """Compute all cells that the store has not.

        What is done is in the store, whatever ends this: an interrupt, a disk that is full.
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
        """How far it is."""
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
        """Return how many cells the next batch has: few at the end, that all workers end alike."""
        fair = -(-len(self._todo) // (2 * self.pool.workers))
        if self.pool.coarse:
            return min(max(fair, self._coarse()), len(self._todo), LARGEST_BATCH)
        if not self.computed:
            return 1 if self.pool.careful else min(FIRST_BATCH, fair)
        known = MESSAGE_S * self.computed / max(self.engine_s, 1e-9)
        return max(1, min(int(known), fair, LARGEST_BATCH))

    def _coarse(self) -> int:
        """Return how many cells each of two batches per worker has."""
        return -(-len(self.cells) // (2 * self.pool.workers))

    def _send(self, batch: list[Planned]) -> None:
        jobs = [Job.of(one, self.study, self.metrics) for one in batch]
        try:
            future = self.pool.submit(jobs, self.limits)
        except BrokenExecutor as error:
            future = Future()
            future.set_exception(error)
        self._under_way[future] = batch

    def _collect(self) -> None:
        # Interrupted here, the futures would stay locked, and whoever computes them wait for ever.
        with Interrupts(held=True) as interrupts:
            ended, _ = wait(self._under_way, timeout=TICK_S, return_when=FIRST_COMPLETED)
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
        if broken and self.pool.renew is None:
            raise TasksimError("the executor is broken; what is done is kept, run the study again")
        if broken and self.pool.renew is not None:
            self.pool.executor = self.pool.renew()
        if self.computed and not self._first[0]:
            self._first = self.computed, self.engine_s
        self.pool.grow(self._left_s)
        if self.tell is not None:
            self.tell(self.progress)

    @property
    def _left_s(self) -> float:
        """What is left would take one worker, if cells go on as they did.

        But for the first ones, which read files that others share: of them alone, nothing is known.
        """
        count, seconds = self._first
        rest = self.computed - count
        return len(self._todo) * (self.engine_s - seconds) / rest if rest else 0.0

    def _keep(self, batch: list[Planned], answers: list[Answer]) -> None:
        """Put the answers of a batch into the store; what was lost is sent again."""
        by_cell = {one.cell: one for one in batch}
        answered = [(by_cell.pop(answer.cell), answer) for answer in answers]
        lost = [one for one in answered if one[1].status == LOST]
        self._add([one for one in answered if one[1].status != LOST] if lost else answered)
        for asked, answer in lost:
            self._try_again([asked], answer.error or "")
        if by_cell:
            self._try_again(list(by_cell.values()), "no answer came back")

    def _keep_what_is_done(self) -> None:
        """Call off the batches that are under way, keep the answers of those that have ended."""
        for future, batch in self._under_way.items():
            if not future.cancel() and future.done() and future.exception() is None:
                answers = {answer.cell: answer for answer in future.result()}
                found = [(asked, answers.get(asked.cell)) for asked in batch]
                self._add([(asked, one) for asked, one in found if one and one.status != LOST])
        self.store.flush()

    def _add(self, answered: list[tuple[Planned, Answer]]) -> None:
        self.store.extend(answered)
        self.computed += len(answered)
        self.engine_s += sum(answer.seconds or 0.0 for _, answer in answered)
        self.failed += sum(answer.status != "done" for _, answer in answered)

    def _try_again(self, batch: list[Planned], why: BaseException | str) -> None:
        """Send a batch again in halves; a single cell that was tried too often has failed."""
        if len(batch) > 1:
            half = len(batch) // 2
            self._suspects.extend([batch[:half], batch[half:]])
            return
        (asked,) = batch
        self._attempts[asked.cell] = self._attempts.get(asked.cell, 0) + 1
        if self._attempts[asked.cell] < ATTEMPTS:
            self._suspects.append(batch)
            return
        text = why if isinstance(why, str) else f"{type(why).__name__}: {why}"
        error = f"given up after {ATTEMPTS} attempts: {text}"
        self._add([(asked, Answer(asked.cell, "failed", error))])
