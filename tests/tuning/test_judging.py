"""Methods, splits, scores: exactly, on tables made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.tuning.judging import Splits, interval, judge, leave_one_out, shuffled
from tasksim.tuning.methods import EqualShare, RandomChoice, best_constant, tree_method
from tasksim.tuning.table import PerformanceTable
from tasksim.tuning.tree import StoppingCriteria

STEPS = PerformanceTable.of(
    {"Nthr": [2, 2, 4, 4], "Nite": [4, 8, 4, 8]},
    {"1": [4, 2, 8, 8], "2": [8, 4, 4, 4], "4": [2, 8, 2, 2]},
    limit=[4, 8, 2, 8],
    others={"loop": ["sum", "sum", "dot", "dot"]},
)


def test_a_random_choice_gets_the_mean_over_what_is_allowed():
    assert RandomChoice().shares(STEPS).tolist() == pytest.approx(
        [(0.5 + 1 + 0.25) / 3, (0.25 + 0.5 + 1) / 3, (1 + 0.5) / 2, (1 + 0.5 + 0.25) / 3]
    )


def test_equal_share_divides_the_loop_among_the_threads():
    """4/2, 8/2, 4/4, 8/4."""
    assert EqualShare("Nthr", "Nite").shares(STEPS).tolist() == [1, 1, 1, 0.5]


def test_equal_share_takes_the_nearest_choice_and_the_largest_at_most():
    wide = PerformanceTable.of(
        {"p": [1, 1, 4], "n": [100, 3, 1]}, {"4": [1, 1, 1], "2": [2, 2, 2], "1": [4, 4, 4]}
    )
    assert EqualShare("p", "n").shares(wide).tolist() == [0.25, 0.5, 1.0]


def test_equal_share_says_what_it_lacks():
    assert "no column 'workers'" in EqualShare("workers", "Nite").left_out(STEPS)
    assert EqualShare("Nthr", "loop").left_out(STEPS) is not None
    names = PerformanceTable.of({"n": [1]}, {"lws": [1], "prio": [2]})
    assert EqualShare("n", "n").left_out(names) == "the choices are not numbers"
    zero = PerformanceTable.of({"p": [0], "n": [1]}, {"1": [1]})
    assert "not larger than 0" in EqualShare("p", "n").left_out(zero)


def test_the_best_constant_is_the_one_that_loses_least():
    assert best_constant(STEPS).shares(STEPS).tolist() == [0.5, 0.25, 1.0, 1.0]


def test_each_application_is_judged_by_what_the_others_taught():
    """sum teaches that 4 is best of 8 iterations; dot loses by it."""
    splits = leave_one_out(STEPS, "loop")
    assert [test.tolist() for test in splits.tests] == [[0, 1], [2, 3]]
    scores = judge(STEPS, {"constant": best_constant, "random": lambda _: RandomChoice()}, splits)
    # sum teaches 2 (1 + .5) or 4 (.25 + 1): 2; dot teaches 1.
    assert scores["constant"].msop == pytest.approx((0.5 + 0.25 + 0.5 + 0.5) / 4)
    assert scores["constant"].nodes is None
    assert scores["random"].msop == pytest.approx(RandomChoice().shares(STEPS).mean())


def test_nodes_are_the_mean_over_the_splits():
    splits = Splits([np.array([0]), np.array([2, 3])], np.arange(4))
    scores = judge(STEPS, {"tree": tree_method(StoppingCriteria())}, splits)
    # Of rows 1, 2, 3 one split tells all; of 0 and 1 one does.
    assert scores["tree"].nodes == 3
    assert scores["tree"].low <= scores["tree"].msop <= scores["tree"].high


def test_shuffled_splits_are_those_of_their_seed():
    first, again, other = (shuffled(9, 5, 1 / 3, seed) for seed in (1, 1, 2))
    assert [test.tolist() for test in first.tests] == [test.tolist() for test in again.tests]
    assert [test.tolist() for test in first.tests] != [test.tolist() for test in other.tests]
    assert {len(set(test.tolist())) for test in first.tests} == {3}


def test_an_interval_over_groups_is_wider_than_over_their_rows():
    sums = np.repeat([0.5, 1.0], 50)
    rows = interval(sums, np.ones(100), np.arange(100), 0)
    groups = interval(sums, np.ones(100), np.repeat([0, 1], 50), 0)
    assert groups == (0.5, 1.0)
    assert 0.5 < rows[0] < 0.75 < rows[1] < 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: shuffled(2, 1, 0.1, 0), "0.1 of 2 rows are 0"),
        (lambda: leave_one_out(STEPS, "lop"), "no column 'lop', did you mean 'loop'"),
        (
            lambda: leave_one_out(STEPS.select(np.array([0, 1])), "loop"),
            "all rows have the same loop, 'sum'",
        ),
        (lambda: PerformanceTable.of({"n": [1, 2]}, {"a": [1]}), "2 rows of features, 1 of"),
        (lambda: PerformanceTable.of({"n": [1]}, {"a": [0]}), "every choice fails"),
        (lambda: PerformanceTable.of({"n": [1]}, {"a": [-1]}), "negative"),
        (lambda: PerformanceTable.of({"n": [float("nan")]}, {"a": [1]}), "feature"),
        (lambda: PerformanceTable.of({"n": [1]}, {"a": [1]}, [1]), "only numbers"),
        (lambda: PerformanceTable.of({"n": [1]}, {"2": [1]}, [1]), "below every choice"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.fixture(scope="module")
def sizes():
    """60 loops: the best chunk is their size; on one thread all chunks are as good."""
    rng = np.random.default_rng(0)
    best, threads = rng.integers(1, 5, 60), rng.integers(1, 3, 60)
    performance = {
        str(c): np.where(threads > 1, 100 * 0.5 ** np.abs(c - best), 10) for c in range(1, 5)
    }
    return PerformanceTable.of({"best": best, "threads": threads}, performance)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tree", "logistic", "neural"])
def test_preto_learns_the_best_choice(sizes, kind):
    learners = pytest.importorskip("tasksim.tuning.learners")
    pytest.importorskip("sklearn", reason="the extra tune is not installed")
    assert learners.preto(kind, 0)(sizes).shares(sizes).mean() > 0.9


@pytest.mark.parametrize("kind", ["tree", "linear", "neural"])
def test_posto_learns_all_performances(sizes, kind):
    learners = pytest.importorskip("tasksim.tuning.learners")
    pytest.importorskip("sklearn", reason="the extra tune is not installed")
    assert learners.posto(kind, 0)(sizes).shares(sizes).mean() > 0.9


@pytest.mark.parametrize("kind", ["tree", "logistic", "neural"])
def test_preto_learns_what_is_always_the_same(kind):
    learners = pytest.importorskip("tasksim.tuning.learners")
    pytest.importorskip("sklearn", reason="the extra tune is not installed")
    one = PerformanceTable.of({"n": [1, 2, 3]}, {"a": [2, 2, 2], "b": [1, 1, 1]})
    assert learners.preto(kind, 0)(one).shares(one).tolist() == [1, 1, 1]


def test_posto_learns_names_too():
    learners = pytest.importorskip("tasksim.tuning.learners")
    pytest.importorskip("sklearn", reason="the extra tune is not installed")
    names = PerformanceTable.of({"n": [1, 2, 3, 4]}, {"lws": [2, 2, 1, 1], "prio": [1, 1, 2, 2]})
    assert learners.posto("tree", 0)(names).shares(names).tolist() == [1, 1, 1, 1]
