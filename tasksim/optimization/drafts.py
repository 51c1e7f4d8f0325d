"""Drafts: schedules that are judged by an estimate of their makespan.

A replay takes a thousand times as long as the estimate of a changed schedule, so a search tries
many changes by estimates before it replays what came of them. A draft follows the lists of the
workers, each task as soon as its worker is idle and its data are there. A datum from another memory
takes one copy, alone on its route. What that leaves out (copies that wait for each other, costs of
the runtime) is learned from replays, as the *lag* of a task in a memory: how much later than
estimated its data were there, or how much earlier, if another task had needed them before.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.core import interface
from tasksim.engine.data.network import paths_of
from tasksim.engine.ticks import TICKS_PER_S
from tasksim.optimization.copies import alone_on_route
from tasksim.optimization.walk import Walk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.csr import Int64
    from tasksim.platform.description import Platform
    from tasksim.run.record import TaskTable
    from tasksim.schedulers.static.problem import Problem

__all__ = ["Drafts", "Walked"]

SEED_BITS: Final = 64
"""Bits of the seed of a walk."""


class Walked(NamedTuple):
    """The schedule at the end of a walk."""

    worker: Int64
    order: Int64
    first_s: float
    """Estimate of the schedule from which the walk began, in seconds."""
    last_s: float
    """Estimate of this schedule, in seconds."""


class Drafts:
    """Walks from schedule to schedule by estimates, in the compiled core or in Python.

    Both find the same schedules.

    Parameters
    ----------
    problem : Problem
        Tasks, durations and workers.
    platform : Platform
        Memories, links and routes.
    compiled : bool, default True
        Whether the compiled core walks, if it is there.
    """

    def __init__(self, problem: Problem, platform: Platform, *, compiled: bool = True) -> None:
        edges, memories = problem.edges, problem.memories
        latency_s, seconds_per_byte = _alone(problem, platform)
        initial_s = np.zeros((problem.tasks, memories))
        task, home, size_bytes = problem.initial
        arrival_s = latency_s[home] + size_bytes[:, None] * seconds_per_byte[home]
        np.maximum.at(initial_s, task, arrival_s)
        self._lag = np.zeros((problem.tasks, memories))
        by_target = edges.by_target
        self._columns: dict[str, NDArray[Any]] = {
            "cost": np.ascontiguousarray(problem.costs_s, np.float64),
            "class_of": np.ascontiguousarray(problem.class_of, np.int64),
            "memory_of": np.ascontiguousarray(problem.memory_of, np.int64),
            "before_ptr": np.ascontiguousarray(edges.target_ptr, np.int64),
            "before": np.ascontiguousarray(edges.source[by_target], np.int64),
            "copies": np.ascontiguousarray(edges.copies[by_target], np.float64),
            "size_bytes": np.ascontiguousarray(edges.size_bytes[by_target], np.float64),
            "next_ptr": np.ascontiguousarray(edges.ptr, np.int64),
            "next": np.ascontiguousarray(edges.target, np.int64),
            "latency_s": latency_s,
            "seconds_per_byte": seconds_per_byte,
            "initial_s": initial_s,
            "lag": self._lag,
        }
        self._core = interface.functions() if compiled else None
        if self._core is None:
            self._walk = Walk(**self._columns, tick_s=1.0 / TICKS_PER_S)
            return
        given = interface.Drafts(
            tasks=problem.tasks,
            workers=problem.workers,
            classes=problem.costs_s.shape[1],
            memories=memories,
            tick_s=1.0 / TICKS_PER_S,
            **{name: column.ctypes.data for name, column in self._columns.items()},
        )
        self._made = self._core.tasksim_drafts_new(ctypes.byref(given))
        if not self._made:
            raise MemoryError("the core cannot make drafts")
        weakref.finalize(self, self._core.tasksim_drafts_free, self._made)

    def walk(
        self, worker: Int64, order: Int64, *, steps: int, temperature_s: float, seed: int
    ) -> Walked:
        """Return the schedule after *steps* changes, each taken or not by its estimate.

        Parameters
        ----------
        worker, order : ndarray of int
            The schedule to begin with: the worker of each task, and all tasks, predecessors first.
        steps : int
            Number of changes that are tried.
        temperature_s : float
            A change that makes the estimate longer by so much is taken one time in e.
        seed : int
            Seed of the random choices, of 64 bits.
        """
        worker, order = worker.astype(np.int64), order.astype(np.int64)
        if self._core is None:
            return Walked(*self._walk.go(worker, order, steps, temperature_s, seed))
        estimates = np.zeros(2)
        status = self._core.tasksim_drafts_walk(
            self._made, worker.ctypes.data, order.ctypes.data, steps, temperature_s, seed,
            estimates.ctypes.data,
        )  # fmt: skip
        if status != interface.CallStatus.DONE:
            raise AssertionError(f"the core refuses a schedule: status {status}")
        return Walked(worker, order, float(estimates[0]), float(estimates[1]))

    def learn(self, worker: Int64, order: Int64, table: TaskTable) -> None:
        """Note the lags of the tasks in the replay of a schedule."""
        start, end = (np.ascontiguousarray(c, np.float64) for c in (table.start_s, table.end_s))
        if self._core is None:
            self._walk.learn(worker, order, start, end)
            return
        worker, order = (np.ascontiguousarray(column, np.int64) for column in (worker, order))
        status = self._core.tasksim_drafts_learn(
            self._made, worker.ctypes.data, order.ctypes.data, start.ctypes.data, end.ctypes.data
        )
        if status != interface.CallStatus.DONE:
            raise AssertionError(f"the core refuses a schedule: status {status}")


def _alone(problem: Problem, platform: Platform) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return latencies and times per byte of copies that are alone on their routes.

    Where there is no route, they are a scheduler's estimates.
    """
    latency_s = problem.latency_s.copy()
    seconds_per_byte = np.maximum(problem.seconds_per_byte, 0.0)  # a rounding error below zero
    if problem.memories == 1:
        return latency_s, seconds_per_byte
    for (source, target), path in paths_of(platform).items():
        if max(source, target) >= problem.memories:
            continue
        latency_s[source, target], rate = alone_on_route(platform, source, target, path)
        seconds_per_byte[source, target] = 1.0 / rate
    return latency_s, seconds_per_byte
