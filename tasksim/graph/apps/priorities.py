"""Priorities of a generated graph, from the application or computed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from tasksim.graph.analysis import bottom_levels
from tasksim.graph.flop import task_flop
from tasksim.graph.taskgraph import task_parameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["Priorities", "bottom_level_ranks", "with_priorities"]

Priorities = Literal["app", "bottom-level", "none"]


def with_priorities(graph: TaskGraph, priorities: Priorities) -> TaskGraph:
    """Return *graph* with other priorities.

    Parameters
    ----------
    graph
        The task graph.
    priorities
        ``app``: unchanged. ``bottom-level``: :func:`bottom_level_ranks`. ``none``: all 0.
    """
    if priorities == "app":
        return graph
    ranks = bottom_level_ranks(graph) if priorities == "bottom-level" else np.zeros(len(graph))
    return replace(graph, priority=ranks.astype(np.int32))


def bottom_level_ranks(graph: TaskGraph) -> NDArray[np.int32]:
    """Return the dense rank of every task's bottom level; 0 is the least urgent.

    The weights of tasks are their floating-point operations, or else their parameter
    ``duration_s``, or 1. So the ranks are independent of the machine, and equal bottom levels share
    a rank.
    """
    # Three times the operations of any dense kernel is an integer, so sums are exact, and paths of
    # equal length are equal in any order.
    weights = np.rint(3 * task_flop(graph))
    for others in (task_parameter(graph, "duration_s"), 1.0):
        weights = np.where(np.isnan(weights), others, weights)
    level = bottom_levels(graph, weights)
    _, ranks = np.unique(level, return_inverse=True)
    return ranks.astype(np.int32)
