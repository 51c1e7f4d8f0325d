"""Batches of simulations with shared prices and series for few graphs and platforms.

The core runs several replays at a time on threads of their own, because it runs without Python's
lock.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from tasksim.base.stop import Stop, give_up_if_asked
from tasksim.engine.choice import replayed, replayed_by_core
from tasksim.engine.simulation import Settled
from tasksim.schedulers.registry import create

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tasksim.engine.choice import Engine, Question, Replayed
    from tasksim.engine.cluster.choice import ClusterQuestion, ClusterReplayed
    from tasksim.engine.compiled.series import Desk
    from tasksim.engine.simulation import Simulation
    from tasksim.graph.taskgraph import TaskGraph
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
    look = _Look(_totals_of_desk, _totals_of_replay, _totals_of_nodes)
    return _looked_at(items, look, threads, engine, settled)


def task_tables(
    items: Sequence[Simulation], *, threads: int = 1, engine: Engine = "auto"
) -> Iterator[TaskTable]:
    """Yield the task table of each replay; otherwise like :func:`totals`."""
    look = _Look(_table_of_desk, _table_of_replay, _table_of_nodes)
    return _looked_at(items, look, threads, engine)


class _Look(NamedTuple, Generic[T]):
    """Readers of the result of a replay from a series, a single replay, or many nodes."""

    at_desk: Callable[[Desk], T]
    at_replay: Callable[[TaskGraph, Replayed], T]
    at_nodes: Callable[[ClusterReplayed], T]


def _looked_at(
    items: Sequence[Simulation],
    look: _Look[T],
    threads: int,
    engine: Engine,
    settled: Settled | None = None,
) -> Iterator[T]:
    settled = settled or Settled()
    here = _Here(settled, look, engine)
    if threads == 1 or engine == "simpy":
        yield from map(here.looked_at, items)
        return
    by_core = _by_core(_Here(settled, look, "compiled"), items, threads)
    for item, found in zip(items, by_core, strict=True):
        yield here.looked_at(item) if found is None else found


def _by_core(here: _Here[T], items: Sequence[Simulation], threads: int) -> Iterator[T | None]:
    """Yield the core's result for each item, on several threads; None for an item that it refuses.

    The caller replays those itself: because of Python's lock, threads would not make SimPy's engine
    faster, and Ctrl-C would have to wait for it.
    """

    def looked_at(part: Sequence[Simulation]) -> list[T | None]:
        return [here.looked_at_if_known(item) for item in part]

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
    """A replayer of simulations, one after the other, with one engine."""

    settled: Settled
    look: _Look[T]
    engine: Engine

    def looked_at(self, item: Simulation) -> T:
        """Replay *item*, and return the part of the result that :attr:`look` reads."""
        if item.cluster is not None:
            from tasksim.engine.cluster.choice import replayed as on_nodes

            return self._on_nodes(item, partial(on_nodes, engine=self.engine))
        return self._on_one(item, partial(replayed, engine=self.engine))

    def looked_at_if_known(self, item: Simulation) -> T | None:
        """Do the same on the core; return None if the core does not support *item*."""
        from tasksim.runtime.flat import Refused

        give_up_if_asked()
        try:
            if item.cluster is not None:
                from tasksim.engine.cluster.choice import replayed_by_core as on_nodes

                return self._on_nodes(item, on_nodes)
            return self._on_one(item, replayed_by_core)
        except Refused:
            return None

    def _on_nodes(
        self, item: Simulation, replay: Callable[[ClusterQuestion, int], ClusterReplayed]
    ) -> T:
        return self.look.at_nodes(replay(self.settled.question_on_nodes(item), item.seed))

    def _on_one(self, item: Simulation, replay: Callable[[Question, int], Replayed]) -> T:
        prices, given = self.settled.prices(item), item.scheduler
        costs = prices.costs(item.noise, item.seed, item.drawn)
        series = None if self.engine == "simpy" else self.settled.series(item)
        found = None if series is None else series.replay(item.seed, costs, self.look.at_desk)
        if found is not None:
            return found
        if isinstance(given, str):
            question = self.settled.question(item, create(given), costs)
            return self.look.at_replay(question.graph, replay(question, item.seed))
        question = self.settled.question(item, given, costs)
        with self.settled.turn_of(given):
            return self.look.at_replay(question.graph, replay(question, item.seed))


def _totals_of_desk(desk: Desk) -> Totals:
    found, busy_s = desk.totals()
    return Totals(
        found.makespan_s, busy_s, found.copied_bytes, found.copies, found.evictions, "compiled"
    )


def _totals_of_replay(graph: TaskGraph, done: Replayed) -> Totals:
    outcome = done.replay.outcome()
    tasks = outcome.ledger.table()
    copies = None if outcome.log is None else outcome.log.transfers(graph)
    return Totals(
        makespan_s=float(tasks.end_s.max(initial=0.0)),
        busy_s=float((tasks.end_s - tasks.start_s).sum()),
        copied_bytes=0 if copies is None else int(copies.size_bytes.sum()),
        copies=0 if copies is None else len(copies),
        evictions=outcome.evictions,
        engine=done.engine,
    )


def _totals_of_nodes(done: ClusterReplayed) -> Totals:
    from tasksim.engine.cluster.outcome import cluster_records

    found = cluster_records(done.outcome)
    tasks, copies = found["tasks"], found.get("transfers")
    return Totals(
        makespan_s=float(tasks.end_s.max(initial=0.0)),
        busy_s=float((tasks.end_s - tasks.start_s).sum()),
        copied_bytes=0 if copies is None else int(copies.size_bytes.sum()),
        copies=0 if copies is None else len(copies),
        evictions=found.get("evictions", 0),
        engine=done.engine,
    )


def _table_of_nodes(done: ClusterReplayed) -> TaskTable:
    from tasksim.engine.cluster.outcome import cluster_records

    table: TaskTable = cluster_records(done.outcome)["tasks"]
    return table


def _table_of_desk(desk: Desk) -> TaskTable:
    return desk.table()


def _table_of_replay(graph: TaskGraph, done: Replayed) -> TaskTable:  # noqa: ARG001
    return done.replay.outcome().ledger.table()
