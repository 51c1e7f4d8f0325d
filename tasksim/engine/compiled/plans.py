"""Replays of plans on the compiled core, thousands a second.

The core gets graph, platform and costs once. A plan is the worker of each task and an order of all
tasks; its tables are made from these by a few operations on whole arrays, and replace those of the
plan before.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from tasksim.engine.compiled.series import Desk
from tasksim.schedulers.static.follower import sendable_flows
from tasksim.schedulers.static.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.engine.compiled.series import CoreInput
    from tasksim.engine.compiled.view import KnownView
    from tasksim.graph.csr import Int64
    from tasksim.run.record import TaskTable

__all__ = ["CompiledPlans"]


class CompiledPlans:
    """Replays of the core that differ only in the plan that the scheduler ``static`` follows.

    Parameters
    ----------
    view : KnownView
        The scheduler's view before the run.
    costs : ndarray, shape (classes, tasks)
        Durations of the tasks, in seconds.
    given : CoreInput
        The core's input for all replays; its policy gets the tables of each plan.

    See Also
    --------
    tasksim.engine.compiled.replay.CompiledReplay.plans : Make such an object.
    """

    def __init__(self, view: KnownView, costs: NDArray[np.float64], given: CoreInput) -> None:
        problem = Problem.of_view(view, known=False)
        self._costs = costs
        self._tables = _Tables(problem)
        policy = given.policy
        self._tables.fill(np.zeros(problem.tasks, np.int64), np.arange(problem.tasks), moved=True)
        policy.tables = len(self._tables.names)
        policy.table_names = ctypes.addressof(self._tables.name_texts)
        policy.table_values = ctypes.addressof(self._tables.places)
        policy.table_lengths = self._tables.lengths.ctypes.data
        self._desk = Desk(given)

    def makespan_s(self, worker: Int64, order: Int64, *, moved: bool) -> float:
        """Return the makespan of a plan in seconds; infinite if the replay fails.

        *moved* says whether any task has another worker than in the last call. The replay is kept
        until the next call, for :meth:`table`.
        """
        desk = self._desk
        desk.clear()
        self._tables.fill(worker, order, moved=moved)
        if not desk.run(0, self._costs):
            return float("inf")
        return float(desk.totals()[0].makespan_s)

    def table(self) -> TaskTable:
        """Return the task table of the last replay."""
        return self._desk.table()


class _Tables:
    """The tables of the policy ``static`` of the core, written in place for each plan."""

    def __init__(self, problem: Problem) -> None:
        self._tasks, self._workers = problem.tasks, problem.workers
        self._memory_of = problem.memory_of
        self._memories, self._handles = problem.memories, problem.graph.handles
        self._several = problem.memories > 1
        source, target, handle = sendable_flows(problem)
        if not self._several:
            source, target, handle = source[:0], target[:0], handle[:0]
        inner = source >= 0
        by_source = np.argsort(source[inner], kind="stable")
        self._source, self._reader, self._written = (
            column[inner][by_source] for column in (source, target, handle)
        )
        by_target = np.argsort(target[~inner], kind="stable")
        self._target, self._initial = (column[~inner][by_target] for column in (target, handle))
        self._home = problem.graph.handle_home[self._initial].astype(np.int64)
        commuting = np.array(sorted(problem.commuting), dtype=np.int64)
        tasks, rows = self._tasks, (len(self._written), len(self._initial))
        self._columns = {
            "list": np.zeros(tasks, np.int64),
            "list_ptr": np.zeros(self._workers + 1, np.int64),
            "commuting": commuting,
            "written": np.zeros(2 * rows[0], np.int64),
            "written_ptr": np.zeros(tasks + 1, np.int64),
            "initial": np.zeros(2 * rows[1], np.int64),
            "initial_ptr": np.zeros(tasks + 1, np.int64),
        }
        self.names = tuple(self._columns)
        columns = self._columns.values()
        self.lengths = np.array([len(column) for column in columns], np.int64)
        self.name_texts = (ctypes.c_char_p * len(columns))(*(n.encode() for n in self.names))
        self.places = (ctypes.c_void_p * len(columns))(*(c.ctypes.data for c in columns))

    def fill(self, worker: Int64, order: Int64, *, moved: bool) -> None:
        """Write the tables of a plan; those of copies only if tasks have *moved*."""
        column = self._columns
        owner = worker[order]
        column["list"][:] = order[np.argsort(owner, kind="stable")]
        np.cumsum(np.bincount(owner, minlength=self._workers), out=column["list_ptr"][1:])
        if moved and self._several:
            memory = self._memory_of[worker]
            there = memory[self._reader]
            rows = np.flatnonzero(there != memory[self._source])
            source, handle, there = self._source[rows], self._written[rows], there[rows]
            # A datum is sent to a memory once, in the order of its first reader there.
            keys = (source * self._handles + handle) * self._memories + there
            first = np.sort(np.unique(keys, return_index=True)[1])
            self._write("written", source[first], handle[first], there[first])
            there = memory[self._target]
            rows = np.flatnonzero(there != self._home)
            self._write("initial", self._target[rows], self._initial[rows], there[rows])

    def _write(self, name: str, task: Int64, handle: Int64, memory: Int64) -> None:
        count = len(task)
        values = self._columns[name]
        values[0 : 2 * count : 2] = handle
        values[1 : 2 * count : 2] = memory
        self.lengths[self.names.index(name)] = 2 * count
        pairs = np.bincount(task, minlength=self._tasks)
        np.cumsum(2 * pairs, out=self._columns[f"{name}_ptr"][1:])
