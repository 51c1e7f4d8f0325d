"""The linear program of the mixed bound: areas, paths, windows of time, and least copies."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.optimization.copies import copied_flows
from tasksim.optimization.windows import Windows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.csr import Int64
    from tasksim.optimization.copies import CopiedFlows, LeastCopies
    from tasksim.optimization.windows import Window
    from tasksim.schedulers.static.problem import Problem

__all__ = ["BoundProgram", "BoundShares"]

MAX_ROUNDS: Final = 60
"""Most solutions of the program, each with the windows that the one before it violates."""
STALLED_ROUNDS: Final = 6
"""Rounds after which the bound must be longer by :data:`LEAST_GAIN`, or it is final."""
LEAST_GAIN: Final = 1e-4
"""Share of the bound that these rounds must add."""
FULL_TOLERANCE: Final = 1e-6
"""Room left in a window, as a share of the bound, up to which the window is filled."""


class BoundShares(NamedTuple):
    """Shares of a bound that each limit accounts for, by the dual values of its program."""

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
    links: dict[str, float]
    """The load of each link with copies: as for classes."""
    copies: float
    """Copies between dependent tasks, and on links: by this share the bound grows with their
    duration."""


class _Waits(NamedTuple):
    """Cost of each dependency beside its tasks: a copy into the site of the reader."""

    site_of_class: Int64
    of_edge_s: NDArray[np.float64]
    """By dependency and site, for a task before it at another one."""
    at_start_s: NDArray[np.float64]
    """By task and site, for the data that no task writes."""


def _heads_and_tails(
    problem: Problem, waits: _Waits
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the longest path before and behind each task on each class, with the least copies.

    The shape is (tasks, classes). Tasks on a path are each on the class that makes it shortest.
    """
    edges, cost = problem.edges, problem.costs_s
    site = waits.site_of_class
    apart = site[:, None] != site[None, :]
    bounds, sources = edges.target_ptr.tolist(), edges.source.tolist()
    by_target = edges.by_target.tolist()
    starts, targets = edges.ptr.tolist(), edges.target.tolist()
    wait = waits.of_edge_s[:, site]
    heads = waits.at_start_s[:, site].copy()
    tails = np.zeros_like(heads)
    for task in range(problem.tasks):  # submission order: predecessors first
        for row in by_target[bounds[task] : bounds[task + 1]]:
            before = sources[row]
            end = heads[before] + cost[before]
            reached = (end[:, None] + apart * wait[row]).min(axis=0)
            np.maximum(heads[task], reached, out=heads[task])
    for task in range(problem.tasks - 1, -1, -1):
        for row in range(starts[task], starts[task + 1]):
            behind = cost[targets[row]] + tails[targets[row]]
            needed = (apart * wait[row] + behind).min(axis=1)
            np.maximum(tails[task], needed, out=tails[task])
    return heads, tails


class BoundProgram:
    """The linear program: the makespan, starts, and the share of each task on each class.

    Columns are the makespan, the start of each task, then a pair of a task and a class each, then,
    with copies, a version of a datum and a site that it is copied into. Rows are inequalities in
    blocks; windows are added by and by. Times are shares of the sum of all tasks.

    Parameters
    ----------
    problem : Problem
        Tasks, durations and workers.
    copies : LeastCopies or None
        The copies that no schedule avoids; None if copies do not count.
    """

    def __init__(self, problem: Problem, copies: LeastCopies | None) -> None:
        self._problem = problem
        self._scale = float(problem.costs_s.min(axis=1).sum())
        tasks, classes = problem.costs_s.shape
        self._counts = np.bincount(problem.class_of, minlength=classes)
        legal = np.isfinite(problem.costs_s) & (self._counts > 0)
        self._task, self._group = np.nonzero(legal)
        self._cost = problem.costs_s[self._task, self._group] / self._scale
        self._pair = 1 + tasks + np.arange(len(self._task))
        self._rows: dict[str, Any] = {}
        self._limits: dict[str, NDArray[np.float64]] = {}
        self._columns = 1 + tasks + len(self._task)
        edges = len(problem.edges.source)
        waits = _Waits(np.zeros(classes, np.int64), np.zeros((edges, 1)), np.zeros((tasks, 1)))
        flows = None
        if copies is not None and copies.apart:
            flows = copied_flows(problem, copies)
            waits = _waits_of(problem, flows, copies)
        self._load_of_links: tuple[str, ...] = ()
        if copies is not None and flows is not None:
            self._add_links(flows, copies)
        self._add_paths(waits)
        heads, tails = _heads_and_tails(problem, waits)
        path = (heads + problem.costs_s + tails).min(axis=1).max() / self._scale
        self._heads, self._tails = (
            table[self._task, self._group] / self._scale for table in (heads, tails)
        )
        self._windows: list[Window] = []
        self._window_rows: list[Any] = []
        self._possible = Windows(
            problem, self._task, self._group, self._cost, self._heads, self._tails
        )
        for group in np.flatnonzero(self._counts).tolist():
            self._add_window(self._possible.whole(group))
        self._value = float(path)
        self._found: Any = None

    def solved_s(self, time_s: float = math.inf) -> float:
        """Return the bound in seconds, with the windows that matter.

        After *time_s*, it is the bound of the last solution, or of the longest path without one.
        """
        end_s = time.perf_counter() + time_s
        values = [self._value] * STALLED_ROUNDS
        for _ in range(MAX_ROUNDS):
            left_s = end_s - time.perf_counter()
            if left_s <= 0:
                break
            self._solve(left_s)
            values.append(self._value)
            stalled = self._value < values[-STALLED_ROUNDS] * (1 + LEAST_GAIN)
            if (stalled and len(values) > 2 * STALLED_ROUNDS) or not self._add_violated():
                break
        return self._value * self._scale

    def windows(self) -> tuple[Window, ...]:
        """Return the windows that limit the bound, and the window of each whole class.

        These are the ones that the last solution fills or violates; all without a solution.
        """
        room = np.zeros(len(self._windows))
        if self._found is not None and not self._found.status:
            # Windows that were added after the last solution have no slack yet: it violates them.
            room[: self._solved] = self._found.slack[-self._solved :]
            room /= max(self._value, self._found.fun)
        return tuple(
            window._replace(
                after_s=window.after_s * self._scale, before_s=window.before_s * self._scale
            )
            for window, left in zip(self._windows, room.tolist(), strict=True)
            if left <= FULL_TOLERANCE or (window.source < 0 and window.target < 0)
        )

    def binding(self, class_names: tuple[str, ...]) -> BoundShares | None:
        """Return the shares of the bound that each limit accounts for; None without a solution."""
        if self._found is None or self._found.status or not self._found.fun:
            return None
        # The dual values of the rows, by block.
        ends = np.cumsum([len(limit) for limit in self._limits.values()])
        parts = np.split(-self._found.ineqlin.marginals, ends)
        duals = dict(zip((*self._limits, "windows"), parts, strict=True))
        edges, tasks, value = self._problem.edges, self._problem.tasks, self._found.fun
        share = self._found.x[self._pair]
        length = np.bincount(self._task, share * self._cost, tasks)
        source = edges.source
        on_path = np.bincount(source, duals["dependencies"], tasks) + duals["ends"]
        copied_s = 0.0
        if "copies" in duals:
            on_path += np.bincount(source[self._copied_edges], duals["copies"], tasks)
            copied_s = float(duals["copies"] @ (self._copied @ self._found.x))
            copied_s += float(duals["initial"] @ (self._initial @ self._found.x))
        links = duals.get("links", np.zeros(0))
        copied_s += float(links.sum()) * value
        of_task = on_path * length
        classes = np.zeros(len(self._counts))
        idle = 0.0
        start = self._found.x[1 : 1 + tasks]
        # The last windows may have been added after the last solution.
        solved = self._windows[: self._solved]
        for dual, window in zip(duals["windows"], solved, strict=True):
            if not dual:
                continue
            price = dual * self._counts[window.group]
            room = value if window.target < 0 else start[window.target]
            if window.source >= 0:
                room -= start[window.source] + length[window.source]
                of_task[window.source] += price * length[window.source]
            classes[window.group] += price * room / value
            idle += price * (window.after_s + window.before_s)
            rows = self._possible.rows_of(window)
            of_task += np.bincount(self._task[rows], dual * share[rows] * self._cost[rows], tasks)
        graph = self._problem.graph
        kernels = np.bincount(graph.kernel, of_task, len(graph.kernels)) / value
        named = zip(self._load_of_links, links.tolist(), strict=True)
        return BoundShares(
            {name: float(share) for name, share in zip(class_names, classes, strict=True)},
            max(0.0, 1.0 - float(classes.sum() + links.sum())),
            {name: float(share) for name, share in zip(graph.kernels, kernels, strict=True)},
            float(idle / value),
            {name: share for name, share in named if share > 0},
            copied_s / value,
        )

    def _matrix(self, rows: int, *parts: tuple[Any, Any, Any]) -> Any:
        """Return a sparse matrix of *rows* rows; each part has rows, columns and added values."""
        from scipy import sparse

        row, column, value = (
            np.concatenate([np.asarray(part[k]).ravel() for part in parts]) for k in range(3)
        )
        return sparse.csr_matrix((value, (row, column)), shape=(rows, self._columns))

    def _add(self, name: str, matrix: Any) -> None:
        """Add a block of rows that are at most zero."""
        self._rows[name] = matrix
        self._limits[name] = np.zeros(matrix.shape[0])

    def _add_paths(self, waits: _Waits) -> None:
        """Add rows of dependencies, with and without copies, and of ends."""
        tasks, edges = self._problem.tasks, self._problem.edges
        each = np.arange(tasks)
        own = self._matrix(tasks, (each, 1 + each, np.ones(tasks)))
        end = own + self._matrix(tasks, (self._task, self._pair, self._cost))
        makespan = self._matrix(tasks, (each, np.zeros(tasks, int), np.ones(tasks)))
        self._add("dependencies", end[edges.source] - own[edges.target])
        self._add("ends", end - makespan)
        if not waits.of_edge_s.any() and not waits.at_start_s.any():
            return
        row, site = np.nonzero(waits.of_edge_s)
        wait = waits.of_edge_s[row, site] / self._scale
        source, target = edges.source[row], edges.target[row]
        self._copied_edges = row
        self._copied = self._at(target, site, waits, wait) - self._at(source, site, waits, wait)
        self._add("copies", end[source] + self._copied - own[target])
        task, site = np.nonzero(waits.at_start_s)
        wait = waits.at_start_s[task, site] / self._scale
        self._initial = self._at(task, site, waits, wait)
        self._add("initial", self._initial - own[task])

    def _at(self, task: Int64, site: Int64, waits: _Waits, value: NDArray[np.float64]) -> Any:
        """Return rows of *value* times the share of *task* on the classes of *site*."""
        parts = []
        legal = np.full(self._problem.costs_s.shape, -1)
        legal[self._task, self._group] = self._pair
        for group, place in enumerate(waits.site_of_class.tolist()):
            rows = np.flatnonzero((site == place) & (legal[task, group] >= 0))
            parts.append((rows, legal[task[rows], group], value[rows]))
        return self._matrix(len(task), *parts)

    def _add_links(self, flows: CopiedFlows, copies: LeastCopies) -> None:
        """Add columns of copied versions, with their lower bounds and the loads of links."""
        crossed = copies.crossings / copies.capacity_bytes_per_s / self._scale
        used = np.flatnonzero(crossed.any(axis=0))
        flow, site = np.nonzero(
            (flows.home[:, None] != np.arange(copies.sites)) | (flows.source[:, None] >= 0)
        )
        if not len(used) or not len(flow):
            return
        keys, first, place = np.unique(
            flows.version[flow] * copies.sites + site, return_index=True, return_inverse=True
        )
        column = self._columns + np.arange(len(keys))
        self._columns += len(keys)
        waits = _Waits(copies.site_of_class, np.zeros((0, 0)), np.zeros((0, 0)))
        ones = np.ones(len(flow))
        inner = (flows.source[flow] >= 0).astype(np.float64)
        needed = self._at(flows.target[flow], site, waits, ones)
        needed -= self._at(np.maximum(flows.source[flow], 0), site, waits, inner)
        self._add(
            "versions",
            needed - self._matrix(len(flow), (np.arange(len(flow)), column[place.ravel()], ones)),
        )
        load = flows.size_bytes[flow[first]][:, None] * crossed[site[first]][:, used]
        row, link = np.nonzero(load)
        self._load_of_links = tuple(copies.link_names[k] for k in used.tolist())
        self._add(
            "links",
            self._matrix(
                len(used),
                (link, column[row], load[row, link]),
                (np.arange(len(used)), np.zeros(len(used), int), -np.ones(len(used))),
            ),
        )

    def _solve(self, time_s: float) -> None:
        """Solve the program, unless that takes longer than *time_s*."""
        from scipy import sparse
        from scipy.optimize import linprog

        tasks = self._problem.tasks
        objective = np.zeros(self._columns)
        objective[0] = 1.0
        windows = [-self._counts[w.group] * (w.after_s + w.before_s) for w in self._windows]
        self._solved = len(windows)
        ones = np.ones(len(self._task))
        # The stubs know dense matrices alone.
        given: dict[str, Any] = {
            "A_ub": sparse.vstack([*self._rows.values(), *self._window_rows], format="csr"),
            "b_ub": np.concatenate([*self._limits.values(), windows]),
            "A_eq": self._matrix(tasks, (self._task, self._pair, ones)),
            "b_eq": np.ones(tasks),
            "bounds": (0, None),
        }
        options: Any = {} if math.isinf(time_s) else {"time_limit": time_s}
        found: Any = linprog(objective, method="highs", options=options, **given)
        if found.status == 0 and found.fun > self._value:
            self._value = float(found.fun)
        self._found = found

    def _add_violated(self) -> bool:
        """Add the windows that the solution violates most; return whether there are any."""
        if self._found.status:
            return False
        x, tasks = self._found.x, self._problem.tasks
        load = x[self._pair] * self._cost
        start = x[1 : 1 + tasks]
        end = start + np.bincount(self._task, load, tasks)
        known = {window[:5] for window in self._windows}
        violated = [
            window
            for window in self._possible.violated(
                load, np.append(start, x[0]), np.append(end, 0.0), self._value
            )
            if window[:5] not in known
        ]
        for window in violated:
            self._add_window(window)
        return bool(violated)

    def _add_window(self, window: Window) -> None:
        """Add a window of one class: the load of its tasks fits into it."""
        rows = self._possible.rows_of(window)
        zeros = np.zeros(len(rows), int)
        count = float(self._counts[window.group])
        parts = [
            (zeros, self._pair[rows], self._cost[rows]),
            ([0], [1 + window.target], [-count]),  # the makespan is the first column
        ]
        if window.source >= 0:
            own = np.flatnonzero(self._task == window.source)
            parts.append(([0], [1 + window.source], [count]))
            parts.append((np.zeros(len(own), int), self._pair[own], count * self._cost[own]))
        self._window_rows.append(self._matrix(1, *parts))
        self._windows.append(window)


def _waits_of(problem: Problem, flows: CopiedFlows, copies: LeastCopies) -> _Waits:
    """Return the least waits for the copies of *flows*."""
    edges, tasks = problem.edges, problem.tasks
    into_s = copies.into_s(flows.size_bytes)
    inner = flows.source >= 0
    of_edge_s = np.zeros((len(edges.source), copies.sites))
    row = np.searchsorted(
        edges.source * tasks + edges.target, flows.source[inner] * tasks + flows.target[inner]
    )
    np.maximum.at(of_edge_s, row, into_s[inner])
    at_start_s = np.zeros((tasks, copies.sites))
    away = flows.home[:, None] != np.arange(copies.sites)
    np.maximum.at(at_start_s, flows.target[~inner], (into_s * away)[~inner])
    return _Waits(copies.site_of_class, of_edge_s, at_start_s)
