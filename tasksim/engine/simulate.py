"""Simulation: from a graph, a platform and kernel models to a simulated run."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from tasksim.base.errors import InputError
from tasksim.engine.choice import Engine, Question, SimultaneousPushes, check_engine, replayed
from tasksim.engine.durations import Demands, Models, near_and_far
from tasksim.engine.outcome import machine, records
from tasksim.run.bounds import bounds
from tasksim.run.record import Run
from tasksim.schedulers.registry import create

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tasksim.engine.slowing import Slowing
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["Noise", "at_home", "bounds_of", "contention_of", "simulate", "submission_times"]

Noise = Literal["none", "model"]
LONGEST_S: Final = 1e9
"""Thirty years; their nanoseconds are numbers of 64 bits."""


def simulate(
    graph: TaskGraph,
    platform: Platform,
    models: Models,
    scheduler: str | Scheduler = "lws",
    *,
    seed: int = 0,
    noise: Noise = "none",
    check: bool = False,
    simultaneous_pushes: SimultaneousPushes = "serial",
    submitted_s: NDArray[np.float64] | None = None,
    engine: Engine = "auto",
    config: Mapping[str, Any] | None = None,
) -> Run:
    """Replay *graph* on *platform* and return the run.

    Parameters
    ----------
    graph, platform : TaskGraph, Platform
        What is to be run, and where.
    models : Models
        Kernel models; the scheduler's estimates are their means.
    scheduler : str or Scheduler, optional
        A name (``"prio"``), or an object.
    seed : int, optional
        For the scheduler's random choices and for the noise. Same seed, same run.
    noise : {"none", "model"}, optional
        What a task costs: its model's mean, or a draw from its model's distribution.
    check : bool, optional
        Verify every invariant of the result; :exc:`CheckFailed` if one is broken.
    simultaneous_pushes : {"serial", "blind"}, optional
        Whether a push sees those before it at the same instant, or, as in StarPU-SimGrid, all
        schedulers that choose a worker at push choose before any choice counts.
    submitted_s : ndarray, optional
        When each task is submitted, seconds from the start, none before the one before it; then
        the platform's cost of a submission does not count. By default one after the other.
    engine : {"auto", "simpy", "compiled"}, optional
        What replays: the compiled core, SimPy's engine, or the core where it is there and knows
        all that is asked. The result is the same to the last bit.
    config : mapping, optional
        Stored in the run, so that it can be repeated.

    Raises
    ------
    InputError
        If a kernel has no model, a task no worker that can run it, or a datum a home that is none
        of the memories.
    SchedulerError
        If the scheduler drops or repeats a task, or gives one to a worker that cannot run it.
    """
    check_engine(engine)
    graph = at_home(graph, platform)
    policy = create(scheduler) if isinstance(scheduler, str) else scheduler
    demands = Demands(graph, platform, models)
    drawn = estimates = demands.means()
    if noise == "model":
        drawn = demands.draws(np.random.default_rng([seed, 1]))
    costs, far = near_and_far(graph, platform, models, drawn, estimates)
    slowing, estimates = contention_of(graph, platform, models, estimates)
    due = submission_times(graph, submitted_s)
    question = Question(
        graph, platform, policy, costs, estimates, far, simultaneous_pushes, due, slowing
    )
    begun = time.perf_counter()
    done = replayed(question, seed, engine)
    wall_s = time.perf_counter() - begun
    run = Run(
        kind="simulated",
        graph_name=graph.name,
        graph_arguments=dict(graph.arguments),
        kernel_names=graph.kernels,
        platform=platform.name,
        scheduler=scheduler if isinstance(scheduler, str) else policy.name,
        seed=seed,
        config=dict(config or {}),
        wall_s=wall_s,
        bounds=bounds_of(graph, platform, costs),
        **machine(platform),
        engine=done.engine,
        engine_why=done.why,
        **records(graph, done.replay.outcome()),
    )
    if check:
        from tasksim.engine.room import check_room
        from tasksim.run.runchecks import check_run

        check_room(graph, [platform])
        check_run(run, graph)
    return run


def submission_times(
    graph: TaskGraph, submitted_s: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """Return when tasks are submitted, each not before the one before it.

    Raises :exc:`InputError` unless there is a finite time from 0 for each task.
    """
    if submitted_s is None:
        return None
    times = np.asarray(submitted_s, dtype=np.float64)
    if times.shape != (len(graph),) or not bool(((times >= 0) & (times <= LONGEST_S)).all()):
        raise InputError(
            f"graph {graph.name}: submitted_s: legal: for each of {len(graph)} tasks a time from 0 "
            f"to {LONGEST_S:g} s"
        )
    return np.maximum.accumulate(times)


def at_home(graph: TaskGraph, platform: Platform) -> TaskGraph:
    """Return *graph* with its data in memories that there are: where there is one, all in that.

    Raises :exc:`InputError` if there are several, and a datum's home is none of them.
    """
    homes, memories = graph.handle_home, platform.memories
    if not len(homes) or 0 <= homes.min() <= homes.max() < len(memories):
        return graph
    if len(memories) > 1:
        handle = int(np.flatnonzero((homes < 0) | (homes >= len(memories)))[0])
        names = ", ".join(f"{memory.id} {memory.name}" for memory in memories)
        raise InputError(
            f"graph {graph.name}: datum #{handle} is at home in memory {homes[handle]}; "
            f"platform {platform.name} has {names}"
        )
    return replace(graph, handle_home=np.zeros_like(homes))


def contention_of(
    graph: TaskGraph, platform: Platform, models: Models, estimates: NDArray[np.float64]
) -> tuple[Slowing | None, NDArray[np.float64]]:
    """Return how tasks slow each other down, None for not at all, and what schedulers expect."""
    if not platform.memory_domains:
        return None, estimates
    from tasksim.engine.slowing import busy_estimates, slowing_of

    slowing = slowing_of(graph, platform, models)
    if slowing is None:
        return None, estimates
    return slowing, busy_estimates(slowing, graph, platform, estimates)


def bounds_of(graph: TaskGraph, platform: Platform, costs: NDArray[np.float64]) -> dict[str, float]:
    """Return the bounds on any schedule with these costs, all data near."""
    found = bounds(graph, costs, [len(group.workers) for group in platform.classes])
    return {"critical_path_s": found.critical_path_s, "area_s": found.area_s}
