"""Rows of StarPU-SimGrid's makespans as questions to the engines; where there is no table, none."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from scripted import replay_of

from tasksim.engine.durations import durations
from tasksim.engine.question import Question
from tasksim.formats.starpu.machine_import import import_machine
from tasksim.graph.apps.registry import generate
from tasksim.models.files.store import ModelLibrary
from tasksim.platform.description import Overheads, Platform
from tasksim.platform.load import load
from tasksim.schedulers.registry import create

DATA = Path(__file__).parents[2] / "shared" / "data"
TABLE = DATA / "starpu-simgrid" / "makespans.csv"
APPLICATIONS = {
    "cholesky_s": ("cholesky", "chol_model_{}"),
    "lu_s": ("lu", "starpu_slu_lu_model_{}"),
}

needs_table = pytest.mark.skipif(
    not TABLE.is_file(), reason="needs StarPU-SimGrid's makespans, in ../shared/data"
)


def rows(*schedulers):
    """Return the rows under some schedulers."""
    with TABLE.open() as table:
        return [row for row in csv.DictReader(table) if row["scheduler"] in schedulers]


class Questions:
    """Questions of rows: machines, imported to a folder, and the graphs that run on them."""

    def __init__(self, folder):
        self._folder = folder
        self._graphs = {}
        for host in ("mirage", "attila"):
            import_machine(DATA / "starpu" / "sampling", host, folder)

    def of(self, row):
        """Return what a row asks."""
        graph = self._graph(row["app"], int(row["nblocks"]))
        settings = [f"platform.workers.cuda.count={row['ncuda']}"]
        if row["ncpu"]:
            settings.append(f"platform.workers.cpu.count={row['ncpu']}")
        platform = load(row["machine"], self._folder, settings)
        models = ModelLibrary(self._folder / "models" / row["machine"])
        costs = durations(graph, platform, models)
        scheduler = create(row["scheduler"])
        return Question(graph, platform, scheduler, costs, costs, simultaneous_pushes="blind")

    def _graph(self, application, tiles):
        name, models = APPLICATIONS[application]
        if (name, tiles) not in self._graphs:
            graph = generate(name, tiles=tiles, tile_size=960, dtype="float32")
            names = tuple(map(models.format, graph.kernels))
            self._graphs[name, tiles] = replace(graph, model_names=names)
        return self._graphs[name, tiles]


DURATIONS_S = {
    ("mirage", "cholesky"): [0.01884969, 0.04564676, 0.0438901, 0.0877802],
    ("mirage", "lu"): [0.1286436, 0.05118532, 0.04545501, 0.08756135],
    ("attila", "cholesky"): [0.0759337, 0.04361594, 0.04203779, 0.08407559],
}
"""Mean durations of kernels on a core, by machine and application: tiles of 960, float32."""
KERNELS = {
    "cholesky": ["potrf", "trsm", "syrk", "gemm"],
    "lu": ["getrf", "trsm_ll", "trsm_ru", "gemm"],
}
"""Kernels of an application, in the order of their durations."""


def simulated_makespan_s(machine, application, tiles, scheduler):
    """Return tasksim's makespan on twelve cores of a machine of the peer, with its overheads."""
    graph = generate(application, tiles=tiles, tile_size=960, dtype="float32")
    duration = dict(zip(KERNELS[application], DURATIONS_S[machine, application], strict=True))
    free = Platform.identical(12)
    platform = Platform(
        name=machine,
        workers=free.workers,
        memories=free.memories,
        overheads=Overheads(submission_s=1e-6, task_s=3e-6),
    )
    costs = [[duration[graph.kernel_of(task)] for task in range(len(graph))]]
    return replay_of(graph, platform, create(scheduler), costs).run(0)
