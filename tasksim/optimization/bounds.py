"""Tight lower bounds on the makespan: a linear program of areas, paths and windows of time.

The mixed bound of Agullo, Beaumont, Eyraud-Dubois and Kumar ("Are static schedules so bad?", IPDPS
2016) takes areas and critical paths together: how much of each task each class of workers runs is
one decision. Here it also knows windows, as energetic reasoning does: all tasks that have work of
length *a* before them and of length *b* behind them run between *a* and the makespan less *b*.
Copies, memories and costs of the runtime are left out, so each bound holds with them, too.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.errors import InputError
from tasksim.graph.analysis import bottom_levels
from tasksim.native.cores import usable_cores
from tasksim.optimization.schedule import with_classes_merged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.csr import Int64
    from tasksim.optimization.replayer import Replayer
    from tasksim.platform.description import Platform
    from tasksim.schedulers.static.problem import Problem

__all__ = ["MAX_MIXED_TASKS", "Binding", "TightBound", "mixed_bound", "tight_bounds"]

MAX_MIXED_TASKS: Final = 3_000
"""Most tasks for the mixed bound: HiGHS takes minutes for more."""
WINDOW_LEVELS: Final = 24
"""Number of lengths before and behind that windows are made of, quantiles of those of the tasks."""
MAX_ROUNDS: Final = 30
"""Most solutions of the program, each with the windows that the one before it violates."""
WINDOWS_PER_ROUND: Final = 20
"""Most violated windows that a round adds."""
SAFETY: Final = 1e-6
"""Relative reduction of a bound, for the tolerances of HiGHS."""


class Binding(NamedTuple):
    """What a bound consists of, by the dual values of its program, in shares of the bound."""

    classes: dict[str, float]
    """The load of each class of workers: by this share of a relative change of its size the bound
    changes the other way."""
    path: float
    """Dependencies: paths of tasks that run one after the other."""
    kernels: dict[str, float]
    """The tasks of each kernel, in loads and on paths: by this share the bound grows with their
    duration."""
    idle: float
    """Starts and ends, where too few tasks can run for all workers of a class."""


class TightBound(NamedTuple):
    """A lower bound, with its computing time and what binds."""

    name: str
    value_s: float
    took_s: float
    binding: Binding | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the bound as commands print it."""
        binding = None if self.binding is None else self.binding._asdict()
        return {**self._asdict(), "binding": binding}


def heads_and_tails(problem: Problem) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the longest path before and behind each task, with each task on its fastest class."""
    fastest = problem.costs_s.min(axis=1, initial=np.inf)
    tails = bottom_levels(problem.graph, fastest) - fastest
    heads = np.zeros(problem.tasks)
    bounds, sources = problem.edges.target_ptr.tolist(), problem.edges.source.tolist()
    by_target = problem.edges.by_target.tolist()
    ends = [0.0] * problem.tasks
    lengths = fastest.tolist()
    for task in range(problem.tasks):  # submission order: predecessors first
        rows = by_target[bounds[task] : bounds[task + 1]]
        first = max((ends[sources[row]] for row in rows), default=0.0)
        heads[task] = first
        ends[task] = first + lengths[task]
    return heads, np.maximum(tails, 0.0)


def mixed_bound(problem: Problem, class_names: tuple[str, ...]) -> TightBound:
    """Return the bound by areas, paths and windows.

    Parameters
    ----------
    problem : Problem
        Tasks, durations and workers.
    class_names : tuple of str
        A name for each class of workers.
    """
    begun = time.perf_counter()
    if not problem.tasks or not np.isfinite(problem.costs_s).any():
        return TightBound("mixed", 0.0, time.perf_counter() - begun)
    scale = float(problem.costs_s.min(axis=1).sum())
    if not scale:
        return TightBound("mixed", 0.0, time.perf_counter() - begun)
    program = _Program(problem, scale)
    for _ in range(MAX_ROUNDS):
        program.solve()
        if not program.add_violated():
            break
    value_s = program.value * scale * (1 - SAFETY)
    return TightBound("mixed", value_s, time.perf_counter() - begun, program.binding(class_names))


def tight_bounds(replayer: Replayer, solver_s: float = 0.0) -> list[TightBound]:
    """Return the mixed bound, and the solver's if it may run for *solver_s* seconds.

    Raises :exc:`InputError` if there are more than :data:`MAX_MIXED_TASKS` tasks.
    """
    problem = with_classes_merged(replayer.problem)
    if problem.tasks > MAX_MIXED_TASKS:
        raise InputError(
            f"tight bounds are for at most {MAX_MIXED_TASKS} tasks; graph {replayer.graph.name} "
            f"has {problem.tasks}"
        )
    mixed = mixed_bound(problem, class_names(replayer.platform, problem))
    if not solver_s or not problem.tasks:
        return [mixed]
    from tasksim.optimization.solver import SolverLimit, bound_of

    begun = time.perf_counter()
    limit = SolverLimit(solver_s, None, len(usable_cores()), 0)
    found = bound_of(problem, limit, at_least_s=mixed.value_s)
    return [mixed, TightBound("solver", found, time.perf_counter() - begun)]


def class_names(platform: Platform, problem: Problem) -> tuple[str, ...]:
    """Return a name for each class of *problem*, after its architecture or its first worker."""
    firsts = [int(np.argmax(problem.class_of == c)) for c in range(problem.costs_s.shape[1])]
    names = [platform.workers[worker].architecture for worker in firsts]
    return tuple(
        name if names.count(name) == 1 else platform.workers[worker].name
        for name, worker in zip(names, firsts, strict=True)
    )


class _Program:
    """The linear program: the makespan, starts, and the share of each task on each class.

    Columns are the makespan, the start of each task, then a pair of a task and a class each. Rows
    are inequalities with a right-hand side; windows are added by and by.
    """

    def __init__(self, problem: Problem, scale: float) -> None:
        from scipy import sparse

        self._problem = problem
        tasks, classes = problem.costs_s.shape
        self._counts = np.bincount(problem.class_of, minlength=classes)
        legal = np.isfinite(problem.costs_s) & (self._counts > 0)
        self._task, self._group = np.nonzero(legal)
        self._cost = problem.costs_s[self._task, self._group] / scale
        first, pairs = 1 + tasks, len(self._task)
        self._columns = first + pairs
        pair = first + np.arange(pairs)
        heads, tails = heads_and_tails(problem)
        self._heads, self._tails = heads / scale, tails / scale
        of_task = sparse.csr_matrix((self._cost, (self._task, pair)), shape=(tasks, self._columns))
        own = sparse.csr_matrix(
            (np.ones(tasks), (np.arange(tasks), 1 + np.arange(tasks))),
            shape=(tasks, self._columns),
        )
        source, target = problem.edges.source, problem.edges.target
        end = own + of_task
        makespan = sparse.csr_matrix(
            (np.ones(tasks), (np.arange(tasks), np.zeros(tasks, int))),
            shape=(tasks, self._columns),
        )
        self._edges = len(source)
        self._rows = [end[source] - own[target], end - makespan]
        self._limits = [np.zeros(len(source)), np.zeros(tasks)]
        self._window_rows: list[tuple[int, float, float, Int64]] = []
        self._equal = sparse.csr_matrix(
            (np.ones(pairs), (self._task, pair)), shape=(tasks, self._columns)
        )
        self._bounds = np.zeros((self._columns, 2))
        self._bounds[:, 1] = np.inf
        self._known: set[tuple[int, float, float]] = set()
        self._levels = (_quantiles(self._heads), _quantiles(self._tails))
        for group in range(classes):
            if self._counts[group]:
                self._add(group, 0.0, 0.0)
        self.value = 0.0
        self._found: Any = None

    def solve(self) -> None:
        """Solve the program as it is."""
        from scipy import sparse
        from scipy.optimize import linprog

        objective = np.zeros(self._columns)
        objective[0] = 1.0
        # The stubs know dense matrices alone.
        given: dict[str, Any] = {
            "A_ub": sparse.vstack(self._rows, format="csr"),
            "b_ub": np.concatenate(self._limits),
            "A_eq": self._equal,
            "b_eq": np.ones(self._problem.tasks),
            "bounds": self._bounds,
        }
        found: Any = linprog(objective, method="highs", **given)
        if found.status == 0 and found.fun > self.value:
            self.value = float(found.fun)
        self._found = found

    def add_violated(self) -> bool:
        """Add the windows that the solution violates most; return whether there are any."""
        if self._found.status:
            return False
        share = self._found.x[1 + self._problem.tasks :]
        load = share * self._cost
        makespan = self._found.x[0]
        violated = []
        for before in self._levels[0]:
            for behind in self._levels[1]:
                inside = (self._heads >= before) & (self._tails >= behind)
                if not inside.any():  # such a window may be longer than the makespan
                    continue
                sums = np.bincount(self._group, load * inside[self._task], len(self._counts))
                excess = sums - self._counts * (makespan - before - behind)
                for group in np.flatnonzero(excess > 1e-6 * makespan).tolist():
                    if self._counts[group] and (group, before, behind) not in self._known:
                        violated.append((float(excess[group]), group, before, behind))
        violated.sort(reverse=True)
        for _, group, before, behind in violated[:WINDOWS_PER_ROUND]:
            self._add(group, before, behind)
        return bool(violated)

    def binding(self, class_names: tuple[str, ...]) -> Binding | None:
        """Return what the bound consists of."""
        if self._found.status or not self.value:
            return None
        duals = -self._found.ineqlin.marginals
        tasks = self._problem.tasks
        share = self._found.x[1 + tasks :]
        length = np.bincount(self._task, share * self._cost, tasks)
        on_path = (
            np.bincount(self._problem.edges.source, duals[: self._edges], tasks)
            + duals[self._edges : self._edges + tasks]
        )
        of_task = on_path * length
        path = float(duals[self._edges : self._edges + tasks].sum())
        classes = np.zeros(len(self._counts))
        idle = 0.0
        for dual, (group, before, behind, rows) in zip(
            duals[self._edges + tasks :], self._window_rows, strict=True
        ):
            classes[group] += dual * self._counts[group]
            idle += dual * self._counts[group] * (before + behind)
            of_task += np.bincount(self._task[rows], dual * share[rows] * self._cost[rows], tasks)
        graph = self._problem.graph
        kernels = np.bincount(graph.kernel, of_task, len(graph.kernels)) / self.value
        return Binding(
            {name: float(value) for name, value in zip(class_names, classes, strict=True)},
            path,
            {name: float(value) for name, value in zip(graph.kernels, kernels, strict=True)},
            float(idle / self.value),
        )

    def _add(self, group: int, before: float, behind: float) -> None:
        """Add the window of one class: the load of its tasks fits between both lengths."""
        from scipy import sparse

        inside = (self._heads >= before) & (self._tails >= behind)
        rows = np.flatnonzero((self._group == group) & inside[self._task])
        columns = np.concatenate(([0], 1 + self._problem.tasks + rows))
        values = np.concatenate(([-float(self._counts[group])], self._cost[rows]))
        row = sparse.csr_matrix(
            (values, (np.zeros(len(columns), int), columns)), shape=(1, self._columns)
        )
        self._rows.append(row)
        self._limits.append(np.array([-self._counts[group] * (before + behind)]))
        self._window_rows.append((group, before, behind, rows))
        self._known.add((group, before, behind))


def _quantiles(values: NDArray[np.float64]) -> list[float]:
    """Return some of *values*, evenly spread, the smallest and the largest among them."""
    distinct = np.unique(np.concatenate(([0.0], values)))
    places = np.linspace(0, len(distinct) - 1, min(len(distinct), WINDOW_LEVELS))
    found: list[float] = distinct[np.unique(np.rint(places).astype(int))].tolist()
    return found
