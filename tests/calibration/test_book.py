"""What counts as known: by runs, without outliers, with earlier calibrations."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.calibration.book import MOST_RUNS, Book, Options
from tasksim.calibration.precision import relative_half_width
from tasksim.graph.builder import GraphBuilder
from tasksim.models.samples import Samples

RNG = np.random.default_rng(1)


def add(book, durations_s, kernel="gemm", m=8.0, how="in situ"):
    """Add the durations of one run."""
    durations = np.array(durations_s, dtype=float)
    book.add(kernel, ("m",), np.full((len(durations), 1), m), durations, how)
    book.next_run += 1


def only(book, options=None):
    (found,) = book.configurations(options or Options())
    return found


def test_the_interval_is_that_of_the_means_of_runs():
    """Samples of one run are alike: a hundred of them are no better than one."""
    book = Book()
    means = [1.0, 1.2, 0.9, 1.1, 0.8]
    for mean in means:
        add(book, mean + RNG.uniform(-1e-3, 1e-3, 100))
    found = only(book)
    assert found.count == 500
    assert found.half_width == pytest.approx(relative_half_width(means), rel=0.01)
    assert found.half_width > 5 * relative_half_width(book.samples["gemm"].durations_s)
    assert found.stopped == "limit"


@pytest.mark.parametrize(
    ("runs", "samples", "stopped"),
    [(5, 2, "tolerance"), (4, 100, "limit"), (5, 1, "limit"), (10, 1, "tolerance")],
)
def test_it_takes_ten_samples_from_five_runs(runs, samples, stopped):
    book = Book()
    for _ in range(runs):
        add(book, [1.0] * samples)
    assert only(book).stopped == stopped


def test_the_tolerance_is_relative_and_decides():
    book = Book()
    for mean in (0.99e-6, 1.01e-6) * 5:
        add(book, [mean] * 2)
    half_width = relative_half_width([0.99, 1.01] * 5)
    assert only(book, Options(tolerance=1.01 * half_width)).stopped == "tolerance"
    assert only(book, Options(tolerance=0.99 * half_width)).stopped == "limit"


def test_more_confidence_takes_more_samples():
    book = Book()
    for mean in (0.99, 1.01) * 3:
        add(book, [mean] * 2)
    widths = [only(book, Options(confidence=c)).half_width for c in (0.8, 0.95, 0.999)]
    assert widths == sorted(widths)
    assert widths[0] < widths[2]


def test_outliers_are_counted_and_do_not_count():
    book = Book()
    for _ in range(5):
        add(book, [1.0, 1.1, 0.9, 1.05, 0.95])
    add(book, [1.0, 1.1, 0.9, 1.05, 50.0])
    found = only(book)
    assert (found.count, found.dropped) == (29, 1)
    assert found.mean_s == pytest.approx(1.0, rel=0.01)
    assert found.half_width < 0.02  # the run with the outlier is as good as the others


def test_configurations_are_told_apart():
    book = Book()
    add(book, [1.0, 1.0], m=8.0)
    add(book, [2.0], m=16.0)
    add(book, [3.0], kernel="a")
    found = [(str(c), c.count, c.mean_s) for c in book.configurations(Options())]
    assert found == [("a (m=8)", 1, 3.0), ("gemm (m=8)", 2, 1.0), ("gemm (m=16)", 1, 2.0)]


def test_settled_means_all_of_them():
    book = Book()
    for _ in range(10):
        add(book, [1.0])
    assert book.settled(Options())
    add(book, [1.0], m=16.0)
    assert not book.settled(Options())


def test_earlier_samples_count_and_runs_are_numbered_on():
    earlier = Samples(("m",), [[8.0]] * 8, [1.0] * 8, [0, 0, 1, 1, 2, 2, 7, 7])
    book = Book({"gemm": earlier, "other": earlier})
    add(book, [1.0, 1.0])
    found = only(book)  # `other` is not measured, and not reported
    assert (found.count, found.stopped) == (10, "tolerance")
    assert book.samples["gemm"].runs.tolist() == [0, 0, 1, 1, 2, 2, 7, 7, 8, 8]
    assert book.has_earlier("gemm")
    assert not book.has_earlier("potrf")


def test_a_run_gives_every_task_to_its_kernels_model(run_of):
    builder = GraphBuilder("two", model_names={"gemm": "gemm_float32"})
    for m in (4.0, 8.0, 4.0):
        builder.insert("gemm", m=m)
    builder.insert("potrf", n=8)
    graph = builder.build()
    book = Book()
    book.add_run(run_of(graph, [1.0, 2.0, 3.0, 4.0]), graph)
    gemm, potrf = book.samples["gemm_float32"], book.samples["potrf"]
    assert gemm.parameters.ravel().tolist() == [4.0, 8.0, 4.0]
    assert gemm.durations_s == pytest.approx([1.0, 2.0, 3.0])
    assert (potrf.names, potrf.durations_s.tolist()) == (("n",), [pytest.approx(4.0)])
    assert gemm.runs.tolist() == [0, 0, 0]
    assert book.next_run == 1


def test_how_a_kernel_was_measured_is_noted_per_kernel():
    book = Book()
    add(book, [1.0], how="in situ")
    add(book, [1.0], how="by itself")
    add(book, [1.0], how="in situ")
    add(book, [1.0], kernel="potrf", how="by itself")
    assert book.new == {"gemm": ("in situ", "by itself"), "potrf": ("by itself",)}


# Linear models


def many(count, scale=1.0):
    """A graph of *count* gemms that are all different, and what they take: m times the scale."""
    builder = GraphBuilder("many")
    for m in range(1, count + 1):
        builder.insert("gemm", m=m)
    return builder.build(), scale * np.arange(1.0, count + 1)


def add_runs(book, run_of, scales, count=50):
    for scale in scales:
        graph, durations = many(count, scale)
        book.add_run(run_of(graph, durations), graph)


def test_a_linear_model_is_known_when_the_total_time_is(run_of):
    """No configuration is ever known to within 2 %: the runs of each are too few."""
    scales = [0.99, 1.0, 1.01, 1.0, 0.99, 1.01]
    book, history = Book(linear=["gemm"]), Book()
    add_runs(book, run_of, scales)
    add_runs(history, run_of, scales)
    assert book.total("gemm", Options()).half_width == pytest.approx(relative_half_width(scales))
    assert book.settled(Options())
    assert not history.settled(Options())
    assert {c.stopped for c in book.configurations(Options())} == {"total"}
    assert {c.stopped for c in history.configurations(Options())} == {"limit"}


def test_the_total_time_must_be_within_the_tolerance_and_of_five_runs(run_of):
    book = Book(linear=["gemm"])
    add_runs(book, run_of, [1.0] * 4)
    assert not book.settled(Options())
    add_runs(book, run_of, [1.0])
    assert book.settled(Options())
    book = Book(linear=["gemm"])
    add_runs(book, run_of, [0.9, 1.1] * 5)
    assert not book.settled(Options())
    assert book.settled(Options(tolerance=0.1))


def test_of_several_graphs_each_must_have_run_twice(run_of):
    book = Book(linear=["gemm"])
    add_runs(book, run_of, [1.0] * 6)
    add_runs(book, run_of, [1.0], count=30)
    assert not book.settled(Options())
    add_runs(book, run_of, [1.0], count=30)
    assert book.settled(Options())


def test_kernels_measured_by_themselves_are_known_by_configuration():
    """What they take together is nothing that anybody predicts."""
    book = Book(linear=["gemm"])
    for _ in range(10):
        add(book, [1.0, 1.0], how="by itself")
    assert not book.by_total("gemm")
    assert only(book).stopped == "tolerance"
    add(book, [1.0], m=16.0, how="by itself")
    assert not book.settled(Options())


def test_earlier_runs_of_the_same_input_count_others_do_not(run_of):
    first = Book(linear=["gemm"])
    add_runs(first, run_of, [1.0] * 4)
    add_runs(first, run_of, [5.0], count=30)
    book = Book(first.samples, linear=["gemm"])
    add_runs(book, run_of, [1.0])
    assert book.total("gemm", Options()).runs == 5
    assert book.settled(Options())


def test_samples_of_an_input_do_not_grow_without_bound(run_of):
    book = Book(linear=["gemm"])
    add_runs(book, run_of, [1.0], count=30)
    add_runs(book, run_of, [1.0] * (MOST_RUNS + 3))
    kept = book.samples["gemm"]
    assert len(kept) == 30 + 50 * MOST_RUNS
    assert np.unique(kept.runs).tolist() == [0, *range(4, MOST_RUNS + 4)]
    # Another calibration goes on where this one ended.
    more = Book(book.samples, linear=["gemm"])
    add_runs(more, run_of, [1.0] * 5)
    assert len(more.samples["gemm"]) == len(kept)
    assert more.samples["gemm"].runs.max() == MOST_RUNS + 8


def test_histories_keep_all_samples(run_of):
    book = Book()
    add_runs(book, run_of, [1.0] * (MOST_RUNS + 3), count=3)
    assert len(book.samples["gemm"]) == 3 * (MOST_RUNS + 3)


def test_configurations_of_some_kernels_only():
    book = Book()
    add(book, [1.0])
    add(book, [2.0], kernel="potrf")
    assert [c.kernel for c in book.configurations(Options(), ["potrf"])] == ["potrf"]
