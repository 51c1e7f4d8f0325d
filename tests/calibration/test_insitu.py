"""When measuring in native runs ends, and what of it counts."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.insitu import Observed, measure_in_situ
from tasksim.calibration.kernel_samples import MAX_RUNS, KernelSamples
from tasksim.graph.apps.registry import generate
from tasksim.platform.description import Platform

TWO = [generate("chain", length=3), generate("fork-join", width=2, duration=2e-3)]


def measure(graphs, collected=None, observed=None, after_round=lambda *_: None, **options):
    collected = KernelSamples() if collected is None else collected
    measure_in_situ(
        graphs,
        Platform.identical(1),
        collected,
        CalibrationOptions(**options),
        Observed() if observed is None else observed,
        after_round,
    )
    return collected


def test_it_stops_when_every_mean_is_known(machine):
    collected = measure(TWO[:1], max_seconds=1e9)
    assert len(machine.runs) == 1 + 5  # the first warms up
    assert [c.stopped for c in collected.configurations(CalibrationOptions())] == ["tolerance"]


@pytest.mark.slow
def test_it_stops_when_the_time_is_over_and_says_so(machine):
    machine.durations_s = lambda number, graph: 1e-3 * (1 + number % 3)
    collected = measure(TWO[:1], max_seconds=20.0)
    assert len(machine.runs) == 20
    (found,) = collected.configurations(CalibrationOptions())
    assert found.stopped == "limit"
    assert found.half_width > 0.02


def test_one_round_counts_however_short_the_time(machine):
    collected = measure(TWO[:1], max_seconds=1e-9)
    assert len(machine.runs) == 2
    assert len(collected.samples["task"]) == 3


def test_the_first_round_is_dropped(machine):
    machine.durations_s = lambda number, graph: 1.0 if number < 2 else 1e-3
    observed = Observed()
    collected = measure(TWO, observed=observed, max_seconds=1e9)
    found = list(collected.configurations(CalibrationOptions()))
    assert [c.dropped for c in found] == [0, 0]
    assert [c.mean_s for c in found] == pytest.approx([1e-3, 1e-3])
    assert len(observed.gaps) == len(machine.runs) - 2


def test_graphs_are_interleaved_and_schedulers_change(machine):
    measure(TWO, max_seconds=8.0, tolerance=1e-9, schedulers=("lws", "eager", "prio"))
    rounds = ["lws", "eager", "prio", "lws"]
    assert machine.runs == [(g.name, s) for s in rounds for g in TWO]


def test_all_samples_are_there_by_run(machine):
    machine.durations_s = lambda number, graph: 1e-3 * (1 + number)
    collected = measure(TWO, max_seconds=6.0, tolerance=1e-9)
    samples = collected.samples["task"]
    assert samples.runs.tolist() == [0] * 3 + [1] * 4 + [2] * 3 + [3] * 4
    assert samples.durations_s == pytest.approx(1e-3 * (3 + samples.runs))
    assert np.unique(samples.parameters).tolist() == [1e-3, 2e-3]


def test_after_each_round_the_share_of_the_time_is_told(machine):
    told = []
    measure(TWO[:1], after_round=lambda *what: told.append(what), max_seconds=4.0, tolerance=1e-9)
    assert told == [(f"round {i}", pytest.approx((i + 1) / 4)) for i in range(4)]


def test_what_after_round_raises_ends_it_and_what_is_measured_stays(machine):
    def stop(what, share):
        if what == "round 2":
            raise KeyboardInterrupt

    collected = KernelSamples()
    with pytest.raises(KeyboardInterrupt):
        measure(TWO[:1], collected, after_round=stop)
    assert len(collected.samples["task"]) == 6


@pytest.mark.slow
def test_what_is_kept_of_far_data_has_a_bound_where_the_model_is_linear(machine):
    rounds = MAX_RUNS + 5
    for linear, kept in (((), rounds), (("task",), MAX_RUNS)):
        machine.clock_s, machine.runs = 0.0, []
        observed = Observed()
        measure(
            TWO[:1],
            KernelSamples(linear=linear),
            observed,
            max_seconds=rounds + 1.0,
            tolerance=1e-9,
        )
        assert len(machine.runs) == rounds + 1
        assert len(observed.far) == kept


@pytest.mark.parametrize("schedulers", [(), "lws", ["lws"], (3,)])
def test_schedulers_are_names_in_a_tuple(schedulers):
    with pytest.raises(InputError, match="legal: names in a tuple"):
        CalibrationOptions(schedulers=schedulers)
