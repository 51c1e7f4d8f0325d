"""Hypothesis strategies: task graphs, platforms, durations."""

from __future__ import annotations

import itertools

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

# Strategies are made once, and what belongs together is drawn at once: drawing takes longer than
# most of what is done with graphs of a few tasks.


def _chosen(handles):
    """Up to three of the numbers below *handles*, in any order, each count as likely."""
    return st.one_of(
        *(
            st.sampled_from(list(itertools.permutations(range(handles), count)))
            for count in range(min(3, handles) + 1)
        )
    )


def _tasks(*durations_s):
    """A kernel, a priority and a duration."""
    return st.sampled_from(list(itertools.product(KERNELS, (0, 1, -1, 2, -2, 3, -3), durations_s)))


CHOSEN_HANDLES = {handles: _chosen(handles) for handles in range(1, 6)}
ANY_ACCESS = st.sampled_from(ACCESSES)
MOVING_ACCESS = st.sampled_from((R, R, W, RW, RW, Commute, Reduce, Scratch))
TASKS = _tasks(0.0, 1e-4, 2e-4)
MOVING_TASKS = _tasks(1e-5, 1e-4, 2e-4)


@st.composite
def graphs(draw, max_tasks=25, max_handles=5):
    """Tasks with random accesses to a few data; some kernels, some priorities."""
    handles = draw(st.integers(1, max_handles))
    builder = GraphBuilder("random")
    data = [builder.handle(f"x{i}", size_bytes=8) for i in range(handles)]
    for _ in range(draw(st.integers(0, max_tasks))):
        accesses = [draw(ANY_ACCESS)(data[h]) for h in draw(CHOSEN_HANDLES[handles])]
        kernel, priority, duration_s = draw(TASKS)
        builder.insert(kernel, *accesses, priority=priority, duration_s=duration_s)
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
                Overheads(wakeup_s=0.25, start_s=1.5),
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
    unused = st.sampled_from([None] * len(data) + data)
    for _ in range(draw(st.integers(0, max_tasks))):
        accesses = [draw(MOVING_ACCESS)(data[h]) for h in draw(CHOSEN_HANDLES[len(data)])]
        kernel, priority, duration_s = draw(MOVING_TASKS)
        builder.insert(kernel, *accesses, priority=priority, duration_s=duration_s)
        if (handle := draw(unused)) is not None:
            builder.wont_use(handle)
    return builder.build()


OVERHEADS = (
    Overheads(),
    Overheads(progress_s=1e-6),
    Overheads(submission_s=1e-5, task_s=1e-6, wakeup_s=2e-6),
    Overheads(task_s=1e-6, start_s=3e-4),
    Overheads(
        submission_s=1e-6, push_s=1e-6, fetch_s=1e-6, progress_s=1e-6, kernel_s=1e-5, copy_s=1e-5
    ),
)
"""The runtime's own costs: none, one, the basic ones, late cores, all those of StarPU-SimGrid."""

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
        overheads=draw(st.sampled_from(OVERHEADS)),
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
