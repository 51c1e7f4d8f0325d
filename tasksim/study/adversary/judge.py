"""Makespans of schedulers on an instance, planned or replayed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.engine.batch import totals
from tasksim.engine.simulation import Simulation
from tasksim.formats.costs_csv import processors
from tasksim.graph.builder import GraphBuilder, R, W
from tasksim.graph.csr import pointers_of_counts
from tasksim.models.kinds.given import GivenCosts, parameter
from tasksim.schedulers.registry import create
from tasksim.schedulers.static import ALGORITHMS, Problem
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.problem import Edges
from tasksim.study.adversary.instance import DECIMALS, Instance, Space

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.run.record import Run

__all__ = ["BEST_STATIC", "Judge", "schedulers_of"]

BYTES_PER_VOLUME: Final = 10.0**DECIMALS
"""Bytes per second of a bandwidth of 1."""
CACHE_SIZE: Final = 64
"""Number of structures, machines and schedulers that are kept: a change leaves most as they are."""
BEST_STATIC: Final = "best"
"""Word for the best static algorithm, instance by instance."""


def schedulers_of(text: str, but: str = "") -> tuple[str, ...]:
    """Return the schedulers that *text* stands for: one, or for ``best`` all algorithms *but* one.

    Raises
    ------
    InputError
        If there is no such scheduler or option, with the nearest one.
    """
    if text == BEST_STATIC:
        return tuple(name for name in ALGORITHMS if name != but)
    create(text)
    return (text,)


@dataclass(frozen=True)
class Judge:
    """The makespans of schedulers on instances of a space.

    Attributes
    ----------
    space
        The space of the instances.
    platform
        The platform, where it is given; None for processors that belong to the instance.
    duration_s, size_bytes
        Duration of a weight of 1 and size of a volume of 1; on processors of the instance they are
        1 s and 10,000 bytes, of which 10,000 are sent per second at bandwidth 1.
    seed
        For the random choices of schedulers.
    """

    space: Space
    platform: Platform | None
    duration_s: float = 1.0
    size_bytes: float = 10.0**DECIMALS
    seed: int = 0

    def makespans_s(
        self,
        instance: Instance,
        *groups: Sequence[str],
        pin: tuple[int, int] | None = None,
    ) -> list[float]:
        """Return, per group of schedulers, the least makespan on *instance*, in seconds.

        With a *pin*, the task of that number can only run on the processor or architecture of the
        second number.
        """
        problem = self._problem(instance, pin) if self.platform is None else None
        return [
            min(self._makespan_s(instance, pin, problem, name) for name in group)
            for group in groups
        ]

    def run(self, instance: Instance, scheduler: str) -> Run:
        """Return the run of *scheduler* on *instance*."""
        return self._simulation(
            self.graph(instance, None), self._platform(instance), scheduler
        ).run()

    def graph(self, instance: Instance, pin: tuple[int, int] | None) -> TaskGraph:
        """Return the graph of *instance*: each task a kernel, each dependency a datum."""
        names, costs = instance.costs(self.space)
        seconds = [
            {
                parameter(name): cost * self.duration_s
                for place, (name, cost) in enumerate(zip(names, row, strict=True))
                if pin is None or pin[0] != task or pin[1] == place
            }
            for task, row in enumerate(costs)
        ]
        return _graph(seconds, instance.volumes, self.size_bytes)

    def _platform(self, instance: Instance) -> Platform:
        if self.platform is not None:
            return self.platform
        return _machine(instance.costs(self.space)[0], instance.bandwidths)

    def _simulation(self, graph: TaskGraph, platform: Platform, scheduler: str) -> Simulation:
        return Simulation(graph, platform, GivenCosts(graph), scheduler, self.seed)

    def _problem(self, instance: Instance, pin: tuple[int, int] | None) -> Problem:
        """Return the static problem of an instance with processors of its own, for planners."""
        names, costs = instance.costs(self.space)
        seconds = np.array(costs) * self.duration_s
        if pin is not None:
            task, place = pin
            seconds[task, [k for k in range(len(names)) if k != place]] = np.inf
        sizes = [float(round(volume * self.size_bytes)) for _, _, volume in instance.volumes]
        pairs = tuple(
            (first, second, bool(size))
            for (first, second, _), size in zip(instance.volumes, sizes, strict=True)
        )
        count = len(names)
        inverse = [0.0] * (count * count)
        for first, second, bandwidth in instance.bandwidths:
            inverse[first * count + second] = inverse[second * count + first] = 1.0 / (
                bandwidth * BYTES_PER_VOLUME
            )
        return _structure(self.space.tasks, pairs, names).with_values(
            seconds,
            np.array(sizes, dtype=np.float64),
            np.array(inverse).reshape(count, count),
        )

    def _makespan_s(
        self,
        instance: Instance,
        pin: tuple[int, int] | None,
        problem: Problem | None,
        name: str,
    ) -> float:
        policy = _planner(name)
        if problem is not None and policy is not None:
            # Copies between such processors share nothing, so the run is the plan.
            if policy.draws:
                policy.rng = random.Random(self.seed)  # as a replay with this seed has it
            return policy.make_plan(problem).makespan_s
        simulation = self._simulation(self.graph(instance, pin), self._platform(instance), name)
        return next(iter(totals([simulation]))).makespan_s


def _graph(
    seconds: Sequence[Mapping[str, float]],
    volumes: Sequence[tuple[int, int, float]],
    size_bytes: float,
) -> TaskGraph:
    """Return the graph of tasks with these durations as parameters, and a datum per volume."""
    g = GraphBuilder("instance")
    accesses: list[list[int]] = [[] for _ in seconds]
    waits: list[list[int]] = [[] for _ in seconds]
    for a, b, volume in volumes:
        waits[b].append(a)
        if size := round(volume * size_bytes):
            handle = g.handle(f"T{a}->T{b}", size_bytes=size)
            accesses[a].append(W(handle))
            accesses[b].append(R(handle))
    for task, parameters in enumerate(seconds):
        g.insert(f"T{task}", *accesses[task], priority=0, after=waits[task], **parameters)
    return g.build()


@lru_cache(maxsize=CACHE_SIZE)
def _machine(names: tuple[str, ...], bandwidths: tuple[tuple[int, int, float], ...]) -> Platform:
    """Return the processors of these names."""
    speeds = {(a, b): (speed, 0.0) for a, b, speed in bandwidths}
    both = speeds | {(b, a): speed for (a, b), speed in speeds.items()}
    return processors("instance", names, both, 10**DECIMALS)


@lru_cache(maxsize=CACHE_SIZE)
def _independent(tasks: int, names: tuple[str, ...]) -> Problem:
    """Return the problem of independent tasks on processors of these names."""
    bandwidths = tuple((a, b, 1.0) for b in range(len(names)) for a in range(b))
    graph = _graph([{}] * tasks, (), 1.0)
    return Problem.of(graph, _machine(names, bandwidths), np.ones((len(names), tasks)))


@lru_cache(maxsize=CACHE_SIZE)
def _structure(
    tasks: int, pairs: tuple[tuple[int, int, bool], ...], names: tuple[str, ...]
) -> Problem:
    """Return the problem of an instance for planners, without its durations, sizes, bandwidths.

    The *pairs* are its dependencies in order, and whether a datum goes with each.
    """
    columns = np.array(pairs, dtype=np.int64).reshape(len(pairs), 3).T
    source, target, sends = (np.ascontiguousarray(column) for column in columns)
    copies = sends.astype(np.float64)
    return _independent(tasks, names).with_edges(
        Edges(
            source,
            target,
            copies,
            copies,
            pointers_of_counts(np.bincount(source, minlength=tasks)),
            np.argsort(target, kind="stable"),
            pointers_of_counts(np.bincount(target, minlength=tasks)),
        )
    )


@lru_cache(maxsize=CACHE_SIZE)
def _planner(name: str) -> StaticScheduler | None:
    """Return the scheduler if it is one of :data:`ALGORITHMS` and its plan is followed as it is."""
    policy = create(name)
    if not isinstance(policy, StaticScheduler) or policy.name not in ALGORITHMS:
        return None
    return policy if policy.order == "strict" else None
