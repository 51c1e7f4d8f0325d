"""Estimate of a native run without the time that other programs took of its cores."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import TasksimError
from tasksim.engine.simulation import Simulation
from tasksim.formats.platforms import platform_of_workers
from tasksim.run.crowding import detour_crowding
from tasksim.run.disturbance import has_processor_times, others_share
from tasksim.run.measured import MeasuredDurations
from tasksim.run.others import crowded_share
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
"""Share of the cores taken by other programs below which a run is not replayed to find its
slowdown: the replay itself is off by some tenths of a percent."""


def alone_makespan_s(
    run: Run, graph: TaskGraph, scheduler: AnyScheduler | None = None
) -> float | None:
    """Return the makespan that *run*, of *graph*, would have had without other programs.

    The run is replayed with durations and runtime costs from which the time of other programs is
    subtracted. None if the processor times or the scheduler are unknown.

    Parameters
    ----------
    run : Run
    graph : TaskGraph
    scheduler : str or Scheduler, optional
        Scheduler of the run, as the user gave it: a class of ``MODULE:CLASS`` is imported. By
        default the scheduler that the run names, if it is registered or was imported before.

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
    """Return the replay of *run* without other programs, as for :func:`alone_makespan_s`."""
    if scheduler is None:
        scheduler = run.scheduler if registry.is_known(run.scheduler) else None
    if scheduler is None or not has_processor_times(run):
        return None
    platform = platform_of_workers(run, graph, alone=True)
    alone = MeasuredDurations(run, graph, "alone")
    return Simulation(graph, platform, alone, scheduler, run.seed or 0).run()


def slowdown(run: Run, graph: TaskGraph, replay: Replay = alone_makespan_s) -> float | None:
    """Return the makespan of *run* divided by its makespan alone; None if that is unknown.

    *replay* returns the makespan alone of a disturbed run.
    """
    if run.disturbance is None or not has_processor_times(run) or not run.makespan_s:
        return None
    share = others_share(run)
    of_detour = detour_crowding(run.disturbance.detour_s) - 1.0
    if max(share, crowded_share(run) or 0.0, of_detour) < NEGLIGIBLE_SHARE:
        return 1 / (1 - share)
    alone_s = replay(run, graph)
    return None if not alone_s else max(run.makespan_s / alone_s, 1.0)


def with_alone(run: Run, graph: TaskGraph, replay: Replay = alone_makespan_s) -> Run:
    """Return *run*, of *graph*, with the makespan that it would have had alone, if it is known.

    *replay* is as for :func:`slowdown`.

    Warns
    -----
    UserWarning
        If the replay fails, with the reason; the run itself is kept.
    """
    if run.disturbance is None:
        return run
    try:
        factor = slowdown(run, graph, replay)
    except TasksimError as error:
        warnings.warn(
            f"the makespan of the run alone is unknown: its replay failed: {error}",
            stacklevel=2,
        )
        return run
    if factor is None:
        return run
    alone_s = run.makespan_s / factor
    return replace(run, disturbance=replace(run.disturbance, alone_s=alone_s))


def replay_under(scheduler: AnyScheduler, replay: ReplayUnder = alone_makespan_s) -> Replay:
    """Return a function that replays, once, a run that is yet to be made under *scheduler*.

    It copies a scheduler object now, so that the replay begins as the run did and the object keeps
    its notes on the run. If the object cannot be copied, the makespan alone is unknown.
    """
    try:
        spare = copy.deepcopy(scheduler)
    except Exception:
        return lambda _run, _graph: None
    return lambda run, graph: replay(run, graph, spare)
