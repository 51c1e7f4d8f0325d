"""Runs to draw, and a browser."""

import dataclasses
import os
from types import SimpleNamespace

import chromium
import firefox
import numpy as np
import pytest

from tasksim.run.record import MemoryInfo, MemoryTable, Run, TaskTable, TransferTable, WorkerInfo

KERNELS = ("potrf", "trsm", "syrk", "gemm")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One for all tests; each opens its own page in it. TASKSIM_TEST_BROWSER=firefox: Firefox."""
    driver = firefox if os.environ.get("TASKSIM_TEST_BROWSER") == "firefox" else chromium
    if not driver.PROGRAM:
        pytest.skip(driver.MISSING)
    found = driver.Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture(scope="session")
def firefox_browser(tmp_path_factory):
    """A Firefox for the tests that ask for it by name."""
    if not firefox.PROGRAM:
        pytest.skip(firefox.MISSING)
    found = firefox.Browser(tmp_path_factory.mktemp("firefox"))
    yield found
    found.close()


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


def make_hybrid(gpus=2, cpus=3, tasks=60, copies=40, seed=0, size=2**20, **changes):
    """GPUs first, with a memory each; tasks fetch tiles into them and write others back."""
    rng = np.random.default_rng(seed)
    run = make_run(gpus + cpus, tasks, seed=seed, gap=0.4, **changes)
    names = [f"gpu{i}" for i in range(gpus)] + [f"cpu{i}" for i in range(cpus)]
    workers = [
        WorkerInfo(name, name.rstrip("0123456789"), memory=i + 1 if i < gpus else 0)
        for i, name in enumerate(names)
    ]
    begin = np.sort(rng.uniform(0, 0.95 * run.makespan_s, copies))
    gpu, home = rng.integers(1, gpus + 1, copies), rng.random(copies) < 0.3
    reason = np.where(home, rng.choice([2, 3], copies), rng.choice([0, 1], copies))
    end = begin + 0.04 * run.makespan_s * rng.uniform(0.5, 1.5, copies) / max(1, copies / 40)
    on_gpu = [np.flatnonzero(run.tasks.worker == i) for i in range(gpus)]
    fetched = [_next_task(run, on_gpu[g - 1], at) for g, at in zip(gpu, end, strict=True)]
    transfers = TransferTable(
        handle=rng.integers(0, 50, copies),
        source=np.where(home, gpu, 0),
        target=np.where(home, 0, gpu),
        size_bytes=np.full(copies, size),
        requested_s=begin,
        start_s=begin,
        end_s=end,
        reason=reason,
        task=np.where(home, -1, fetched),
    )
    # What comes stays until something goes.
    change = np.where(home, -size, size)
    memory = [np.maximum(np.cumsum(np.where(gpu == g, change, 0)), 0) for g in range(1, gpus + 1)]
    used = np.choose(gpu - 1, memory)
    popped = np.maximum(run.tasks.start_s - 0.2 * run.tasks.duration_s, 0)
    return dataclasses.replace(
        run,
        platform=f"hybrid-{gpus}",
        workers=tuple(workers),
        tasks=dataclasses.replace(run.tasks, popped_s=popped),
        transfers=transfers,
        memory=MemoryTable(begin, gpu, used),
        memories=(
            MemoryInfo("ram"),
            *(MemoryInfo(f"gpu{i}", size_bytes=float(used.max(initial=size))) for i in range(gpus)),
        ),
        evictions=int((reason == 3).sum()) + 2,
    )


def _next_task(run, tasks, at_s):
    """The first of *tasks* that starts after *at_s*, or -1."""
    later = tasks[run.tasks.start_s[tasks] >= at_s]
    return later[np.argmin(run.tasks.start_s[later])] if len(later) else -1


@pytest.fixture(scope="session")
def make():
    return SimpleNamespace(run=make_run, rows=from_rows, hybrid=make_hybrid)
