"""Simulations of a graph on a platform with kernel models, prepared for an engine.

A single simulation becomes a run here; :mod:`tasksim.engine.batch` gives totals of many.
"""

from __future__ import annotations

import copy
import threading
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.arguments import one_of
from tasksim.base.errors import InputError
from tasksim.engine.choice import ENGINES, Engine, replayed
from tasksim.engine.outcome import machine
from tasksim.engine.pricing import FarDataRule, Noise, Prices
from tasksim.engine.question import ClusterQuestion, NodeQuestion, Question
from tasksim.platform.description import Platform, class_of
from tasksim.run.bounds import bounds
from tasksim.run.record import FarData, Run
from tasksim.schedulers.registry import create

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from numpy.typing import NDArray

    from tasksim.base.progress import CountProgress
    from tasksim.engine.compiled.series import Series
    from tasksim.engine.durations import Models
    from tasksim.engine.machine.instant import SimultaneousPushes
    from tasksim.graph.distribution.owners import NodeGrid
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
        The task graph.
    platform : Platform or Cluster
        The machine. A cluster of one node gives the same run as that node.
    models : Models
        Kernel models of all nodes; the scheduler's estimates are their means.
    scheduler : str or Scheduler, default "lws"
        A name (``"prio"``), or an object. Each node of a cluster gets a copy, which does not see
        the queues of the others.
    seed : int, default 0
        Seed of the scheduler's random choices and of the noise; the same seed gives the same run.
    noise : {"none", "model"}, default "none"
        Cost of a task: its model's mean, or a draw from its model's distribution.
    simultaneous_pushes : {"serial", "blind"}, default "serial"
        Whether a push sees earlier pushes of the same instant (serial), or, as in StarPU-SimGrid,
        schedulers that choose a worker at push do not see them (blind).
    far_data : {"charged", "mean"}, default "charged"
        Cost of far data, if models know it: that of each task's own far data, or the mean of the
        measured tasks, which is in the models' means.
    submitted_s : ndarray or None, default None
        Submission times of the tasks in seconds from the start, ascending; they replace the
        platform's cost of a submission. None: tasks are submitted one after the other. On one node
        only.
    drawn : callable or None, default None
        Returns the durations of the tasks, shape (classes, tasks), instead of *noise*.
    grid : NodeGrid or None, default None
        Rows and columns of the nodes; None: as square as their number allows.
    owner : str, default "row"
        Distribution of the data, see :func:`~tasksim.graph.distribution.owners.owners_of`.
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
    grid: NodeGrid | None = None
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
        decisions: bool = False,
        progress: CountProgress | None = None,
    ) -> Run:
        """Replay the graph and return the run.

        Parameters
        ----------
        check : bool, default False
            Verify every invariant of the result; raise :exc:`CheckFailed` if one is broken.
        engine : {"auto", "simpy", "compiled"}, default "auto"
            Engine of the replay: the compiled core, SimPy's, or (auto) the core if it is built and
            supports the simulation. The result is the same to the last bit.
        config : mapping, optional
            Configuration to store in the run, so that it can be repeated.
        decisions : bool, default False
            Record the decisions of the scheduler; on one node only.
        progress : callable, optional
            Called from time to time with the number of finished tasks and of all tasks.

        Raises
        ------
        InputError
            If a kernel has no model, no worker can run a task, or the home of a datum is not a
            memory of the platform; if the grid has another number of nodes, or the network does not
            connect two nodes with messages between them.
        SchedulerError
            If the scheduler drops or repeats a task, or gives a task to a worker that cannot run
            it; on a cluster, the message names the node.
        """
        one_of(engine, ENGINES, "engine")
        settled, cluster = Settled(), self.cluster
        question: Question | ClusterQuestion
        if cluster is None:
            name, said, happened = self.node.name, {}, machine(self.node)
            question = settled.question(self, decisions=decisions)
            graph, nodes, owners, costs = question.graph, [self.node], None, question.costs
        elif decisions:
            raise InputError(
                f"decisions are recorded on one node; {cluster.name} has {len(cluster.nodes)}"
            )
        else:
            from tasksim.engine.cluster.outcome import cluster_machine
            from tasksim.run.sharedcores import shared_cores_entry

            name, said = cluster.name, shared_cores_entry(cluster.shared_cores)
            question, happened = settled.question_on_nodes(self), cluster_machine(cluster.nodes)
            graph, owners = question.distribution.graph, question.distribution.owners
            nodes, costs = list(cluster.nodes), question.nodes[0].costs
        begun = time.perf_counter()
        done = replayed(question, self.seed, engine, progress)
        wall_s = time.perf_counter() - begun
        happened |= done.replay.records()
        if cluster is None:
            happened["far_data"] = _far_data(happened["tasks"], costs, settled.prices(self))
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
            engine=done.engine,
            engine_why=done.why,
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
        """Return the shared prices of a simulation, on its node or on *platform*."""
        platform = platform or asked.node
        key = id(asked.graph), id(platform), id(asked.models), asked.far_data
        with self._lock:
            if key not in self._prices:
                self._prices[key] = Prices(asked.graph, platform, asked.models, asked.far_data)
            return self._prices[key]

    def question(
        self,
        asked: Simulation,
        costs: NDArray[np.float64] | None = None,
        *,
        decisions: bool = False,
    ) -> Question:
        """Return the question of *asked* for one node, with its own *costs* of the tasks.

        Raises :exc:`InputError` for submission times that are negative, infinite or incomplete.
        """
        given = asked.scheduler
        scheduler = create(given) if isinstance(given, str) else given
        prices, times = self.prices(asked), asked.submitted_s
        if costs is None:
            costs = prices.costs(asked.noise, asked.seed, asked.drawn)
        if times is not None:
            times = np.asarray(times, dtype=np.float64)
            legal = (times >= 0) & (times <= MAX_SUBMISSION_TIME_S)
            if times.shape != (len(asked.graph),) or not bool(legal.all()):
                raise InputError(
                    f"graph {asked.graph.name}: submitted_s: legal: a time from 0 to "
                    f"{MAX_SUBMISSION_TIME_S:g} s for each of {len(asked.graph)} tasks"
                )
            times = np.maximum.accumulate(times)
        return Question(
            prices.graph,
            asked.node,
            scheduler,
            costs,
            prices.estimates,
            far=prices.charge,
            simultaneous_pushes=asked.simultaneous_pushes,
            submitted_s=times,
            slowing=prices.slowing,
            decisions=decisions,
        )

    def question_on_nodes(self, asked: Simulation) -> ClusterQuestion:
        """Return the question of *asked* for its cluster, with a scheduler for each node.

        Raises :exc:`InputError` if the grid has another number of nodes.
        """
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
                # Independent plans, each followed in strict order, could wait for each other's
                # messages in a circle.
                own.order = "ready"
            priced = costs[id(platform)], prices.estimates
            node = NodeQuestion(platform, own, *priced, slowing=prices.slowing, far=prices.far)
            nodes.append(node)
        return ClusterQuestion(
            cut,
            nodes,
            cluster.network,
            simultaneous_pushes=asked.simultaneous_pushes,
            cores=cluster.shared_cores,
        )

    def _cut(self, asked: Simulation, cluster: Cluster) -> Distribution:
        """Return the parts of the graph, cut once for each number of nodes, grid and owner."""
        from tasksim.graph.distribution.owners import grid_or_square
        from tasksim.graph.distribution.parts import cut_by

        key = id(asked.graph), id(cluster), asked.grid, asked.owner
        with self._lock:
            if key not in self._cuts:
                grid = grid_or_square(asked.grid, len(cluster.nodes))
                homes = {id(platform): platform for platform in cluster.nodes}.values()
                graphs = [self.prices(asked, platform).graph for platform in homes]
                # Different nodes may have different memories: data keep their homes.
                graph = graphs[0] if len(graphs) == 1 else asked.graph
                self._cuts[key] = asked, cut_by(graph, grid, asked.owner)
            return self._cuts[key][1]

    def series(self, asked: Simulation) -> Series | None:
        """Return the core's series of replays like *asked*; None if it has none."""
        if asked.submitted_s is not None or not isinstance(asked.scheduler, str):
            return None
        prices = self.prices(asked)
        key = id(prices), asked.scheduler, asked.simultaneous_pushes
        with self._lock:
            if key not in self._series:
                from tasksim.engine.choice import series_of

                question = self.question(asked, prices.means)
                self._series[key] = series_of(question)
            return self._series[key]

    def bounds(
        self, asked: Simulation, costs: NDArray[np.float64] | None = None
    ) -> dict[str, float] | None:
        """Return the lower bounds of the makespan; None if the nodes differ.

        *costs* are the costs of the tasks, by default computed here.
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
                nodes = cores / len(node.workers)  # only as many workers run at a time
        # All nodes share the work; the critical path is as long as on one node.
        return {"critical_path_s": found.critical_path_s, "area_s": found.area_s / nodes}

    def turn_of(self, scheduler: Scheduler) -> threading.Lock:
        """Return the lock of a scheduler object."""
        with self._lock:
            return self._turns.setdefault(id(scheduler), threading.Lock())


def _far_data(tasks: TaskTable, costs: NDArray[np.float64], prices: Prices) -> FarData | None:
    """Return the time that far data took from *tasks*; *costs* exclude it."""
    if prices.far is None or prices.slowing is not None:
        return None
    of = np.array(class_of(prices.platform))[tasks.worker]
    near_s = float(costs[of, tasks.task].sum())
    contained_s = float(prices.far.contained_s[of, tasks.task].sum())
    return FarData(float(tasks.duration_s.sum()) - near_s, contained_s)
