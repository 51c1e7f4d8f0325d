"""Axes and searches: exactly, with durations that are given."""

from __future__ import annotations

import re

import pytest

from tasksim.base.errors import InputError
from tasksim.scenario.scenario import Scenario
from tasksim.tuning.over import axes_of, candidates
from tasksim.tuning.search import Tried, Tuned, search

FORK = Scenario("fork-join", ["duration=1.0"], workers=2)
WIDE = FORK.vary({"graph.width": 2})


def test_all_combinations_in_order_of_their_makespans():
    found = search(candidates(FORK, axes_of(["width=4,2", "scheduler=eager,prio"])))
    # A fork, 2 or 4 tasks on two workers, a join.
    assert [(dict(t.values), t.mean_s) for t in found.tried] == [
        ({"graph.width": 2, "scheduler": "eager"}, 3.0),
        ({"graph.width": 2, "scheduler": "prio"}, 3.0),
        ({"graph.width": 4, "scheduler": "eager"}, 4.0),
        ({"graph.width": 4, "scheduler": "prio"}, 4.0),
    ]
    assert found.losses == [0, 0, 0.25, 0.25]
    assert found.expected_loss == 0.125
    assert found.losses_along("graph.width") == {2: 0, 4: 0.25}
    assert found.losses_along("scheduler") == {"eager": 0, "prio": 0}
    assert found.simulations == 4
    assert found.interval(found.best) is None


def test_what_fails_is_last_and_says_why():
    found = search(candidates(WIDE, axes_of(["width=2,nonsense"])))
    assert [t.error is None for t in found.tried] == [True, False]
    assert "nonsense" in found.tried[1].error
    assert found.losses == [0, 1]
    assert found.expected_loss == 0
    assert found.losses_along("graph.width") == {2: 0}


def test_when_nothing_works_the_first_error_is_told():
    first = re.escape("all choices fail; the first one: fork-join: width: got 'nonsense'")
    with pytest.raises(InputError, match=first):
        search(candidates(WIDE, axes_of(["width=nonsense,rubbish"])))


def test_tiles_that_do_not_divide_the_matrix_are_no_choice():
    base = Scenario("cholesky", ["n=1000"], workers=1, durations="potrf=1,trsm=1,syrk=1,gemm=1")
    first, second = candidates(base, axes_of(["tile_size=500,300"]))
    assert first.scenario.settings == ("tile_size=500", "tiles=2")
    assert second.scenario is None
    assert "legal: whole tiles" in second.error
    assert [t.mean_s for t in search([first, second]).tried] == [4.0, float("inf")]


def test_halving_gives_the_better_ones_more_seeds():
    base = Scenario("cholesky", ["tiles=4"], platform="xeon-24c")
    axes = axes_of(["tile_size=128,256,512", "scheduler=lws,prio,eager"])
    found = search(candidates(base, axes), seeds=9, noise="model", how="halving")
    assert [len(t.makespans_s) for t in found.tried] == [9, 3, 3, 1, 1, 1, 1, 1, 1]
    assert found.simulations == 9 + 3 * 2 + 6
    every = search(candidates(base, axes), seeds=9, noise="model")
    assert every.simulations == 81
    assert every.best.values == found.best.values
    assert every.best.makespans_s == found.best.makespans_s


def test_ratios_are_under_the_same_seeds():
    found = Tuned((Tried({"a": 1}, (1.0, 3.0, 5.0)), Tried({"a": 2}, (2.0, 6.0))), 5)
    assert found.ratio(found.tried[1]) == 2.0
    assert found.interval(found.tried[1]) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("over", "said"),
    [
        (["tiles"], "got 'tiles'; legal: NAME=VALUE"),
        (["tiles="], "got 'tiles='"),
        (["tiles=4,4"], "different values, none empty"),
        (["tiles=4,,5"], "different values, none empty"),
        (["tiles=9..4"], "the range is empty"),
        (["tiles=4", "graph.tiles=5"], "is given twice"),
        (["tiles=1..1000", "tile_size=1..1000"], "1000000 combinations"),
        ([], "0 combinations"),
    ],
)
def test_axes_that_make_no_sense(over, said):
    with pytest.raises(InputError, match=said):
        candidates(Scenario("cholesky", workers=1), axes_of(over))


def test_halving_of_one_seed_is_refused():
    with pytest.raises(InputError, match="give seeds"):
        search(candidates(FORK, axes_of(["width=2,4"])), how="halving")


@pytest.mark.parametrize("wrong", ["eagre", "dmda:alhpa=2"])
def test_a_scheduler_that_is_misspelt_is_no_choice_that_fails(wrong):
    with pytest.raises(InputError, match=r"did you mean|unknown"):
        candidates(WIDE, axes_of([f"scheduler=lws,{wrong}"]))


@pytest.mark.parametrize("settings", [[], ["n=64"]])
def test_a_parameter_that_is_misspelt_is_no_choice_that_fails(settings):
    base = Scenario("cholesky", settings, workers=2)
    with pytest.raises(InputError, match="unknown parameter 'tile_sze', did you mean 'tile_size'"):
        candidates(base, axes_of(["tile_sze=8,16"]))
