"""BIL, static plans by best imaginary levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.schedulers.static.compiled import compiled_plan
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Frontier, Timetable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = ["Bil", "best_imaginary_levels", "bil"]


def best_imaginary_levels(problem: Problem) -> NDArray[np.float64]:
    """Return, per task and worker, the least time from its start there to the end of the graph.

    Each task chooses its worker freely, and only the longest path counts. Communication between
    memories takes its mean time, as in the paper, whose networks are uniform.
    """
    level = problem.costs_s[:, problem.class_of].copy()
    sent = problem.mean_communication_s(apart=True)
    apart = problem.memory_of[:, None] != problem.memory_of
    for task, rows in problem.backward():
        after = level[problem.edges.target[rows]]
        onward = after[:, None, :] + sent[rows, None, None] * apart
        level[task] += onward.min(axis=2).max(axis=0)
    return level


def bil(problem: Problem) -> Plan:
    """Return the plan of BIL.

    The makespan that a ready task imagines on a worker is the time at which the worker is free,
    plus its level there. The next task is the one with the highest of its k-th smallest such
    makespans, with k the number of ready tasks, or of its largest where there are fewer workers. It
    goes to the worker of its least makespan. Where there are more ready tasks than workers, its own
    duration there counts again as often as others would be queued before it. H. Oh, S. Ha,
    "A static scheduling heuristic for heterogeneous processors", Euro-Par 1996, section 3. A tie of
    tasks goes to the task of the next smaller makespan that is higher; a tie of workers to the one
    where the makespans of the other ready tasks are longest.
    """
    if (made := compiled_plan(problem, "bil")) is not None:
        return made
    table = Timetable(problem)
    levels = best_imaginary_levels(problem)
    ready = Frontier(table)
    while ready:
        tasks = ready.tasks
        imagined = table.free + levels[tasks]
        ordered = np.sort(imagined, axis=1)
        count = np.isfinite(ordered).sum(axis=1)
        place = np.minimum(len(ready), count) - 1
        keys = []
        for back in range(problem.workers):
            k = np.maximum(place - back, 0)
            keys.append(-ordered[np.arange(len(ready)), k])
        row = int(np.lexsort((tasks, *keys[::-1]))[0])
        queued = max(len(ready) / problem.workers - 1, 0.0)
        with np.errstate(invalid="ignore"):  # 0 times infinity
            again = np.where(np.isfinite(ready.costs), ready.costs * queued, np.inf)
        revised = imagined + again
        others = np.where(np.isfinite(revised), revised, 0.0).sum(axis=0) - np.where(
            np.isfinite(revised[row]), revised[row], 0.0
        )
        worker = int(np.lexsort((-others, revised[row]))[0])
        ready.place(int(tasks[row]), worker)
    return table.plan()


class Bil(StaticScheduler):
    """A static plan by the makespans that tasks imagine if each could choose its worker (BIL)."""

    name: ClassVar[str] = "bil"
    algorithm = staticmethod(bil)
