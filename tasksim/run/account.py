"""Account of a recorded makespan, as time of its tasks and time due to other causes.

The same walk through the run gives the mean costs of the runtime.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.progress import part, watched
from tasksim.graph.csr import transpose
from tasksim.platform.costs import Overheads
from tasksim.run.disturbance import MAX_OWN_GAP_S, has_processor_times
from tasksim.run.metrics import idle_time
from tasksim.run.runchecks import check_run
from tasksim.run.undisturbed import undisturbed_s

if TYPE_CHECKING:
    from tasksim.base.arrays import Bools, Floats
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.numa import NumaUse
    from tasksim.run.record import Run

__all__ = ["WORKER_STATES", "Account", "RunWalk", "account", "runtime_costs", "worker_states"]

WORKER_STATES: Final = "worker_states"
"""Key of the seconds per worker and state, in the origin of an imported run."""


@dataclass(frozen=True)
class Account:
    """Decomposition of a recorded makespan; the parts add up to it.

    Attributes
    ----------
    replayed_s : float
        Makespan if each task, with its recorded worker, order and duration, had started as soon
        as its predecessor on the worker and its dependencies had ended.
    others_s : float or None
        Part of *replayed_s* that others took from tasks; None: unknown.
    submission_s : float
        Increase because tasks cannot start before they are submitted.
    busy_s : float
        Increase due to delays between two tasks of a worker that need not wait: the time of the
        runtime to end a task, and to find and fetch the next one.
    idle_s : float
        Increase due to delays of waiting workers: wake-ups, and tasks that ran on no worker, such
        as a synchronisation or an acquired datum.
    recorded_s : float
        Recorded makespan.
    critical_path_s : float
        Critical path of the graph: a lower bound for any number of workers.
    waiting_s : dict of str -> float or None
        Idle time of all workers, by what they waited for (:class:`tasksim.run.metrics.IdleTime`).
        None: unknown.
    numa : NumaUse or None
        Accesses between memory domains, and by how much longer tasks took for them, which is in
        *replayed_s*; None: the machine has one memory, or it is unknown.
    """

    replayed_s: float
    others_s: float | None
    submission_s: float
    busy_s: float
    idle_s: float
    recorded_s: float
    critical_path_s: float
    waiting_s: dict[str, float | None]
    numa: NumaUse | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        return asdict(self) | {"numa": None if self.numa is None else self.numa.to_json()}


def worker_states(run: Run) -> dict[str, float] | None:
    """Return the seconds that all workers spent in each state, as the trace of *run* tells them.

    None if it tells nothing, as only some traces do (:mod:`tasksim.formats.traces.starpu_workers`).
    """
    origin: Any = run.config.get("recorded")
    states = origin.get(WORKER_STATES) if isinstance(origin, dict) else None
    if not isinstance(states, dict):
        return None
    together: dict[str, float] = {}
    for mine in states.values():
        for state, seconds in mine.items() if isinstance(mine, dict) else ():
            if isinstance(seconds, int | float) and np.isfinite(seconds):
                together[state] = together.get(state, 0.0) + seconds
    return together


def account(run: Run, graph: TaskGraph) -> Account:
    """Return the account of the makespan of *run*, a run of *graph*.

    Parameters
    ----------
    run : Run
        A native run, a run read from a trace, or a simulated one.
    graph : TaskGraph
        The graph that was run.

    Raises
    ------
    CheckFailed
        If the records are inconsistent.
    InputError
        If the run has no tasks.

    See Also
    --------
    tasksim.run.critical.practical_critical_path : The chain of waits that leads to the last task.

    Examples
    --------
    >>> import tasksim
    >>> graph = tasksim.generate("chain", length=3, duration=1.0)
    >>> found = account(tasksim.simulate(graph, workers=1), graph)
    >>> found.replayed_s, found.submission_s, found.recorded_s
    (3.0, 0.0, 3.0)
    """
    check_run(run, graph)
    if not len(run):
        raise InputError("a run without tasks has nothing to account for")
    walk = RunWalk(run, graph)
    nothing = np.zeros(len(run))
    submitted = walk.column(run.tasks.submitted_s)
    # The shares of the time are those of a million tasks.
    with part(0.35):
        replayed = walk.makespan(nothing, nothing)
    with part(0.5):
        with_submission = walk.makespan(submitted, nothing)
    with part(0.85):
        delay, busy = walk.delays(submitted)
    with part(1.0):
        with_busy = walk.makespan(submitted, np.where(busy, delay, 0.0))
    critical = (run.bounds or {}).get("critical_path_s", 0.0)
    return Account(
        replayed_s=replayed,
        others_s=replayed - _alone(run, graph, nothing) if has_processor_times(run) else None,
        submission_s=with_submission - replayed,
        busy_s=with_busy - with_submission,
        idle_s=run.makespan_s - with_busy,
        recorded_s=run.makespan_s,
        critical_path_s=critical,
        waiting_s=idle_time(run).totals(),
        numa=run.numa,
    )


def _alone(run: Run, graph: TaskGraph, nothing: Floats) -> float:
    """Return the makespan of the same schedule without time that others took."""
    tasks = replace(run.tasks, end_s=run.tasks.start_s + undisturbed_s(run, graph))
    return RunWalk(replace(run, tasks=tasks), graph).makespan(nothing, nothing)


class RunWalk:
    """Tasks in the order of their recorded starts, with the predecessors that each waited for."""

    def __init__(self, run: Run, graph: TaskGraph) -> None:
        tasks = run.tasks
        self._of = np.argsort(tasks.task, kind="stable")
        self._start = self.column(tasks.start_s)
        self._end = self.column(tasks.end_s)
        ready, worker = self.column(tasks.ready_s), tasks.worker[self._of]
        number = np.arange(len(graph))
        self._order = np.lexsort((number, ready, self._end, self._start)).tolist()
        ptr, before = transpose(graph.successor_ptr, graph.successors, len(graph))
        self._ptr, self._before = ptr.tolist(), before.tolist()
        self._worker = worker.tolist()
        self._workers = len(run.workers)
        self._took = (self._end - self._start).tolist()

    def column(self, values: Floats) -> Floats:
        """Return *values* of the task table by task number."""
        return values[self._of]

    def makespan(self, earliest: Floats, delay: Floats) -> float:
        """Return the makespan if each task starts from *earliest* on, a *delay* after it can."""
        free = [0.0] * self._workers
        end = [0.0] * len(self._took)
        least, late = earliest.tolist(), delay.tolist()
        ptr, before, worker, took = self._ptr, self._before, self._worker, self._took
        for task in watched(self._order, "tasks"):
            start = max(least[task], free[worker[task]])
            for other in before[ptr[task] : ptr[task + 1]]:
                start = max(start, end[other])
            free[worker[task]] = end[task] = start + late[task] + took[task]
        return max(end)

    def delays(self, earliest: Floats) -> tuple[Floats, Bools]:
        """Return the delay of each task's start, and whether its worker was busy before.

        A worker was busy if the task could have started when the worker's previous task ended.
        """
        free = [0.0] * self._workers
        could = earliest.copy()
        busy = np.zeros(len(could), dtype=bool)
        ends = self._end.tolist()
        for task in watched(self._order, "tasks"):
            worker = self._worker[task]
            others = [ends[other] for other in self._before[self._ptr[task] : self._ptr[task + 1]]]
            ready = max(float(could[task]), *others, 0.0)
            busy[task] = ready <= free[worker]
            could[task] = max(ready, free[worker])
            free[worker] = ends[task]
        return np.maximum(self._start - could, 0.0), busy


MIN_WAKEUPS: Final = 30
"""Smallest number of tasks started by waiting workers for a mean of their own: one worker that the
system had put aside would dominate fewer. Otherwise they count with all others."""


def runtime_costs(run: Run, graph: TaskGraph, *, alone: bool = False) -> Overheads:
    """Return the mean costs of the runtime in *run*, a run of *graph*, by kind.

    A task's delay is the time from when it could start, with its worker free and its dependencies
    done, until it started; a wake-up is the additional delay if the worker had waited. Means,
    unlike medians, add up to the total, with rare long delays. Submissions use the median, as the
    program may do other things or wait between some of them. With *alone*, delays in which others
    had the core are left out.

    Examples
    --------
    >>> import tasksim
    >>> graph = tasksim.generate("chain", length=3, duration=1.0)
    >>> runtime_costs(tasksim.simulate(graph, workers=1), graph).task_s
    0.0
    """
    if not len(run):
        return Overheads()
    walk = RunWalk(run, graph)
    submitted = walk.column(run.tasks.submitted_s)
    delay, busy = walk.delays(submitted)
    if alone:
        own = delay <= MAX_OWN_GAP_S
        delay, busy = delay[own], busy[own]
        if not own.any():
            return Overheads()
    gaps = np.diff(np.sort(submitted))
    submission_s = float(np.median(gaps)) if len(gaps) else 0.0
    if len(busy) - int(busy.sum()) < MIN_WAKEUPS:
        return Overheads(submission_s=submission_s, task_s=float(delay.mean()))
    woken_s = float(np.median(delay[~busy]))
    task_s = max(0.0, (float(delay.sum()) - woken_s * int((~busy).sum())) / len(busy))
    return Overheads(submission_s=submission_s, task_s=task_s, wakeup_s=max(0.0, woken_s - task_s))
