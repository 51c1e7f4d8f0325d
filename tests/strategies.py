"""Hypothesis strategies: task graphs, platforms, durations."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

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

ACCESSES = (R, W, RW, Commute, Reduce, Scratch)
KERNELS = ("potrf", "gemm", "task")


@st.composite
def graphs(draw, max_tasks=25, max_handles=5):
    """Tasks with random accesses to a few data; some kernels, some priorities."""
    handles = draw(st.integers(1, max_handles))
    builder = GraphBuilder("random")
    data = [builder.handle(f"x{i}", size_bytes=8) for i in range(handles)]
    for _ in range(draw(st.integers(0, max_tasks))):
        chosen = draw(st.lists(st.integers(0, handles - 1), unique=True, max_size=3))
        accesses = [draw(st.sampled_from(ACCESSES))(data[h]) for h in chosen]
        builder.insert(
            draw(st.sampled_from(KERNELS)),
            *accesses,
            priority=draw(st.integers(-3, 3)),
            duration_s=draw(st.sampled_from([0.0, 1e-4, 2e-4])),
        )
    return builder.build()


@st.composite
def platforms(draw, max_workers=5):
    """One to a few workers of one or two architectures, with or without costs of the runtime."""
    architectures = draw(
        st.lists(st.sampled_from(["cpu", "big"]), min_size=1, max_size=max_workers)
    )
    overheads = draw(
        st.sampled_from(
            [
                Overheads(),
                Overheads(task_s=0.25),
                Overheads(submission_s=0.5, task_s=0.125, wakeup_s=0.25),
            ]
        )
    )
    return Platform(
        name="random",
        workers=tuple(
            Worker(id=i, name=f"{name}{i}", architecture=name, memory=0)
            for i, name in enumerate(architectures)
        ),
        memories=(Memory(id=0, name="ram"),),
        overheads=overheads,
    )


@st.composite
def costs(draw, graph, platform):
    """Durations per class and task: small integers, so that ends coincide; some impossible."""
    classes, tasks = len(platform.classes), len(graph)
    values = st.sampled_from([0.0, 1.0, 1.0, 2.0, 3.0, np.inf])
    table = np.array([[draw(values) for _ in range(tasks)] for _ in range(classes)]).reshape(
        classes, tasks
    )
    nowhere = np.isinf(table).all(axis=0)
    table[0, nowhere] = 1.0
    return table.tolist()


@st.composite
def moving_graphs(draw, max_tasks=20, max_handles=5):
    """Tasks with random accesses to data of different sizes, and hints about these data."""
    builder = GraphBuilder("moving")
    sizes = draw(st.lists(st.sampled_from([1, 8, 8, 8, 9, 16]), min_size=1, max_size=max_handles))
    data = [builder.handle(f"x{i}", size_bytes=size) for i, size in enumerate(sizes)]
    for _ in range(draw(st.integers(0, max_tasks))):
        chosen = draw(st.lists(st.sampled_from(data), unique=True, max_size=3))
        builder.insert(
            draw(st.sampled_from(KERNELS)),
            *[
                draw(st.sampled_from((R, R, W, RW, RW, Commute, Reduce, Scratch)))(x)
                for x in chosen
            ],
            priority=draw(st.integers(-3, 3)),
            duration_s=draw(st.sampled_from([1e-5, 1e-4, 2e-4])),
        )
        if draw(st.booleans()):
            builder.wont_use(draw(st.sampled_from(data)))
    return builder.build()


COSTS = (
    Overheads(),
    Overheads(progress_s=1e-6),
    Overheads(submission_s=1e-5, task_s=1e-6, wakeup_s=2e-6),
    Overheads(
        submission_s=1e-6, push_s=1e-6, fetch_s=1e-6, progress_s=1e-6, kernel_s=1e-5, copy_s=1e-5
    ),
)
"""The runtime's own costs: none, one, the basic ones, all those of StarPU-SimGrid."""

ALLOCATIONS = (
    Allocation(chunk_bytes=16.0, unit_bytes=1.0, largest_bytes=0.0),
    Allocation(chunk_bytes=16.0, unit_bytes=4.0, largest_bytes=8.0),
    Allocation(chunk_bytes=16.0, unit_bytes=4.0, largest_bytes=16.0),
    Allocation(2e-5, 7e-5, chunk_bytes=8.0, unit_bytes=8.0, largest_bytes=8.0, usable=0.9),
)
"""All blocks large, some of them, none; and with costs."""


@st.composite
def machines(draw, max_devices=3, sizes=(None, 1000.0, 64.0, 56.0, 48.0, 33.0, 24.0)):
    """Cores, and devices whose memories may be too small for all data, and even for a task.

    With or without a link that all routes share, and routes between devices.
    """
    devices = draw(st.integers(1, max_devices))
    sharing = draw(st.sampled_from([1, 1, 1, 2]))
    cores = draw(st.integers(0, 2))
    owners = [device for device in range(devices) for _ in range(sharing)]
    workers = [
        *(Worker(i, f"gpu{i}", "cuda", device + 1) for i, device in enumerate(owners)),
        *(Worker(len(owners) + i, f"cpu{i}", "cpu", 0) for i in range(cores)),
    ]
    links, routes = _ways(draw, devices)
    pipeline = draw(st.integers(1, 4))
    synchronous = ("potrf",) if draw(st.booleans()) else ()
    return Platform(
        name="machine",
        workers=tuple(workers),
        memories=(
            Memory(0, "ram"),
            *(Memory(i + 1, f"m{i}", 0, draw(st.sampled_from(sizes))) for i in range(devices)),
        ),
        overheads=draw(st.sampled_from(COSTS)),
        links=links,
        routes=routes,
        devices={"cuda": Device(pipeline, synchronous)},
        allocation=draw(st.sampled_from(ALLOCATIONS)),
        copying=Copying(
            fetches=draw(st.integers(1, 5)),
            prefetches=draw(st.integers(1, 2)),
            serialised=draw(st.booleans()),
            contention=draw(st.sampled_from([0.0, 2.0])),
        ),
    )


def _ways(draw, devices):
    """Links and routes between memory 0 and those of *devices*, perhaps also among these."""
    latency = draw(st.sampled_from([0.0, 1e-5]))
    bus = draw(st.booleans())
    direct = draw(st.booleans())
    ends = [(0, i + 1) for i in range(devices)]
    if direct:
        ends += [(i + 1, j + 1) for i in range(devices) for j in range(i)]
    links = [
        Link(i, f"link{i}", None, draw(st.sampled_from([1e5, 3e5])), latency)
        for i in range(len(ends))
    ]
    links.append(Link(len(links), "bus", None, 2e5))
    routes = []
    for i, (one, other) in enumerate(ends):
        shared = (links[-1].id,) * (2 if one else 1) if bus else ()
        routes += [Route(one, other, (i, *shared)), Route(other, one, (i, *shared))]
    return tuple(links), tuple(routes)
