"""Random graphs: a shape, with durations and data drawn for it."""

from __future__ import annotations

import math
import random
from typing import Annotated, Any, Final, Literal

from tasksim.base.errors import InputError
from tasksim.graph.apps.parameters import AtLeast, AtMost, Count, Seconds, Seed
from tasksim.graph.apps.registry import generator
from tasksim.graph.apps.shapes import SHAPES
from tasksim.graph.builder import GraphBuilder, R, W
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

__all__ = ["random_graph"]

Share = Annotated[float, AtLeast(0), AtMost(1)]
NotNegative = Annotated[float, AtLeast(0)]
CostDistribution = Literal["uniform", "exponential", "constant"]
ShapeName = Literal[
    "erdos-renyi", "layered", "daggen", "out-tree", "in-tree", "fork-joins", "chains",
    "blast", "bwa", "cycles", "epigenomics", "genome", "montage", "seismology", "soykb",
    "srasearch",
]  # fmt: skip

ARCHITECTURE_SEPARATOR: Final = "+"


@generator("random-graph")
def random_graph(
    shape: ShapeName,
    tasks: Count,
    probability: Share | None = None,
    predecessors: NotNegative | None = None,
    layers: Count | None = None,
    fat: Share | None = None,
    density: Share | None = None,
    regularity: Share | None = None,
    jump: Count | None = None,
    degree: Count | None = None,
    width: Count | None = None,
    seed: Seed = 0,
    duration: Seconds = 1e-3,
    distribution: CostDistribution = "uniform",
    ccr: NotNegative = 0.0,
    bandwidth: Annotated[float, AtLeast(1)] = 1e9,
    architectures: str = "",
    heterogeneity: Annotated[float, AtLeast(0), AtMost(2)] = 0.0,
    consistency: Literal["inconsistent", "consistent"] = "inconsistent",
) -> TaskGraph:
    """Random graph of a shape of the literature or of a workflow, with random durations and data.

    A datum goes along each dependency. The same settings and seed give the same graph, on any
    version of Python.

    Parameters
    ----------
    shape
        Families of random graphs: erdos-renyi, layered (both as in STG), daggen, out-tree, in-tree,
        fork-joins, chains. Workflows: blast, bwa, cycles, epigenomics, genome (1000 Genomes),
        montage, seismology, soykb, srasearch.
    tasks
        Number of tasks. Workflows have the largest number that their structure allows up to it.
    probability
        Probability of each dependency (erdos-renyi, layered).
    predecessors
        Mean number of predecessors (erdos-renyi, layered; default 3).
    layers
        Number of layers (layered; default the root of ``tasks``).
    fat
        Width of layers as an exponent of ``tasks``: 0 a chain, 1 independent tasks (daggen; default
        0.5).
    density
        Largest number of predecessors, as a share of the layer before (daggen; default 0.5).
    regularity
        1 for layers of equal width (daggen; default 0.9).
    jump
        Largest number of layers that a dependency spans (daggen; default 1).
    degree
        Largest number of children (out-tree, in-tree; default 3).
    width
        Mean number of tasks per phase (fork-joins), or number of chains (chains); default the root
        of ``tasks``.
    seed
        Seed of the random choices.
    duration
        Mean duration in seconds.
    distribution
        Distribution of durations and of sizes: uniform from 0 to twice the mean, exponential, or
        constant.
    ccr
        Communication to computation ratio: the mean time to send a datum at ``bandwidth`` divided
        by the mean duration of this graph's tasks. 0: data have no size.
    bandwidth
        Bandwidth in bytes per second at which ``ccr`` holds.
    architectures
        Names of architectures, joined by ``+``, on each of which tasks have a duration of their
        own.
    heterogeneity
        Range of a task's durations over the architectures, as a share of its mean duration: 1 for
        durations from half to one and a half of it (Topcuoglu's beta).
    consistency
        consistent: the first architecture is the fastest for all tasks, the second the next one,
        and so on. inconsistent: each task has its own order.
    """
    rng = random.Random(seed)
    skeleton = SHAPES[shape].skeleton(
        shape, tasks, rng, probability=probability, predecessors=predecessors, layers=layers,
        fat=fat, density=density, regularity=regularity, jump=jump, degree=degree, width=width,
    )  # fmt: skip
    names = _architectures(architectures, heterogeneity)
    durations = [duration * share for share in _drawn(rng, distribution, len(skeleton.kernels))]
    parameters: list[dict[str, Any]] = []
    for mean in durations:
        drawn = [mean * (1 + heterogeneity * (rng.random() - 0.5)) for _ in names]
        if consistency == "consistent":
            drawn.sort()
        costs = {f"{name}_s": cost for name, cost in zip(names, drawn, strict=True)}
        parameters.append({"duration_s": mean, **costs})
    shares = _drawn(rng, distribution, sum(map(len, skeleton.predecessors)))
    mean_bytes = ccr * bandwidth * sum(durations) / len(durations)
    total = sum(shares) or 1.0  # without shares, all are 0
    sizes = [round(mean_bytes * len(shares) * share / total) for share in shares]
    g = GraphBuilder("random-graph")
    g.announce(len(skeleton.kernels))
    x = list(g.vector("x", len(sizes), size_bytes=sizes)) if sizes else []
    accesses: list[list[int]] = [[] for _ in skeleton.kernels]
    edges = ((s, t) for t, before in enumerate(skeleton.predecessors) for s in before)
    for handle, (source, target) in zip(x, edges, strict=True):
        accesses[source].append(W(handle))
        accesses[target].append(R(handle))
    for task, kernel in enumerate(skeleton.kernels):
        g.insert(kernel, *accesses[task], **parameters[task])
    return g.build()


def _architectures(text: str, heterogeneity: float) -> list[str]:
    """Return the names in *text*, all different."""
    names = [name.strip() for name in text.split(ARCHITECTURE_SEPARATOR)] if text else []
    if "" in names or len(set(names)) < len(names):
        raise InputError(
            f"random-graph: architectures: got '{text}'; legal: different names joined by "
            f"{ARCHITECTURE_SEPARATOR}, such as P0+P1"
        )
    if heterogeneity and not names:
        raise InputError(
            f"random-graph: heterogeneity: got {heterogeneity:g} without architectures; "
            "legal: 0, or architectures=NAME+NAME, such as architectures=P0+P1"
        )
    return names


def _drawn(rng: random.Random, distribution: str, count: int) -> list[float]:
    """Return *count* numbers of mean 1."""
    if distribution == "constant":
        return [1.0] * count
    draws = [rng.random() for _ in range(count)]
    if distribution == "uniform":
        return [2 * draw for draw in draws]
    return [-math.log1p(-draw) for draw in draws]
