"""Question to an engine: one replay on a machine or a cluster, and what it needs of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tasksim.engine.locality import FarCharge, FarPart
    from tasksim.engine.machine.instant import SimultaneousPushes
    from tasksim.engine.slowing import Slowing
    from tasksim.graph.distribution.parts import Distribution
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.network.description import Network
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = [
    "SEEDS_PER_RUN",
    "ClusterQuestion",
    "NodeQuestion",
    "Question",
    "can_be_threads",
    "needs_machine",
]

SEEDS_PER_RUN: Final = 1 << 20
"""Distance between the seeds of two runs; the seeds of the nodes of one run are consecutive, and
there are fewer nodes than this."""


@dataclass(frozen=True, eq=False)
class Question:
    """One replay for an engine.

    Attributes
    ----------
    graph, platform, scheduler : TaskGraph, Platform, Scheduler
        The graph, the machine, and the policy.
    costs, estimates : ndarray, shape (classes, tasks)
        Durations of the tasks, and the scheduler's estimates of them, seconds.
    far : FarCharge or None
        Seconds added when a task starts, for data that left the cache.
    simultaneous_pushes : {"serial", "blind"}
        Whether a push sees the other pushes of its instant.
    submitted_s : ndarray or None
        Submission time of each task, in order; None: tasks are submitted one after the other, at
        the platform's cost.
    slowing : Slowing or None
        Slowdown of tasks by each other; None without contention.
    decisions : bool
        Whether the decisions of the scheduler are recorded.
    """

    graph: TaskGraph
    platform: Platform
    scheduler: Scheduler
    costs: NDArray[np.float64]
    estimates: NDArray[np.float64]
    far: FarCharge | None = None
    simultaneous_pushes: SimultaneousPushes = "serial"
    submitted_s: NDArray[np.float64] | None = None
    slowing: Slowing | None = None
    decisions: bool = False

    @property
    def needs_machine(self) -> bool:
        """Whether the question needs more than the core's fast path for cores with one memory."""
        blind, slowed = self.simultaneous_pushes == "blind", self.slowing is not None
        return blind or slowed or needs_machine(self.platform)

    @property
    def needs_threads(self) -> bool:
        """Whether the workers are StarPU-SimGrid's threads."""
        if self.simultaneous_pushes != "blind" or self.submitted_s is not None:
            return False
        return self.slowing is None and can_be_threads(self.platform, self.scheduler)


class NodeQuestion(NamedTuple):
    """A node of a cluster, with its scheduler and the costs of its tasks.

    *costs* and *estimates* have a row per class of workers of *platform* and a column per task of
    the whole graph; *slowing* is the slowdown of neighbouring tasks, *far* the extra cost of data
    that left the cache.
    """

    platform: Platform
    scheduler: Scheduler
    costs: NDArray[np.float64]
    estimates: NDArray[np.float64]
    slowing: Slowing | None = None
    far: FarPart | None = None


class ClusterQuestion(NamedTuple):
    """One replay of a cluster for an engine.

    Attributes
    ----------
    distribution : Distribution
        The graph, cut into a part per node.
    nodes : sequence of NodeQuestion
        The nodes.
    network : Network
        The network between them, whose hosts are counted.
    simultaneous_pushes : {"serial", "blind"}
        Whether a push sees the other pushes of its instant.
    cores : int or None
        Number of cores that all nodes share; None: each worker has its own core.
    """

    distribution: Distribution
    nodes: Sequence[NodeQuestion]
    network: Network
    simultaneous_pushes: SimultaneousPushes = "serial"
    cores: int | None = None

    def has_threads(self, node: NodeQuestion) -> bool:
        """Return whether the workers of *node* are StarPU-SimGrid's threads."""
        if self.simultaneous_pushes != "blind" or self.cores or node.slowing is not None:
            return False
        return can_be_threads(node.platform, node.scheduler, of_cluster=True)

    @property
    def needs_threads(self) -> bool:
        """Whether the workers of any node are StarPU-SimGrid's threads."""
        return any(map(self.has_threads, self.nodes))


def needs_machine(platform: Platform) -> bool:
    """Return whether *platform* needs the replay of machines: memories, devices, costs."""
    return (
        len(platform.memories) > 1
        or any(platform.device(name).pipeline for name in platform.architectures)
        or not platform.overheads.only_basic
    )


def can_be_threads(platform: Platform, scheduler: Scheduler, *, of_cluster: bool = False) -> bool:
    """Return whether StarPU-SimGrid's threads support *scheduler* and *platform*.

    Each step of a thread must take time, so that no thread polls for ever at one instant; cores
    must share an unlimited main memory, and each other memory must belong to one device. Nodes
    *of_cluster* have threads only if they have devices: the order of the communication thread and
    the others within an instant is not known exactly, and for cores alone the order without threads
    is closer to StarPU's.
    """
    from tasksim.engine.ticks import OverheadTicks
    from tasksim.runtime.flat import ported

    if of_cluster and len(platform.memories) == 1:
        return False
    if not getattr(scheduler, "as_threads", False) or ported(scheduler) is None:
        return False  # a user's scheduler is called back, which threads do not support
    devices = [w.memory for w in platform.workers if platform.device(w.architecture).pipeline]
    cores = [w.memory for w in platform.workers if not platform.device(w.architecture).pipeline]
    cost = OverheadTicks.of(platform.overheads)
    return (
        min(cost.push, cost.fetch, cost.progress, cost.submission) > 0
        and cost.task == cost.wakeup == cost.start == 0
        and sorted(devices) == list(range(1, len(platform.memories)))
        and not any(cores)
        and platform.memories[0].size_bytes is None
    )
