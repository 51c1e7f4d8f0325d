"""Calibration in calm moments: which runs count."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.calibration import insitu
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.insitu import Observed, measure_in_situ
from tasksim.calibration.kernel_samples import KernelSamples
from tasksim.calibration.report import disturbed_runs
from tasksim.graph.apps.registry import generate
from tasksim.native.calm_moments import MeasuredGate
from tasksim.platform.description import Platform
from tasksim.run.undisturbed import undisturbed_s

GRAPH = generate("chain", length=3, duration=1e-4)


@pytest.fixture
def shares(monkeypatch):
    """Return a list: which share others take from each run; from those after it, none."""
    script = []
    gate = MeasuredGate(lambda _run: script.pop(0) if script else 0.0)
    monkeypatch.setattr(insitu, "run_gate", lambda _workers: gate)
    return script


def calibrated(calm=True, rounds=4, graphs=(GRAPH,), min_runs=2):
    """Return collected and observations of some rounds, without the warm-up."""
    collected, observed = KernelSamples(), Observed()

    class Over(Exception):
        pass

    def after_round(what, _used):
        if what == f"round {rounds}":
            raise Over

    options = CalibrationOptions(max_seconds=60.0, calm=calm, min_runs=min_runs)
    with pytest.raises(Over):
        measure_in_situ(graphs, Platform.identical(1), collected, options, observed, after_round)
    return collected, observed


def runs_of(collected):
    return sum(len(set(samples.runs.tolist())) for samples in collected.samples.values())


def test_all_runs_count_unless_calm_ones_are_asked_for(shares):
    shares += [0.2, 0.2, 0.2, 0.2]
    collected, observed = calibrated(calm=False)
    assert (runs_of(collected), observed.disturbed) == (4, 0)


def test_disturbed_runs_do_not_count(shares):
    shares += [0.2, 0.01, 0.3, 0.0]
    collected, observed = calibrated()
    assert (runs_of(collected), len(observed.gaps), observed.disturbed) == (2, 2, 2)
    assert disturbed_runs(observed) == [
        "2 runs do not count: other programs had a core for up to 30 % of the time"
    ]


@pytest.mark.parametrize(("knows", "counted"), [(True, [2, 3]), (False, [2])])
def test_of_a_graph_that_never_was_calm_the_calmest_runs_count(shares, monkeypatch, knows, counted):
    """As many as a mean needs, unless durations have in them what others took."""
    made = []
    execute = insitu.execute
    monkeypatch.setattr(
        insitu, "execute", lambda *a, **k: made.append(execute(*a, **k)) or made[-1]
    )
    monkeypatch.setattr(insitu, "has_processor_times", lambda _run: knows)
    shares += [0.4, 0.2, 0.3, 0.5]
    collected, observed = calibrated()
    assert (runs_of(collected), observed.disturbed) == (len(counted), 4)
    samples = next(iter(collected.samples.values()))
    calmest = np.concatenate([undisturbed_s(made[number]) for number in counted])
    assert samples.durations_s == pytest.approx(calmest)
    assert disturbed_runs(observed)[0].startswith(f"{4 - len(counted)} runs do not count")


def test_one_calm_run_is_joined_by_the_calmest_others(shares):
    shares += [0.4, 0.0, 0.3, 0.5]
    collected, observed = calibrated()
    assert (runs_of(collected), observed.filled) == (2, {"chain": 1})
    assert disturbed_runs(observed)[1] == (
        "too few calm runs of chain: the calmest of the others counts, too (other programs had a"
        " core for up to 50 % of the time)"
    )
