"""Batch of replays: many questions about few graphs and platforms, what is the same made once.

What graphs, platforms and models say is settled once; the compiled core replays several at a time,
on threads of their own, as it runs without Python's lock.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from tasksim.engine.choice import Engine, Question, replayed
from tasksim.engine.durations import Asked, durations
from tasksim.engine.locality import FarCharge, near_and_far
from tasksim.engine.simulate import at_home
from tasksim.schedulers.registry import create

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from tasksim.engine.durations import Models
    from tasksim.engine.needs import SimultaneousPushes
    from tasksim.engine.outcome import AnyReplay
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["Item", "Totals", "totals"]


T = TypeVar("T")


class Item(NamedTuple):
    """One replay of a batch, as :func:`tasksim.engine.simulate.simulate` is asked for it."""

    graph: TaskGraph
    platform: Platform
    models: Models
    scheduler: str | Scheduler
    seed: int = 0
    noise: str = "none"
    simultaneous_pushes: SimultaneousPushes = "serial"


class Totals(NamedTuple):
    """What came out of one replay, in few numbers; *busy_s* is that of all workers together."""

    makespan_s: float
    busy_s: float
    copied_bytes: int
    copies: int
    evictions: int
    engine: str


def totals(items: Sequence[Item], *, threads: int = 1, engine: Engine = "auto") -> Iterator[Totals]:
    """Yield what came out of each replay, in the order in which they were asked for.

    Parameters
    ----------
    items : sequence of Item
        The replays. A scheduler that is an object takes part in one at a time.
    threads : int, default 1
        How many replays the core makes at a time.
    engine : {"auto", "simpy", "compiled"}, default "auto"
        What replays.

    Raises
    ------
    InputError, SchedulerError
        Those of the first replay that fails.
    """
    settled = _Settled()
    if threads == 1:
        for item in items:
            yield _total(settled, item, engine)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            yield from pool.map(lambda item: _total(settled, item, engine), items)
        finally:
            pool.shutdown(cancel_futures=True)


def _total(settled: _Settled, item: Item, engine: Engine) -> Totals:
    graph, costs = settled.graph(item), settled.costs(item)
    given = item.scheduler
    scheduler = create(given) if isinstance(given, str) else given
    question = Question(
        graph, item.platform, scheduler, costs.charged, costs.believed, costs.far(graph),
        item.simultaneous_pushes,
    )  # fmt: skip
    if isinstance(given, str):
        done = replayed(question, item.seed, engine)
    else:
        with settled.turn_of(given):
            done = replayed(question, item.seed, engine)
    return _sums(graph, done.replay, done.engine)


def _sums(graph: TaskGraph, replay: AnyReplay, engine: str) -> Totals:
    outcome = replay.outcome()
    tasks = outcome.ledger.table()
    handles = np.array(() if outcome.log is None else outcome.log.handle, dtype=np.int64)
    return Totals(
        makespan_s=float(tasks.end_s.max(initial=0.0)),
        busy_s=float((tasks.end_s - tasks.start_s).sum()),
        copied_bytes=int(graph.handle_size[handles].sum()),
        copies=len(handles),
        evictions=outcome.evictions,
        engine=engine,
    )


class _Costs(NamedTuple):
    charged: NDArray[np.float64]
    believed: NDArray[np.float64]
    far_arrays: tuple[NDArray[np.float64], NDArray[np.float64]] | None

    def far(self, graph: TaskGraph) -> FarCharge | None:
        """Return what far data cost, to be asked by one replay."""
        return None if self.far_arrays is None else FarCharge(graph, *self.far_arrays)


class _Settled:
    """What replays share: graphs at home, estimates and, without noise, costs."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Any, Any]] = {}
        self._lock = threading.RLock()
        self._turns: dict[int, threading.Lock] = {}

    def graph(self, item: Item) -> TaskGraph:
        """Return the graph with its data where there are memories."""
        return self._once("graph", item, lambda: at_home(item.graph, item.platform))

    def costs(self, item: Item) -> _Costs:
        """Return what tasks take, and what is believed of it; drawn anew where there is noise."""
        if item.noise == "none":
            return self._once("costs", item, lambda: self._charged(item, self._believed(item)))
        rng = np.random.default_rng([item.seed, 1])
        return self._charged(item, self._durations(item, rng))

    def turn_of(self, scheduler: Scheduler) -> threading.Lock:
        """Return the lock of a scheduler that is an object."""
        with self._lock:
            return self._turns.setdefault(id(scheduler), threading.Lock())

    def _believed(self, item: Item) -> NDArray[np.float64]:
        return self._once("believed", item, lambda: self._durations(item))

    def _durations(self, item: Item, rng: np.random.Generator | None = None) -> NDArray[np.float64]:
        graph = self.graph(item)
        rows = self._once("rows", item, lambda: Asked(graph))
        return durations(graph, item.platform, item.models, rng, rows)

    def _charged(self, item: Item, drawn: NDArray[np.float64]) -> _Costs:
        near, far = near_and_far(self.graph(item), item.platform, item.models, drawn)
        return _Costs(near, self._believed(item), None if far is None else far.arrays)

    def _once(self, what: str, item: Item, make: Callable[[], T]) -> T:
        """Return what *make* makes of graph, platform and models, made once for these."""
        parts = (item.graph, item.platform, item.models)
        key = (what, *map(id, parts))
        with self._lock:
            if key not in self._known:
                self._known[key] = parts, make()  # while the parts are there, so are their ids
            made: T = self._known[key][1]
            return made
