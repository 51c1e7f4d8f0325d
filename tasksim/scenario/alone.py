"""Estimate of a native run without the time that other programs took of its cores."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import TasksimError
from tasksim.engine.simulation import Simulation
from tasksim.formats.recorded import platform_of_workers
from tasksim.run.disturbance import has_processor_times, others_share
from tasksim.run.measured import MeasuredDurations
from tasksim.schedulers import registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run
    from tasksim.schedulers.base import Scheduler

    AnyScheduler = str | Scheduler
    Replay = Callable[[Run, TaskGraph], float | None]
    ReplayUnder = Callable[[Run, TaskGraph, AnyScheduler], float | None]

__all__ = ["alone_makespan_s", "alone_run", "replay_under", "slowdown", "with_alone"]

NEGLIGIBLE_SHARE: Final = 0.01
"""Share of the cores used by others below which a run is not replayed to find its slowdown: the
replay itself is off by some tenths of a percent."""


def alone_makespan_s(
    run: Run, graph: TaskGraph, scheduler: AnyScheduler | None = None
) -> float | None:
    """Return how long *run*, of *graph*, would have been had nobody else used its cores.

    The run is replayed, each task with its duration less what others took, and so the runtime's
    costs. None if processor times are not known, or the scheduler is not.

    Parameters
    ----------
    run : Run
    graph : TaskGraph
    scheduler : str or Scheduler, optional
        That of the run, as its user gave it: of ``MODULE:CLASS`` the class is imported. By default
        the one that the run names, if it is registered, or its user had it imported before.

    Examples
    --------
    >>> import tasksim
    >>> graph = tasksim.generate("chain", length=3, duration=1.0)
    >>> alone_makespan_s(tasksim.simulate(graph, workers=1), graph) is None
    True
    """
    replayed = alone_run(run, graph, scheduler)
    return None if replayed is None else replayed.makespan_s


def alone_run(run: Run, graph: TaskGraph, scheduler: AnyScheduler | None = None) -> Run | None:
    """Return the replay of *run* without what others took; as :func:`alone_makespan_s`."""
    if scheduler is None:
        scheduler = run.scheduler if registry.is_known(run.scheduler) else None
    if scheduler is None or not has_processor_times(run):
        return None
    platform = platform_of_workers(run, graph, alone=True)
    alone = MeasuredDurations(run, graph, "alone")
    return Simulation(graph, platform, alone, scheduler, run.seed or 0).run()


def slowdown(run: Run, graph: TaskGraph, replay: Replay = alone_makespan_s) -> float | None:
    """Return the makespan of *run* over the one it would have alone; None if that is not known.

    *replay* returns how long that is, of a run that others have disturbed.
    """
    if run.disturbance is None or not has_processor_times(run) or not run.makespan_s:
        return None
    share = others_share(run)
    if share < NEGLIGIBLE_SHARE:
        return 1 / (1 - share)
    alone_s = replay(run, graph)
    return None if not alone_s else max(run.makespan_s / alone_s, 1.0)


def with_alone(run: Run, graph: TaskGraph, replay: Replay = alone_makespan_s) -> Run:
    """Return *run*, of *graph*, with how long it would have been alone, if that can be known.

    *replay* is as for :func:`slowdown`.

    Warns
    -----
    UserWarning
        If the replay fails, and why: the run itself is not lost by that.
    """
    if run.disturbance is None:
        return run
    try:
        slowed = slowdown(run, graph, replay)
    except TasksimError as error:
        warnings.warn(
            f"how long the run would have been alone is not known: its replay failed: {error}",
            stacklevel=2,
        )
        return run
    if slowed is None:
        return run
    alone_s = run.makespan_s / slowed
    return replace(run, disturbance=replace(run.disturbance, alone_s=alone_s))


def replay_under(scheduler: AnyScheduler, replay: ReplayUnder = alone_makespan_s) -> Replay:
    """Return a *replay*, for once, of a run that is yet to be made under *scheduler*.

    Of an object it takes a copy: so the object keeps what it has noted of the run, and the replay
    begins as the run did. Under one that cannot be copied nothing is known.
    """
    try:
        spare = copy.deepcopy(scheduler)
    except Exception:
        return lambda _run, _graph: None
    return lambda run, graph: replay(run, graph, spare)
