"""Windows of time of the mixed bound: work that has to fit between two tasks, or the two ends.

All tasks that come at least *a* after the end of a task and at least *b* before the start of
another run between both, so their work on a class of workers fits there. The start and the end of
the schedule take the places of the two tasks, too, as in energetic reasoning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tasksim.graph.csr import Int64
    from tasksim.schedulers.static.problem import Problem

__all__ = ["Window", "Windows"]

WINDOW_LEVELS: Final = 24
"""Number of lengths after and before that windows are made of, quantiles of those of the tasks."""
WINDOWS_PER_ROUND: Final = 60
"""Most violated windows that a round adds."""
MAX_SPANNED_TASKS: Final = 600
"""Most tasks for windows that begin or end with a task: there are pairs of tasks to look at."""
WHOLE_WINDOWS: Final = 10
"""Windows of a class from the start to the end of the schedule that a round may add."""
TRIED_PAIRS: Final = 200
"""Pairs of tasks between which a round looks for windows: those with the most work for its time."""
MIN_EXCESS: Final = 1e-6
"""Share of the makespan by which the work of a window exceeds it for the window to be added."""


class Window(NamedTuple):
    """Work that has to be done on a class of workers within a part of the makespan."""

    group: int
    """The class of workers."""
    source: int
    """The task after whose end the part begins, or -1 for the start of the schedule."""
    target: int
    """The task before whose start the part ends, or -1 for the end of the schedule."""
    after_s: float
    """Length of the path between the source and each task, in seconds: the part begins there."""
    before_s: float
    """Length of the path between each task and the target, in seconds: the part ends there."""
    tasks: Int64
    """The tasks with such paths that the class can run."""


class Windows:
    """The windows of a graph, of which some violate a solution of the linear program.

    Times are in the unit of the program.

    Parameters
    ----------
    problem : Problem
        Tasks and workers.
    task, group : ndarray of int
        The task and the class of each pair of the program.
    cost : ndarray of float
        The duration of each pair.
    heads, tails : ndarray of float
        The longest path before and behind each pair.
    """

    def __init__(
        self,
        problem: Problem,
        task: Int64,
        group: Int64,
        cost: NDArray[np.float64],
        heads: NDArray[np.float64],
        tails: NDArray[np.float64],
    ) -> None:
        self._tasks, self._classes = problem.costs_s.shape
        self._counts = np.bincount(problem.class_of, minlength=self._classes)
        self._task, self._group, self._heads, self._tails = task, group, heads, tails
        shortest, head, tail = (np.full(self._tasks, np.inf) for _ in range(3))
        for least, lengths in ((shortest, cost), (head, heads), (tail, tails)):
            np.minimum.at(least, task, lengths)
        # A task is in a window between tasks whatever its class is, so its paths are the shortest.
        self._head, self._tail = head[task], tail[task]
        spanned = 1 < self._tasks <= MAX_SPANNED_TASKS
        self._between = _paths_between(problem, shortest) if spanned else None

    def rows_of(self, window: Window) -> Int64:
        """Return the pairs whose work is in *window*."""
        after, before = self._lengths(window.source, window.target)
        inside = (after >= window.after_s) & (before >= window.before_s)
        return np.asarray(np.flatnonzero((self._group == window.group) & inside))

    def whole(self, group: int) -> Window:
        """Return the window from the start to the end of the schedule."""
        return self._window(group, -1, -1, 0.0, 0.0)

    def violated(
        self,
        load: NDArray[np.float64],
        start: NDArray[np.float64],
        end: NDArray[np.float64],
        known: float,
    ) -> list[Window]:
        """Return the windows that a solution violates most.

        Parameters
        ----------
        load : ndarray of float
            The work of each pair of the program.
        start, end : ndarray of float
            Start and end of each task; the last places are the end and the start of the schedule.
        known : float
            A lower bound on the makespan.
        """
        found: list[tuple[float, Window]] = []
        least = MIN_EXCESS * float(start[-1])
        for source, target in self._parts(load, start, end):
            room = float(start[target] - end[source])
            found += self._between_two(source, target, room, load, known, least)
        found.sort(key=lambda pair: (-pair[0], pair[1][:5]))
        return [window for _, window in found[:WINDOWS_PER_ROUND]]

    def _parts(
        self, load: NDArray[np.float64], start: NDArray[np.float64], end: NDArray[np.float64]
    ) -> Iterator[tuple[int, int]]:
        """Yield the parts of the makespan to look at: a source and a target each."""
        yield -1, -1
        if self._between is None:
            return
        for task in range(self._tasks):
            yield task, -1
            yield -1, task
        reached = (self._between >= 0).astype(np.float64)
        room = start[None, :-1] - end[:-1, None]
        excess = np.full(reached.shape, -np.inf)
        for group in np.flatnonzero(self._counts).tolist():
            mine = self._group == group
            work = np.bincount(self._task[mine], load[mine], self._tasks) / self._counts[group]
            np.maximum(excess, reached @ (work[:, None] * reached) - room, out=excess)
        excess[reached == 0] = -np.inf
        for place in np.argsort(-excess, axis=None, kind="stable")[:TRIED_PAIRS].tolist():
            source, target = divmod(place, self._tasks)
            if reached[source, target]:
                yield source, target

    def _lengths(self, source: int, target: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the length of the path from the source to each pair, and on to the target.

        It is negative where there is no path.
        """
        if self._between is None or (source < 0 and target < 0):
            return self._heads, self._tails
        after = self._head if source < 0 else self._between[source][self._task]
        before = self._tail if target < 0 else self._between[:, target][self._task]
        return after, before

    def _between_two(
        self,
        source: int,
        target: int,
        room: float,
        load: NDArray[np.float64],
        known: float,
        least: float,
    ) -> list[tuple[float, Window]]:
        """Return the most violated windows of each class in one part, with their excess."""
        after, before = self._lengths(source, target)
        reached = np.flatnonzero((after >= 0) & (before >= 0))
        if not len(reached):
            return []
        levels = _quantiles(after[reached]), _quantiles(before[reached])
        places = [
            np.searchsorted(level, lengths[reached], "right") - 1
            for level, lengths in zip(levels, (after, before), strict=True)
        ]
        shape = (self._classes, len(levels[0]), len(levels[1]))
        cell = np.ravel_multi_index((self._group[reached], *places), shape)
        sums = np.bincount(cell, load[reached], int(np.prod(shape))).reshape(shape)
        # The work of all pairs whose paths are at least as long.
        sums = sums[:, ::-1, ::-1].cumsum(axis=1).cumsum(axis=2)[:, ::-1, ::-1]
        lengths = levels[0][:, None] + levels[1][None, :]
        legal = np.ones(lengths.shape, bool)
        if source < 0 and target < 0:
            # With copies, a task need not run on the class whose paths are too long.
            legal = lengths <= known
        most = WHOLE_WINDOWS if source < 0 and target < 0 else 1
        found = []
        for group in np.flatnonzero(self._counts).tolist():
            work = sums[group] / self._counts[group]
            excess = np.where(legal & (work > 0), work - (room - lengths), -np.inf).ravel()
            for place in np.argsort(-excess, kind="stable")[:most].tolist():
                if excess[place] <= least:
                    break
                one, other = divmod(place, len(levels[1]))
                ends = float(levels[0][one]), float(levels[1][other])
                window = self._window(group, source, target, *ends)
                found.append((float(excess[place]), window))
        return found

    def _window(self, group: int, source: int, target: int, after: float, before: float) -> Window:
        """Return a window with its tasks."""
        window = Window(group, source, target, after, before, self._task[:0])
        return window._replace(tasks=self._task[self.rows_of(window)])


def _paths_between(problem: Problem, shortest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the longest path from the end of each task to the start of each other one.

    Tasks on a path have the durations *shortest*; where there is no path, the length is -inf.
    """
    edges = problem.edges
    bounds, sources = edges.target_ptr.tolist(), edges.source[edges.by_target].tolist()
    # A row per target, so that each step is one of whole rows.
    found = np.full((problem.tasks, problem.tasks), -np.inf)
    for task in range(problem.tasks):  # submission order: predecessors first
        row = found[task]
        for source in sources[bounds[task] : bounds[task + 1]]:
            np.maximum(row, found[source] + shortest[source], out=row)
            row[source] = max(row[source], 0.0)
    return found.T


def _quantiles(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return some of *values*, evenly spread, the smallest and the largest among them."""
    distinct = np.unique(values)
    places = np.linspace(0, len(distinct) - 1, min(len(distinct), WINDOW_LEVELS))
    return np.asarray(distinct[np.unique(np.rint(places).astype(int))])
