"""Measuring with too little time: what there is is written, and what is missing is said."""

from __future__ import annotations

import numpy as np
import pytest
from made_calibrations import here

import tasksim
from tasksim.base.errors import InputError
from tasksim.calibration import domain_campaign, insitu
from tasksim.calibration.application_campaign import measure_application, parse_settings_domain
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.domain import parse_domain
from tasksim.calibration.domain_campaign import MeasureOptions
from tasksim.calibration.kernel_samples import KernelSamples
from tasksim.calibration.steering import Steered, measure_steered
from tasksim.calibration.timed_executions import ExecutionTimes
from tasksim.formats.samples import read_samples
from tasksim.graph.apps.registry import generate
from tasksim.native.calm_moments import MeasuredGate

CHAIN = generate("chain", length=3)
CHOLESKY = generate("cholesky", tiles=3, tile_size=16)


def scattered(seed):
    """Return durations about 1 ms that scatter by a fifth."""
    rng = np.random.default_rng(seed)
    return lambda _number, graph: 1e-3 * np.exp(0.2 * rng.standard_normal(len(graph)))


def predicted(library, graph, **asked):
    scenario = tasksim.Scenario(
        graph,
        platform=tasksim.load_platform(str(library / "platforms" / "here.yaml")),
        models=tasksim.ModelLibrary(library / "models" / "here"),
    )
    return tasksim.how_sure(scenario, replications=60, **asked)


def test_means_that_are_not_known_are_named(machine, tmp_path):
    machine.durations_s = scattered(1)
    report = here([CHAIN], tmp_path, options=CalibrationOptions(max_seconds=4.0))
    (row,) = report.rows
    assert row.stopped == "limit"
    assert report.notes == [f"after 4 s not known to 2 %: task to {100 * row.half_width:.2g} %"]


def test_a_single_run_is_told(machine, tmp_path):
    report = here([CHAIN], tmp_path, options=CalibrationOptions(max_seconds=0.1))
    assert "one run  limit" in report.table()
    assert report.notes == [
        "after 0.1 s measured in one run, which does not show how far runs differ: task",
        "task: predictions have no interval: intervals need at least 5 samples left out of "
        "fits, got 3: measure more sizes, or each more often",
    ]


def test_a_graph_that_was_never_calm_counts_by_its_calmest_run(machine, tmp_path, monkeypatch):
    gate = MeasuredGate(lambda _run: 0.12)
    monkeypatch.setattr(insitu, "run_gate", lambda _workers: gate)
    report = here([CHAIN], tmp_path, options=CalibrationOptions(max_seconds=0.5, calm=True))
    assert report.notes[0] == (
        "too few calm runs of chain: the calmest of the others counts, too"
        " (other programs had a core for up to 12 % of the time)"
    )


def test_steered_measuring_has_each_kernel_once(tmp_path):
    """However little time there is: the graph could not be simulated without one of them."""
    collected, steered = KernelSamples(), Steered(0.01)
    options = CalibrationOptions(makespan=0.01, max_seconds=1e-9)

    def burst(_kernel):
        return ExecutionTimes(np.full(5, 1e-3), np.full(5, 1e-3), np.ones(5)), 0.01

    measure_steered(CHOLESKY, 1, collected, options, steered, lambda *_: None, burst)
    assert set(collected.samples) == {"potrf", "trsm", "syrk", "gemm"}
    assert set(steered.bursts.values()) == {1}
    assert steered.text().startswith("makespan not known after 40 ms of measuring; bursts: potrf")


@pytest.mark.parametrize("until", [None, 0.05])
def test_measure_has_a_sample_in_any_case(tmp_path, until):
    path = tmp_path / "g.csv"
    options = MeasureOptions(samples=9, budget_s=1e-9, until=until, kind="power")
    summary = domain_campaign.measure(
        parse_domain("gemm", ["m=8..64", "n=8", "k=8"]), path, options
    )
    assert (summary.measured, summary.samples) == (1, 1)
    assert "precision       unknown: most configurations have one sample" in str(summary)
    assert len(read_samples(path)) == 1


def test_measure_of_an_application_has_a_run_in_any_case(tmp_path):
    domain = parse_settings_domain("cholesky", ["tiles=2..3", "tile_size=8"])
    summary = measure_application(domain, tmp_path / "s", MeasureOptions(budget_s=1e-9))
    assert summary.measured == 1
    assert set(summary.kernels) >= {"potrf", "trsm", "syrk"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tolerance": 0}, "tolerance: got 0 (int); legal: a number above 0, as 2% or 0.02"),
        ({"tolerance": float("nan")}, "tolerance: got nan"),
        ({"max_seconds": 0.0}, "max_seconds: got 0.0 (float); legal: a number above 0, as 60.0"),
        ({"max_seconds": float("inf")}, "max_seconds: got inf"),
        ({"min_runs": 0}, "min_runs: got 0 (int); legal: a whole number from 1"),
    ],
)
def test_what_would_never_end_is_refused(given, message):
    with pytest.raises(InputError) as caught:
        CalibrationOptions(**given)
    assert message in str(caught.value)


@pytest.mark.slow
def test_a_tolerance_out_of_reach_ends_with_the_time(machine, tmp_path):
    machine.durations_s = scattered(4)
    report = here([CHAIN], tmp_path, options=CalibrationOptions(tolerance=1e-5))
    assert machine.clock_s == 60.0
    assert report.notes[0].startswith("after 60 s not known to 0.001 %: task to ")
