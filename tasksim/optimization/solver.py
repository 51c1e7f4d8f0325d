"""The constraint model of a schedule, solved by CP-SAT of OR-Tools (extra ``optimize``).

Workers of a class share one cumulative resource, so identical workers are not told apart; a single
worker is a resource without overlap. Of copies it has those that no schedule avoids, as waits of
their readers (:mod:`tasksim.optimization.copies`). Shared links and costs of the runtime are left
out: bounds of the model hold for any schedule, and its schedules are judged by their replays.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.extras import is_installed, require
from tasksim.engine.ticks import TICKS_PER_S
from tasksim.native.this_machine import usable_cores
from tasksim.optimization.copies import ROUNDING_S, LeastCopies, copied_flows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tasksim.graph.csr import Int64
    from tasksim.optimization.windows import Window
    from tasksim.platform.description import Platform
    from tasksim.schedulers.static.problem import Problem

__all__ = [
    "COARSE_STEP_SHARE",
    "MAX_SOLVER_TASKS",
    "MIN_COARSE_UNITS",
    "Solved",
    "SolverLimit",
    "Solving",
    "bound_of",
    "has_solver",
    "refuse_missing_solver",
    "unit_count",
    "workers_by_clock",
]

MAX_SOLVER_TASKS: Final = 400
"""Most tasks of a whole graph for the solver: for more, its bounds hardly pass those of the LP."""
MAX_MAKESPAN_UNITS: Final = 100_000
"""Most units of time in a makespan, unless durations have a common divisor that gives fewer.

The solver is slower with more; rounding down costs a path of 100 tasks at most .1 % of the bound.
"""
MIN_WORKERS: Final = 8
"""Least number of the solver's workers where the clock ends it, on however many cores.

Each worker has a strategy of its own, and with few some are missing: of the job shop ft10, eight on
two cores find the optimum in 15 s of a processor, and two do not.
"""
COARSE_STEP_SHARE: Final = 2e-3
"""Share of the makespan that a step of the coarse objective is.

For Cholesky of 8 tiles on mirage, 4e-3 proves 135.25 ms in 8 s of a processor, and 1e-3 in 25 s;
steps of 1.5 us prove 132.8 ms in 45 s. All have no schedule to start from: with one, the solver
improves it for much of its time.
"""
MIN_COARSE_UNITS: Final = 10_000
"""Least makespan in units of time for a coarse objective; a job shop has hundreds."""
LENGTH_TOLERANCE: Final = 1e-9
"""Relative reduction of the lengths of windows, for rounding errors of their sums."""
WAIT_S: Final = 0.05
"""Interval in seconds at which Ctrl-C is noticed while the solver runs on a thread of its own."""


def has_solver() -> bool:
    """Return whether OR-Tools is installed."""
    return is_installed("ortools")


def workers_by_clock() -> int:
    """Return the number of the solver's workers where the clock ends it."""
    return max(MIN_WORKERS, len(usable_cores()))


def refuse_missing_solver() -> None:
    """Raise :exc:`InputError` unless OR-Tools is installed."""
    require("ortools", "the solver", "annealing")


def unit_count(problem: Problem, makespan_s: float) -> int:
    """Return the length of a makespan in units: the largest that divides all durations."""
    finite = problem.costs_s[np.isfinite(problem.costs_s)]
    ticks = np.rint(finite * TICKS_PER_S).astype(np.int64)
    divisor = int(np.gcd.reduce(ticks[ticks > 0], initial=0)) or 1
    return int(makespan_s * TICKS_PER_S) // divisor


class SolverLimit(NamedTuple):
    """The end of a solve: by the clock, in seconds, or by the solver's own deterministic time."""

    time_s: float | None
    deterministic: float | None
    threads: int
    seed: int


class Solved(NamedTuple):
    """Result of a solve."""

    bound_s: float
    """Lower bound on the makespan of the model, in seconds."""
    optimal: bool
    """Whether the best schedule of the model was proven to be so."""
    start_s: NDArray[np.float64] | None
    """Starts of the tasks in the best schedule; None if there is no schedule."""
    group: Int64 | None
    """Class of workers of each task in it."""


def bound_of(
    problem: Problem,
    limit: SolverLimit,
    *,
    at_least_s: float,
    makespan_s: float | None = None,
    platform: Platform | None = None,
    windows: Sequence[Window] = (),
) -> float:
    """Return the lower bound that the solver proves within *limit*, in seconds.

    *makespan_s* is the makespan of a known schedule, if there is one. Other arguments are those of
    :class:`Solving`.
    """
    if makespan_s is not None and math.isfinite(makespan_s):
        grain = COARSE_STEP_SHARE if unit_count(problem, makespan_s) >= MIN_COARSE_UNITS else 0.0
        solving = Solving(problem, at_least_s, makespan_s, platform, windows, grain)
        return max(at_least_s, solving.solve(limit).bound_s)
    # A first schedule: one task after the other, each on its fastest class.
    group = problem.costs_s.argmin(axis=1).astype(np.int64)
    fastest = problem.costs_s[np.arange(problem.tasks), group]
    solving = Solving(problem, at_least_s, float(fastest.sum()), platform, windows)
    solving.hint(np.cumsum(fastest) - fastest, group)
    return max(at_least_s, solving.solve(limit).bound_s)


class Solving:
    """The model of a problem, to be solved once.

    Parameters
    ----------
    problem : Problem
        Tasks, durations and workers.
    at_least_s : float
        A known lower bound on the makespan, in seconds.
    makespan_s : float
        The makespan of some schedule, in seconds; it decides how finely time is counted.
    platform : Platform, optional
        Memories and links, for the copies that no schedule avoids; by default, copies do not count.
    windows : sequence of Window, optional
        Windows of time of the mixed bound, which the solver's relaxation does not find by itself.
    grain : float, default 0
        Share of the makespan below which schedules are equally good. The solver proves bounds
        sooner with a coarse objective, and finds worse schedules.
    """

    def __init__(
        self,
        problem: Problem,
        at_least_s: float,
        makespan_s: float,
        platform: Platform | None = None,
        windows: Sequence[Window] = (),
        grain: float = 0.0,
    ) -> None:
        from ortools.sat.python import cp_model

        self._problem = problem
        ticks = np.where(np.isfinite(problem.costs_s), problem.costs_s, -1.0)
        self._ticks = np.where(ticks < 0, -1, np.rint(ticks * TICKS_PER_S)).astype(np.int64)
        # Shorter durations only lower the bound, and keep each schedule possible.
        copies = None if platform is None else LeastCopies(platform, problem)
        waits = [] if copies is None or not copies.apart else self._waits(copies)
        self._rounding_s = ROUNDING_S * problem.tasks if waits else 0.0
        exact = int(np.gcd.reduce(self._ticks[self._ticks > 0], initial=0)) or 1
        exact = math.gcd(exact, *(wait for *_, wait in waits))
        self._unit = max(exact, int(makespan_s * TICKS_PER_S / MAX_MAKESPAN_UNITS))
        sizes = np.where(self._ticks < 0, -1, self._ticks // self._unit)
        counts = np.bincount(problem.class_of, minlength=sizes.shape[1]).tolist()
        self._model = model = cp_model.CpModel()
        horizon = int(np.where(sizes < 0, 0, sizes).max(axis=1).sum())
        horizon += sum(wait // self._unit for *_, wait in waits)
        # Longer schedules are of no use, and the solver reasons with the room that is left.
        known_s = (makespan_s + self._rounding_s) * (1 + LENGTH_TOLERANCE)
        horizon = min(horizon, int(known_s * TICKS_PER_S) // self._unit)
        known = at_least_s * TICKS_PER_S / self._unit
        # Where the unit divides all durations, it divides the makespan.
        least = math.ceil(known - 1e-6) if self._unit == exact else math.floor(known)
        least = min(horizon, least)
        self._end = model.new_int_var(least, horizon, "makespan")
        self._start = [model.new_int_var(0, horizon, f"s{task}") for task in range(problem.tasks)]
        self._chosen: list[dict[int, Any]] = []
        self._length: list[Any] = []
        intervals, work = self._add_tasks(sizes, counts)
        for source, target in zip(
            problem.edges.source.tolist(), problem.edges.target.tolist(), strict=True
        ):
            model.add(self._start[source] + self._length[source] <= self._start[target])
        for c, count in enumerate(counts):
            if not intervals[c]:
                continue
            if count == 1:
                model.add_no_overlap(intervals[c])
            else:
                model.add_cumulative(intervals[c], [1] * len(intervals[c]), count)
            model.add(sum(work[c]) <= count * self._end)
        if copies is not None:
            self._add_waits(waits, copies.site_of_class)
        for window in windows:
            self._add_window(window, sizes, counts)
        self._exclude_commuting()
        self._step = max(1, int(grain * horizon))
        self._minimize(horizon)

    def _add_tasks(
        self, sizes: Int64, counts: Sequence[int]
    ) -> tuple[list[list[Any]], list[list[Any]]]:
        """Add the choice of a class of workers for each task; return intervals and work by class.

        *sizes* are the durations of tasks (rows) on classes in units, -1 where a task cannot run;
        *counts* are the numbers of workers.
        """
        model = self._model
        intervals: list[list[Any]] = [[] for _ in counts]
        work: list[list[Any]] = [[] for _ in counts]
        for task, row in enumerate(sizes.tolist()):
            legal = [c for c, size in enumerate(row) if size >= 0 and counts[c]]
            start = self._start[task]
            if len(legal) == 1:
                (c,) = legal
                self._chosen.append({c: model.new_constant(1)})
                self._length.append(row[c])
                intervals[c].append(model.new_fixed_size_interval_var(start, row[c], f"i{task}"))
                work[c].append(row[c])
                model.add(start + row[c] <= self._end)
                continue
            chosen = {c: model.new_bool_var(f"x{task},{c}") for c in legal}
            model.add_exactly_one(chosen.values())
            self._chosen.append(chosen)
            self._length.append(sum(chosen[c] * row[c] for c in legal))
            for c, literal in chosen.items():
                intervals[c].append(
                    model.new_optional_fixed_size_interval_var(
                        start, row[c], literal, f"i{task},{c}"
                    )
                )
                work[c].append(literal * row[c])
            model.add(start + self._length[task] <= self._end)
        return intervals, work

    def _waits(self, copies: LeastCopies) -> list[tuple[int, int, int, int]]:
        """Return the source, the target, the site and the ticks of each copy that may be needed.

        A source of -1 is the start.
        """
        flows = copied_flows(self._problem, copies)
        ticks = np.rint(copies.into_s(flows.size_bytes) * TICKS_PER_S).astype(np.int64)
        longest: dict[tuple[int, int, int], int] = {}
        for row, site in zip(*(part.tolist() for part in np.nonzero(ticks)), strict=True):
            source = int(flows.source[row])
            if source >= 0 or flows.home[row] != site:
                key = (source, int(flows.target[row]), site)
                longest[key] = max(longest.get(key, 0), int(ticks[row, site]))
        return [(*key, wait) for key, wait in longest.items()]

    def _add_waits(self, waits: list[tuple[int, int, int, int]], site_of_class: Int64) -> None:
        """Let readers of data from another site wait for a copy."""
        site: list[int] = site_of_class.tolist()
        model = self._model
        for source, target, place, ticks in waits:
            wait = ticks // self._unit
            for c, chosen in self._chosen[target].items():
                if site[c] != place:
                    continue
                if source < 0:
                    model.add(self._start[target] >= wait).only_enforce_if(chosen)
                    continue
                for other, before in self._chosen[source].items():
                    if site[other] != place:
                        model.add(
                            self._start[source] + self._length[source] + wait <= self._start[target]
                        ).only_enforce_if([chosen, before])

    def _add_window(self, window: Window, sizes: Int64, counts: Sequence[int]) -> None:
        """Let the work of a window fit into it; lengths are rounded so that it is no shorter."""
        group = window.group
        after, before = (
            int(length_s * (1 - LENGTH_TOLERANCE) * TICKS_PER_S) // self._unit
            for length_s in (window.after_s, window.before_s)
        )
        work = [
            self._chosen[task][group] * int(sizes[task, group]) for task in window.tasks.tolist()
        ]
        room = (self._end if window.target < 0 else self._start[window.target]) - after - before
        if window.source >= 0:
            room -= self._start[window.source] + self._length[window.source]
        self._model.add(sum(work) <= counts[group] * room)

    def _exclude_commuting(self) -> None:
        """Let tasks that commute on a datum exclude each other."""
        by_handle: dict[int, list[int]] = {}
        for task, handles in self._problem.commuting.items():
            for handle in handles:
                by_handle.setdefault(handle, []).append(task)
        for handle, tasks in by_handle.items():
            if len(tasks) < 2:
                continue
            model = self._model
            rows = []
            for task in tasks:
                end = model.new_int_var(0, 2**62, f"e{handle},{task}")
                size = model.new_int_var(0, 2**62, f"l{handle},{task}")
                model.add(size == self._length[task])
                start = self._start[task]
                rows.append(model.new_interval_var(start, size, end, f"c{handle},{task}"))
            model.add_no_overlap(rows)

    def _minimize(self, horizon: int) -> None:
        """Let the solver minimize the makespan, in its steps."""
        if self._step == 1:
            self._model.minimize(self._end)
            return
        steps = self._model.new_int_var(0, horizon // self._step + 1, "steps")
        self._model.add(self._end <= self._step * steps)
        self._model.minimize(steps)

    def hint(self, start_s: NDArray[np.float64], group: Int64) -> None:
        """Give the solver a schedule to start from."""
        for task, (start, c) in enumerate(zip(start_s.tolist(), group.tolist(), strict=True)):
            self._model.add_hint(self._start[task], round(start * TICKS_PER_S) // self._unit)
            if len(self._chosen[task]) > 1:  # otherwise it is a constant
                for other, chosen in self._chosen[task].items():
                    self._model.add_hint(chosen, other == c)

    def solve(
        self,
        limit: SolverLimit,
        found: Callable[[NDArray[np.float64], Int64], None] | None = None,
        bounded: Callable[[float], None] | None = None,
    ) -> Solved:
        """Solve the model within *limit*.

        *found* is called with the starts and classes of each better schedule, *bounded* with each
        better lower bound in seconds.
        """
        from ortools.sat.python import cp_model

        solver = cp_model.CpSolver()
        given = solver.parameters
        given.random_seed = limit.seed
        given.num_workers = limit.threads
        given.catch_sigint_signal = False
        if limit.time_s is not None:
            given.max_time_in_seconds = limit.time_s
        if limit.deterministic is not None:
            given.max_deterministic_time = limit.deterministic
            given.interleave_search = True
        reader = self

        class Callback(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
            def on_solution_callback(self) -> None:
                if found is not None:
                    found(*reader._schedule(self))

        callback = Callback()
        if bounded is not None:
            solver.best_bound_callback = lambda value: bounded(self._bound_s(value))
        status = _solved_apart(solver, self._model, callback)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            bound = 0.0 if status == cp_model.INFEASIBLE else solver.best_objective_bound
            return Solved(self._bound_s(bound), False, None, None)
        bound_s = self._bound_s(solver.best_objective_bound)
        return Solved(bound_s, status == cp_model.OPTIMAL, *self._schedule(solver))

    def _bound_s(self, objective: float) -> float:
        """Return the bound in seconds for a bound on the objective."""
        # The least makespan that takes as many steps.
        units = (math.ceil(objective - 1e-6) - 1) * self._step + 1
        return max(0.0, units * self._unit / TICKS_PER_S - self._rounding_s)

    def _schedule(self, solver: Any) -> tuple[NDArray[np.float64], Int64]:
        """Return the starts and classes of the tasks in the solution of *solver*."""
        scale = self._unit / TICKS_PER_S
        start = np.array([solver.value(variable) for variable in self._start]) * scale
        group = np.array(
            [
                next(c for c, variable in chosen.items() if solver.value(variable))
                for chosen in self._chosen
            ],
            np.int64,
        )
        return start, group


def _solved_apart(solver: Any, model: Any, callback: Any) -> Any:
    """Return the status of a solve on a thread of its own, so that Ctrl-C stops it at once."""
    result: list[Any] = []
    thread = threading.Thread(target=lambda: result.append(solver.solve(model, callback)))
    thread.start()
    try:
        while thread.is_alive():
            thread.join(WAIT_S)
    except BaseException:
        solver.stop_search()
        thread.join()
        raise
    return result[0]
