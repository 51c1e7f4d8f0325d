"""When measuring in native runs ends, and what of it counts."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.calibration.book import MOST_RUNS, Book, Options
from tasksim.calibration.insitu import Observed, measure_in_situ
from tasksim.graph.apps.registry import generate
from tasksim.platform.description import Platform

TWO = [generate("chain", length=3), generate("fork-join", width=2, duration=2e-3)]


def measure(graphs, book=None, observed=None, after_round=lambda *_: None, **options):
    book = Book() if book is None else book
    measure_in_situ(
        graphs,
        Platform.identical(1),
        book,
        Options(**options),
        Observed() if observed is None else observed,
        after_round,
    )
    return book


def test_it_stops_when_every_mean_is_known(machine):
    book = measure(TWO[:1], max_seconds=1e9)
    assert len(machine.runs) == 1 + 5  # the first warms up
    assert [c.stopped for c in book.configurations(Options())] == ["tolerance"]


def test_it_stops_when_the_time_is_over_and_says_so(machine):
    machine.durations_s = lambda number, graph: 1e-3 * (1 + number % 3)
    book = measure(TWO[:1], max_seconds=20.0)
    assert len(machine.runs) == 20
    (found,) = book.configurations(Options())
    assert found.stopped == "limit"
    assert found.half_width > 0.02


def test_one_round_counts_however_short_the_time(machine):
    book = measure(TWO[:1], max_seconds=1e-9)
    assert len(machine.runs) == 2
    assert len(book.samples["task"]) == 3


def test_the_first_round_is_dropped(machine):
    machine.durations_s = lambda number, graph: 1.0 if number < 2 else 1e-3
    observed = Observed()
    book = measure(TWO, observed=observed, max_seconds=1e9)
    found = list(book.configurations(Options()))
    assert [c.dropped for c in found] == [0, 0]
    assert [c.mean_s for c in found] == pytest.approx([1e-3, 1e-3])
    assert len(observed.gaps) == len(machine.runs) - 2


def test_graphs_are_interleaved_and_schedulers_change(machine):
    measure(TWO, max_seconds=8.0, tolerance=0.0, schedulers=("lws", "eager", "prio"))
    rounds = ["lws", "eager", "prio", "lws"]
    assert machine.runs == [(g.name, s) for s in rounds for g in TWO]


def test_all_samples_are_there_by_run(machine):
    machine.durations_s = lambda number, graph: 1e-3 * (1 + number)
    book = measure(TWO, max_seconds=6.0, tolerance=0.0)
    samples = book.samples["task"]
    assert samples.runs.tolist() == [0] * 3 + [1] * 4 + [2] * 3 + [3] * 4
    assert samples.durations_s == pytest.approx(1e-3 * (3 + samples.runs))
    assert np.unique(samples.parameters).tolist() == [1e-3, 2e-3]


def test_after_each_round_the_share_of_the_time_is_told(machine):
    told = []
    measure(TWO[:1], after_round=lambda *what: told.append(what), max_seconds=4.0, tolerance=0.0)
    assert told == [(f"round {i}", pytest.approx((i + 1) / 4)) for i in range(4)]


def test_what_after_round_raises_ends_it_and_what_is_measured_stays(machine):
    def stop(what, share):
        if what == "round 2":
            raise KeyboardInterrupt

    book = Book()
    with pytest.raises(KeyboardInterrupt):
        measure(TWO[:1], book, after_round=stop)
    assert len(book.samples["task"]) == 6


def test_what_is_kept_of_far_data_has_a_bound_where_the_model_is_linear(machine):
    rounds = MOST_RUNS + 5
    for linear, kept in (((), rounds), (("task",), MOST_RUNS)):
        machine.clock_s, machine.runs = 0.0, []
        observed = Observed()
        measure(TWO[:1], Book(linear=linear), observed, max_seconds=rounds + 1.0, tolerance=0.0)
        assert len(machine.runs) == rounds + 1
        assert len(observed.far) == kept
