"""Cutting a graph by the name of a distribution: who owns what, executes what, sends what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.graph.distribution.owners import placement_of
from tasksim.graph.distribution.parts import distribute

if TYPE_CHECKING:
    from tasksim.graph.distribution.owners import Grid
    from tasksim.graph.distribution.parts import Distribution
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["cut_by"]


def cut_by(graph: TaskGraph, grid: Grid, owner: str = "row") -> Distribution:
    """Return the parts of *graph* for the nodes of *grid*.

    Parameters and errors are those of :func:`tasksim.graph.distribution.owners.owners_of`.

    Examples
    --------
    >>> from tasksim import generate
    >>> from tasksim.graph.distribution.owners import Grid
    >>> len(cut_by(generate("cholesky", tiles=6), Grid(1, 2), "partitioned").parts)
    2
    """
    placed = placement_of(graph, grid, owner)
    return distribute(graph, placed.owners, grid.nodes, executor=placed.executor)
