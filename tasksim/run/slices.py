"""Exact means over slices of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats, Ints
    from tasksim.run.record import Run

__all__ = ["flop_rate", "lack_of_ready", "mean_sum", "utilisation"]


def mean_sum(
    start_s: Floats, end_s: Floats, edges_s: Floats, weights: Floats | None = None
) -> Floats:
    """Return the mean, over each slice of time, of the sum of everything in progress.

    Parameters
    ----------
    start_s, end_s : ndarray
        Start and end of each item.
    edges_s : ndarray, float64 [slices + 1]
        Edges of the slices, ascending.
    weights : ndarray, optional
        Weight of each item while it is in progress [default: 1, which counts items].

    Examples
    --------
    >>> mean_sum(np.array([0.0, 1.0]), np.array([2.0, 3.0]), np.array([0.0, 1.0, 2.0, 4.0]))
    array([1. , 2. , 0.5])
    """
    done = _passed(start_s, edges_s, weights) - _passed(end_s, edges_s, weights)
    return np.diff(done) / np.diff(edges_s)


def utilisation(run: Run, edges_s: Floats) -> Floats:
    """Return the busy share of each slice, per worker: float64 [workers, slices]."""
    order = np.argsort(run.tasks.worker, kind="stable")
    limits = np.searchsorted(run.tasks.worker[order], np.arange(len(run.workers) + 1))
    shares = np.zeros((len(run.workers), len(edges_s) - 1))
    for worker, row in enumerate(shares):
        tasks = order[limits[worker] : limits[worker + 1]]
        row[:] = mean_sum(run.tasks.start_s[tasks], run.tasks.end_s[tasks], edges_s)
    return np.clip(shares, 0.0, 1.0)


def lack_of_ready(run: Run, edges_s: Floats) -> Ints:
    """Return, per slice, the number of nodes with fewer ready tasks on average than workers.

    As in StarVZ, ready tasks belong to the node whose worker runs them later, and the threshold is
    the smallest number of workers of a node.
    """
    node_of_worker = np.array([worker.node for worker in run.workers], dtype=np.int64)
    nodes, counts = np.unique(node_of_worker, return_counts=True)
    lacking = np.zeros(len(edges_s) - 1, dtype=np.int64)
    node = node_of_worker[run.tasks.worker] if len(run) else np.zeros(0, dtype=np.int64)
    for number in nodes.tolist():
        mine = node == number
        ready = mean_sum(run.tasks.ready_s[mine], run.tasks.start_s[mine], edges_s)
        lacking += ready < counts.min()
    return lacking


def flop_rate(run: Run, flop: Floats, edges_s: Floats) -> Floats:
    """Return the flop per second of each slice, with a task's flop spread over its duration.

    *flop* is that of each task; tasks with unknown flop (NaN) or without duration do not count.
    """
    duration_s = run.tasks.duration_s
    counted = np.isfinite(flop) & (duration_s > 0)
    start_s, end_s = run.tasks.start_s[counted], run.tasks.end_s[counted]
    return np.maximum(mean_sum(start_s, end_s, edges_s, flop[counted] / duration_s[counted]), 0.0)


def _passed(since_s: Floats, until_s: Floats, weights: Floats | None) -> Floats:
    """Return the total time since all of *since_s* at each of *until_s*."""
    order = np.argsort(since_s, kind="stable")
    ordered = since_s[order]
    weight = np.ones(len(ordered)) if weights is None else weights[order]
    before = np.searchsorted(ordered, until_s)
    count = np.concatenate(([0.0], np.cumsum(weight)))[before]
    moment = np.concatenate(([0.0], np.cumsum(weight * ordered)))[before]
    return count * until_s - moment
