"""Static plans that choose a task and its worker together: ETF, DLS, GDL, BIL, sufferage, WBA."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.base.arguments import number_from, one_of, switch
from tasksim.schedulers.base import option_of
from tasksim.schedulers.static.compiled import compiled_plan
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Frontier
from tasksim.schedulers.static.problem import backward

if TYPE_CHECKING:
    import random

    from tasksim.base.arrays import Floats
    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = [
    "Bil",
    "Dls",
    "Etf",
    "Gdl",
    "Sufferage",
    "Wba",
    "best_imaginary_levels",
    "bil",
    "dls",
    "etf",
    "gdl",
    "static_levels",
    "sufferage",
    "wba",
]

AVERAGES = ("mean", "median")
"""Averages of a task's durations over the workers that can run it."""


def average_costs(problem: Problem, average: str) -> Floats:
    """Return, per task, its mean or median duration over the workers that can run it."""
    if average == "mean":
        return problem.mean_costs_s
    costs = problem.costs_s[:, problem.class_of]
    medians: Floats = np.nanmedian(np.where(np.isfinite(costs), costs, np.nan), axis=1)
    return medians


def static_levels(problem: Problem, average: str) -> Floats:
    """Return, per task, the longest path of durations to the end, without communication."""
    level: list[float] = average_costs(problem, average).tolist()
    target: list[int] = problem.edges.target.tolist()
    for task, rows in backward(problem):
        level[task] += max(level[after] for after in target[rows])
    return np.array(level, dtype=np.float64)


def etf(problem: Problem) -> Plan:
    """Return the plan of ETF, earliest task first.

    The next task and its worker are those with the earliest possible start. Among these, the task
    of highest static level comes first, then the worker where it ends first. J.-J. Hwang,
    Y.-C. Chow, F. D. Anger, C.-Y. Lee, "Scheduling precedence graphs in systems with interprocessor
    communication times", SIAM Journal on Computing 18(2), 1989, section 4; the paper's processors
    are identical, and its ties are open.
    """
    if (made := compiled_plan(problem, "etf")) is not None:
        return made
    levels = static_levels(problem, "mean")
    ready = Frontier(problem)
    while ready:
        starts = ready.starts()
        level = np.broadcast_to(-levels[ready.tasks][:, None], starts.shape)
        ready.place(*ready.least(starts, level, ready.costs))
    return ready.table.plan()


def dls(problem: Problem, *, average: str = "median", descendants: bool = False) -> Plan:
    """Return the plan of DLS, dynamic level scheduling.

    The next task and its worker have the highest dynamic level. That is the static level of the
    task, less its earliest start there, plus what it gains there on its average duration.
    G. C. Sih, E. A. Lee, "A compile-time scheduling heuristic for interconnection-constrained
    heterogeneous processor architectures", IEEE TPDS 4(2), 1993, sections III and IV.

    Parameters
    ----------
    problem : Problem
        The problem to plan.
    average : {"median", "mean"}
        The average of durations over workers; the paper has the median.
    descendants : bool, default False
        Whether the worker must also suit the successor that gets the most data.
    """
    if (made := compiled_plan(problem, "dls", average == "median", descendants)) is not None:
        return made
    levels = _DynamicLevels(problem, average, descendants=descendants)
    ready = Frontier(problem)
    while ready:
        ready.place(*ready.least(-levels.of(ready)))
    return ready.table.plan()


def gdl(problem: Problem, *, average: str = "median", descendants: bool = True) -> Plan:
    """Return the plan of GDL: DLS with generalised dynamic levels.

    Each ready task prefers the worker of its highest dynamic level. The next task is the one with
    the highest sum of this level and its distance to the task's second highest level, which the
    task loses if it does not get that worker now. Source and options are those of :func:`dls`
    (section IV, with descendant consideration and resource scarcity).
    """
    if (made := compiled_plan(problem, "gdl", average == "median", descendants)) is not None:
        return made
    levels = _DynamicLevels(problem, average, descendants=descendants)
    ready = Frontier(problem)
    while ready:
        found = levels.of(ready)
        preferred = np.full(found.shape, np.inf)
        rows = np.arange(len(ready))
        preferred[rows, found.argmax(axis=1)] = -(found.max(axis=1) + _loss(-found))
        ready.place(*ready.least(preferred))
    return ready.table.plan()


class _DynamicLevels:
    """The dynamic levels of DLS and GDL."""

    def __init__(self, problem: Problem, average: str, *, descendants: bool) -> None:
        self._static = static_levels(problem, average)
        self._average = average_costs(problem, average)
        self._suits = _descendants(problem, self._average) if descendants else None

    def of(self, ready: Frontier) -> Floats:
        """Return the level of each ready task on each worker, -inf where it cannot run."""
        rows = ready.tasks
        gain = self._average[rows][:, None] - ready.costs
        levels = self._static[rows][:, None] - ready.starts() + gain
        if self._suits is not None:
            levels = levels + self._suits[rows]
        found: Floats = np.where(np.isfinite(ready.costs), levels, -np.inf)
        return found


def _descendants(problem: Problem, average: Floats) -> Floats:
    """Return the time that a worker saves the successor that needs the most of the task's data.

    It is the successor's average duration, less the time until it can end: here, or on the best
    other worker after the data have come there.
    """
    edges, memory = problem.edges, problem.memory_of
    found = np.zeros((problem.tasks, problem.workers))
    costs = problem.costs_s[:, problem.class_of]
    for task, (begin, end) in enumerate(pairwise(edges.ptr.tolist())):
        if begin == end:
            continue
        row = begin + int(edges.size_bytes[begin:end].argmax())
        after = int(edges.target[row])
        sent = problem.latency_s * edges.copies[row] + (
            problem.seconds_per_byte * edges.size_bytes[row]
        )
        ends = sent[memory][:, memory] + costs[after]
        found[task] = average[after] - ends.min(axis=1)
    return found


def best_imaginary_levels(problem: Problem) -> Floats:
    """Return, per task and worker, the least time from its start there to the end of the graph.

    Each task chooses its worker freely, and only the longest path counts. Communication between
    memories takes its mean time, as in the paper, whose networks are uniform.
    """
    level = problem.costs_s[:, problem.class_of].copy()
    sent = problem.mean_communication_s(apart=True)
    apart = problem.memory_of[:, None] != problem.memory_of
    for task, rows in backward(problem):
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
    levels = best_imaginary_levels(problem)
    ready = Frontier(problem)
    while ready:
        tasks = ready.tasks
        imagined = ready.table.free + levels[tasks]
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
    return ready.table.plan()


def sufferage(problem: Problem) -> Plan:
    """Return the plan of sufferage.

    The next task is the one that would suffer most without its best worker: the difference between
    its second earliest and its earliest possible end is largest. It goes to the worker of its
    earliest end. A tie goes to the task, then the worker, of lowest number. M. Maheswaran,
    S. Ali, H. J. Siegel, D. Hensgen, R. F. Freund, "Dynamic mapping of a class of independent tasks
    onto heterogeneous computing systems", Journal of Parallel and Distributed Computing 59(2),
    1999, section 4; one task is placed at a time, as the ready tasks change with each.
    """
    if (made := compiled_plan(problem, "sufferage")) is not None:
        return made
    ready = Frontier(problem)
    while ready:
        ends = ready.starts() + ready.costs
        ready.place(*ready.least(np.broadcast_to(-_loss(ends)[:, None], ends.shape), ends))
    return ready.table.plan()


def _loss(values: Floats) -> Floats:
    """Return, per row, by how much its second least value exceeds its least; 0 without a second."""
    ordered = np.sort(values, axis=1)
    second = ordered[:, min(1, values.shape[1] - 1)]
    return np.where(np.isfinite(second), second - ordered[:, 0], 0.0)


def wba(problem: Problem, rng: random.Random | None = None, *, alpha: float = 0.5) -> Plan:
    """Return the plan of WBA, workflow-based allocation.

    Of the ready tasks and workers, a random pair is next among those by which the makespan grows
    least: by at most the least growth, plus *alpha* of the range of growths. J. Blythe et al.,
    "Task scheduling strategies for workflow-based applications in grids", CCGrid 2005, section 4
    (one schedule of its randomised search).

    Parameters
    ----------
    problem : Problem
        The problem to plan.
    rng : random.Random, optional
        The source of random choices; by default one with seed 0.
    alpha : float, default 0.5
        0 for the least growth alone, 1 for any pair.
    """
    import random

    draw = (rng or random.Random(0)).random
    draws = [draw() for _ in range(problem.tasks)]
    if (made := compiled_plan(problem, "wba", alpha, *draws)) is not None:
        return made
    ready = Frontier(problem)
    for drawn in draws:
        ends = ready.starts() + ready.costs
        able = np.isfinite(ends)
        growth = np.maximum(ends - ready.table.free.max(), 0.0)
        least, most = growth[able].min(), growth[able].max()
        rows, workers = np.nonzero(able & (growth <= least + alpha * (most - least)))
        order = np.lexsort((workers, ready.tasks[rows]))
        chosen = order[int(drawn * len(order))]
        ready.place(int(ready.tasks[rows[chosen]]), int(workers[chosen]))
    return ready.table.plan()


class Etf(StaticScheduler):
    """A static plan in which the pair of task and worker that starts first is next (ETF)."""

    name: ClassVar[str] = "etf"
    algorithm = staticmethod(etf)


class Dls(StaticScheduler):
    """A static plan by dynamic levels: static level, earliest start and gain on a worker (DLS).

    Parameters
    ----------
    order : {"strict", "ready"}
        As for all static schedulers.
    average : {"median", "mean"}
        The average of durations over workers.
    descendants : {0, 1}
        Whether the worker must also suit the successor that gets the most data.
    """

    name: ClassVar[str] = "dls"
    algorithm = staticmethod(dls)

    def __init__(
        self, order: str = "strict", average: str = "median", descendants: int = 0
    ) -> None:
        super().__init__(order)
        self._options = {
            "average": one_of(average, AVERAGES, option_of(self, "average")),
            "descendants": switch(descendants, option_of(self, "descendants")),
        }


class Gdl(Dls):
    """A static plan by dynamic levels, with the task first that most needs its worker (GDL).

    Parameters and legal values are those of :class:`Dls`.
    """

    name: ClassVar[str] = "gdl"
    algorithm = staticmethod(gdl)

    def __init__(
        self, order: str = "strict", average: str = "median", descendants: int = 1
    ) -> None:
        super().__init__(order, average, descendants)


class Bil(StaticScheduler):
    """A static plan by the makespans that tasks imagine if each could choose its worker (BIL)."""

    name: ClassVar[str] = "bil"
    algorithm = staticmethod(bil)


class Sufferage(StaticScheduler):
    """A static plan in which the task is next that would lose most without its best worker."""

    name: ClassVar[str] = "sufferage"
    algorithm = staticmethod(sufferage)


class Wba(StaticScheduler):
    """A static plan of random choices among the least growths of the makespan (WBA).

    Parameters
    ----------
    order : {"strict", "ready"}
        As for all static schedulers.
    alpha : float, default 0.5
        Share of the range of growths that is let in: 0 for the least growth, 1 for any.
    """

    name: ClassVar[str] = "wba"
    algorithm = staticmethod(wba)
    draws: ClassVar[bool] = True

    def __init__(self, order: str = "strict", alpha: float = 0.5) -> None:
        super().__init__(order)
        self._options = {"alpha": number_from(alpha, option_of(self, "alpha"), 0, 1)}

    def make_plan(self, problem: Problem) -> Plan:
        """Return the plan of :func:`wba`."""
        return wba(problem, self.rng, **self._options)
