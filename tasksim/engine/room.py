"""Space for the data of a graph in the memories where they are at first.

Such a memory is not bounded: the application's data are there, and cannot leave. A size that is too
small for them changes no simulation, so the user gets a message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import CheckFailed
from tasksim.base.units import format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform

__all__ = ["check_room", "overfull"]


def overfull(
    graph: TaskGraph,
    nodes: Sequence[Platform],
    owners: NDArray[np.integer] | None = None,
) -> list[str]:
    """Return a line per memory that is too small for the data at home in it.

    Parameters
    ----------
    graph : TaskGraph
        Data that no task accesses are left out.
    nodes : sequence of Platform
        The nodes of a cluster, or one machine.
    owners : ndarray of int, optional
        The node of each datum; by default all are on the first.
    """
    used = np.zeros(graph.handles, np.bool_)
    used[graph.access_handle] = True
    node = np.zeros(graph.handles, np.int64) if owners is None else owners
    lines = []
    for number, platform in enumerate(nodes):
        for memory in platform.memories:
            if memory.size_bytes is None:
                continue
            here = used & (node == number) & (graph.handle_home == memory.id)
            size = int(graph.handle_size[here].sum())
            if size > memory.size_bytes:
                where = f" of node {number}" if len(nodes) > 1 else ""
                lines.append(
                    f"memory {memory.name}{where} has {format_size(memory.size_bytes)}, and data "
                    f"of {format_size(size)} are at home in it: simulated as if they had room"
                )
    return lines


def check_room(
    graph: TaskGraph,
    nodes: Sequence[Platform],
    owners: NDArray[np.integer] | None = None,
) -> None:
    """Raise :exc:`CheckFailed` if :func:`overfull` returns any line."""
    lines = overfull(graph, nodes, owners)
    if lines:
        more = f" ({len(lines) - 1} more such memories)" if len(lines) > 1 else ""
        raise CheckFailed(lines[0] + more)
