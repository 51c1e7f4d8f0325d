"""Known means: by runs, without outliers, with earlier calibrations."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.kernel_samples import MAX_RUNS, KernelSamples
from tasksim.calibration.precision import relative_half_width
from tasksim.graph.builder import GraphBuilder
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.samples import Samples

RNG = np.random.default_rng(1)


def add(collected, durations_s, kernel="gemm", m=8.0, how="in situ"):
    """Add the durations of one run."""
    durations = np.array(durations_s, dtype=float)
    collected.add(kernel, ("m",), np.full((len(durations), 1), m), durations, how)
    collected.next_run += 1


def only(collected, options=None):
    (found,) = collected.configurations(options or CalibrationOptions())
    return found


def test_the_interval_is_that_of_the_means_of_runs():
    """Samples of one run are alike: a hundred of them are no better than one."""
    collected = KernelSamples()
    means = [1.0, 1.2, 0.9, 1.1, 0.8]
    for mean in means:
        add(collected, mean + RNG.uniform(-1e-3, 1e-3, 100))
    found = only(collected)
    assert found.count == 500
    assert found.half_width == pytest.approx(relative_half_width(means), rel=0.01)
    assert found.half_width > 5 * relative_half_width(collected.samples["gemm"].durations_s)
    assert found.stopped == "limit"


@pytest.mark.parametrize(
    ("runs", "samples", "stopped"),
    [(5, 2, "tolerance"), (4, 100, "limit"), (5, 1, "limit"), (10, 1, "tolerance")],
)
def test_it_takes_ten_samples_from_five_runs(runs, samples, stopped):
    collected = KernelSamples()
    for _ in range(runs):
        add(collected, [1.0] * samples)
    assert only(collected).stopped == stopped


def test_the_tolerance_is_relative_and_decides():
    collected = KernelSamples()
    for mean in (0.99e-6, 1.01e-6) * 5:
        add(collected, [mean] * 2)
    half_width = relative_half_width([0.99, 1.01] * 5)
    assert only(collected, CalibrationOptions(tolerance=1.01 * half_width)).stopped == "tolerance"
    assert only(collected, CalibrationOptions(tolerance=0.99 * half_width)).stopped == "limit"


def test_more_confidence_takes_more_samples():
    collected = KernelSamples()
    for mean in (0.99, 1.01) * 3:
        add(collected, [mean] * 2)
    widths = [
        only(collected, CalibrationOptions(confidence=c)).half_width for c in (0.8, 0.95, 0.999)
    ]
    assert widths == sorted(widths)
    assert widths[0] < widths[2]


def test_outliers_are_counted_and_do_not_count():
    collected = KernelSamples()
    for _ in range(5):
        add(collected, [1.0, 1.1, 0.9, 1.05, 0.95])
    add(collected, [1.0, 1.1, 0.9, 1.05, 50.0])
    found = only(collected)
    assert (found.count, found.dropped) == (29, 1)
    assert found.mean_s == pytest.approx(1.0, rel=0.01)
    assert found.half_width < 0.02  # the run with the outlier is as good as the others


def test_outliers_are_those_of_the_model():
    """A long one in every run counts, as a run to be predicted will have it, too."""
    collected = KernelSamples()
    for run in range(10):
        add(collected, [1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 40.0 if run == 3 else 5.0])
    model = HistoryModel().fit(collected.samples["gemm"])
    found = only(collected)
    assert (found.count, found.dropped) == (model.count_[0], model.dropped_[0]) == (79, 1)
    assert found.mean_s == model.mean_[0]


def test_configurations_are_told_apart():
    collected = KernelSamples()
    add(collected, [1.0, 1.0], m=8.0)
    add(collected, [2.0], m=16.0)
    add(collected, [3.0], kernel="a")
    found = [(str(c), c.count, c.mean_s) for c in collected.configurations(CalibrationOptions())]
    assert found == [("a (m=8)", 1, 3.0), ("gemm (m=8)", 2, 1.0), ("gemm (m=16)", 1, 2.0)]


def test_settled_means_all_of_them():
    collected = KernelSamples()
    for _ in range(10):
        add(collected, [1.0])
    assert collected.settled(CalibrationOptions())
    add(collected, [1.0], m=16.0)
    assert not collected.settled(CalibrationOptions())


def test_earlier_samples_count_and_runs_are_numbered_on():
    earlier = Samples(("m",), [[8.0]] * 8, [1.0] * 8, [0, 0, 1, 1, 2, 2, 7, 7])
    collected = KernelSamples({"gemm": earlier, "other": earlier})
    add(collected, [1.0, 1.0])
    found = only(collected)  # `other` is not measured, and not reported
    assert (found.count, found.stopped) == (10, "tolerance")
    assert collected.samples["gemm"].runs.tolist() == [0, 0, 1, 1, 2, 2, 7, 7, 8, 8]
    assert collected.has_earlier("gemm")
    assert not collected.has_earlier("potrf")


def test_a_run_gives_every_task_to_its_kernels_model(run_of):
    builder = GraphBuilder("two", model_names={"gemm": "gemm_float32"})
    for m in (4.0, 8.0, 4.0):
        builder.insert("gemm", m=m)
    builder.insert("potrf", n=8)
    graph = builder.build()
    collected = KernelSamples()
    collected.add_run(run_of(graph, [1.0, 2.0, 3.0, 4.0]), graph)
    gemm, potrf = collected.samples["gemm_float32"], collected.samples["potrf"]
    assert gemm.parameters.ravel().tolist() == [4.0, 8.0, 4.0]
    assert gemm.durations_s == pytest.approx([1.0, 2.0, 3.0])
    assert (potrf.names, potrf.durations_s.tolist()) == (("n",), [pytest.approx(4.0)])
    assert gemm.runs.tolist() == [0, 0, 0]
    assert collected.next_run == 1


def test_how_a_kernel_was_measured_is_noted_per_kernel():
    collected = KernelSamples()
    add(collected, [1.0], how="in situ")
    add(collected, [1.0], how="by itself")
    add(collected, [1.0], how="in situ")
    add(collected, [1.0], kernel="potrf", how="by itself")
    assert collected.new == {"gemm": ("in situ", "by itself"), "potrf": ("by itself",)}


# Linear models


def many(count, scale=1.0):
    """A graph of *count* gemms that are all different, and what they take: m times the scale."""
    builder = GraphBuilder("many")
    for m in range(1, count + 1):
        builder.insert("gemm", m=m)
    return builder.build(), scale * np.arange(1.0, count + 1)


def add_runs(collected, run_of, scales, count=50):
    for scale in scales:
        graph, durations = many(count, scale)
        collected.add_run(run_of(graph, durations), graph)


def test_a_linear_model_is_known_when_the_total_time_is(run_of):
    """No configuration is ever known to within 2 %: the runs of each are too few."""
    scales = [0.99, 1.0, 1.01, 1.0, 0.99, 1.01]
    collected, history = KernelSamples(linear=["gemm"]), KernelSamples()
    add_runs(collected, run_of, scales)
    add_runs(history, run_of, scales)
    assert collected.total("gemm", CalibrationOptions()).half_width == pytest.approx(
        relative_half_width(scales)
    )
    assert collected.settled(CalibrationOptions())
    assert not history.settled(CalibrationOptions())
    assert {c.stopped for c in collected.configurations(CalibrationOptions())} == {"total"}
    assert {c.stopped for c in history.configurations(CalibrationOptions())} == {"limit"}


def test_the_total_time_must_be_within_the_tolerance_and_of_five_runs(run_of):
    collected = KernelSamples(linear=["gemm"])
    add_runs(collected, run_of, [1.0] * 4)
    assert not collected.settled(CalibrationOptions())
    add_runs(collected, run_of, [1.0])
    assert collected.settled(CalibrationOptions())
    collected = KernelSamples(linear=["gemm"])
    add_runs(collected, run_of, [0.9, 1.1] * 5)
    assert not collected.settled(CalibrationOptions())
    assert collected.settled(CalibrationOptions(tolerance=0.1))


def test_of_several_graphs_each_must_have_run_twice(run_of):
    collected = KernelSamples(linear=["gemm"])
    add_runs(collected, run_of, [1.0] * 6)
    add_runs(collected, run_of, [1.0], count=30)
    assert not collected.settled(CalibrationOptions())
    add_runs(collected, run_of, [1.0], count=30)
    assert collected.settled(CalibrationOptions())


def test_kernels_measured_by_themselves_are_known_by_configuration():
    """The sum of their durations is nothing that anybody predicts."""
    collected = KernelSamples(linear=["gemm"])
    for _ in range(10):
        add(collected, [1.0, 1.0], how="by itself")
    assert not collected.by_total("gemm")
    assert only(collected).stopped == "tolerance"
    add(collected, [1.0], m=16.0, how="by itself")
    assert not collected.settled(CalibrationOptions())


def test_earlier_runs_of_the_same_input_count_others_do_not(run_of):
    first = KernelSamples(linear=["gemm"])
    add_runs(first, run_of, [1.0] * 4)
    add_runs(first, run_of, [5.0], count=30)
    collected = KernelSamples(first.samples, linear=["gemm"])
    add_runs(collected, run_of, [1.0])
    assert collected.total("gemm", CalibrationOptions()).runs == 5
    assert collected.settled(CalibrationOptions())


def test_samples_of_an_input_do_not_grow_without_bound(run_of):
    collected = KernelSamples(linear=["gemm"])
    add_runs(collected, run_of, [1.0], count=30)
    add_runs(collected, run_of, [1.0] * (MAX_RUNS + 3))
    kept = collected.samples["gemm"]
    assert len(kept) == 30 + 50 * MAX_RUNS
    assert np.unique(kept.runs).tolist() == [0, *range(4, MAX_RUNS + 4)]
    # Another calibration goes on where this one ended.
    more = KernelSamples(collected.samples, linear=["gemm"])
    add_runs(more, run_of, [1.0] * 5)
    assert len(more.samples["gemm"]) == len(kept)
    assert more.samples["gemm"].runs.max() == MAX_RUNS + 8


def test_histories_keep_all_samples(run_of):
    collected = KernelSamples()
    add_runs(collected, run_of, [1.0] * (MAX_RUNS + 3), count=3)
    assert len(collected.samples["gemm"]) == 3 * (MAX_RUNS + 3)


def test_configurations_of_some_kernels_only():
    collected = KernelSamples()
    add(collected, [1.0])
    add(collected, [2.0], kernel="potrf")
    assert [c.kernel for c in collected.configurations(CalibrationOptions(), ["potrf"])] == [
        "potrf"
    ]
