from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.irregular_kernels.durations import (
    Shift,
    duration_distances,
    durations,
    shifts,
    totals_s,
)
from experiments.irregular_kernels.results import GENERAL, KERNELS, NAIVE
from tasksim.run.record import Run, TaskTable, WorkerInfo

TIMES = st.lists(st.integers(1, 12), min_size=1, max_size=12)


def make_run(times, begin_s=0.0, kernels=("P2P_in", "P2M")):
    """One worker, tasks one after another; *times* gives per kernel how long they take."""
    kernel = [k for k, name in enumerate(kernels) for _ in times.get(name, ())]
    length = np.array([t for name in kernels for t in times.get(name, ())], dtype=float)
    end = begin_s + np.cumsum(length)
    n, zero = len(length), np.zeros(len(length))
    table = TaskTable(range(n), kernel, zero, zero, zero, zero, end - length, end, [-1] * n)
    return Run(
        kind="simulated",
        graph_name="fmm",
        graph_arguments={},
        kernel_names=kernels,
        workers=(WorkerInfo("cpu0", "cpu"),),
        platform="identical-1",
        scheduler="prio",
        seed=0,
        tasks=table,
    )


def test_durations_are_those_of_each_kernel_in_the_order_of_the_paper():
    run = make_run({"P2P_in": [3.0, 1.0], "P2M": [2.0]})
    found = durations(run)
    assert list(found) == ["P2M", "P2P_in"]
    assert {k: v.tolist() for k, v in found.items()} == {"P2M": [2.0], "P2P_in": [3.0, 1.0]}
    assert totals_s(run) == {"P2M": 2.0, "P2P_in": 4.0}


def test_a_kernel_that_did_not_run_is_left_out_and_others_follow_the_eight():
    run = make_run({"other": [1.0], "L2P": [2.0]}, kernels=("other", "M2M", "L2P"))
    assert totals_s(run) == {"L2P": 2.0, "other": 1.0}
    assert list(totals_s(run)) == ["L2P", "other"]


def test_totals_are_all_the_time_of_a_run(results):
    for outcome in results.seen:
        run = outcome.median_run
        assert sum(totals_s(run).values()) == pytest.approx(run.tasks.duration_s.sum())
        assert list(totals_s(run)) == [k for k in KERNELS if k in totals_s(run)]


def test_distances_of_one_run_to_itself_are_0(results):
    run = results.seen[0].median_run
    assert set(duration_distances(run, run).values()) == {0.0}
    assert set(shifts(run, run).values()) == {Shift(0.0, 0.0)}


def test_distances_of_disjoint_durations_are_1():
    short, long = make_run({"P2M": [1.0, 2.0]}), make_run({"P2M": [2.5, 7.0, 3.0]})
    assert duration_distances(short, long) == {"P2M": 1.0}


def test_distances_by_hand():
    a = make_run({"P2M": [1.0, 2.0], "P2P_in": [1.0]})
    b = make_run({"P2M": [2.0, 3.0]})
    assert duration_distances(a, b) == {"P2M": 0.5}


@given(TIMES, TIMES)
@settings(deadline=None, max_examples=60)
def test_distances_are_the_largest_differences_of_shares(a, b):
    def share(times, until):
        return Fraction(sum(time <= until for time in times), len(times))

    largest = max(abs(share(a, until) - share(b, until)) for until in (*a, *b))
    found = duration_distances(make_run({"P2M": a}), make_run({"P2M": b}))
    assert found["P2M"] == pytest.approx(float(largest))


def test_a_run_after_another_is_as_far_from_it_as_possible():
    times = {"P2M": [1.0, 1.0], "P2P_in": [2.0]}
    found = shifts(make_run(times), make_run(times, begin_s=10.0))
    assert found == {"P2M": Shift(1.0, 1.0), "P2P_in": Shift(1.0, 1.0)}


def test_starts_may_agree_where_ends_do_not():
    a, b = (make_run({"P2M": [length]}) for length in (1.0, 2.0))
    assert shifts(a, b) == {"P2M": Shift(0.0, 1.0)}


def test_the_naive_model_is_further_off_than_the_one_that_is_nearly_right(results):
    outcome = results.seen[0]
    native = outcome.median_run
    naive, general = (
        duration_distances(native, outcome.simulated[name]) for name in (NAIVE, GENERAL)
    )
    assert max(naive.values()) == 1.0
    assert np.mean(list(naive.values())) > np.mean(list(general.values()))


def test_other_kernels_do_not_count():
    a = make_run({"P2M": [1.0], "P2P_in": [5.0]})
    tasks = replace(a.tasks, end_s=a.tasks.end_s + np.array([4.0, 0.0]))
    b = replace(a, tasks=tasks)
    assert duration_distances(a, b) == {"P2M": 0.0, "P2P_in": 1.0}
