"""Hypothesis strategies: task graphs, platforms, durations."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tasksim.graph.builder import RW, Commute, GraphBuilder, R, Reduce, Scratch, W
from tasksim.platform.description import Memory, Overheads, Platform, Worker

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
