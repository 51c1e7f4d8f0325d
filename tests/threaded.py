"""Questions that threads answer, blind pushes on machines as StarPU's, drawn from a seed."""

from __future__ import annotations

import random

import numpy as np
from questions import KERNELS

from tasksim.engine.question import Question
from tasksim.graph.builder import RW, Commute, GraphBuilder, R, Reduce, Scratch, W
from tasksim.platform.description import (
    Allocation,
    Copying,
    Device,
    Link,
    Memory,
    Overheads,
    Platform,
    Route,
    Worker,
)
from tasksim.schedulers.registry import create

SCHEDULERS = ("eager", "prio", "ws")
ACCESSES = (R, R, R, W, RW, RW, Commute, Commute, Reduce, Scratch)
US = 1e-6


def drawn_graph(draw):
    """Up to 80 tasks on few data or many; half of the graphs have hints."""
    builder = GraphBuilder("drawn")
    count = draw.choice((1, 2, 5, 9, 30))
    data = [builder.handle(f"x{i}", size_bytes=draw.choice((1, 8, 9, 16))) for i in range(count)]
    hints = draw.choice((0.0, 0.0, 0.2, 0.5))
    levels = draw.choice(((0,), (0, 1, 2), (-7, 0, 2**31 - 1)))
    for _ in range(draw.choice((0, 1, 10, 40, 80))):
        chosen = draw.sample(data, draw.randint(0, min(4, len(data))))
        accesses = [draw.choice(ACCESSES)(handle) for handle in chosen]
        builder.insert(draw.choice(KERNELS), *accesses, priority=draw.choice(levels))
        if draw.random() < hints:
            builder.wont_use(draw.choice(data))
    return builder.build()


def drawn_platform(draw):
    """Cores, devices with a memory each, or both; little memory, so that data leave it."""
    devices = draw.choice((0, 1, 1, 2, 3))
    cores = draw.choice((0, 1, 2, 3, 6)) if devices else draw.choice((1, 2, 5, 12))
    size = draw.choice((None, 80.0, 64.0))
    first = draw.random() < 0.5  # whether the devices come first
    kinds = [("cuda", i + 1) for i in range(devices)]
    kinds = kinds + [("cpu", 0)] * cores if first else [("cpu", 0)] * cores + kinds
    workers = [Worker(i, f"{kind}{i}", kind, place) for i, (kind, place) in enumerate(kinds)]
    memories = [Memory(0, "ram"), *(Memory(i + 1, f"m{i}", 0, size) for i in range(devices))]
    pairs = [(a, b) for a in range(devices + 1) for b in range(devices + 1) if a != b]
    if draw.random() < 0.5:
        pairs = [pair for pair in pairs if 0 in pair]
    latency, speed = draw.choice((0.0, US, 1e-5)), draw.choice((1e5, 1e6, 1e9))
    links = [Link(i, f"l{i}", None, speed, latency) for i in range(len(pairs))]
    return Platform(
        name="drawn",
        workers=tuple(workers),
        memories=tuple(memories),
        overheads=drawn_overheads(draw),
        links=tuple(links),
        routes=tuple(Route(*pair, (i,)) for i, pair in enumerate(pairs)),
        devices={"cuda": Device(draw.randint(1, 4), draw.choice(((), ("potrf",), KERNELS)))},
        allocation=drawn_allocation(draw),
        copying=Copying(draw.randint(1, 5), draw.randint(1, 3), 1, serialised=draw.random() < 0.5),
    )


def drawn_overheads(draw):
    """StarPU's, or others: all that a thread does takes time."""
    if draw.random() < 0.5:
        return Overheads(US, 0.0, 0.0, US, US, US, 10 * US, 10 * US)
    costs = [draw.choice((US, 2 * US, 3e-7, 1e-9, 1e-4)) for _ in range(4)]
    return Overheads(
        submission_s=costs[0], push_s=costs[1], fetch_s=costs[2], progress_s=costs[3],
        kernel_s=draw.choice((0.0, US, 1e-5)), copy_s=draw.choice((0.0, US, 1e-5)),
    )  # fmt: skip


def drawn_allocation(draw):
    free_s = draw.choice((0.0, US, 7.5e-4))
    return Allocation(
        allocate_s=free_s / 2,
        free_s=free_s,
        chunk_bytes=16.0,
        unit_bytes=1.0,
        largest_bytes=draw.choice((0.0, 8.0)),
    )


def drawn_question(seed, scheduler):
    """Return what is asked of both engines: kernels of few different lengths, so that ties matter.

    Some cannot run everywhere.
    """
    draw = random.Random(seed)
    graph, platform = drawn_graph(draw), drawn_platform(draw)
    values = draw.choice(((1e-4, 2e-4), (US, 2 * US, 5 * US), (0.0, 1e-5, 1e-3)))
    classes = len(platform.classes)
    per_kernel = np.array([draw.choices(values, k=len(KERNELS)) for _ in range(classes)])
    if classes > 1 and draw.random() < 0.5:
        per_kernel[draw.randrange(classes), draw.randrange(len(KERNELS))] = np.inf
    known = {name: k for k, name in enumerate(KERNELS)}
    costs = per_kernel[:, [known[graph.kernels[k]] for k in graph.kernel.tolist()]]
    costs = costs.reshape(classes, len(graph))
    policy = create(scheduler)
    return Question(graph, platform, policy, costs, costs, simultaneous_pushes="blind")
