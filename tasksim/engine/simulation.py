"""Simulations of a graph on a platform with kernel models, prepared for an engine.

A single simulation becomes a run here; :mod:`tasksim.engine.batch` gives totals of many.
"""

from __future__ import annotations

import copy
import threading
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.errors import InputError
from tasksim.engine.choice import Engine, Question, check_engine, replayed
from tasksim.engine.outcome import machine, records
from tasksim.engine.pricing import FarDataRule, Noise, Prices
from tasksim.platform.description import Platform, class_of
from tasksim.run.bounds import bounds
from tasksim.run.record import FarData, Run
from tasksim.schedulers.registry import create

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from numpy.typing import NDArray

    from tasksim.engine.cluster.choice import ClusterQuestion
    from tasksim.engine.compiled.series import Series
    from tasksim.engine.durations import Models
    from tasksim.engine.machine.instant import SimultaneousPushes
    from tasksim.graph.distribution.owners import Grid
    from tasksim.graph.distribution.parts import Distribution
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.network.cluster import Cluster
    from tasksim.run.record import TaskTable
    from tasksim.schedulers.base import Scheduler

__all__ = ["Settled", "Simulation"]

MAX_SUBMISSION_TIME_S: Final = 1e9
"""Maximum submission time, thirty years in seconds: its nanoseconds fit into 64 bits."""


class Simulation(NamedTuple):
    """A simulation, with its graph, its platform, its scheduler and its random draws.

    Parameters
    ----------
    graph : TaskGraph
        The tasks.
    platform : Platform or Cluster
        Where they run. A cluster of one node is that node: the same run.
    models : Models
        Kernel models, of all nodes; the scheduler's estimates are their means.
    scheduler : str or Scheduler, default "lws"
        A name (``"prio"``), or an object. Each node of a cluster gets a copy; none sees the others'
        queues.
    seed : int, default 0
        For the scheduler's random choices and for the noise. Same seed, same run.
    noise : {"none", "model"}, default "none"
        What a task costs: its model's mean, or a draw from its model's distribution.
    simultaneous_pushes : {"serial", "blind"}, default "serial"
        Whether a push sees those before it at the same instant, or, as in StarPU-SimGrid, all
        schedulers that choose a worker at push choose before any choice counts.
    far_data : {"charged", "mean"}, default "charged"
        Whether tasks pay for their own far data, where models know what these cost, or as much as
        the measured ones did in the mean, as their models say.
    submitted_s : ndarray or None, default None
        When each task is submitted, seconds from the start, none before the one before it; then
        the platform's cost of a submission does not count. None: one after the other. On one node
        only.
    drawn : callable or None, default None
        Returns the durations of the tasks, shape (classes, tasks), instead of *noise*.
    grid : Grid or None, default None
        The nodes in rows and columns; None: as square as their number allows.
    owner : str, default "row"
        Who owns which data, see :func:`~tasksim.graph.distribution.owners.owners_of`.
    """

    graph: TaskGraph
    platform: Platform | Cluster
    models: Models
    scheduler: str | Scheduler = "lws"
    seed: int = 0
    noise: Noise = "none"
    simultaneous_pushes: SimultaneousPushes = "serial"
    submitted_s: NDArray[np.float64] | None = None
    drawn: Callable[[], NDArray[np.float64]] | None = None
    grid: Grid | None = None
    owner: str = "row"
    far_data: FarDataRule = "charged"

    @property
    def node(self) -> Platform:
        """The platform, or the first node of the cluster."""
        return self.platform if isinstance(self.platform, Platform) else self.platform.nodes[0]

    @property
    def cluster(self) -> Cluster | None:
        """The cluster, if it has several nodes."""
        where = self.platform
        return None if isinstance(where, Platform) or len(where.nodes) == 1 else where

    def run(
        self,
        *,
        check: bool = False,
        engine: Engine = "auto",
        config: Mapping[str, Any] | None = None,
    ) -> Run:
        """Replay the graph and return the run.

        Parameters
        ----------
        check : bool, default False
            Verify every invariant of the result; :exc:`CheckFailed` if one is broken.
        engine : {"auto", "simpy", "compiled"}, default "auto"
            What replays: the compiled core, SimPy's engine, or the core where it is there and knows
            all that is asked. The result is the same to the last bit.
        config : mapping, optional
            Stored in the run, so that it can be repeated.

        Raises
        ------
        InputError
            If a kernel has no model, a task no worker that can run it, or a datum a home that is
            none of the memories; if the grid is not of so many nodes, or the network does not let
            two nodes talk that must.
        SchedulerError
            If the scheduler drops or repeats a task, or gives one to a worker that cannot run it;
            on a cluster, the message names the node.
        """
        check_engine(engine)
        settled, cluster = Settled(), self.cluster
        if cluster is None:
            given = self.scheduler
            policy = create(given) if isinstance(given, str) else given
            question = settled.question(self, policy)
            begun = time.perf_counter()
            done = replayed(question, self.seed, engine)
            wall_s = time.perf_counter() - begun
            graph, nodes, owners, costs = question.graph, [self.node], None, question.costs
            happened = machine(self.node) | records(graph, done.replay.outcome())
            happened["far_data"] = _far_data(happened["tasks"], costs, settled.prices(self))
            name, said, why = self.node.name, {}, (done.engine, done.why)
        else:
            from tasksim.engine.cluster.choice import replayed as replayed_on_nodes
            from tasksim.engine.cluster.outcome import cluster_machine, cluster_records
            from tasksim.run.sharedcores import said as said_of_cores

            asked = settled.question_on_nodes(self)
            begun = time.perf_counter()
            ended = replayed_on_nodes(asked, self.seed, engine)
            wall_s = time.perf_counter() - begun
            cut = asked.distribution
            graph, nodes, owners = cut.graph, list(cluster.nodes), cut.owners
            costs = asked.nodes[0].costs
            happened = cluster_machine(nodes) | cluster_records(ended.outcome)
            name, said = cluster.name, said_of_cores(cluster.shared_cores)
            why = ended.engine, ended.why
        run = Run(
            kind="simulated",
            graph_name=self.graph.name,
            graph_arguments=dict(self.graph.arguments),
            kernel_names=self.graph.kernels,
            platform=name,
            scheduler=self.scheduler if isinstance(self.scheduler, str) else self.scheduler.name,
            seed=self.seed,
            config={**(config or {}), **said},
            wall_s=wall_s,
            bounds=settled.bounds(self, costs),
            engine=why[0],
            engine_why=why[1],
            **happened,
        )
        if check:
            from tasksim.engine.room import check_room
            from tasksim.run.runchecks import check_run

            check_room(graph, nodes, owners)
            check_run(run, graph)
        return run


class Settled:
    """Prices, parts and series of graphs, platforms and models, each made once and cached.

    Threads may share it.
    """

    def __init__(self) -> None:
        self._prices: dict[Hashable, Prices] = {}
        self._series: dict[Hashable, Series | None] = {}
        self._cuts: dict[Hashable, tuple[Simulation, Distribution]] = {}
        self._turns: dict[int, threading.Lock] = {}
        self._lock = threading.RLock()

    def prices(self, asked: Simulation, platform: Platform | None = None) -> Prices:
        """Return the prices that a simulation shares with others, on its node or on *platform*."""
        platform = platform or asked.node
        key = id(asked.graph), id(platform), id(asked.models), asked.far_data
        with self._lock:
            if key not in self._prices:
                self._prices[key] = Prices(asked.graph, platform, asked.models, asked.far_data)
            return self._prices[key]

    def question(
        self, asked: Simulation, scheduler: Scheduler, costs: NDArray[np.float64] | None = None
    ) -> Question:
        """Return what *asked* asks of one node, under *scheduler*; by default with its own costs.

        Raises :exc:`InputError` unless there is a finite time of submission from 0 for each task,
        or none at all.
        """
        prices, times = self.prices(asked), asked.submitted_s
        if costs is None:
            costs = prices.costs(asked.noise, asked.seed, asked.drawn)
        if times is not None:
            times = np.asarray(times, dtype=np.float64)
            legal = (times >= 0) & (times <= MAX_SUBMISSION_TIME_S)
            if times.shape != (len(asked.graph),) or not bool(legal.all()):
                raise InputError(
                    f"graph {asked.graph.name}: submitted_s: legal: for each of {len(asked.graph)} "
                    f"tasks a time from 0 to {MAX_SUBMISSION_TIME_S:g} s"
                )
            times = np.maximum.accumulate(times)
        return Question(
            prices.graph,
            asked.node,
            scheduler,
            costs,
            prices.estimates,
            None if prices.far is None else prices.far.charge(prices.graph),
            asked.simultaneous_pushes,
            times,
            prices.slowing,
        )

    def question_on_nodes(self, asked: Simulation) -> ClusterQuestion:
        """Return what *asked* asks of its cluster, each node under a scheduler of its own.

        Raises :exc:`InputError` if the grid is not of so many nodes.
        """
        from tasksim.engine.cluster.choice import ClusterQuestion
        from tasksim.engine.cluster.cluster import NodeQuestion
        from tasksim.schedulers.static.follower import StaticScheduler

        cluster, costs, nodes = asked.cluster, {}, []
        assert cluster is not None
        cut = self._cut(asked, cluster)
        for platform in cluster.nodes:
            prices = self.prices(asked, platform)
            if id(platform) not in costs:
                costs[id(platform)] = prices.costs(asked.noise, asked.seed, asked.drawn)
            given = asked.scheduler
            own = create(given) if isinstance(given, str) else copy.deepcopy(given)
            if isinstance(own, StaticScheduler):
                # Plans that know nothing of each other, each followed in strict order, could wait
                # for each other's messages in a circle.
                own.order = "ready"
            priced = costs[id(platform)], prices.estimates, prices.slowing, prices.far
            nodes.append(NodeQuestion(platform, own, *priced))
        pushes = asked.simultaneous_pushes
        return ClusterQuestion(cut, nodes, cluster.network, pushes, cluster.shared_cores)

    def _cut(self, asked: Simulation, cluster: Cluster) -> Distribution:
        """Return the parts of the graph, made once for nodes, grid and owner."""
        from tasksim.graph.distribution.owners import grid_or_square
        from tasksim.graph.distribution.parts import cut_by

        key = id(asked.graph), id(cluster), asked.grid, asked.owner
        with self._lock:
            if key not in self._cuts:
                grid = grid_or_square(asked.grid, len(cluster.nodes))
                homes = {id(platform): platform for platform in cluster.nodes}.values()
                graphs = [self.prices(asked, platform).graph for platform in homes]
                # Nodes that differ may have different memories: data stay where they are.
                graph = graphs[0] if len(graphs) == 1 else asked.graph
                self._cuts[key] = asked, cut_by(graph, grid, asked.owner)
            return self._cuts[key][1]

    def series(self, asked: Simulation) -> Series | None:
        """Return the core's replays like *asked*; None if it makes them one by one."""
        if asked.submitted_s is not None or not isinstance(asked.scheduler, str):
            return None
        prices = self.prices(asked)
        key = id(prices), asked.scheduler, asked.simultaneous_pushes
        with self._lock:
            if key not in self._series:
                from tasksim.engine.choice import series_of

                question = self.question(asked, create(asked.scheduler), prices.means)
                self._series[key] = series_of(question)
            return self._series[key]

    def bounds(
        self, asked: Simulation, costs: NDArray[np.float64] | None = None
    ) -> dict[str, float] | None:
        """Return the bounds on any schedule; None where the nodes differ.

        *costs* are those of the tasks, found here by default.
        """
        cluster, node = asked.cluster, asked.node
        prices = self.prices(asked)
        if costs is None:
            costs = prices.costs(asked.noise, asked.seed, asked.drawn)
        found = bounds(asked.graph, costs, [len(group.workers) for group in node.classes])
        nodes = 1.0
        if cluster is not None:
            if any(platform is not node for platform in cluster.nodes):
                return None
            nodes, cores = len(cluster.nodes), cluster.shared_cores
            if cores is not None and len(node.classes) == 1:
                nodes = cores / len(node.workers)  # so many work at a time at most
        # All nodes share the work; the critical path is as long as on one.
        return {"critical_path_s": found.critical_path_s, "area_s": found.area_s / nodes}

    def turn_of(self, scheduler: Scheduler) -> threading.Lock:
        """Return the lock of a scheduler that is an object."""
        with self._lock:
            return self._turns.setdefault(id(scheduler), threading.Lock())


def _far_data(tasks: TaskTable, costs: NDArray[np.float64], prices: Prices) -> FarData | None:
    """Return the time that far data took from *tasks*, whose *costs* are without it."""
    if prices.far is None or prices.slowing is not None:
        return None
    of = np.array(class_of(prices.platform))[tasks.worker]
    near_s = float(costs[of, tasks.task].sum())
    contained_s = float(prices.far.contained_s[of, tasks.task].sum())
    return FarData(float(tasks.duration_s.sum()) - near_s, contained_s)
