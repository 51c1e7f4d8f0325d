"""Needs of a simulation: whether the replay of machines is what it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tasksim.engine.durations import Models
    from tasksim.engine.slowing import Slowing
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform

__all__ = ["SimultaneousPushes", "contention_of", "needs_machine"]

SimultaneousPushes = Literal["serial", "blind"]
"""Whether a push sees the others of its instant that came before it."""


def needs_machine(platform: Platform) -> bool:
    """Return whether *platform* has what only this replay knows: memories, devices, their costs."""
    return (
        len(platform.memories) > 1
        or any(platform.device(name).pipeline for name in platform.architectures)
        or not platform.overheads.only_basic
    )


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
