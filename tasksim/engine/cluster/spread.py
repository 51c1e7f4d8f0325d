"""Spread of a graph over nodes that are alike: on which, in which grid, and who owns what."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, NamedTuple

from tasksim.base.errors import InputError
from tasksim.engine.cluster.choice import ClusterQuestion
from tasksim.engine.cluster.cluster import NodeQuestion
from tasksim.graph.distribution.cutting import cut_by
from tasksim.graph.distribution.owners import nearly_square
from tasksim.schedulers.registry import create
from tasksim.schedulers.static.follower import StaticScheduler

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tasksim.engine.choice import SimultaneousPushes
    from tasksim.engine.locality import FarPart
    from tasksim.engine.slowing import Slowing
    from tasksim.graph.distribution.owners import Grid
    from tasksim.graph.distribution.parts import Distribution
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.network.cluster import Cluster
    from tasksim.schedulers.base import Scheduler

__all__ = ["Spread", "grid_or_square", "of_node"]


class Spread(NamedTuple):
    """On which nodes a graph is replayed, and who owns what; without a grid, nearly square."""

    cluster: Cluster
    grid: Grid | None = None
    owner: str = "row"

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.cluster.nodes)

    def cut(self, graph: TaskGraph) -> Distribution:
        """Return the parts of *graph*; :exc:`InputError` if the grid is not of so many nodes."""
        grid = grid_or_square(self.grid, self.nodes)
        return cut_by(graph, grid, self.owner)

    def question(
        self,
        cut: Distribution,
        scheduler: str | Scheduler,
        costs: NDArray[np.float64],
        estimates: NDArray[np.float64],
        pushes: SimultaneousPushes,
        slowing: Slowing | None = None,
        far: FarPart | None = None,
    ) -> ClusterQuestion:
        """Return what is asked of the parts, each node under a scheduler of its own."""
        nodes = [
            NodeQuestion(platform, of_node(scheduler), costs, estimates, slowing, far)
            for platform in self.cluster.nodes
        ]
        return ClusterQuestion(cut, nodes, self.cluster.network, pushes, self.cluster.shared_cores)


def grid_or_square(grid: Grid | None, nodes: int) -> Grid:
    """Return *grid*, or one that is nearly square; :exc:`InputError` if it has not so many."""
    if grid is None:
        return nearly_square(nodes)
    if grid.nodes != nodes:
        got = f"grid {grid.rows}x{grid.columns} has {grid.nodes} nodes"
        raise InputError(f"{got}, the cluster {nodes}")
    return grid


def of_node(scheduler: str | Scheduler) -> Scheduler:
    """Return a scheduler for one node.

    One that follows a plan takes what is ready first: plans that know nothing of each other, each
    in strict order, could wait for each other's messages in a circle.
    """
    own = create(scheduler) if isinstance(scheduler, str) else copy.deepcopy(scheduler)
    if isinstance(own, StaticScheduler):
        own.order = "ready"
    return own
