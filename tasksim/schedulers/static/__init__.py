"""Static schedules: the whole graph is planned before it runs.

:func:`plan` plans by the name of an algorithm; the schedulers ``heft``, ``cpop``, ``peft``,
``min-min`` and ``max-min`` plan when a run begins and follow their plan; ``static:file=PATH``
follows a plan in a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.errors import expect, unknown
from tasksim.schedulers.static.batch import max_min, min_min
from tasksim.schedulers.static.cpop import cpop
from tasksim.schedulers.static.heft import heft
from tasksim.schedulers.static.peft import peft
from tasksim.schedulers.static.plan import Plan, schedule_of
from tasksim.schedulers.static.problem import Problem
from tasksim.schedulers.static.schedule_file import read_schedule, write_schedule

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ALGORITHMS",
    "Plan",
    "Problem",
    "plan",
    "read_schedule",
    "schedule_of",
    "write_schedule",
]

ALGORITHMS: dict[str, Callable[[Problem], Plan]] = {
    "heft": heft,
    "cpop": cpop,
    "peft": peft,
    "min-min": min_min,
    "max-min": max_min,
}


def plan(algorithm: str, problem: Problem) -> Plan:
    """Return the plan that *algorithm* makes for *problem*.

    Parameters
    ----------
    algorithm : {"heft", "cpop", "peft", "min-min", "max-min"}
        As the schedulers of these names plan.
    problem : Problem
        The graph, and what is known of the machine.

    Returns
    -------
    Plan
        Which task runs where and when, if all takes as long as the problem says.

    Raises
    ------
    InputError
        For an unknown algorithm, with the nearest name.

    See Also
    --------
    write_schedule : keeps a plan, for ``--scheduler static:file=PATH``.

    Examples
    --------
    Two independent tasks of 1 s, on two workers:

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
