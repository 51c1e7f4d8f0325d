"""A simulation prepared once, whose plan alone changes from replay to replay."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.arguments import one_of
from tasksim.base.errors import InputError, SchedulerError
from tasksim.engine.choice import ENGINES, plans_of, replayed
from tasksim.engine.compiled.view import KnownView
from tasksim.engine.simulation import Settled
from tasksim.schedulers.static.follower import PlannedFollower
from tasksim.schedulers.static.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.engine.choice import Engine
    from tasksim.engine.simulation import Simulation
    from tasksim.graph.csr import Int64
    from tasksim.run.record import TaskTable

__all__ = ["Replayer"]


class Replayer:
    """Replays of one graph on one platform under any plan.

    The compiled core replays if it is available and supports the simulation; otherwise SimPy's
    engine does, with the same results, hundreds of times slower.

    Parameters
    ----------
    simulation : Simulation
        The simulation; its scheduler and its noise do not count.
    engine : {"auto", "simpy", "compiled"}, default "auto"
        Engine of the replays.

    Attributes
    ----------
    problem : Problem
        The tasks with their costs, the workers, and the flows of data.
    able : ndarray of bool, shape (tasks, workers)
        Whether each worker can run each task.
    replays : int
        The number of replays so far.

    Raises
    ------
    InputError
        If the simulation has several nodes, or no worker can run a task.
    """

    def __init__(self, simulation: Simulation, engine: Engine = "auto") -> None:
        one_of(engine, ENGINES, "engine")
        if simulation.cluster is not None:
            nodes = len(simulation.cluster.nodes)
            raise InputError(f"a plan is for a single node; got {nodes} nodes")
        settled = Settled()
        self._prices = settled.prices(simulation)
        graph, platform = self._prices.graph, simulation.node
        tasks = len(graph)
        nothing = np.zeros(tasks, np.int64), np.arange(tasks)
        self._question = settled.question(
            simulation._replace(noise="none", drawn=None, scheduler=PlannedFollower(*nothing))
        )
        view = KnownView(graph, platform, self._question.costs, self._question.estimates)
        able = np.array(view.able, dtype=np.uint64)
        costs = np.array(self._question.costs, dtype=np.float64)
        for index in range(len(costs)):
            costs[index, (able >> np.uint64(index)) & np.uint64(1) == 0] = np.inf
        self.problem = Problem.of(graph, platform, costs)
        self.able: NDArray[np.bool_] = np.isfinite(self.problem.costs_s)[:, self.problem.class_of]
        nowhere = ~self.able.any(axis=1)
        if nowhere.any():
            task = graph.label(int(np.argmax(nowhere)))
            raise InputError(f"task {task} cannot run on any worker of {platform.name}")
        self.graph, self.platform = graph, platform
        self.replays = 0
        self._plans = None if engine == "simpy" else plans_of(self._question)
        if self._plans is None and engine == "compiled":
            raise InputError("the compiled engine does not replay this; legal: engine auto")
        self._table: TaskTable | None = None

    def beside(self) -> Replayer:
        """Return another replayer of the same question, for another thread."""
        other = copy(self)
        other.replays, other._table = 0, None
        if self._plans is not None:
            other._plans = plans_of(self._question)
        return other

    @property
    def compiled(self) -> bool:
        """Whether the compiled core replays."""
        return self._plans is not None

    def makespan_s(self, worker: Int64, order: Int64, *, moved: bool = True) -> float:
        """Return the makespan of a plan, in seconds; infinite if it cannot be followed.

        Parameters
        ----------
        worker : ndarray of int
            The worker of each task, by number.
        order : ndarray of int
            All tasks; each worker runs its tasks in this order.
        moved : bool, default True
            Whether any task may have another worker than in the last call.
        """
        self.replays += 1
        if self._plans is not None:
            return self._plans.makespan_s(worker, order, moved=moved)
        from dataclasses import replace

        asked = replace(self._question, scheduler=PlannedFollower(worker, order))
        self._table = None
        try:
            done = replayed(asked, 0, "simpy")
        except SchedulerError:
            return float("inf")
        self._table = table = done.replay.records()["tasks"]
        return float(table.end_s.max(initial=0.0))

    def table(self) -> TaskTable:
        """Return the table of tasks of the last replay, which must not have failed."""
        if self._plans is not None:
            return self._plans.table()
        assert self._table is not None
        return self._table
