"""Recorded runs of a few tasks, made for tests, with durations that are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tasksim.graph.builder import RW, GraphBuilder
from tasksim.run.record import Run, WorkerInfo
from tasksim.run.recordtables import TaskTable
from tasksim.run.samples import RecordedRun


def graph_of_sizes(*sizes, name="sizes", **arguments):
    builder = GraphBuilder(name, arguments)
    for size in sizes:
        builder.insert("work", RW(builder.handle(f"x{size}", 8)), n=size)
    return builder.build()


def run_of(graph, durations_s, /, workers=(), architectures=("cpu",), **changes):
    """Return a run of *graph*, tasks one after the other, each on the worker that is given."""
    ends, zeros = np.cumsum(durations_s), np.zeros(len(graph))
    table = TaskTable(
        task=np.arange(len(graph)),
        kernel=graph.kernel,
        worker=workers or [0] * len(graph),
        priority=graph.priority,
        submitted_s=zeros,
        ready_s=zeros,
        start_s=ends - durations_s,
        end_s=ends,
        released_by=np.full(len(graph), -1),
    )
    made = {
        "kind": "native",
        "graph_name": graph.name,
        "graph_arguments": dict(graph.arguments),
        "kernel_names": graph.kernels,
        "workers": tuple(WorkerInfo(f"{a}{i}", a) for i, a in enumerate(architectures)),
        "platform": "here",
        "scheduler": "lws",
        "seed": 0,
        "tasks": table,
    }
    return RecordedRun(Path("run"), Run(**(made | changes)), graph)
