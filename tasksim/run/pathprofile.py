"""Profile of the practical critical path, by kernels, waits and costs.

Costs are those of the bulk-synchronous model: a task that depends on a task of another worker
*synchronises* with it, data that it reads and another worker wrote last are *words*, and its
operations are *flop*. The costs along the path make up the makespan; the maximum and the mean over
workers (volume) show the rest, and the largest cost of any path through the schedule, which is
the critical path by that cost.

Tasks of communication kernels, whose parameters are ``bytes`` and ``ranks``, move that many bytes
each and synchronise once. If a graph has such tasks, no others synchronise or move words.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.run.critical import practical_critical_path
from tasksim.run.schedulepath import schedule_path, slack_s
from tasksim.run.taskcosts import task_costs

if TYPE_CHECKING:
    from tasksim.base.arrays import Ints
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.critical import PracticalPath
    from tasksim.run.record import Run

__all__ = [
    "BspCosts",
    "KernelOnPath",
    "PathCosts",
    "PathProfile",
    "SlackOfKernel",
    "path_profile",
]

SLACK_RESOLUTION: Final = 1e-12
"""Slack that counts as none, relative to the makespan: sums of times are rounded."""


@dataclass(frozen=True, slots=True)
class KernelOnPath:
    """Part of a kernel in the path.

    Attributes
    ----------
    kernel : str
    tasks : int
        Number of its tasks on the path.
    of : int
        Number of its tasks in the run.
    total_s : float
        Seconds on the path.
    costs : BspCosts or None
        Costs of its tasks on the path; None if the run's graph is unknown.
    """

    kernel: str
    tasks: int
    of: int
    total_s: float
    costs: BspCosts | None


@dataclass(frozen=True, slots=True)
class BspCosts:
    """Costs of some tasks in the bulk-synchronous model.

    Attributes
    ----------
    synchronisations : float
        Number of tasks that depend on a task of another worker.
    words : float or None
        Words of eight bytes that tasks read and another worker wrote last; counted once per worker,
        at its first read. None if the graph has no data.
    flop : float or None
        Operations; None if a kernel does not define them.
    """

    synchronisations: float
    words: float | None
    flop: float | None


@dataclass(frozen=True, slots=True)
class PathCosts:
    """Costs along the path, their maximum and mean over workers, and those of the longest paths."""

    path: BspCosts
    longest: BspCosts
    """Largest sum of each cost along any path through the schedule, possibly different paths."""
    most: BspCosts
    """Maximum of each cost over the workers, possibly of different workers."""
    mean: BspCosts


@dataclass(frozen=True, slots=True)
class SlackOfKernel:
    """Slack of a kernel's tasks: by how much each could end later without a later end of the run.

    Attributes
    ----------
    without : int
        Number of tasks without slack.
    median_s, max_s : float
        Median and maximum of the slack in seconds.
    """

    without: int
    median_s: float
    max_s: float


@dataclass(frozen=True, slots=True)
class PathProfile:
    """Composition of a run's practical critical path.

    Attributes
    ----------
    makespan_s : float
    tasks : int
        Number of tasks on the path.
    kernels : tuple of KernelOnPath
        Kernels, the longest total first.
    waited_s : dict of str to float
        Seconds per reason, as in :attr:`tasksim.run.critical.PracticalPath.waited_s`.
    copies, copied_bytes : int
        Copies between memories that tasks of the path waited for.
    costs : PathCosts or None
        None if the graph of the run is unknown.
    longest : dict of str to list of int
        Tasks of the longest path through the schedule by each cost that is known: ``time``,
        ``synchronisations``, ``words``, ``flop``; only those that cost something.
    slack : dict of str to SlackOfKernel
        Slack per kernel; empty if the graph of the run is unknown.
    """

    makespan_s: float
    tasks: int
    kernels: tuple[KernelOnPath, ...]
    waited_s: dict[str, float]
    copies: int
    copied_bytes: int
    costs: PathCosts | None
    longest: dict[str, list[int]] = field(default_factory=dict)
    slack: dict[str, SlackOfKernel] = field(default_factory=dict)

    @property
    def kernel_s(self) -> float:
        """Seconds of the path in kernels."""
        return sum(kernel.total_s for kernel in self.kernels)

    def to_json(self) -> dict[str, Any]:
        """Return the profile as plain JSON data."""
        return asdict(self)


def path_profile(run: Run, graph: TaskGraph | None) -> PathProfile:
    """Return the profile of the practical critical path of *run*.

    Without *graph*, only the times are computed, not the costs.

    Raises
    ------
    InputError
        If the records form a cycle.
    CheckFailed
        If the records are inconsistent.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> graph = tasksim.generate("cholesky", tiles=4)
    >>> found = path_profile(tasksim.simulate(graph, workers=2, durations=seconds), graph)
    >>> [(k.kernel, k.tasks, k.of, k.total_s) for k in found.kernels]
    [('gemm', 3, 4, 18.0), ('trsm', 3, 6, 9.0), ('syrk', 3, 6, 9.0), ('potrf', 2, 4, 2.0)]
    """
    path = practical_critical_path(run)
    on_path = np.array([step.task for step in path.steps], dtype=np.int64)
    costs = None if graph is None else _TaskCosts(run, graph)
    copies = _copies_waited_for(run, path)
    return PathProfile(
        makespan_s=run.makespan_s,
        tasks=len(on_path),
        kernels=_kernels(run, path, on_path, costs),
        waited_s=path.waited_s,
        copies=len(copies),
        copied_bytes=sum(copies),
        costs=None if costs is None else costs.compared(on_path),
        longest={} if costs is None else {n: path.tasks for n, path in costs.paths.items()},
        slack={} if graph is None else _slack(run, graph),
    )


def _slack(run: Run, graph: TaskGraph) -> dict[str, SlackOfKernel]:
    slack, found = slack_s(run, graph), {}
    for index, name in enumerate(run.kernel_names):
        mine = slack[run.tasks.kernel == index]
        if len(mine):
            without = int((mine <= SLACK_RESOLUTION * run.makespan_s).sum())
            found[name] = SlackOfKernel(without, float(np.median(mine)), float(mine.max()))
    return found


def _kernels(
    run: Run, path: PracticalPath, on_path: Ints, costs: _TaskCosts | None
) -> tuple[KernelOnPath, ...]:
    kernel = run.tasks.kernel[on_path]
    counts = np.bincount(run.tasks.kernel, minlength=len(run.kernel_names))
    found = []
    for name, total_s in path.kernel_s.items():
        index = run.kernel_names.index(name)
        mine = on_path[kernel == index]
        own = None if costs is None else costs.of(mine)
        found.append(KernelOnPath(name, len(mine), int(counts[index]), total_s, own))
    return tuple(sorted(found, key=lambda one: -one.total_s))


def _copies_waited_for(run: Run, path: PracticalPath) -> list[int]:
    """Return the sizes in bytes of the copies that tasks of the path waited for.

    A copy counts if it was made for the task and was in progress while the task's worker, which had
    taken the task, had nothing else to do.
    """
    waiting_from: dict[int, float] = {}
    for step in path.steps:
        if step.transfer_s > 0:
            since = float(run.tasks.start_s[step.task]) - step.waited_s
            taken = max(float(run.tasks.taken_s[step.task]), float(run.tasks.ready_s[step.task]))
            waiting_from[step.task] = max(since, taken)
    if run.transfers is None or not waiting_from:
        return []
    copies = run.transfers
    rows = np.flatnonzero(copies.is_fetch & np.isin(copies.task, list(waiting_from)))
    memory = [worker.memory for worker in run.workers]
    return [
        int(copies.size_bytes[row])
        for row in rows.tolist()
        if copies.end_s[row] > waiting_from[int(copies.task[row])]
        and copies.target[row] == memory[run.tasks.worker[copies.task[row]]]
    ]


class _TaskCosts:
    """Cost of each task of a run in the bulk-synchronous model."""

    def __init__(self, run: Run, graph: TaskGraph) -> None:
        self._worker = run.tasks.worker.astype(np.int64)
        self._workers = len(run.workers)
        self._columns = task_costs(run, graph)
        # The longest path by time and by each cost that all tasks have.
        self.paths = {
            name: schedule_path(run, graph, column)
            for name, column in {"time": run.tasks.duration_s, **self._columns}.items()
            if not np.isnan(column).any()
        }

    def of(self, tasks: Ints) -> BspCosts:
        """Return the sums over *tasks*."""
        return _costs({name: float(c[tasks].sum()) for name, c in self._columns.items()})

    def compared(self, on_path: Ints) -> PathCosts:
        """Return the costs along the path and over the workers."""
        sums = {
            name: np.bincount(self._worker, column, minlength=self._workers)
            for name, column in self._columns.items()
        }
        most = {name: float(column.max(initial=0.0)) for name, column in sums.items()}
        mean = {name: float(column.sum()) / max(1, self._workers) for name, column in sums.items()}
        longest = {n: self.paths[n].cost if n in self.paths else np.nan for n in self._columns}
        return PathCosts(self.of(on_path), _costs(longest), _costs(most), _costs(mean))


def _costs(sums: dict[str, float]) -> BspCosts:
    words, flop = (None if np.isnan(sums[name]) else sums[name] for name in ("words", "flop"))
    return BspCosts(sums["synchronisations"], words, flop)
