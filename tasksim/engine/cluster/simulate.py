"""Simulation on a cluster: from a graph, nodes, a network and kernel models to a simulated run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tasksim.engine.choice import check_engine
from tasksim.engine.cluster.choice import ClusterQuestion, replayed
from tasksim.engine.cluster.cluster import NodeQuestion
from tasksim.engine.cluster.outcome import cluster_machine, cluster_records
from tasksim.engine.cluster.spread import grid_or_square, of_node
from tasksim.engine.durations import Demands, Models, far_part
from tasksim.engine.simulate import at_home, bounds_of, contention_of, simulate
from tasksim.graph.distribution.cutting import cut_by
from tasksim.run.record import Run
from tasksim.run.sharedcores import said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tasksim.engine.choice import Engine, SimultaneousPushes
    from tasksim.engine.locality import FarPart
    from tasksim.engine.simulate import Noise
    from tasksim.engine.slowing import Slowing
    from tasksim.graph.distribution.owners import Grid
    from tasksim.graph.distribution.parts import Distribution
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.network.cluster import Cluster
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

    Costs: TypeAlias = tuple[
        NDArray[np.float64], NDArray[np.float64], Slowing | None, FarPart | None
    ]

__all__ = ["simulate_cluster"]


def simulate_cluster(
    graph: TaskGraph,
    cluster: Cluster,
    models: Models,
    scheduler: str | Scheduler = "lws",
    *,
    grid: Grid | None = None,
    owner: str = "row",
    seed: int = 0,
    noise: Noise = "none",
    check: bool = False,
    simultaneous_pushes: SimultaneousPushes = "serial",
    engine: Engine = "auto",
    config: Mapping[str, Any] | None = None,
) -> Run:
    """Replay *graph* on *cluster* and return the run.

    A cluster of one node is that node: the same run.

    Parameters
    ----------
    graph, cluster : TaskGraph, Cluster
        What is to be run, and where.
    models : Models
        Kernel models of all nodes.
    scheduler : str or Scheduler, optional
        A name, or an object of which each node gets a copy; none sees the others' queues.
    grid : Grid, optional
        The nodes in rows and columns; by default as square as their number allows.
    owner : str, optional
        Who owns which data, see :func:`~tasksim.graph.distribution.owners.owners_of`.
    seed, noise, check, simultaneous_pushes, engine, config
        As for :func:`~tasksim.engine.simulate.simulate`.

    Raises
    ------
    InputError
        If the grid is not of so many nodes; if no worker of a node can run a task that is there;
        if the network does not let two nodes talk that must.
    SchedulerError
        If a scheduler breaks a rule; the message names the node.
    """
    if len(cluster.nodes) == 1:
        return simulate(
            graph, cluster.nodes[0], models, scheduler, seed=seed, noise=noise, check=check,
            simultaneous_pushes=simultaneous_pushes, engine=engine, config=config,
        )  # fmt: skip
    check_engine(engine)
    grid = grid_or_square(grid, len(cluster.nodes))
    cut = cut_by(graph, grid, owner)
    nodes, bounds = _questions(cut, cluster, models, scheduler, seed, noise)
    begun = time.perf_counter()
    question = ClusterQuestion(
        cut, nodes, cluster.network, simultaneous_pushes, cluster.shared_cores
    )
    done = replayed(question, seed, engine)
    run = Run(
        kind="simulated",
        graph_name=graph.name,
        graph_arguments=dict(graph.arguments),
        kernel_names=graph.kernels,
        platform=cluster.name,
        scheduler=scheduler if isinstance(scheduler, str) else scheduler.name,
        seed=seed,
        config={**(config or {}), **said(cluster.shared_cores)},
        wall_s=time.perf_counter() - begun,
        bounds=bounds,
        **cluster_machine(cluster.nodes),
        engine=done.engine,
        engine_why=done.why,
        **cluster_records(done.outcome),
    )
    if check:
        from tasksim.engine.room import check_room
        from tasksim.run.runchecks import check_run

        check_room(cut.graph, cluster.nodes, cut.owners)
        check_run(run, graph)
    return run


def _questions(
    cut: Distribution,
    cluster: Cluster,
    models: Models,
    scheduler: str | Scheduler,
    seed: int,
    noise: Noise,
) -> tuple[list[NodeQuestion], dict[str, float] | None]:
    """Return what each node is asked, and bounds on any schedule where all nodes are alike."""
    known: dict[int, Costs] = {}
    questions = []
    for platform in cluster.nodes:
        if id(platform) not in known:
            known[id(platform)] = _costs(cut.graph, platform, models, seed, noise)
        questions.append(NodeQuestion(platform, of_node(scheduler), *known[id(platform)]))
    if len(known) > 1:
        return questions, None
    costs, *_ = known[id(cluster.nodes[0])]
    found = bounds_of(cut.graph, cluster.nodes[0], costs)
    # The work is shared by all nodes; the critical path is as long as on one.
    return questions, found | {"area_s": found["area_s"] / _nodes_of_work(cluster)}


def _nodes_of_work(cluster: Cluster) -> float:
    """Return how many nodes' work is done at a time at most; they are alike."""
    node, cores = cluster.nodes[0], cluster.shared_cores
    if cores is None or len(node.classes) > 1:
        return len(cluster.nodes)
    return cores / len(node.workers)


def _costs(graph: TaskGraph, platform: Platform, models: Models, seed: int, noise: Noise) -> Costs:
    """Return what tasks take on a node, what its scheduler believes of it, and what slows them.

    The last is what far data add: it is taken out of what tasks take.
    """
    graph = at_home(graph, platform)
    demands = Demands(graph, platform, models)
    costs = estimates = demands.means()
    if noise == "model":
        costs = demands.draws(np.random.default_rng([seed, 1]))
    far = far_part(graph, platform, models, estimates)
    if far is not None:
        costs = far.near(costs)
    slowing, estimates = contention_of(graph, platform, models, estimates)
    return costs, estimates, slowing, far
