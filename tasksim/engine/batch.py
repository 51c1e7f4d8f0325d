"""Batches of simulations with shared prices and series for few graphs and platforms.

The core runs several replays at a time on threads of their own, because it runs without Python's
lock.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from tasksim.base.interruption import Stop, give_up_if_asked
from tasksim.engine.choice import replayed, replayed_by_core
from tasksim.engine.simulation import Settled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from tasksim.engine.choice import Engine
    from tasksim.engine.compiled.series import Desk
    from tasksim.engine.question import ClusterQuestion, Question
    from tasksim.engine.simulation import Simulation
    from tasksim.run.record import TaskTable

__all__ = ["Totals", "task_tables", "totals"]


T = TypeVar("T")

MAX_REPLAYS_PER_SHARE: Final = 16
"""Maximum number of replays that a thread gets at a time; a hand-over takes some 30 us."""
SHARES_PER_THREAD: Final = 32
"""Minimum number of shares per thread, so that all threads end at about the same time."""


class Totals(NamedTuple):
    """Totals of one replay; *busy_s* is the sum over all workers."""

    makespan_s: float
    busy_s: float
    copied_bytes: int
    copies: int
    evictions: int
    engine: str


def totals(
    items: Sequence[Simulation],
    *,
    threads: int = 1,
    engine: Engine = "auto",
    settled: Settled | None = None,
) -> Iterator[Totals]:
    """Yield the totals of each replay, in the order of *items*.

    Parameters
    ----------
    items : sequence of Simulation
        The replays. A scheduler object takes part in one replay at a time.
    threads : int, default 1
        Number of simultaneous replays on the core.
    engine : {"auto", "simpy", "compiled"}, default "auto"
        Engine of the replays.
    settled : Settled, optional
        Results of earlier batches on the same graphs, platforms and models.

    Raises
    ------
    InputError, SchedulerError
        Those of the first replay that fails.
    """

    def of_desk(desk: Desk) -> Totals:
        found, busy_s = desk.totals()
        return Totals(
            found.makespan_s, busy_s, found.copied_bytes, found.copies, found.evictions, "compiled"
        )

    def of_records(fields: dict[str, Any], used: str) -> Totals:
        tasks, copies = fields["tasks"], fields.get("transfers")
        return Totals(
            makespan_s=float(tasks.end_s.max(initial=0.0)),
            busy_s=float((tasks.end_s - tasks.start_s).sum()),
            copied_bytes=0 if copies is None else int(copies.size_bytes.sum()),
            copies=0 if copies is None else len(copies),
            evictions=fields.get("evictions", 0),
            engine=used,
        )

    return _looked_at(items, _Here(settled or Settled(), engine, of_desk, of_records), threads)


def task_tables(items: Sequence[Simulation], *, threads: int = 1) -> Iterator[TaskTable]:
    """Yield the task table of each replay; otherwise like :func:`totals`."""

    def of_records(fields: dict[str, Any], _used: str) -> TaskTable:
        table: TaskTable = fields["tasks"]
        return table

    here = _Here(Settled(), "auto", lambda desk: desk.table(), of_records)
    return _looked_at(items, here, threads)


def _looked_at(items: Sequence[Simulation], here: _Here[T], threads: int) -> Iterator[T]:
    """Yield what *here* reads of each replay, on several threads of the core if it may."""
    if threads == 1 or here.engine == "simpy":
        yield from map(here.looked_at, items)
        return
    by_core = _by_core(here, items, threads)
    for item, found in zip(items, by_core, strict=True):
        yield here.looked_at(item) if found is None else found


def _by_core(here: _Here[T], items: Sequence[Simulation], threads: int) -> Iterator[T | None]:
    """Yield the core's result for each item, on several threads; None for an item that it refuses.

    The caller replays those itself: because of Python's lock, threads would not make SimPy's engine
    faster, and Ctrl-C would have to wait for it.
    """
    from tasksim.runtime.flat import Refused

    def looked_at(part: Sequence[Simulation]) -> list[T | None]:
        found: list[T | None] = []
        for item in part:
            give_up_if_asked()
            try:
                found.append(here.looked_at(item, by_core=True))
            except Refused:
                found.append(None)
        return found

    size = max(1, min(MAX_REPLAYS_PER_SHARE, len(items) // (SHARES_PER_THREAD * threads)))
    parts = [items[begin : begin + size] for begin in range(0, len(items), size)]
    stop = Stop()
    with ThreadPoolExecutor(threads, initializer=stop.begin) as pool:
        try:
            yield from chain.from_iterable(pool.map(looked_at, parts))
        finally:
            stop.ask()
            pool.shutdown(cancel_futures=True)


class _Here(NamedTuple, Generic[T]):
    """A replayer of simulations, one after the other, and the readers of their results.

    A result is a desk of a series, or the fields of a run with the engine that made it.
    """

    settled: Settled
    engine: Engine
    of_desk: Callable[[Desk], T]
    of_records: Callable[[dict[str, Any], str], T]

    def looked_at(self, item: Simulation, *, by_core: bool = False) -> T:
        """Replay *item*, and return the part of the result that the reader wants.

        If the replay must be *by_core*, raise ``Refused`` if the core does not support it.
        """
        settled, given, seed = self.settled, item.scheduler, item.seed
        question: Question | ClusterQuestion
        turn: AbstractContextManager[Any] = nullcontext()
        if item.cluster is not None:
            # Each node has a scheduler of its own, so none is shared with other threads.
            question = settled.question_on_nodes(item)
        else:
            costs = settled.prices(item).costs(item.noise, seed, item.drawn)
            series = None if self.engine == "simpy" else settled.series(item)
            found = None if series is None else series.replay(seed, costs, self.of_desk)
            if found is not None:
                return found
            question = settled.question(item, costs)
            if not isinstance(given, str):
                turn = settled.turn_of(given)
        with turn:
            if by_core:
                done = replayed_by_core(question, seed)
            else:
                done = replayed(question, seed, self.engine)
            return self.of_records(done.replay.records(), done.engine)
