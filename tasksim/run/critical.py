"""Practical critical path, the chain of waits from the start of a run to its last task.

The critical path of a graph bounds how fast a run can be; the practical one shows why a run was not
faster: each task on it started as soon as its predecessor on the path allowed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tasksim.base.errors import InputError, expect
from tasksim.base.notebook import html_summary
from tasksim.base.units import duration_text
from tasksim.run.copystatistics import data_arrival_s
from tasksim.run.record import Run
from tasksim.run.runchecks import check_records

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.base.arrays import Ints
    from tasksim.run.record import TaskTable

__all__ = [
    "CriticalTask",
    "PracticalPath",
    "Reason",
    "practical_critical_path",
    "previous_on_worker",
    "tasks_on_path",
]

Reason = Literal["dependency", "worker", "submission", "start"]


@dataclass(frozen=True, slots=True)
class CriticalTask:
    """A task of the practical critical path."""

    task: int
    reason: Reason
    """Cause of its wait: the end of its predecessor on the path, on which it depends
    (``dependency``) or which ran on its worker (``worker``); its submission; none (``start``)."""
    waited_s: float
    """Wait from the end of its predecessor on the path (from 0 for the first) to its start."""
    duration_s: float
    transfer_s: float = 0.0
    """Part of ``waited_s`` in which its worker had taken it and waited for its data."""


@dataclass(frozen=True, slots=True, repr=False)
class PracticalPath:
    """The practical critical path, from the first task to the last.

    The durations and waits of its steps add up to the makespan.
    """

    steps: tuple[CriticalTask, ...]
    kernel_s: dict[str, float]
    """Seconds on the path per kernel."""
    reason_tasks: dict[Reason, int]
    """Number of tasks on the path per reason."""
    waited_s: dict[str, float]
    """Seconds waited on the path per reason; waits for data, if any, count under ``transfer``."""

    def __repr__(self) -> str:
        kernels, waits = sum(self.kernel_s.values()), sum(self.waited_s.values())
        spent = f"{duration_text(kernels)} in kernels, {duration_text(waits)} waiting"
        return f"<PracticalPath: {len(self.steps)} tasks, {spent}>"

    def _repr_html_(self) -> str:
        """Return a summary for notebooks: where the time of the path went."""
        facts = [(f"in {kernel}", duration_text(s)) for kernel, s in self.kernel_s.items()]
        facts += [(f"waiting: {why}", duration_text(s)) for why, s in self.waited_s.items() if s]
        return html_summary(f"Practical critical path of {len(self.steps)} tasks", facts)

    def to_json(self) -> dict[str, Any]:
        """Return the path as plain JSON data."""
        return {
            "kernel_s": self.kernel_s,
            "reason_tasks": self.reason_tasks,
            "waited_s": self.waited_s,
            "steps": [
                {name: getattr(step, name) for name in ("task", "reason", "waited_s", "transfer_s")}
                for step in self.steps
            ],
        }


def practical_critical_path(run: Run) -> PracticalPath:
    """Return the chain of waits from the task that ended last back to the start.

    A task that became ready before its worker was free waited for the worker; another one for the
    task that released it, or for its submission. If several tasks end last, the path starts from
    the first in submission order.

    Parameters
    ----------
    run : Run
        A run, simulated or native.

    Returns
    -------
    PracticalPath

    Raises
    ------
    InputError
        If the records form a cycle, which those of a real run cannot.
    CheckFailed
        If the records are inconsistent.

    See Also
    --------
    bounds : Lower bounds, with the critical path of the graph.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> run = tasksim.simulate("cholesky tiles=4", workers=2, durations=seconds)
    >>> path = tasksim.practical_critical_path(run)
    >>> sum(path.kernel_s.values()) + sum(path.waited_s.values()) == run.makespan_s
    True
    """
    expect(run, Run, "run")
    check_records(run)
    tasks = run.tasks
    taken_s, arrival_s = np.maximum(tasks.taken_s, tasks.ready_s), data_arrival_s(run)
    steps: list[CriticalTask] = []
    since = 0.0
    for task, reason in reversed(tasks_on_path(tasks, run.label)):
        start, end = float(tasks.start_s[task]), float(tasks.end_s[task])
        there = min(float(arrival_s[task]), start)
        transfer_s = max(0.0, there - max(float(taken_s[task]), since))
        steps.append(CriticalTask(task, reason, start - since, end - start, transfer_s))
        since = end
    kernels = [run.kernel_names[tasks.kernel[step.task]] for step in steps]
    reasons = [step.reason for step in steps]
    waited_s = _totals(reasons, [step.waited_s - step.transfer_s for step in steps])
    if transfer_s := sum(step.transfer_s for step in steps):
        waited_s["transfer"] = transfer_s
    return PracticalPath(
        steps=tuple(steps),
        kernel_s=_totals(kernels, [step.duration_s for step in steps]),
        reason_tasks=dict(Counter(reasons)),
        waited_s=waited_s,
    )


def _totals(names: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    """Return the sum of *values* per name, in order of first appearance."""
    totals = dict.fromkeys(names, 0.0)
    for name, value in zip(names, values, strict=True):
        totals[name] += value
    return totals


def tasks_on_path(
    tasks: TaskTable, label: Callable[[int], str] = "#{}".format
) -> list[tuple[int, Reason]]:
    """Return the tasks of the practical critical path, last first, and the reason of each wait.

    Parameters
    ----------
    tasks : TaskTable
        Records of the tasks.
    label : function
        Returns the name of a task for messages.

    Raises
    ------
    InputError
        If the records form a cycle.

    See Also
    --------
    practical_critical_path : Also returns the times.

    Examples
    --------
    >>> import tasksim
    >>> run = tasksim.simulate("chain length=3 duration=1.0", workers=1)
    >>> tasks_on_path(run.tasks)
    [(2, 'dependency'), (1, 'dependency'), (0, 'start')]
    """
    previous = previous_on_worker(tasks)
    passed = np.zeros(len(tasks), dtype=bool)
    found: list[tuple[int, Reason]] = []
    reason: Reason
    task = int(np.argmax(tasks.end_s)) if len(tasks) else -1
    while task >= 0:
        if passed[task]:
            raise InputError(f"{label(task)} waited for itself: the records form a cycle")
        passed[task] = True
        before, reason = -1, "start"
        if previous[task] >= 0 and tasks.end_s[previous[task]] > tasks.ready_s[task]:
            before, reason = int(previous[task]), "worker"
        elif tasks.released_by[task] >= 0:
            before, reason = int(tasks.released_by[task]), "dependency"
        elif tasks.submitted_s[task] > 0:
            reason = "submission"
        found.append((task, reason))
        task = before
    return found


def previous_on_worker(tasks: TaskTable) -> Ints:
    """Return each task's predecessor on its worker, -1 for the first."""
    order = np.lexsort((tasks.start_s, tasks.worker))
    same = np.diff(tasks.worker[order]) == 0
    if (same & (np.diff(tasks.start_s[order]) == 0)).any():
        # By ready time before task number: of tasks without duration at one instant, the one that
        # was ready first ran first, otherwise the walk could cycle.
        order = np.lexsort((tasks.task, tasks.ready_s, tasks.end_s, tasks.start_s, tasks.worker))
    previous = np.full(len(tasks), -1, dtype=np.int64)
    previous[order[1:][same]] = order[:-1][same]
    return previous
