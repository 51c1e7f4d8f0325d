"""Synthetic graphs, for tests of schedulers and for learning."""

from __future__ import annotations

import random
from typing import Annotated

import numpy as np

from tasksim.graph.access_mode import AccessMode
from tasksim.graph.apps.parameters import AtLeast, Count, Seconds, Seed
from tasksim.graph.apps.registry import generator
from tasksim.graph.apps.shapes import below
from tasksim.graph.builder import GraphBuilder, R, W
from tasksim.graph.columns import ColumnBuilder
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

__all__ = ["chain", "fork_join", "random_layered"]

Size = Annotated[int, AtLeast(0)]


@generator("chain")
def chain(length: Count, duration: Seconds = 1e-3, size_bytes: Size = 0) -> TaskGraph:
    """One task after the other: no parallelism at all.

    Parameters
    ----------
    length
        Number of tasks.
    duration
        Duration of every task in seconds, its parameter ``duration_s``.
    size_bytes
        Size of the data passed from task to task.
    """
    g = ColumnBuilder("chain", tasks=length)
    x = g.handle("x", size_bytes=size_bytes)
    g.insert("task", np.arange(length), (AccessMode.RW, x), duration_s=duration)
    return g.build()


@generator("fork-join")
def fork_join(
    width: Count, stages: Count = 1, duration: Seconds = 1e-3, size_bytes: Size = 0
) -> TaskGraph:
    """Stages of independent tasks; one task before, between and after them.

    Stages x (width + 1) + 1 tasks, 2 x width dependencies per stage.

    Parameters
    ----------
    width
        Independent tasks per stage.
    stages
        Number of stages.
    duration
        Duration of every task in seconds, its parameter ``duration_s``.
    size_bytes
        Size of each datum passed from task to task.
    """
    g = GraphBuilder("fork-join")
    g.announce(stages * (width + 1) + 1)
    s = g.handle("s", size_bytes=size_bytes)
    x = g.vector("x", width, size_bytes=size_bytes)
    g.insert("task", W(s), duration_s=duration)
    for _ in range(stages):
        for i in range(width):
            g.insert("task", R(s), W(x[i]), duration_s=duration)
        g.insert("task", *map(R, x), W(s), duration_s=duration)
    return g.build()


@generator("random-layered")
def random_layered(
    layers: Count,
    width: Count,
    fan_in: Count = 3,
    seed: Seed = 0,
    duration: Seconds = 1e-3,
    size_bytes: Size = 0,
) -> TaskGraph:
    """Layers of tasks that each read from random tasks of the layer before.

    Every task writes one handle. Durations are drawn from five values, ``duration`` times
    1/4, 1/2, 1, 2 and 4. The same seed gives the same graph, on any version of Python.

    Parameters
    ----------
    layers
        Number of layers, the depth of the graph.
    width
        Tasks per layer.
    fan_in
        Number of tasks that each task depends on, at most ``width``.
    seed
        Seed of the random choices.
    duration
        The middle one of the five durations, in seconds.
    size_bytes
        Size of the datum that a task writes.
    """
    rng = random.Random(seed)
    durations = [duration * factor for factor in (0.25, 0.5, 1.0, 2.0, 4.0)]
    g = GraphBuilder("random-layered")
    g.announce(layers * width)
    x = g.matrix("x", layers, width, size_bytes=size_bytes)
    for layer in range(layers):
        for i in range(width):
            inputs = _sample(rng, width, min(fan_in, width)) if layer else []
            g.insert(
                "task", *(R(x[layer - 1, j]) for j in inputs), W(x[layer, i]),
                duration_s=durations[below(rng, len(durations))],
            )  # fmt: skip
    return g.build()


def _sample(rng: random.Random, population: int, size: int) -> list[int]:
    """Return *size* different integers below *population*, ascending (R. Floyd's algorithm)."""
    chosen: set[int] = set()
    for limit in range(population - size, population):
        pick = below(rng, limit + 1)
        chosen.add(limit if pick in chosen else pick)
    return sorted(chosen)
