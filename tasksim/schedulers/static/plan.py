"""Static plan of a graph, with the worker, the start and the end of each task.

A task may go into a gap between tasks placed before (the insertion-based policy of HEFT;
H. Topcuoglu, S. Hariri, M.-Y. Wu, "Performance-effective and low-complexity task scheduling for
heterogeneous computing", IEEE TPDS 13(3), 2002, section 5.1).
"""

from __future__ import annotations

import copy
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import expect
from tasksim.run.record import Run
from tasksim.schedulers.static.problem import memory_of_class

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats, Ints
    from tasksim.schedulers.static.problem import Problem

__all__ = ["Countdown", "Frontier", "Plan", "Timeline", "Timetable", "schedule_of"]


MAX_LISTED_MEMORIES = 8
"""Most memories for which arrivals are computed without arrays, each of which takes time."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A static schedule, one entry per task in task order.

    Parameters
    ----------
    worker : ndarray of int32
        The worker of each task, by number.
    start_s : ndarray of float64
        The start of each task in seconds, for estimated durations.
    end_s : ndarray of float64
        The end of each task in seconds, for estimated durations.

    See Also
    --------
    tasksim.schedulers.static.plan : Make a plan by the name of an algorithm.
    schedule_of : Make a plan from a recorded run.

    Examples
    --------
    >>> made = Plan(np.array([0, 1]), np.array([0.0, 0.5]), np.array([1.0, 2.0]))
    >>> len(made), made.makespan_s, made.orders(workers=2)
    (2, 2.0, [[0], [1]])
    """

    worker: NDArray[np.int32]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.worker)

    @property
    def makespan_s(self) -> float:
        """The planned end of the last task, in seconds."""
        return float(self.end_s.max(initial=0.0))

    def orders(self, workers: int) -> list[list[int]]:
        """Return the tasks of each of *workers* workers in planned order."""
        # A task of no length comes before another task that starts at the same time.
        order = np.lexsort((np.arange(len(self)), self.end_s, self.start_s))
        found: list[list[int]] = [[] for _ in range(workers)]
        for task, worker in zip(order.tolist(), self.worker[order].tolist(), strict=True):
            found[worker].append(task)
        return found


def schedule_of(run: Run) -> Plan:
    """Return the schedule of a recorded *run* as a plan, to be repeated or changed.

    Parameters
    ----------
    run : Run
        A simulated or native run.

    Raises
    ------
    InputError
        If *run* is not a run.

    See Also
    --------
    tasksim.schedulers.static.write_schedule : Write a plan to a file.

    Examples
    --------
    >>> import tasksim
    >>> graph = tasksim.generate("chain", length=3, duration=1.0)
    >>> run = tasksim.simulate(graph, tasksim.Platform.identical(1))
    >>> schedule_of(run).start_s
    array([0., 1., 2.])
    """
    expect(run, Run, "run")
    tasks = run.tasks
    order = np.argsort(tasks.task, kind="stable")
    return Plan(tasks.worker[order].astype(np.int32), tasks.start_s[order], tasks.end_s[order])


class Timeline:
    """The gaps of one worker in ascending order; the last one has no end.

    Gaps shorter than *least* are dropped, because no task fits into them.
    """

    __slots__ = ("_ends", "_least", "_starts")

    def __init__(self, least: float = 0.0) -> None:
        self._starts, self._ends = [0.0], [inf]
        self._least = least

    def copy(self) -> Timeline:
        """Return a copy."""
        made = Timeline(self._least)
        made._starts, made._ends = self._starts[:], self._ends[:]
        return made

    def earliest(self, ready: float, duration: float) -> float:
        """Return the earliest start, not before *ready*, of a task of this *duration*."""
        place = bisect_left(self._ends, ready + duration)
        while True:
            start = max(self._starts[place], ready)
            if start + duration <= self._ends[place]:
                return start
            place += 1

    def occupy(self, start: float, duration: float) -> None:
        """Occupy the time from *start* on, a result of :meth:`earliest`."""
        place = bisect_right(self._starts, start) - 1
        before, after = self._starts[place], self._ends[place]
        end = start + duration
        left = [(before, start)] if start > before and start - before >= self._least else []
        right = [(end, after)] if after > end and after - end >= self._least else []
        self._starts[place : place + 1] = [gap[0] for gap in left + right]
        self._ends[place : place + 1] = [gap[1] for gap in left + right]


class Timetable:
    """A plan for *problem* in the making, to which tasks are added one by one.

    The predecessors of a task are placed before it; those that are not do not delay it. Tasks that
    commute on a datum exclude each other, and run in the order in which they are placed.

    Attributes
    ----------
    problem
        The problem that is planned.
    free
        Per worker, the end of the last task placed there: from here on it has no tasks.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.free = np.zeros(problem.workers)
        least = problem.costs_s.min(axis=0, initial=inf)
        least[~np.isfinite(least)] = 0.0
        self._timelines = [Timeline(float(least[group])) for group in problem.class_of]
        self._memory_of: list[int] = problem.memory_of.tolist()
        self._class_of: list[int] = problem.class_of.tolist()
        self._several = problem.memories > 1
        self._waits = _Waits(problem)
        self._last_commuting: dict[int, int] = {}
        self._worker = [-1] * problem.tasks
        self._start = [0.0] * problem.tasks
        # Inputs from tasks that a trial of lookahead has not placed keep nobody waiting.
        self._end = [-inf] * problem.tasks

    def arrivals(self, task: int) -> list[float]:
        """Return, per memory, the time in seconds at which all inputs of *task* can be there."""
        rows = self._waits.rows(task)
        sources = self._waits.source[rows]
        ends = [self._end[source] for source in sources]
        if not self._several:
            latest = max([0.0, *ends])
            return [max(latest, self._exclusive(task))]
        if self._waits.columns is not None:
            return self._few_arrivals(task, rows, ends)
        arrival = self._waits.initial(task)
        if sources:
            memory = [self._memory_of[self._worker[source]] for source in sources]
            latency_s, per_byte_s = self.problem.latency_s, self.problem.seconds_per_byte
            copies, size = self._waits.copies[rows], self._waits.size[rows]
            times = latency_s[memory] * copies + per_byte_s[memory] * size
            arrival = np.maximum(arrival, (times + np.array(ends)[:, None]).max(axis=0))
        if task in self.problem.commuting:
            arrival = np.maximum(arrival, self._exclusive(task))
        found: list[float] = arrival.tolist()
        return found

    def _few_arrivals(self, task: int, rows: slice, ends: list[float]) -> list[float]:
        """Return the same for few memories, without arrays: they cost more than the sums."""
        waits = self._waits
        assert waits.columns is not None
        copies, size, latency_s, seconds_per_byte = waits.columns
        found: list[float] = waits.initial(task).tolist()
        inputs = zip(waits.source[rows], ends, copies[rows], size[rows], strict=True)
        for source, end, count, bytes_ in inputs:
            memory = self._memory_of[self._worker[source]]
            times = zip(found, latency_s[memory], seconds_per_byte[memory], strict=True)
            found = [
                max(before, (wait * count + inverse * bytes_) + end)
                for before, wait, inverse in times
            ]
        if task in self.problem.commuting:
            latest = self._exclusive(task)
            found = [max(before, latest) for before in found]
        return found

    def starts(self, task: int) -> list[float]:
        """Return, per worker, the earliest start of *task*; infinite if it cannot run there."""
        arrival = self.arrivals(task)
        costs: list[float] = self.problem.costs_s[task].tolist()
        found = []
        for timeline, memory, group in zip(
            self._timelines, self._memory_of, self._class_of, strict=True
        ):
            cost = costs[group]
            found.append(inf if cost == inf else timeline.earliest(arrival[memory], cost))
        return found

    def starts_after_all(self, task: int) -> list[float]:
        """Return, per worker, the earliest start of *task* after all tasks that are placed there.

        It is infinite if the worker cannot run the task.
        """
        arrival = self.arrivals(task)
        costs: list[float] = self.problem.costs_s[task].tolist()
        return [
            inf if costs[group] == inf else max(free, arrival[memory])
            for free, memory, group in zip(
                self.free.tolist(), self._memory_of, self._class_of, strict=True
            )
        ]

    def end(self, task: int) -> float:
        """Return the end of *task*, which is placed."""
        return self._end[task]

    def worker(self, task: int) -> int:
        """Return the worker of *task*, which is placed; -1 if it is not."""
        return self._worker[task]

    def ends(self, task: int, starts: list[float]) -> list[float]:
        """Return, per worker, the end of *task* for its start in *starts*."""
        costs: list[float] = self.problem.costs_s[task].tolist()
        return [start + costs[group] for start, group in zip(starts, self._class_of, strict=True)]

    def place_earliest(self, task: int, *, insertion: bool = True) -> None:
        """Place *task* on the worker where it ends first; a tie goes to the lowest number.

        With *insertion*, it may go into a gap between tasks.
        """
        starts = self.starts(task) if insertion else self.starts_after_all(task)
        ends = self.ends(task, starts)
        worker = ends.index(min(ends))
        self.place(task, worker, starts[worker])

    def place(self, task: int, worker: int, start: float) -> float:
        """Place *task* on *worker* from *start* on; return its end."""
        duration = float(self.problem.costs_s[task, self._class_of[worker]])
        self._timelines[worker].occupy(start, duration)
        self._worker[task], self._start[task] = worker, start
        self._end[task] = end = start + duration
        self.free[worker] = max(self.free[worker], end)
        for handle in self.problem.commuting.get(task, ()):
            self._last_commuting[handle] = task
        return end

    def copy(self) -> Timetable:
        """Return a copy, to try placements with."""
        made = copy.copy(self)
        made.free = self.free.copy()
        made._timelines = [timeline.copy() for timeline in self._timelines]
        made._last_commuting = dict(self._last_commuting)
        made._worker, made._start, made._end = self._worker[:], self._start[:], self._end[:]
        return made

    def plan(self) -> Plan:
        """Return the plan after all tasks have been placed."""
        return Plan(
            np.array(self._worker, dtype=np.int32), np.array(self._start), np.array(self._end)
        )

    def _exclusive(self, task: int) -> float:
        """Return the latest end of the placed tasks that commute with *task*."""
        handles = self.problem.commuting.get(task, ())
        last = (self._last_commuting.get(handle) for handle in handles)
        return max((self._end[other] for other in last if other is not None), default=0.0)


class Countdown:
    """A counter, per task of *problem*, of the predecessors that are not placed yet."""

    def __init__(self, problem: Problem) -> None:
        edges = problem.edges
        self._missing: list[int] = np.diff(edges.target_ptr).tolist()
        self._target: list[int] = edges.target.tolist()
        self._bounds: list[int] = edges.ptr.tolist()
        self.first = [task for task, count in enumerate(self._missing) if not count]
        """The tasks without predecessors."""

    def placed(self, task: int) -> list[int]:
        """Note that *task* is placed; return the tasks whose last predecessor it was."""
        released = []
        for after in self._target[self._bounds[task] : self._bounds[task + 1]]:
            self._missing[after] -= 1
            if not self._missing[after]:
                released.append(after)
        return released


class Frontier:
    """The tasks whose predecessors are all placed, with their arrivals on each worker.

    Rows of the arrays are the tasks, in no order. Columns are the workers or, *by_class*, their
    classes, of which the worker that is free first counts: the workers of a class are identical.
    """

    def __init__(self, problem: Problem, *, by_class: bool = False) -> None:
        self.table = Timetable(problem)
        """The plan so far."""
        self._countdown = Countdown(problem)
        self._column_of = problem.class_of if by_class else np.arange(problem.workers)
        self._memory_of = memory_of_class(problem) if by_class else problem.memory_of
        self._costs_s = problem.costs_s if by_class else problem.costs_s[:, problem.class_of]
        self._never = np.where(np.isinf(self._costs_s), inf, 0.0)
        """Infinite where a task cannot run, added to its arrivals once rather than asked each time.
        """
        self._workers_of: list[Ints] = []
        """The workers of each class, by class."""
        self._free = self.table.free
        """When the first worker of each column is free; 0 for a class without workers."""
        if by_class:
            classes = range(len(self._memory_of))
            self._workers_of = [np.flatnonzero(problem.class_of == one) for one in classes]
            self._free = np.zeros(len(classes))
        self._count = 0
        self._task = np.zeros(16, dtype=np.int64)
        self._arrival = np.zeros((16, len(self._memory_of)))
        """Infinite where no worker of the column can run the task."""
        self._cost = np.zeros((16, len(self._memory_of)))
        for task in self._countdown.first:
            self._add(task)

    def __len__(self) -> int:
        return self._count

    @property
    def tasks(self) -> Ints:
        """The number of the task of each row."""
        return self._task[: self._count]

    @property
    def costs(self) -> Floats:
        """The duration of each task in each column, in seconds."""
        return self._cost[: self._count]

    def starts(self) -> Floats:
        """Return the earliest start of each task in each column, after all tasks placed there.

        It is infinite if no worker of the column can run the task.
        """
        starts: Floats = np.maximum(self._arrival[: self._count], self._free)
        return starts

    def least(self, *values: Floats) -> tuple[int, int]:
        """Return the task and the worker of the least value.

        Parameters
        ----------
        *values
            Values of each task on each worker. A tie in the first is decided by the second, and so
            on; a tie in all of them by the lowest number of the task, then of the worker.
        """
        row, worker = np.nonzero(values[0] == values[0].min())
        keys = [value[row, worker] for value in values[:0:-1]]
        first = np.lexsort((worker, self.tasks[row], *keys))[0]
        return int(self.tasks[row[first]]), int(worker[first])

    def place(self, task: int, worker: int) -> None:
        """Place *task* on *worker* after all tasks there, and add the tasks that are ready then."""
        self._place(self._row(task), worker)

    def _place(self, row: int, worker: int) -> None:
        task, column = int(self._task[row]), int(self._column_of[worker])
        arrival = float(self._arrival[row, column])
        self.table.place(task, worker, max(arrival, float(self.table.free[worker])))
        if self._workers_of:
            self._free[column] = self.table.free[self._workers_of[column]].min()
        self._count -= 1
        for values in (self._task, self._arrival, self._cost):
            values[row] = values[self._count]
        self._delay(task)
        for after in self._countdown.placed(task):
            self._add(after)

    def place_earliest(self, task: int) -> None:
        """Place *task* on the worker where it ends first; a tie goes to the lowest number."""
        row, column = self._row(task), self._column_of
        starts = np.maximum(self.table.free, self._arrival[row, column])
        self._place(row, int((starts + self._cost[row, column]).argmin()))

    def _row(self, task: int) -> int:
        return int(np.flatnonzero(self.tasks == task)[0])

    def _add(self, task: int) -> None:
        if self._count == len(self._task):
            self._task = np.concatenate((self._task, self._task))
            self._arrival = np.concatenate((self._arrival, self._arrival))
            self._cost = np.concatenate((self._cost, self._cost))
        row = self._count
        self._task[row] = task
        self._cost[row] = self._costs_s[task]
        self._arrival[row] = self._arrivals(task)
        self._count += 1

    def _arrivals(self, task: int) -> Floats:
        """Return when the data of *task* can be in each column; never where it cannot run."""
        arrivals: Floats = np.array(self.table.arrivals(task))[self._memory_of] + self._never[task]
        return arrivals

    def _delay(self, placed: int) -> None:
        """Delay the tasks that commute with *placed*."""
        commuting = self.table.problem.commuting
        if placed not in commuting:
            return
        handles = set(commuting[placed])
        for row, task in enumerate(self.tasks.tolist()):
            if not handles.isdisjoint(commuting.get(task, ())):
                self._arrival[row] = self._arrivals(task)


class _Waits:
    """The inputs that each task waits for: rows by task, with their sources, copies and bytes."""

    def __init__(self, problem: Problem) -> None:
        edges = problem.edges
        order = edges.by_target
        self._bounds: list[int] = edges.target_ptr.tolist()
        self.source: list[int] = edges.source[order].tolist()
        self.copies = edges.copies[order][:, None]
        self.size = edges.size_bytes[order][:, None]
        self._zero = np.zeros(problem.memories)
        self.columns: tuple[list[float], list[float], list[list[float]], list[list[float]]] | None
        """The same as lists, with latencies and times per byte, if there are few memories."""
        self.columns = None
        if 1 < problem.memories <= MAX_LISTED_MEMORIES:
            self.columns = (
                edges.copies[order].tolist(),
                edges.size_bytes[order].tolist(),
                problem.latency_s.tolist(),
                problem.seconds_per_byte.tolist(),
            )
        self._initial: dict[int, Floats] = {}
        """Per task with data that no task writes, their arrival per memory; copies begin at 0."""
        if problem.memories > 1 and len(problem.initial.task):
            initial = problem.initial
            times = problem.latency_s[initial.home] + (
                problem.seconds_per_byte[initial.home] * initial.size_bytes[:, None]
            )
            first = np.flatnonzero(np.diff(initial.task, prepend=-1)).tolist()
            for begin, end in pairwise([*first, len(times)]):
                self._initial[int(initial.task[begin])] = times[begin:end].sum(axis=0)

    def rows(self, task: int) -> slice:
        """Return the rows of the predecessors of *task*."""
        return slice(self._bounds[task], self._bounds[task + 1])

    def initial(self, task: int) -> Floats:
        """Return, per memory, the arrival of the data that *task* reads and no task writes."""
        return self._initial.get(task, self._zero)
