"""Recorded runs of a kernel of many sizes, and models of it, for tests of reports on kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, GraphBuilder
from tasksim.graph.graph_file import save as save_graph
from tasksim.models.files.coefficients import Entry, Machine, Measured
from tasksim.models.files.store import save_kernel
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.samples import Samples
from tasksim.run.record import Run, WorkerInfo
from tasksim.run.recordtables import TaskTable
from tasksim.run.runfolder import save

COLUMNS = [
    "kernel", "architecture", "tasks", "configurations", "total_s", "kind", "origin", "formula",
    "rsquared_adj", "mlogq", "bias", "warnings", "first_warning", "reason", "report",
]  # fmt: skip
SIZES = (16, 24, 32, 48, 64, 96, 128, 192)


def recorded(graph, durations_s, architectures=("cpu",), config=None):
    """Return a native run of *graph*: its tasks one after the other, on workers in turn."""
    n = len(graph)
    ends = np.cumsum(durations_s)
    zeros = np.zeros(n)
    table = TaskTable(
        task=np.arange(n),
        kernel=graph.kernel,
        worker=np.arange(n) % len(architectures),
        priority=graph.priority,
        submitted_s=zeros,
        ready_s=zeros,
        start_s=ends - durations_s,
        end_s=ends,
        released_by=np.full(n, -1),
    )
    return Run(
        kind="native",
        graph_name=graph.name,
        graph_arguments=dict(graph.arguments),
        kernel_names=graph.kernels,
        workers=tuple(WorkerInfo(f"{a}{i}", a) for i, a in enumerate(architectures)),
        platform="here",
        scheduler="lws",
        seed=0,
        tasks=table,
        config=config or {},
    )


def law(n):
    return 2e-6 + 4e-11 * n**3


@pytest.fixture
def many_sizes(tasksim, tmp_path):
    """Return a function that writes a run of kernels "work" (of many sizes) and "fixed"."""

    def write(folder, factor=1.0, seed=0, names=("n",), repetitions=12):
        builder = GraphBuilder("sizes")
        data = builder.matrix("A", len(SIZES), repetitions, size_bytes=8)
        for i, size in enumerate(SIZES):
            for j in range(repetitions):
                builder.insert("work", RW(data[i, j]), **dict.fromkeys(names, size))
        builder.insert("fixed", RW(data[0, 0]), n=7)
        graph = builder.build()
        path = tmp_path / f"{'-'.join(names)}.npz"
        save_graph(graph, path, force=True)
        noise = np.random.default_rng(seed).lognormal(0.0, 0.02, len(graph))
        mean = np.array([*np.repeat(law(np.array(SIZES)), repetitions), 1e-3])
        run = recorded(graph, factor * mean * noise, config={"graph": {"name": str(path)}})
        save(run, Path(folder))
        return graph

    return write


def save_model(folder, kernel, model):
    entry = Entry(model, Measured("2026-01-01", "by hand"))
    save_kernel(Path(folder), kernel, {"cpu": entry}, machine=Machine("here"))


@pytest.fixture
def models(tasksim):
    """Return the option for a folder with a model of "work", which takes no search."""
    sizes = np.repeat(np.array(SIZES, dtype=float), 9)
    save_model("models", "work", HistoryModel().fit(Samples(("n",), sizes[:, None], law(sizes))))
    return "--models ./models"


def cholesky(tile_size):
    graph = generate("cholesky", tiles=4, tile_size=tile_size)
    return recorded(graph, np.linspace(1e-3, 1.1e-3, len(graph)))


def row_of(called, kernel):
    assert called.code == 0, called.err
    return next(row for row in called.json["kernels"] if row["kernel"] == kernel)
