"""Series of replays on the compiled core, with many seeds and many draws of costs.

The core gets the common part of all replays once, and writes its answers into arrays that are
reused.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np

from tasksim.core import interface
from tasksim.engine.compiled.answers import ended, read_tasks
from tasksim.run.recordtables import task_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import TaskTable

__all__ = ["CoreInput", "Desk", "Series"]

T = TypeVar("T")

SEED_RANGE: Final = 2**64
"""Limit of the core's seeds; Python's may be any number."""


class CoreInput(NamedTuple):
    """The core's input for all replays of a series, and the objects to which it points."""

    graph: TaskGraph
    flat_graph: int | None
    flat_platform: int | None
    question: interface.Question
    policy: interface.Scheduler
    kept: list[Any]


class Series:
    """Replays of the core that differ only in seeds and costs, for several threads at once.

    Parameters
    ----------
    given : CoreInput
        The core's input for all replays.

    See Also
    --------
    tasksim.engine.compiled.replay.CompiledReplay.series : Make a series.
    """

    def __init__(self, given: CoreInput) -> None:
        self._given = given
        self._desks: list[Desk] = []

    def replay(self, seed: int, costs: NDArray[np.float64], look: Callable[[Desk], T]) -> T | None:
        """Return the result of *look* on the ended replay; None if the replay failed.

        A single replay with the same seed and costs then raises the error.
        """
        if not 0 <= seed < SEED_RANGE:
            return None
        try:
            desk = self._desks.pop()
        except IndexError:
            desk = Desk(self._given)
        try:
            return look(desk) if desk.run(seed, costs) else None
        finally:
            desk.clear()
            self._desks.append(desk)


class Desk:
    """Buffers for replays one after the other, with the core's input and space for its answer."""

    def __init__(self, given: CoreInput) -> None:
        core = interface.functions()
        assert core is not None  # it has made the flat graph
        self._core, self._graph, self._given = core, given.graph, given
        self._question = interface.Question.from_buffer_copy(given.question)
        self._policy = interface.Scheduler.from_buffer_copy(given.policy)
        self._status, self._outcome = ctypes.c_int32(), interface.Outcome()
        self._told = (
            given.flat_graph, given.flat_platform,
            ctypes.byref(self._question), ctypes.byref(self._policy), None,
            ctypes.byref(self._status), ctypes.byref(self._outcome),
        )  # fmt: skip
        self._totals, self._taken_s = interface.Totals(), np.empty(len(given.graph))
        self._answers = self._taken_s.ctypes.data, ctypes.byref(self._totals)
        self._handle: int | None = None

    def run(self, seed: int, costs: NDArray[np.float64]) -> bool:
        """Replay with *seed* and *costs*; return whether the replay ended without an error."""
        self._costs = costs = np.ascontiguousarray(costs, np.float64)
        self._policy.seed, self._question.costs = seed, costs.ctypes.data
        self._handle = handle = self._core.tasksim_replay_new(*self._told)
        return (
            handle is not None
            and ended(self._core.tasksim_replay_go_on, handle) == interface.CallStatus.DONE
        )

    def clear(self) -> None:
        """Free the last replay."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._core.tasksim_replay_free(handle)

    def totals(self) -> tuple[interface.Totals, float]:
        """Return the core's totals, valid until the next replay, and the sum of durations."""
        self._core.tasksim_replay_totals(self._handle, *self._answers)
        return self._totals, float(self._taken_s.sum())

    def table(self) -> TaskTable:
        """Return the task table of the last replay."""
        read = partial(self._core.tasksim_replay_tasks, self._handle)
        return task_table(self._graph, read_tasks(read, len(self._graph)))
