"""Affinity of data: how much work each datum brings to its node, and what it shares with others.

What a partitioner takes: vertices with weights, and edges with weights, of an undirected graph.
Vertices are the data of a task graph, and, behind them, its tasks that have no data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasksim.graph.access_mode import AccessMode
from tasksim.graph.csr import pointers_of_counts
from tasksim.graph.distribution.executor import READS, WRITES
from tasksim.graph.flop import task_flop

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.csr import Int64
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["Affinity", "affinity_of", "work_of"]


@dataclass(frozen=True, eq=False)
class Affinity:
    """An undirected graph, of which every edge is there both ways.

    Attributes
    ----------
    work : float64 [vertices]
    pointers : int64 [vertices + 1]
    neighbours : int64 [edges]
    bytes : float64 [edges]
        What goes between nodes if the ends of an edge are on different ones.
    without_data : int64
        The tasks that the last vertices are.
    """

    work: NDArray[np.float64]
    pointers: Int64
    neighbours: Int64
    bytes: NDArray[np.float64]
    without_data: Int64

    def __len__(self) -> int:
        return len(self.work)


def work_of(graph: TaskGraph) -> NDArray[np.float64]:
    """Return the work of each task: how long it says to take, else its operations, else 1.

    Of kernels whose operations are not known, as much as that of others in the mean.
    """
    seconds = np.full(len(graph), np.nan)
    for number, names in enumerate(graph.parameter_names):
        if "duration_s" in names:
            tasks = graph.kernel == number
            column = graph.parameters[number][:, names.index("duration_s")]
            seconds[tasks] = column[graph.row[tasks]]
    for work in (seconds, task_flop(graph)):
        known = np.isfinite(work) & (work >= 0)
        if known.any() and work[known].sum() > 0:
            return np.where(known, work, work[known].mean())
    return np.ones(len(graph))


def affinity_of(graph: TaskGraph) -> Affinity:
    """Return what the data of *graph* have to do with each other.

    A task is where the first datum is that it writes, or, if it writes none, the first that it
    reads. Every version of another datum that it reads would be sent there, every other one that
    it writes be sent back. An order without data weighs a byte.
    """
    counts = np.diff(graph.access_ptr)
    task = np.repeat(np.arange(len(graph)), counts)
    used = graph.access_mode != AccessMode.SCRATCH
    task, handle, mode = task[used], graph.access_handle[used], graph.access_mode[used]
    home = _homes(task, handle, mode, len(graph))
    without_data = np.flatnonzero(home < 0)
    home[without_data] = graph.handles + np.arange(len(without_data))
    times = READS[mode].astype(np.int64) + WRITES[mode]
    before = np.repeat(np.arange(len(graph)), np.diff(graph.successor_ptr))
    source = np.concatenate((home[task], home[before]))
    target = np.concatenate((handle, home[graph.successors]))
    weight = np.concatenate((times * graph.handle_size[handle], np.ones(len(before))))
    vertices = graph.handles + len(without_data)
    work = np.bincount(home, weights=work_of(graph), minlength=vertices).astype(np.float64)
    return Affinity(work, *_both_ways(source, target, weight, vertices), without_data)


def _homes(
    task: NDArray[np.int64],
    handle: NDArray[np.int32],
    mode: NDArray[np.int8],
    tasks: int,
) -> NDArray[np.int64]:
    """Return per task the first datum that it writes, else the first that it reads, else -1."""
    home = np.full(tasks, -1, np.int64)
    for chosen in (np.ones(len(task), np.bool_), WRITES[mode]):
        found, first = np.unique(task[chosen], return_index=True)
        home[found] = handle[chosen][first]
    return home


def _both_ways(
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    weight: NDArray[np.float64],
    vertices: int,
) -> tuple[Int64, Int64, NDArray[np.float64]]:
    """Return pointers, neighbours and weights; edges that are there several times added up."""
    apart = source != target
    ends = (
        np.concatenate((source[apart], target[apart])),
        np.concatenate((target[apart], source[apart])),
    )
    keys, place = np.unique(ends[0] * vertices + ends[1], return_inverse=True)
    twice = np.tile(weight[apart], 2)
    total = np.bincount(place, weights=twice, minlength=len(keys)).astype(np.float64)
    pointers = pointers_of_counts(np.bincount(keys // max(vertices, 1), minlength=vertices))
    return pointers, keys % max(vertices, 1), total
