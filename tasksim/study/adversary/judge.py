"""Makespans of schedulers on an instance, planned or replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.engine.batch import totals
from tasksim.engine.simulation import Simulation
from tasksim.formats.costs_csv import processors
from tasksim.graph.builder import GraphBuilder, R, W
from tasksim.models.kinds.given import GivenCosts, parameter
from tasksim.schedulers.registry import create
from tasksim.schedulers.static import ALGORITHMS, Problem
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.study.adversary.instance import DECIMALS, Instance, Space

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.run.record import Run

__all__ = ["BEST", "Judge", "schedulers_of"]

BEST: Final = "best"
"""Word for the best static algorithm, instance by instance."""


def schedulers_of(text: str, but: str = "") -> tuple[str, ...]:
    """Return the schedulers that *text* stands for: one, or for ``best`` all algorithms *but* one.

    Raises
    ------
    InputError
        If there is no such scheduler or option, with the nearest one.
    """
    if text == BEST:
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
        graph, platform = self.graph(instance, pin), self._platform(instance)
        problem = self._problem(graph, platform) if self.platform is None else None
        return [
            min(self._makespan_s(graph, platform, problem, name) for name in group)
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
        g = GraphBuilder("instance")
        accesses: list[list[int]] = [[] for _ in costs]
        waits: list[list[int]] = [[] for _ in costs]
        for a, b, volume in instance.volumes:
            waits[b].append(a)
            if size := round(volume * self.size_bytes):
                handle = g.handle(f"T{a}->T{b}", size_bytes=size)
                accesses[a].append(W(handle))
                accesses[b].append(R(handle))
        for task, row in enumerate(costs):
            seconds = {
                parameter(name): cost * self.duration_s
                for place, (name, cost) in enumerate(zip(names, row, strict=True))
                if pin is None or pin[0] != task or pin[1] == place
            }
            g.insert(f"T{task}", *accesses[task], priority=0, after=waits[task], **seconds)
        return g.build()

    def _platform(self, instance: Instance) -> Platform:
        if self.platform is not None:
            return self.platform
        names, _ = instance.costs(self.space)
        speeds = {(a, b): (speed, 0.0) for a, b, speed in instance.bandwidths}
        both = speeds | {(b, a): speed for (a, b), speed in speeds.items()}
        return processors("instance", names, both, 10**DECIMALS)

    def _simulation(self, graph: TaskGraph, platform: Platform, scheduler: str) -> Simulation:
        return Simulation(graph, platform, GivenCosts(graph), scheduler, self.seed)

    def _problem(self, graph: TaskGraph, platform: Platform) -> Problem:
        """Return the static problem of *graph* on processors of an instance."""
        costs = np.full((len(platform.workers), len(graph)), np.inf)
        for task in range(len(graph)):
            seconds = graph.parameters_of(task)
            for place, worker in enumerate(platform.workers):
                costs[place, task] = seconds.get(parameter(worker.name), np.inf)
        return Problem.of(graph, platform, costs)

    def _makespan_s(
        self, graph: TaskGraph, platform: Platform, problem: Problem | None, name: str
    ) -> float:
        policy = create(name)
        if problem is not None and isinstance(policy, StaticScheduler):
            draws = type(policy).attach is not StaticScheduler.attach
            if policy.needs_estimates and policy.order == "strict" and not draws:
                # Copies between such processors share nothing, so the run is the plan.
                return policy.make_plan(problem).makespan_s
        return next(iter(totals([self._simulation(graph, platform, name)]))).makespan_s
