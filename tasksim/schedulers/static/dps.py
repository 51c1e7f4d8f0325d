"""DPS and MSBC, static plans by priorities of which one follows the plan."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Frontier
from tasksim.schedulers.static.ranked import upward_ranks

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats
    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = ["Dps", "Msbc", "dps", "msbc"]


def dps(problem: Problem) -> Plan:
    """Return the plan of DPS, dynamic priority scheduling.

    The next ready task is the one with the highest difference of its bottom and its top level. The
    top level is the length of the longest path to it, with the workers of the tasks that are
    placed; durations and communication of the others are means, as for HEFT. It goes to the worker
    where it ends first, after the tasks there. I. Ahmad, M. K. Dhodhi, R. Ul-Mustafa, "DPS: dynamic
    priority scheduling heuristic for heterogeneous computing systems", IEE Proceedings - Computers
    and Digital Techniques 145(6), 1998.
    """
    bottom, sent = upward_ranks(problem), problem.mean_communication_s()
    edges = problem.edges
    order: list[int] = edges.by_target.tolist()
    bounds = list(pairwise(edges.target_ptr.tolist()))
    source: list[int] = edges.source.tolist()
    ready = Frontier(problem)
    top: dict[int, float] = {}
    while ready:
        for task in ready.tasks.tolist():
            if task not in top:
                begin, end = bounds[task]
                ends = (ready.table.end(source[row]) + sent[row] for row in order[begin:end])
                top[task] = max(ends, default=0.0)
        urgency = np.array([bottom[task] - top[task] for task in ready.tasks.tolist()])
        ends_s = ready.starts() + ready.costs
        ready.place(*ready.least(np.broadcast_to(-urgency[:, None], ends_s.shape), ends_s))
    return ready.table.plan()


def msbc(problem: Problem) -> Plan:
    """Return the plan of MSBC, multiple strict bounds constraints.

    The next ready task is the one with the highest sum of three bounds: its earliest end if each
    task went to the worker where it ends first and all workers were always free; its start then,
    along the favourite workers; and the longest path of mean durations to it. It goes to the worker
    where it starts first, the one on which it is shortest if several are equal. As the algorithms
    collected in SAGA describe it (doi 10.1109/PACRIM.2005.1517309; the paper was not at hand).
    """
    end, start, level = _strict_bounds(problem)
    priority = end + start + level
    ready = Frontier(problem)
    while ready:
        starts = ready.starts()
        urgency = np.broadcast_to(-priority[ready.tasks][:, None], starts.shape)
        ready.place(*ready.least(urgency, starts, ready.costs))
    return ready.table.plan()


def _strict_bounds(problem: Problem) -> tuple[Floats, Floats, Floats]:
    """Return, per task, its earliest end, its start on its favourite worker, and its level."""
    edges, memory = problem.edges, problem.memory_of
    costs = problem.costs_s[:, problem.class_of]
    mean = problem.mean_costs_s
    end, start, level = np.zeros((3, problem.tasks))
    favourite = np.zeros(problem.tasks, dtype=np.int64)
    for task, (first, last) in enumerate(pairwise(edges.target_ptr.tolist())):
        rows = edges.by_target[first:last]
        sources = edges.source[rows]
        begins = np.zeros(problem.workers)
        if len(rows):
            at = memory[favourite[sources]]
            sent = problem.latency_s[at] * edges.copies[rows][:, None] + (
                problem.seconds_per_byte[at] * edges.size_bytes[rows][:, None]
            )
            begins = (end[sources][:, None] + sent[:, memory]).max(axis=0)
            level[task] = (level[sources] + mean[sources]).max()
        favourite[task] = int((begins + costs[task]).argmin())
        start[task] = begins[favourite[task]]
        end[task] = start[task] + costs[task, favourite[task]]
    return end, start, level


class Dps(StaticScheduler):
    """A static plan by bottom level less top level, updated as tasks are placed (DPS)."""

    name: ClassVar[str] = "dps"
    algorithm = staticmethod(dps)


class Msbc(StaticScheduler):
    """A static plan by three bounds of each task, with each where it starts first (MSBC)."""

    name: ClassVar[str] = "msbc"
    algorithm = staticmethod(msbc)
