"""Measuring kernels by themselves: with and without what was measured before."""

from __future__ import annotations

import json
import threading

import pytest

from tasksim.base.errors import TaskFailed
from tasksim.calibration import kernels_under_load
from tasksim.calibration.calibrate import calibrate
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.kernels_under_load import KernelCall
from tasksim.calibration.write_library import earlier_samples
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import GraphBuilder, R
from tasksim.models.files.store import load_kernel
from tasksim.models.locality import Locality
from tasksim.platform.load import load

CHAIN = generate("chain", length=3)
POTRF = KernelCall("potrf", {"n": 16})


def here(items, library, **options):
    """Calibrate a machine called here; a settled one stops after five rounds."""
    known = {"workers": 1, "machine": "here", "options": CalibrationOptions(max_seconds=1e9)}
    return calibrate(items, library, **{**known, **options})


def entry(library, kernel="task"):
    return load_kernel(library / "models" / "here" / f"{kernel}.json").architectures["cpu"]


@pytest.mark.slow
def test_kernels_by_themselves(tmp_path):
    before = threading.active_count()
    report = here(
        [POTRF, KernelCall("gemm_float32", {"m": 8, "n": 8, "k": 16})],
        tmp_path,
        workers=2,
        options=CalibrationOptions(max_seconds=0.6),
    )
    assert [str(row) for row in report.rows] == ["gemm_float32 (m=8, n=8, k=16)", "potrf (n=16)"]
    assert all(row.count >= 2 for row in report.rows)
    assert report.overheads is None
    assert entry(tmp_path, "potrf").measured.how == "by itself, 2 workers busy"
    assert len(load(str(report.platform_path)).workers) == 2
    assert threading.active_count() <= before


def gemm_graph(m):
    """Forty gemms that walk over a few tiles."""
    builder = GraphBuilder("walk")
    tiles = builder.vector("A", 8, size_bytes=2**20)
    for i in range(40):
        builder.insert("gemm", R(tiles[i * i % 8]), m=m, n=m, k=m)
    return builder.build()


def test_kernels_by_themselves_add_and_keep_the_locality(machine, tmp_path):
    here([gemm_graph(8)], tmp_path)
    file = tmp_path / "models" / "here" / "gemm.json"
    found = json.loads(file.read_text())
    far = {"reach_bytes": 2.0**25, "seconds_per_far_byte": 1e-11, "mean_far_share": 0.25}
    found["architectures"]["cpu"]["locality"] = far
    file.write_text(json.dumps(found))
    before = entry(tmp_path, "gemm")
    assert isinstance(before.locality, Locality)
    overheads = load(str(tmp_path / "platforms" / "here.yaml")).overheads
    assert overheads.task_s > 0
    items = [
        KernelCall("gemm", {"m": 8, "n": 8, "k": 8}),
        KernelCall("gemm", {"k": 4, "m": 8, "n": 8}),
    ]
    report = here(items, tmp_path, options=CalibrationOptions(max_seconds=0.2))
    after = entry(tmp_path, "gemm")
    assert after.locality == before.locality
    assert after.measured.how == "in situ, 1 workers busy; by itself, 1 workers busy"
    assert len(report.rows) == 2
    assert after.model.report()["samples"] > before.model.report()["samples"]
    assert load(str(report.platform_path)).overheads == overheads
    samples = earlier_samples(tmp_path / "models" / "here")["gemm"]
    assert samples.runs[:200].max() < samples.runs[200:].min()


def test_each_kernel_of_a_mixed_calibration_is_noted_as_it_was_measured(machine, tmp_path):
    here([CHAIN, POTRF], tmp_path, options=CalibrationOptions(max_seconds=0.2))
    assert entry(tmp_path).measured.how == "in situ, 1 workers busy"
    assert entry(tmp_path, "potrf").measured.how == "by itself, 1 workers busy"


def test_graphs_and_kernels_share_the_time(machine, tmp_path):
    """The limit is one for all: half of it for one graph beside one kernel."""
    machine.durations_s = lambda number, graph: 1e-3 * (1 + number % 3)
    machine.run_s = 1 / 64
    shares = []
    here(
        [CHAIN, POTRF],
        tmp_path,
        options=CalibrationOptions(max_seconds=0.25, tolerance=1e-9),
        progress=lambda what, share: shares.append((what, share)),
    )
    assert len(machine.runs) == 8
    in_situ = [share for what, share in shares if what.startswith("round")]
    assert in_situ[-1] == 0.5
    assert in_situ == sorted(in_situ)
    assert min(share for what, share in shares if what == "potrf") > 0.5


def test_a_tiny_kernel_does_not_flood_the_files(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels_under_load, "BATCH_S", 0.1)
    report = here([POTRF], tmp_path, workers=1, options=CalibrationOptions(max_seconds=0.05))
    assert report.rows[0].count + report.rows[0].dropped <= kernels_under_load.MAX_KEPT


def test_a_kernel_that_fails_ends_the_measuring(tmp_path, monkeypatch):
    """On whichever worker it happens; no thread is left behind."""
    before = threading.active_count()

    class Fails:
        def __init__(self, seed):
            self.seed = seed

        def reset(self):
            pass

        def run(self):
            if self.seed == 1:
                raise TaskFailed("potrf: not positive definite")

    monkeypatch.setattr(
        kernels_under_load, "standalone", lambda name, parameters, seed: Fails(seed)
    )
    with pytest.raises(TaskFailed, match="not positive definite"):
        here([POTRF], tmp_path, workers=3)
    assert threading.active_count() <= before
