"""Simulated times of a program on many ranks, with what its kernels took on few."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import unknown
from tasksim.engine.cluster.simulate import simulate_cluster
from tasksim.models.kinds.history import HistoryModel
from tasksim.network.cluster import Cluster
from tasksim.platform.description import Platform
from tasksim.run.samples import recorded_kernels
from tasksim.run.sharedcores import alone_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.distribution.owners import Grid
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.locality import Locality
    from tasksim.network.description import Network
    from tasksim.run.samples import RecordedRun

__all__ = ["MeanModels", "simulated_s"]

SHORTEST_S: Final = 1e-9
"""The least that a clock tells: samples take some time."""


class MeanModels:
    """Kernel models of recorded runs: what each configuration took in the mean.

    Whatever the architecture, and whatever was far: runs of bulk-synchronous programs have one.
    Where ranks shared cores, tasks count for what they would have taken alone.
    """

    def __init__(self, runs: Sequence[RecordedRun]) -> None:
        self._models = {
            kernel.name: HistoryModel(fence=None).fit(kernel.samples)
            for kernel in reversed(recorded_kernels([_alone(run) for run in runs]))
        }

    def model(self, kernel: str, architecture: str) -> KernelModel:  # noqa: ARG002
        """Return the model of *kernel*."""
        if kernel not in self._models:
            raise unknown("kernel", kernel, self._models)
        return self._models[kernel]

    def locality(self, kernel: str, architecture: str) -> Locality | None:  # noqa: ARG002
        """Return None: nothing is known of what was far."""
        return None


def _alone(recorded: RecordedRun) -> RecordedRun:
    """Return a run whose tasks end when they would have ended with cores of their own."""
    run = recorded.run
    tasks = replace(run.tasks, end_s=run.tasks.start_s + np.maximum(alone_s(run), SHORTEST_S))
    return replace(recorded, run=replace(run, tasks=tasks))


def simulated_s(
    graph: TaskGraph,
    grid: Grid,
    owner: str,
    network: Network,
    models: MeanModels,
    *,
    scheduler: str = "lws",
    platform: Platform | None = None,
    cores: int | None = None,
) -> float:
    """Return how long *graph* takes on the ranks of *grid*, each a *platform*, or one core.

    Raises
    ------
    InputError
        If a kernel has a configuration that was not measured.
    """
    cluster = Cluster.alike(platform or Platform.identical(1), grid.nodes, network, cores)
    run = simulate_cluster(graph, cluster, models, scheduler, grid=grid, owner=owner)
    return run.makespan_s
