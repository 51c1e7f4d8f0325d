"""Runs to draw."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from tasksim.run.record import Run, TaskTable, WorkerInfo

KERNELS = ("potrf", "trsm", "syrk", "gemm")


def make_run(workers=4, tasks=40, duration_s=0.1, seed=0, gap=0.1, kernels=KERNELS, **changes):
    """Every worker runs tasks one after another, with some gaps."""
    rng = np.random.default_rng(seed)
    each = -(-tasks // workers)
    length = duration_s * rng.gamma(20, 1 / 20, (workers, each))
    end = np.cumsum(length + gap * duration_s, axis=1)
    start = end - length if gap else np.hstack((np.zeros((workers, 1)), end[:, :-1]))
    order = np.argsort(start.ravel(), kind="stable")[:tasks]
    worker = np.repeat(np.arange(workers), each)[order]
    n = len(order)
    table = TaskTable(
        task=np.arange(n),
        kernel=rng.integers(0, len(kernels), n),
        worker=worker,
        priority=np.zeros(n),
        submitted_s=np.zeros(n),
        ready_s=np.maximum(start.ravel()[order] - duration_s, 0.0),
        start_s=start.ravel()[order],
        end_s=end.ravel()[order],
        released_by=np.full(n, -1),
    )
    given = {
        "kind": "simulated",
        "graph_name": "cholesky",
        "graph_arguments": {"tiles": 10, "tile_size": 256},
        "kernel_names": kernels,
        "workers": tuple(WorkerInfo(f"cpu{i}", "cpu") for i in range(workers)),
        "platform": f"identical-{workers}",
        "scheduler": "lws",
        "seed": 0,
        "tasks": table,
    }
    return Run(**(given | changes))


def from_rows(rows, workers, **changes):
    """Rows: (kernel, worker, start, end); all ready from the beginning."""
    kernel, worker, start, end = zip(*rows, strict=True)
    n, zero = len(rows), [0.0] * len(rows)
    table = TaskTable(range(n), kernel, worker, zero, zero, zero, start, end, [-1] * n)
    return dataclasses.replace(make_run(workers, **changes), tasks=table)


@pytest.fixture(scope="session")
def make():
    return SimpleNamespace(run=make_run, rows=from_rows)
