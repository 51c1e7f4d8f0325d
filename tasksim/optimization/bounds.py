"""Tight lower bounds on the makespan: a linear program of areas, paths and windows of time.

The mixed bound of Agullo, Beaumont, Eyraud-Dubois and Kumar ("Are static schedules so bad?", IPDPS
2016) takes areas and critical paths together: the share of each task on each class of workers is
one decision. Here it also has windows, as energetic reasoning does: all tasks that have work of
length *a* before them and of length *b* behind them run between *a* and the makespan less *b*.
It may include the copies that no schedule avoids (:mod:`tasksim.optimization.copies`). Full
memories and costs of the runtime are left out, so each bound holds with them, too.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.errors import InputError
from tasksim.optimization.boundprogram import BoundProgram
from tasksim.optimization.copies import ROUNDING_S, LeastCopies
from tasksim.optimization.schedule import with_classes_merged, with_near_classes_merged

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.optimization.boundprogram import BoundShares
    from tasksim.optimization.replayer import Replayer
    from tasksim.optimization.windows import Window
    from tasksim.platform.description import Platform
    from tasksim.schedulers.static.problem import Problem

__all__ = [
    "MAX_COPIED_TASKS",
    "MAX_MIXED_TASKS",
    "TIGHT_BOUNDS",
    "TightBound",
    "class_names",
    "mixed_bound",
    "tight_bounds",
]

MAX_MIXED_TASKS: Final = 3_000
"""Most tasks for the mixed bound: HiGHS takes minutes for more."""
MAX_COPIED_TASKS: Final = 500
"""Most tasks for the mixed bound with copies, whose program is some three times as large."""
TIGHT_BOUNDS: Final = 3
"""Largest number of tight bounds of a graph."""
SAFETY_MARGIN: Final = 1e-6
"""Relative reduction of a bound, for the tolerances of HiGHS."""


class TightBound(NamedTuple):
    """A lower bound, with its computing time and what binds."""

    name: str
    value_s: float
    took_s: float
    binding: BoundShares | None = None
    windows: tuple[Window, ...] = ()
    """Windows of time that limit it, for the solver."""

    def to_json(self) -> dict[str, Any]:
        """Return the bound as commands print it."""
        binding = None if self.binding is None else self.binding._asdict()
        return {
            "name": self.name,
            "value_s": self.value_s,
            "took_s": self.took_s,
            "binding": binding,
        }


def mixed_bound(
    problem: Problem,
    class_names: tuple[str, ...] | None,
    platform: Platform | None = None,
    *,
    time_s: float = math.inf,
) -> TightBound:
    """Return the bound by areas, paths and windows.

    Parameters
    ----------
    problem : Problem
        Tasks, durations and workers.
    class_names : tuple of str or None
        A name for each class of workers; None if nobody asks what binds.
    platform : Platform, optional
        Memories and links, for the copies that no schedule avoids; by default, copies do not count.
    time_s : float, default infinity
        Time for the solutions of the program, in seconds; windows found later are left out of the
        bound.
    """
    begun = time.perf_counter()
    name = "mixed" if platform is None else "mixed_with_copies"
    if not problem.costs_s.min(axis=1).sum():
        return TightBound(name, 0.0, time.perf_counter() - begun)
    program = BoundProgram(problem, None if platform is None else LeastCopies(platform, problem))
    value_s = program.solved_s(time_s) * (1 - SAFETY_MARGIN)
    if platform is not None:
        value_s = max(0.0, value_s - ROUNDING_S * problem.tasks)
    took_s = time.perf_counter() - begun
    binding = None if class_names is None else program.binding(class_names)
    return TightBound(name, value_s, took_s, binding, program.windows())


def tight_bounds(
    replayer: Replayer,
    solver_s: float = 0.0,
    begin: Callable[[str], None] = lambda _bound: None,
) -> list[TightBound]:
    """Return the mixed bound, the one with copies if there are any, and the solver's.

    The solver runs for *solver_s* seconds, or not at all. *begin* is called with each bound before
    it is computed: at most :data:`TIGHT_BOUNDS` times.

    Raises :exc:`InputError` if there are more than :data:`MAX_MIXED_TASKS` tasks.
    """
    problem = with_classes_merged(replayer.problem)
    if problem.tasks > MAX_MIXED_TASKS:
        raise InputError(
            f"tight bounds are for at most {MAX_MIXED_TASKS} tasks; graph {replayer.graph.name} "
            f"has {problem.tasks}"
        )
    names = class_names(replayer.platform, problem)
    begin("mixed bound")
    found = [mixed_bound(problem, names)]
    apart = LeastCopies(replayer.platform, problem).apart
    if apart and problem.tasks <= MAX_COPIED_TASKS:
        begin("mixed bound with copies")
        found.append(mixed_bound(problem, names, replayer.platform))
    if not solver_s or not problem.tasks:
        return found
    from tasksim.optimization.solver import SolverLimit, bound_of, workers_by_clock

    begin("solver's bound")
    begun = time.perf_counter()
    limit = SolverLimit(solver_s, None, workers_by_clock(), 0)
    known_s = max(bound.value_s for bound in found)
    windows = found[-1].windows
    near = with_near_classes_merged(problem, replayer.platform)
    if near.costs_s.shape != problem.costs_s.shape:
        # With fewer classes, the solver proves more than it loses.
        problem, copies = near, replayer.platform if len(found) > 1 else None
        windows = mixed_bound(near, None, copies).windows
    value_s = bound_of(
        problem,
        limit,
        at_least_s=known_s,
        makespan_s=_quick_makespan_s(replayer),
        platform=replayer.platform,
        windows=windows,
    )
    return [*found, TightBound("solver", value_s, time.perf_counter() - begun)]


def _quick_makespan_s(replayer: Replayer) -> float:
    """Return the makespan of the schedule that gives each task the worker where it ends first.

    Copies do not count for the choice, but for the makespan, which is replayed.
    """
    problem = replayer.problem
    edges = problem.edges
    bounds, sources = edges.target_ptr.tolist(), edges.source[edges.by_target].tolist()
    free, end = np.zeros(problem.workers), np.zeros(problem.tasks)
    worker = np.zeros(problem.tasks, np.int64)
    length = problem.costs_s[:, problem.class_of]
    for task in range(problem.tasks):  # submission order: predecessors first
        ready = end[sources[bounds[task] : bounds[task + 1]]].max(initial=0.0)
        ends = np.maximum(free, ready) + length[task]
        worker[task] = chosen = int(np.argmin(ends))
        free[chosen] = end[task] = ends[chosen]
    return replayer.makespan_s(worker, np.arange(problem.tasks))


def class_names(platform: Platform, problem: Problem) -> tuple[str, ...]:
    """Return a name for each class of *problem*, after its architecture or its first worker."""
    firsts = [int(np.argmax(problem.class_of == c)) for c in range(problem.costs_s.shape[1])]
    names = [platform.workers[worker].architecture for worker in firsts]
    return tuple(
        name if names.count(name) == 1 else platform.workers[worker].name
        for name, worker in zip(names, firsts, strict=True)
    )
