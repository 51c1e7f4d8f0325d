"""Batch of replays: many questions about few graphs and platforms, what is the same made once.

What graphs, platforms and models say is settled once, and what the core is told of a built-in
scheduler. The core replays several at a time, on threads of their own, as it runs without Python's
lock.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

import numpy as np

from tasksim.base.stop import Stop, give_up_if_asked
from tasksim.engine.choice import Question, replayed, replayed_by_core, series_of
from tasksim.engine.durations import Demands, far_part
from tasksim.engine.simulate import at_home, bounds_of, contention_of, submission_times
from tasksim.schedulers.registry import create

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from tasksim.engine.choice import Engine, Replayed, SimultaneousPushes
    from tasksim.engine.cluster.choice import ClusterQuestion, ClusterReplayed
    from tasksim.engine.cluster.spread import Spread
    from tasksim.engine.compiled.series import Desk, Series
    from tasksim.engine.durations import Models
    from tasksim.graph.distribution.parts import Distribution
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.run.record import TaskTable
    from tasksim.schedulers.base import Scheduler

__all__ = ["Item", "Settled", "Totals", "task_tables", "totals"]


T = TypeVar("T")

TOGETHER: Final = 16
"""So many replays a thread is given at a time, at most: to give it one takes some 30 us."""
SHARES: Final = 32
"""At least so many times a thread is given some, that all end at about the same time."""


class Item(NamedTuple):
    """One replay of a batch, as :func:`tasksim.engine.simulate.simulate` is asked for it."""

    graph: TaskGraph
    platform: Platform
    models: Models
    scheduler: str | Scheduler
    seed: int = 0
    noise: str = "none"
    simultaneous_pushes: SimultaneousPushes = "serial"
    submitted_s: NDArray[np.float64] | None = None
    drawn: Callable[[], NDArray[np.float64]] | None = None
    """Returns what tasks take, shape (classes, tasks), instead of noise."""
    spread: Spread | None = None
    """Several nodes, each the platform, and who owns what."""

    @property
    def nodes(self) -> Spread | None:
        """What it is spread over, if that is more than one node."""
        return None if self.spread is None or self.spread.nodes == 1 else self.spread


class Totals(NamedTuple):
    """What came out of one replay, in few numbers; *busy_s* is that of all workers together."""

    makespan_s: float
    busy_s: float
    copied_bytes: int
    copies: int
    evictions: int
    engine: str


def totals(
    items: Sequence[Item],
    *,
    threads: int = 1,
    engine: Engine = "auto",
    settled: Settled | None = None,
) -> Iterator[Totals]:
    """Yield what came out of each replay, in the order in which they were asked for.

    Parameters
    ----------
    items : sequence of Item
        The replays. A scheduler that is an object takes part in one at a time.
    threads : int, default 1
        How many replays the core makes at a time.
    engine : {"auto", "simpy", "compiled"}, default "auto"
        What replays.
    settled : Settled, optional
        What is known from earlier batches about the same graphs, platforms and models.

    Raises
    ------
    InputError, SchedulerError
        Those of the first replay that fails.
    """
    look = _Look(_totals_of_desk, _totals_of_replay, _totals_of_nodes)
    return _looked_at(items, look, threads, engine, settled)


def task_tables(
    items: Sequence[Item], *, threads: int = 1, engine: Engine = "auto"
) -> Iterator[TaskTable]:
    """Yield what became of the tasks of each replay; all else is as for :func:`totals`."""
    look = _Look(_table_of_desk, _table_of_replay, _table_of_nodes)
    return _looked_at(items, look, threads, engine)


class _Look(NamedTuple, Generic[T]):
    """What is read off a replay that has ended: one of a series, by itself, or of many nodes."""

    at_desk: Callable[[Desk], T]
    at_replay: Callable[[TaskGraph, Replayed], T]
    at_nodes: Callable[[ClusterReplayed], T]


def _looked_at(
    items: Sequence[Item],
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


def _by_core(here: _Here[T], items: Sequence[Item], threads: int) -> Iterator[T | None]:
    """Yield what the core makes of each item, on several threads; None if it refuses one.

    The caller has that replayed: with Python's lock, threads would not make SimPy's engine faster,
    and Ctrl-C would have to wait for it.
    """

    def looked_at(part: Sequence[Item]) -> list[T | None]:
        return [here.looked_at_if_known(item) for item in part]

    size = max(1, min(TOGETHER, len(items) // (SHARES * threads)))
    parts = [items[begin : begin + size] for begin in range(0, len(items), size)]
    stop = Stop()
    with ThreadPoolExecutor(threads, initializer=stop.begin) as pool:
        try:
            yield from chain.from_iterable(pool.map(looked_at, parts))
        finally:
            stop.ask()
            pool.shutdown(cancel_futures=True)


class _Here(NamedTuple, Generic[T]):
    """Where items are replayed one after the other, by which engine."""

    settled: Settled
    look: _Look[T]
    engine: Engine

    def looked_at(self, item: Item) -> T:
        """Replay *item* and look at it."""
        if item.nodes is not None:
            from tasksim.engine.cluster.choice import replayed as replayed_on_nodes

            return self._on_nodes(item, partial(replayed_on_nodes, engine=self.engine))
        return self._looked_at(item, partial(replayed, engine=self.engine))

    def looked_at_if_known(self, item: Item) -> T | None:
        """Do so on the core; return None if that does not know what is asked."""
        from tasksim.runtime.flat import Refused

        give_up_if_asked()
        try:
            if item.nodes is not None:
                from tasksim.engine.cluster.choice import replayed_by_core as on_nodes

                return self._on_nodes(item, on_nodes)
            return self._looked_at(item, replayed_by_core)
        except Refused:
            return None

    def _on_nodes(self, item: Item, replay: Callable[[ClusterQuestion, int], ClusterReplayed]) -> T:
        question = self.settled.shared(item).question_on_nodes(item)
        return self.look.at_nodes(replay(question, item.seed))

    def _looked_at(self, item: Item, replay: Callable[[Question, int], Replayed]) -> T:
        shared = self.settled.shared(item)
        costs, given = shared.costs(item), item.scheduler
        if isinstance(given, str):
            series = None if self.engine == "simpy" else shared.series(item, given)
            found = None if series is None else series.replay(item.seed, costs, self.look.at_desk)
            if found is not None:
                return found
            question = shared.question(item, create(given), costs)
            return self.look.at_replay(shared.graph, replay(question, item.seed))
        question = shared.question(item, given, costs)
        with self.settled.turn_of(given):
            return self.look.at_replay(shared.graph, replay(question, item.seed))


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


class Settled:
    """What is known of graphs, platforms and models that go together, by these; it keeps them."""

    def __init__(self) -> None:
        self._known: dict[Hashable, _Shared] = {}
        self._lock = threading.RLock()
        self._turns: dict[int, threading.Lock] = {}

    def shared(self, item: Item) -> _Shared:
        """Return what the replays of the same three share."""
        key = id(item.graph), id(item.platform), id(item.models)
        with self._lock:
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = _Shared(item.graph, item.platform, item.models)
            return found

    def bounds(self, item: Item) -> dict[str, float]:
        """Return the bounds on any schedule with the costs of a replay, as its run has them."""
        shared = self.shared(item)
        found = bounds_of(shared.graph, item.platform, shared.costs(item))
        if item.nodes is not None:  # they share the work
            found["area_s"] /= item.nodes.nodes
        return found

    def turn_of(self, scheduler: Scheduler) -> threading.Lock:
        """Return the lock of a scheduler that is an object."""
        with self._lock:
            return self._turns.setdefault(id(scheduler), threading.Lock())


class _Shared:
    """What replays of a graph on a platform with the same models share."""

    def __init__(self, graph: TaskGraph, platform: Platform, models: Models) -> None:
        self._given = graph, platform, models  # while they are there, so are their ids
        self.graph = at_home(graph, platform)
        self._platform = platform
        self._demands = Demands(self.graph, platform, models)
        self._estimates = self._demands.means()
        self._far = far_part(self.graph, platform, models, self._estimates)
        self._means = self._near(self._estimates)
        self._slowing, self._believed = contention_of(self.graph, platform, models, self._estimates)
        self._series: dict[Hashable, Series | None] = {}
        self._cuts: dict[Hashable, tuple[Spread, Distribution]] = {}
        self._lock = threading.Lock()

    def costs(self, item: Item) -> NDArray[np.float64]:
        """Return what tasks take; drawn anew where there is noise."""
        if item.drawn is not None:
            return self._near(item.drawn())
        if item.noise == "none":
            return self._means
        return self._near(self._demands.draws(np.random.default_rng([item.seed, 1])))

    def question_on_nodes(self, item: Item) -> ClusterQuestion:
        """Return what an item asks that is spread over several nodes."""
        spread, given = item.nodes, item.scheduler
        assert spread is not None
        pushes = item.simultaneous_pushes
        costs, cut = self.costs(item), self._cut(spread)
        told = costs, self._believed, pushes, self._slowing, self._far
        return spread.question(cut, given, *told)

    def _cut(self, spread: Spread) -> Distribution:
        """Return the parts of the graph, made once for nodes, grid and owner."""
        key = id(spread.cluster), spread.grid, spread.owner
        with self._lock:
            if key not in self._cuts:
                self._cuts[key] = spread, spread.cut(self.graph)
            return self._cuts[key][1]

    def question(self, item: Item, scheduler: Scheduler, costs: NDArray[np.float64]) -> Question:
        """Return what an item asks, of a scheduler and with costs of its own."""
        far = None if self._far is None else self._far.charge(self.graph)
        pushes = item.simultaneous_pushes
        due = submission_times(self.graph, item.submitted_s)
        return Question(
            self.graph, self._platform, scheduler, costs, self._believed, far, pushes, due,
            self._slowing,
        )  # fmt: skip

    def series(self, item: Item, scheduler: str) -> Series | None:
        """Return the core's replays under a scheduler; None if it makes them one by one."""
        if item.submitted_s is not None:
            return None
        key = scheduler, item.simultaneous_pushes
        with self._lock:
            if key not in self._series:
                question = self.question(item, create(scheduler), self._means)
                self._series[key] = series_of(question)
            return self._series[key]

    def _near(self, durations_s: NDArray[np.float64]) -> NDArray[np.float64]:
        return durations_s if self._far is None else self._far.near(durations_s)
