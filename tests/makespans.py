"""Rows of StarPU-SimGrid's makespans as questions to the engines; where there is no table, none."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from tasksim.engine.durations import durations
from tasksim.engine.question import Question
from tasksim.formats.starpu.machine_import import import_machine
from tasksim.graph.apps.registry import generate
from tasksim.models.files.store import ModelLibrary
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
    """What rows ask: the machines, imported to a folder, and the graphs that run on them."""

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
