"""Costs of the tasks of a graph on a platform, and schedulers' estimates of them.

Single runs, batches, series and clusters share them; they are computed once per graph, platform and
models.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from tasksim.base.errors import InputError
from tasksim.engine.durations import Demands

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tasksim.engine.durations import Models
    from tasksim.engine.locality import FarCharge, FarPart
    from tasksim.engine.slowing import Slowing
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.locality import Locality
    from tasksim.platform.description import Platform

__all__ = ["FarDataRule", "Noise", "Prices"]

Noise = Literal["none", "model"]
"""Cost of a task: its model's mean, or a draw from its model's distribution."""
FarDataRule = Literal["charged", "mean"]
"""Cost of far data: that of each task's own far data, or the mean of the measured tasks."""


class Prices:
    """Costs and estimates of the tasks of a graph on a platform.

    Attributes
    ----------
    estimates : ndarray, shape (classes, tasks)
        Durations that schedulers expect, in seconds: the models' means, with contention by busy
        neighbours in classes that know it. Infinite if a class cannot run a task.
    means : ndarray, shape (classes, tasks)
        Costs of the tasks with all data near and without draws.
    localities : dict of (int, int) to Locality
        Localities in the models, by class of workers and kernel.
    far : FarPart or None
        Additional cost of far data; None if no model has locality.
    slowing : Slowing or None
        Slowdown of tasks by each other; None without contention.

    Raises
    ------
    InputError
        If a kernel has no model for any architecture of the platform.
    """

    def __init__(
        self,
        graph: TaskGraph,
        platform: Platform,
        models: Models,
        far_data: FarDataRule = "charged",
    ) -> None:
        self._given, self.platform = graph, platform
        self._models = models  # kept alive: shared prices are found by the ids of their objects
        self._demands = Demands(graph, platform, models)
        modelled_s = self._demands.means()
        self.far: FarPart | None = None
        self.localities: dict[tuple[int, int], Locality] = {}
        for index, group in enumerate(platform.classes if far_data == "charged" else ()):
            for kernel, name in enumerate(graph.model_names):
                try:
                    locality = models.locality(name, group.models)
                except InputError:  # no model there: the architecture cannot run the kernel
                    continue
                if locality is not None and locality.costs:
                    self.localities[index, kernel] = locality
        if self.localities:
            from tasksim.engine.locality import FarPart

            # The modelled mean is the duration with all data near plus the mean cost of far data,
            # so that cost is limited by the minimum that must remain.
            self.far = FarPart.of(self.localities, graph, platform, modelled_s)
        self.means = modelled_s if self.far is None else self.far.near(modelled_s)
        self.slowing: Slowing | None = None
        self.estimates = modelled_s
        if platform.memory_domains:
            from tasksim.engine.slowing import busy_estimates, slowing_of

            self.slowing = slowing_of(graph, platform, models)
            if self.slowing is not None:
                self.estimates = busy_estimates(self.slowing, graph, platform, modelled_s)

    @cached_property
    def graph(self) -> TaskGraph:
        """The graph with its data in existing memories; a single memory has all data.

        Raises :exc:`InputError` if there are several memories, and the home of a datum is none.
        """
        graph, platform = self._given, self.platform
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

    @property
    def charge(self) -> FarCharge | None:
        """Addition to a task's cost when it starts, for far data; None if no model has locality."""
        return None if self.far is None else self.far.charge(self.graph)

    def costs(
        self,
        noise: Noise = "none",
        seed: int = 0,
        drawn: Callable[[], NDArray[np.float64]] | None = None,
    ) -> NDArray[np.float64]:
        """Return the costs of tasks in one replay with all data near: means, or draws by *seed*.

        *drawn*, if given, returns the modelled durations instead.
        """
        if drawn is not None:
            modelled_s = drawn()
        elif noise == "none":
            return self.means
        else:
            modelled_s = self._demands.draws(np.random.default_rng([seed, 1]))
        return modelled_s if self.far is None else self.far.near(modelled_s)
