"""Calibration on a machine that others use: what it keeps, and what predictions make of it."""

from __future__ import annotations

import itertools
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.base.threadclock import has_thread_clock
from tasksim.calibration import insitu
from tasksim.calibration.calibrate import calibrate
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.contention import calibrate_contended
from tasksim.models.uncertainty.slowdownlaw import Probe, read_slowdowns, slowdown_path

pytestmark = pytest.mark.skipif(not has_thread_clock(), reason="no clock of threads here")

GRAPH = "cholesky tiles=3 tile_size=16"


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """A calibration whose slowdowns are known, whatever the machine does: 1, 2 or 3 in turn."""
    place = tmp_path_factory.mktemp("calibrated")
    probes = itertools.cycle([1.0, 2.0, 3.0])
    slowed = itertools.cycle([2.0, 3.0, 1.0])  # the first run warms up
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(insitu, "_PastProbes", lambda _workers: lambda: [Probe(next(probes))] * 4)
        patch.setattr(insitu, "slowdown", lambda _run, _graph: next(slowed))
        # It ends after 20 runs, as means are known to a factor of 2 long before.
        options = CalibrationOptions(max_seconds=60.0, min_runs=20, tolerance=0.99)
        calibrate([GRAPH], place, machine="here", workers=1, options=options)
    return place


@pytest.fixture
def library(calibrated, tmp_path, monkeypatch):
    """A copy of the calibration, for a test that may add to it."""
    monkeypatch.setattr(insitu, "_PastProbes", lambda _workers: lambda: [Probe(1.0)] * 4)
    return shutil.copytree(calibrated, tmp_path / "library")


def sure(library, **asked):
    scenario = tasksim.Scenario(
        tasksim.generate("cholesky", tiles=4, tile_size=16),
        platform=tasksim.load_platform(str(library / "platforms" / "here.yaml")),
        models=tasksim.ModelLibrary(library / "models" / "here"),
    )
    return tasksim.how_sure(scenario, replications=90, **asked)


def test_each_run_has_its_slowdown_and_that_of_the_probe(library):
    rows = read_slowdowns(slowdown_path(library / "models" / "here"))
    assert len(rows) >= 20
    assert {row[:3] for row in rows.values()} == {(1, 1, 1), (2, 1, 2), (3, 1, 3)}
    assert all(row.alone_s > 0 for row in rows.values())


def test_predictions_are_slowed_as_runs_were_after_such_probes(library):
    calm, busy = (sure(library, probes=[probe] * 5) for probe in (1.0, 3.0))
    assert busy.means_s == pytest.approx(3 * calm.means_s, rel=0.1)
    assert calm.sources == ("models", "runs", "tasks")


def test_what_no_account_tells_makes_intervals_of_now_ten_percent_wide(library):
    """Minutes differ, however alike the runs of the calibration were."""
    now = sure(library, probes=[1.0] * 4)
    assert now.run_high_s - now.run_low_s > 0.09 * now.mean_s


def test_crowding_is_that_of_the_run_and_then_of_the_prediction(library, monkeypatch):
    """All kernels of Cholesky are crowded twice as much as work of no known kernel."""
    of_kernels = dict.fromkeys(("potrf", "trsm", "syrk", "gemm"), 3.0)
    crowded = Probe(1.5, 1.5, of_kernels)
    monkeypatch.setattr(insitu, "_PastProbes", lambda _workers: lambda: [crowded] * 4)
    monkeypatch.setattr(insitu, "slowdown", lambda _run, _graph: 3.0)
    path = slowdown_path(library / "models" / "here")
    before = read_slowdowns(path)
    options = CalibrationOptions(max_seconds=0.2)
    calibrate([GRAPH], library, machine="here", workers=1, options=options)
    rows = [row for run, row in read_slowdowns(path).items() if run not in before]
    assert [row.crowding for row in rows] == pytest.approx([3.0] * len(rows))
    assert [row.probe for row in rows] == pytest.approx([3.0] * len(rows))
    alike = sure(library, probes=[crowded] * 4)
    assert alike.means_s == pytest.approx(sure(library, probes=[Probe(3.0, 3.0)] * 4).means_s)


def test_a_load_that_was_never_seen_slows_as_the_probe_says(library):
    calm, busy = (sure(library, probes=probe) for probe in (1.0, 20.0))
    assert busy.means_s == pytest.approx(20 * calm.means_s, rel=0.1)


def test_a_second_calibration_adds_to_the_first(library, monkeypatch):
    monkeypatch.setattr(insitu, "_PastProbes", lambda _workers: lambda: [Probe(5.0), Probe(6.0)])
    monkeypatch.setattr(insitu, "slowdown", lambda _run, _graph: 4.0)
    path = slowdown_path(library / "models" / "here")
    before = read_slowdowns(path)
    options = CalibrationOptions(max_seconds=0.2)
    calibrate([GRAPH], library, machine="here", workers=1, options=options)
    after = read_slowdowns(path)
    assert {run: after[run] for run in before} == before
    assert {row[:3] for run, row in after.items() if run not in before} == {(6.0, 1.2, 4.0)}


def test_replaced_samples_take_their_slowdowns_along(library, monkeypatch):
    monkeypatch.setattr(insitu, "slowdown", lambda _run, _graph: 7.0)
    options = CalibrationOptions(max_seconds=0.2)
    calibrate([GRAPH], library, machine="here", workers=1, options=options, replace=True)
    rows = read_slowdowns(slowdown_path(library / "models" / "here"))
    assert {row.slowdown for row in rows.values()} == {7.0}


def test_with_contention_the_runs_on_all_cores_tell_how_far_others_disturb(tmp_path, monkeypatch):
    probed = []
    monkeypatch.setattr(
        insitu, "_PastProbes", lambda workers: probed.append(workers) or (lambda: [Probe(2.0)] * 4)
    )
    monkeypatch.setattr(insitu, "slowdown", lambda run, _graph: 1.0 + len(run.workers))
    options = CalibrationOptions(max_seconds=0.4)
    calibrate_contended([GRAPH], tmp_path, machine="here", workers=2, options=options)
    rows = read_slowdowns(slowdown_path(tmp_path / "models" / "here"))
    assert {row[:3] for row in rows.values()} == {(2.0, 1.0, 3.0)}
    assert probed == [2]


@pytest.mark.parametrize(
    "probes",
    [
        *(0.5, -1.0, float("nan"), float("inf")),
        *([], [1.0, 0.0], "calm", [[1.0]], object()),
        *(Probe(0.5), Probe(2.0, 0.5), Probe(2.0, float("nan")), [Probe(2.0, float("inf"))]),
        Probe(2.0, 1.5, {"gemm": 0.5}),
    ],
)
def test_a_slowdown_is_one_or_more(library, probes):
    with pytest.raises(InputError, match="probes"):
        sure(library, probes=probes)


def test_a_run_is_told_the_probes_that_a_prediction_has(monkeypatch):
    """A probe every .4 s; the last four that were a second old when the run started."""
    clock = SimpleNamespace(now=100.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(insitu, "time", clock)
    monkeypatch.setattr(insitu, "SlowdownProbe", lambda _workers: lambda: clock.now)
    past = insitu._PastProbes(2)
    assert past() == [100.0]
    for tenth in range(1, 31):
        clock.now = 100.0 + tenth / 10
        found = past()
    assert found == pytest.approx([100.8, 101.2, 101.6, 102.0])


def test_durations_leave_out_what_others_took(library):
    models = tasksim.ModelLibrary(library / "models" / "here")
    assert models.file("gemm").architectures["cpu"].measured.clock == "processor"
    lines = (library / "models" / "here" / "gemm.samples.csv").read_text().splitlines()
    assert lines[0].endswith(",duration_s,wall_s")
    pairs = np.array([line.split(",")[-2:] for line in lines[1:]], dtype=float)
    assert (pairs[:, 0] <= pairs[:, 1] + 1e-12).all()
