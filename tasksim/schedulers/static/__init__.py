"""Static schedules, which plan the whole graph before it runs.

:func:`plan` makes a plan by the name of an algorithm. The scheduler of this name, such as ``heft``,
makes a plan at the start of a run and follows it. The scheduler ``static:file=PATH`` follows a plan
from a file.

An algorithm of one's own is a class derived from :class:`StaticScheduler` whose ``make_plan`` fills
a :class:`Timetable`, or whose ``algorithm`` is a function that does; docs/laboratory.md has an
example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.errors import expect, unknown
from tasksim.schedulers.registry import SCHEDULERS
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Plan, Timetable, schedule_of
from tasksim.schedulers.static.problem import Problem
from tasksim.schedulers.static.ranked import by_rank, upward_ranks
from tasksim.schedulers.static.schedule_file import read_schedule, write_schedule

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ALGORITHMS",
    "Plan",
    "Problem",
    "StaticScheduler",
    "Timetable",
    "by_rank",
    "plan",
    "read_schedule",
    "schedule_of",
    "upward_ranks",
    "write_schedule",
]

ALGORITHMS: dict[str, Callable[[Problem], Plan]] = {
    name: planner.algorithm
    for name, place in SCHEDULERS.built_in.items()
    if place.startswith("tasksim.schedulers.static.")
    and hasattr(planner := SCHEDULERS.find(name), "algorithm")
}
"""Algorithms by the names of their schedulers, with the default options."""


def plan(algorithm: str, problem: Problem) -> Plan:
    """Return the plan that *algorithm* makes for *problem*.

    Parameters
    ----------
    algorithm : str
        The name of a static scheduler: "heft", "cpop", "peft", "lookahead", "min-min", ...
    problem : Problem
        The graph, the workers and the expected durations and copies.

    Returns
    -------
    Plan
        The worker, the start and the end of each task for the durations of the problem.

    Raises
    ------
    InputError
        If the algorithm is unknown; the message has the nearest name.

    See Also
    --------
    write_schedule : Write a plan to a file for ``--scheduler static:file=PATH``.

    Examples
    --------
    Two independent tasks of 1 s on two workers:

    >>> import tasksim
    >>> g = tasksim.GraphBuilder("pair")
    >>> numbers = [g.insert("task") for _ in range(2)]
    >>> problem = Problem.of(g.build(), tasksim.Platform.identical(2), [[1.0, 1.0]])
    >>> made = plan("heft", problem)
    >>> made.makespan_s, made.orders(workers=2)
    (1.0, [[0], [1]])
    """
    expect(algorithm, str, "algorithm")
    if algorithm not in ALGORITHMS:
        raise unknown("static scheduling algorithm", algorithm, ALGORITHMS)
    expect(problem, Problem, "problem")
    return ALGORITHMS[algorithm](problem)
