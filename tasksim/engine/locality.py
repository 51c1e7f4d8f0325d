"""Cost of data that have left the cache, charged in the order of task starts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tasksim.graph.reuse import ReuseTracker
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.locality import Locality
    from tasksim.platform.description import Platform

__all__ = ["FarCharge", "FarPart"]

MIN_NEAR_SHARE = 0.1
"""Minimum share of a modelled duration that is left when all data are near. Shares are regressed
and durations may be drawn, so the estimated cost of far data may exceed a whole duration; a tenth
keeps it positive. Models of large kernels never come near (those shipped leave 94 %); those of
tasks of microseconds may."""


class FarCharge:
    """Cost of far data; ``extra_s`` must be called once per task, in the order of starts.

    *reach_bytes* and *seconds_per_byte* have a row per class of workers and a column per task.
    """

    def __init__(
        self,
        graph: TaskGraph,
        reach_bytes: NDArray[np.float64],
        seconds_per_byte: NDArray[np.float64],
    ) -> None:
        self.arrays = reach_bytes, seconds_per_byte
        self._graph = graph

    @cached_property
    def _tracker(self) -> ReuseTracker:
        from tasksim.graph.reuse import ReuseTracker

        return ReuseTracker(self._graph)

    @cached_property
    def _reach_bytes(self) -> list[list[float]]:
        reach: list[list[float]] = self.arrays[0].tolist()
        return reach

    @cached_property
    def _per_byte(self) -> list[list[float]]:
        per_byte: list[list[float]] = self.arrays[1].tolist()
        return per_byte

    def extra_s(self, task: int, group: int) -> float:
        """Start *task* on a worker of class *group*; return the seconds its far data add."""
        far_bytes = self._tracker.far_bytes(task, self._reach_bytes[group][task])
        return far_bytes * self._per_byte[group][task]


class FarPart(NamedTuple):
    """Cost of far data, and the part of it in the models' means, in seconds."""

    reach_bytes: NDArray[np.float64]
    seconds_per_byte: NDArray[np.float64]
    contained_s: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        known: Mapping[tuple[int, int], Locality],
        graph: TaskGraph,
        platform: Platform,
        means_s: NDArray[np.float64],
    ) -> FarPart:
        """Return it for what is *known* by class of workers and kernel, none of it nothing."""
        from tasksim.graph.reuse import task_bytes

        shape = len(platform.classes), len(graph)
        reach, per_byte, contained = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        size_bytes = task_bytes(graph)
        for (index, kernel), locality in known.items():
            tasks = graph.kernel == kernel
            speed = platform.speeds[platform.classes[index].architecture]
            slope = locality.seconds_per_far_byte / speed
            per_byte[index, tasks] = slope
            contained[index, tasks] = slope * locality.mean_far_share * size_bytes[tasks]
            # Each kernel its own: kernels that were calibrated apart may differ.
            reach[index, tasks] = locality.reach_bytes
        room_s = (1.0 - MIN_NEAR_SHARE) * means_s
        beyond = contained > room_s
        per_byte[beyond] *= room_s[beyond] / contained[beyond]
        contained[beyond] = room_s[beyond]
        return cls(reach, per_byte, contained)

    def near(self, durations_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return modelled durations with all data near."""
        # At least a little remains, whatever was drawn.
        near_s: NDArray[np.float64] = np.maximum(
            durations_s - self.contained_s, MIN_NEAR_SHARE * durations_s
        )
        return near_s

    def charge(self, graph: TaskGraph) -> FarCharge:
        """Return what far data cost, to be asked by one replay."""
        return FarCharge(graph, self.reach_bytes, self.seconds_per_byte)
