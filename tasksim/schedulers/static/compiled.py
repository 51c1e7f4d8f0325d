"""Static plans by the compiled core: the same bytes as those of the planners in Python, sooner.

``core/planning/planners.cpp`` has the same algorithms, with the same ties and the same order of
sums. A planner in Python asks :func:`compiled_plan` first, and plans itself if the answer is None.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.interruption import give_up_if_asked
from tasksim.schedulers.static.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tasksim.core import interface
    from tasksim.schedulers.static.problem import Problem

__all__ = ["compiled_plan"]

MAX_UNINTERRUPTED_TASKS: Final = 1000
"""Most tasks that are planned in one call: it takes some milliseconds at most, so that Ctrl-C needs
no other thread, which takes .1 ms."""
POLL_S: Final = 0.05
"""Time in seconds after which Ctrl-C is noticed while another thread plans."""


def compiled_plan(problem: Problem, name: str, *numbers: float) -> Plan | None:
    """Return the plan of the algorithm *name*, or None if Python has to plan.

    That is so without the core, without tasks, and for durations or times that the core refuses:
    Python has the error messages.

    Parameters
    ----------
    problem : Problem
        The problem to plan.
    name : str
        The name of the scheduler.
    *numbers : float
        The options that ``tasksim_plan`` in ``core/tasksim_core.h`` lists for this algorithm.
    """
    from tasksim.core import interface  # for plans: commands that only list schedulers need no core

    core = interface.functions()
    tasks = problem.tasks
    if core is None or not tasks:
        return None
    given = _structure(problem)
    if given is None:
        return None
    # One array for all three, because each one, and each address, takes a microsecond.
    kept = np.empty(3 * tasks)
    start, end, worker = kept[:tasks], kept[tasks : 2 * tasks], kept[2 * tasks :]
    plan = Plan(worker.view(np.int32)[:tasks], start, end)
    at = kept.ctypes.data
    made = interface.PlanMade(at + 16 * tasks, at, at + 8 * tasks)
    options = (ctypes.c_double * len(numbers))(*numbers)

    def call(given: interface.Planning) -> int:
        status: int = core.tasksim_plan(given, name.encode(), options, len(numbers), made)
        return status

    status = call(given) if tasks <= MAX_UNINTERRUPTED_TASKS else _interruptibly(call, given)
    if status == interface.CallStatus.NO_MEMORY:
        raise MemoryError(f"the core has no memory for a plan of {tasks} tasks")
    return plan if status == interface.CallStatus.DONE else None


def _structure(problem: Problem) -> interface.Planning | None:
    """Return *problem* for the core; None if its durations do not lie as the core reads them."""
    if (made := vars(problem).get("_compiled")) is not None:
        found: interface.Planning = made
        return found
    from tasksim.core import interface

    columns = (problem.costs_s, problem.latency_s, problem.seconds_per_byte)
    if any(column.dtype != np.float64 or not column.flags.c_contiguous for column in columns):
        return None
    known = vars(problem).get("_compiled_graph")
    if known is None:
        known = vars(problem)["_compiled_graph"] = _Graph(problem)
    given = interface.Planning.from_buffer_copy(known.structure)
    given.cost, given.latency_s, given.seconds_per_byte = (c.ctypes.data for c in columns)
    given.size = problem.edges.size_bytes.ctypes.data
    vars(problem)["_compiled"] = given  # for the next plan
    return given


class _Graph:
    """The arrays of a problem that do not depend on durations, bandwidths and sizes of data.

    Problems that differ by these alone share them.
    """

    def __init__(self, problem: Problem) -> None:
        from tasksim.core import interface
        from tasksim.graph.csr import pointers_of_counts

        edges, initial = problem.edges, problem.initial
        self._kept: list[NDArray[Any]] = []
        self.structure = interface.Planning(
            tasks=problem.tasks,
            workers=problem.workers,
            classes=problem.costs_s.shape[1],
            memories=problem.memories,
            edges=len(edges.source),
            initials=len(initial.task),
            handles=len(problem.graph.handle_size),
            class_of=self._at(problem.class_of, np.int64),
            memory_of=self._at(problem.memory_of, np.int64),
            ptr=self._at(edges.ptr, np.int64),
            source=self._at(edges.source, np.int64),
            target=self._at(edges.target, np.int64),
            copies=self._at(edges.copies, np.float64),
            by_target=self._at(edges.by_target, np.int64),
            target_ptr=self._at(edges.target_ptr, np.int64),
            initial_task=self._at(initial.task, np.int64),
            initial_home=self._at(initial.home, np.int64),
            initial_size=self._at(initial.size_bytes, np.float64),
        )
        commuting = problem.commuting
        if commuting:
            counts = np.array([len(commuting.get(task, ())) for task in range(problem.tasks)])
            handles = [handle for task in sorted(commuting) for handle in commuting[task]]
            self.structure.commuting_ptr = self._at(pointers_of_counts(counts), np.int64)
            self.structure.commuting_handle = self._at(handles, np.int64)

    def _at(self, values: NDArray[Any] | Sequence[int], dtype: type[np.generic]) -> int:
        """Return the address of *values*, which are kept."""
        self._kept.append(np.ascontiguousarray(values, dtype))
        return self._kept[-1].ctypes.data


def _interruptibly(call: Callable[[interface.Planning], int], given: interface.Planning) -> int:
    """Return the status of *call*, made in another thread, which Ctrl-C here stops."""
    stop = ctypes.c_int32(0)
    given = type(given).from_buffer_copy(given)
    given.stop = ctypes.addressof(stop)
    found: list[int] = []
    planning = threading.Thread(target=lambda: found.append(call(given)), daemon=True)
    try:
        planning.start()
        while planning.is_alive():
            planning.join(POLL_S)
            give_up_if_asked()
    finally:
        stop.value = 1
        if planning.ident is not None:  # it was started
            planning.join()
    return found[0]
