"""Partition of data over nodes, for balanced work and few bytes between nodes.

``partitioned`` orders the data so that neighbours are close (reverse Cuthill-McKee, by SciPy), cuts
the order into pieces of equal work, and moves data if this saves bytes. ``metis`` uses METIS, if
pymetis is installed. Both give the same result on all machines, so that ranks agree.

Their input is the *affinity* of data, an undirected graph with weights. Its vertices are the data
of the task graph, with the work that each brings to its node, followed by the tasks without data;
an edge has the bytes that move if its ends are on different nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.extras import needed_for
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.csr import owner_of_each, pointers_of_counts
from tasksim.graph.dependencies import MODE_READS, MODE_WRITES
from tasksim.graph.distribution.owners import Placement
from tasksim.graph.flop import task_flop
from tasksim.graph.taskgraph import task_parameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.csr import Int64
    from tasksim.graph.distribution.owners import NodeGrid
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["AffinityGraph", "affinity_of", "by_metis", "partitioned", "work_of"]


@dataclass(frozen=True, eq=False)
class AffinityGraph:
    """An undirected graph that stores each edge in both directions.

    Attributes
    ----------
    work : float64 [vertices]
    pointers : int64 [vertices + 1]
    neighbours : int64 [edges]
    bytes : float64 [edges]
        Bytes between nodes if the ends of an edge are on different ones.
    without_data : int64
        The tasks of the last vertices.
    """

    work: NDArray[np.float64]
    pointers: Int64
    neighbours: Int64
    bytes: NDArray[np.float64]
    without_data: Int64

    def __len__(self) -> int:
        return len(self.work)


def work_of(graph: TaskGraph) -> NDArray[np.float64]:
    """Return the work of each task: its own duration, or its operations, or 1.

    Kernels of unknown operations get the mean work of others.
    """
    for work in (task_parameter(graph, "duration_s"), task_flop(graph)):
        known = np.isfinite(work) & (work >= 0)
        if known.any() and work[known].sum() > 0:
            return np.where(known, work, work[known].mean())
    return np.ones(len(graph))


def affinity_of(graph: TaskGraph) -> AffinityGraph:
    """Return the affinity of the data of *graph*.

    A task is on the node of the first datum that it writes, or else reads. Every version of another
    datum that it reads is sent there, and every other datum that it writes is sent back. A
    dependency without data weighs a byte.
    """
    task = owner_of_each(graph.access_ptr)
    used = graph.access_mode != AccessMode.SCRATCH
    task, handle, mode = task[used], graph.access_handle[used], graph.access_mode[used]
    home = np.full(len(graph), -1, np.int64)
    for chosen in (np.ones(len(task), np.bool_), MODE_WRITES[mode]):  # what is written, at last
        found, first = np.unique(task[chosen], return_index=True)
        home[found] = handle[chosen][first]
    without_data = np.flatnonzero(home < 0)
    home[without_data] = graph.handles + np.arange(len(without_data))
    times = MODE_READS[mode].astype(np.int64) + MODE_WRITES[mode]
    before = owner_of_each(graph.successor_ptr)
    source = np.concatenate((home[task], home[before]))
    target = np.concatenate((handle, home[graph.successors]))
    weight = np.concatenate((times * graph.handle_size[handle], np.ones(len(before))))
    vertices = graph.handles + len(without_data)
    work = np.bincount(home, weights=work_of(graph), minlength=vertices).astype(np.float64)
    # Both ways, with multiple edges added up.
    apart = source != target
    one, other = source[apart], target[apart]
    both = np.concatenate((one, other)) * vertices + np.concatenate((other, one))
    keys, place = np.unique(both, return_inverse=True)
    total = np.bincount(place, np.tile(weight[apart], 2), len(keys)).astype(np.float64)
    pointers = pointers_of_counts(np.bincount(keys // max(vertices, 1), minlength=vertices))
    return AffinityGraph(work, pointers, keys % max(vertices, 1), total, without_data)


PARTITION_PASSES: Final = 4
"""Number of passes over all data: later passes move hardly any."""
WORK_SLACK: Final = 0.02
"""Share by which a node's work may exceed the mean, in addition to the work of one datum; METIS's
own bound is .03."""
MAX_WEIGHT: Final = 1 << 20
"""Largest weight for METIS: sums over some thousand vertices must fit in 32 bits."""


def partitioned(graph: TaskGraph, grid: NodeGrid) -> Placement:
    """Return owners with equal work for all nodes and few bytes between them.

    See Also
    --------
    by_metis : The same by METIS.

    Examples
    --------
    >>> from tasksim import generate
    >>> from tasksim.graph.distribution.owners import NodeGrid
    >>> set(partitioned(generate("cholesky", tiles=6), NodeGrid(1, 3)).owners.tolist())
    {0, 1, 2}
    """
    affinity = affinity_of(graph)
    node = _pieces(affinity, grid.nodes)
    _improved(affinity, node, grid.nodes)
    return _placement(graph, affinity, node)


def by_metis(graph: TaskGraph, grid: NodeGrid) -> Placement:
    """Return owners by METIS, with no node's work above that of :func:`partitioned`.

    Raises :exc:`InputError` if pymetis is not installed.
    """
    affinity = affinity_of(graph)
    with needed_for("owner metis", "owner partitioned"):
        import pymetis
    node = np.zeros(len(affinity), np.int64)
    if grid.nodes > 1 and len(affinity) > 1:
        _, parts = pymetis.part_graph(
            grid.nodes,
            pymetis.CSRAdjacency(affinity.pointers.tolist(), affinity.neighbours.tolist()),
            vweights=_whole(affinity.work, least=0),
            eweights=_whole(affinity.bytes, least=1),
        )
        node[:] = parts
    _relieve(affinity, node, grid.nodes)
    return _placement(graph, affinity, node)


def _placement(graph: TaskGraph, affinity: AffinityGraph, node: NDArray[np.int64]) -> Placement:
    executor = None
    if len(affinity.without_data):
        executor = np.full(len(graph), -1)
        executor[affinity.without_data] = node[graph.handles :]
    return Placement(node[: graph.handles], executor)


def _limit(affinity: AffinityGraph, nodes: int) -> float:
    """Return the largest work that a node may have."""
    mean = float(affinity.work.sum()) / nodes
    return mean + max(WORK_SLACK * mean, float(affinity.work.max(initial=0.0)))


def _pieces(affinity: AffinityGraph, nodes: int) -> NDArray[np.int64]:
    """Return pieces of equal work, in an order that keeps neighbours close."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    count = len(affinity)
    matrix = csr_array(
        (np.ones(len(affinity.neighbours)), affinity.neighbours, affinity.pointers), (count, count)
    )
    order = reverse_cuthill_mckee(matrix, symmetric_mode=True) if count else np.empty(0, np.int64)
    # Data without work have small equal weights, so that they are spread, too.
    work = affinity.work[order]
    work = work + (work.sum() or 1.0) * 1e-6 / max(count, 1)
    middle = np.cumsum(work) - work / 2
    node = np.empty(count, np.int64)
    total = work.sum() or 1.0
    node[order] = np.minimum((middle * nodes / total).astype(np.int64), nodes - 1)
    return node


def _improved(affinity: AffinityGraph, node: NDArray[np.int64], nodes: int) -> None:
    """Move data to nodes with which they share more bytes, with balanced work."""
    limit = _limit(affinity, nodes)
    load = np.bincount(node, weights=affinity.work, minlength=nodes).tolist()
    pointers, work = affinity.pointers.tolist(), affinity.work.tolist()
    neighbours, shared = affinity.neighbours.tolist(), affinity.bytes.tolist()
    of = node.tolist()
    for _ in range(PARTITION_PASSES):
        moved = 0
        for vertex, own in enumerate(of):
            ties: dict[int, float] = {}  # bytes that it shares with each node of its neighbours
            for place in range(pointers[vertex], pointers[vertex + 1]):
                other = of[neighbours[place]]
                ties[other] = ties.get(other, 0.0) + shared[place]
            here = ties.pop(own, 0.0)
            fits = [n for n in ties if load[n] + work[vertex] <= limit]
            best = max(fits, key=lambda n: (ties[n], -n), default=own)
            if best != own and ties[best] > here:
                load[own] -= work[vertex]
                load[best] += work[vertex]
                of[vertex] = best
                moved += 1
        if not moved:
            break
    node[:] = of


def _relieve(affinity: AffinityGraph, node: NDArray[np.int64], nodes: int) -> None:
    """Move work from nodes with too much to those with least."""
    limit = _limit(affinity, nodes)
    load = np.bincount(node, weights=affinity.work, minlength=nodes)
    lightest = [(float(each), number) for number, each in enumerate(load)]
    heapify(lightest)
    for full in np.flatnonzero(load > limit).tolist():
        members = np.flatnonzero((node == full) & (affinity.work > 0))
        for vertex in members[np.argsort(affinity.work[members], kind="stable")].tolist():
            if load[full] <= limit:
                break
            while lightest[0][0] != load[lightest[0][1]]:
                heappop(lightest)  # the entry is outdated
            target = lightest[0][1]
            load[full] -= affinity.work[vertex]
            load[target] += affinity.work[vertex]
            node[vertex] = target
            for changed in (full, target):
                heappush(lightest, (float(load[changed]), changed))


def _whole(weights: NDArray[np.float64], least: int) -> list[int]:
    """Return *weights* as integers that METIS takes."""
    most = float(weights.max(initial=0.0)) or 1.0
    scaled = np.maximum(np.rint(weights * (MAX_WEIGHT / most)), least)
    found: list[int] = scaled.astype(np.int64).tolist()
    return found
