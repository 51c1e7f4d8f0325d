"""Tournaments: wins, ties, ratios and profiles of tables made by hand."""

import math

import pytest
from study_tables import names, table_of

from tasksim.study.report.pairs import PairedMakespans
from tasksim.study.report.tournament import performance_profile, standings

FOUR_SCHEDULERS = {
    "eager": [2.0, 1.0, 3.0, 8.0],
    "lws": [1.0, 1.0, 6.0, 4.0],
    "prio": [4.0, 2.0, 3.0, 2.0],
}


def of(makespans, **columns):
    pairs = PairedMakespans.of(
        table_of(makespans, names(len(next(iter(makespans.values())))), **columns)
    )
    return {s.scheduler: s for s in standings(pairs)}, pairs


def test_wins_ties_and_ratios():
    found, pairs = of(FOUR_SCHEDULERS)
    assert len(pairs) == 4
    assert {n: (s.wins, s.ties) for n, s in found.items()} == {
        "eager": (0, 2),
        "lws": (1, 1),
        "prio": (1, 1),
    }
    means = {"eager": (2 * 1 * 1 * 4) ** 0.25, "lws": (1 * 1 * 2 * 2) ** 0.25}
    means["prio"] = (4 * 2 * 1 * 1) ** 0.25
    assert {n: s.mean_ratio for n, s in found.items()} == pytest.approx(means)
    assert {n: (s.worst_ratio, s.worst_cell) for n, s in found.items()} == {
        "eager": (4.0, "eager-3"),
        "lws": (2.0, "lws-2"),
        "prio": (4.0, "prio-0"),
    }
    assert next(iter(found)) == "lws"


def test_ratios_to_the_bound():
    found, _ = of(FOUR_SCHEDULERS, lower_bound_s=1.0)
    assert found["eager"].mean_bound_ratio == pytest.approx(48**0.25)
    assert found["eager"].worst_bound_ratio == 8.0


@pytest.mark.parametrize("bound", [0.0, math.nan])
def test_without_a_bound_there_is_no_ratio_to_it(bound):
    found, _ = of(FOUR_SCHEDULERS, lower_bound_s=bound)
    assert found["eager"].mean_bound_ratio is None


def test_rounding_errors_are_ties():
    found, _ = of({"a": [0.1 + 0.2], "b": [0.3]})
    assert [(s.wins, s.ties) for s in found.values()] == [(0, 1), (0, 1)]


def test_groups_that_lack_a_scheduler_do_not_count():
    found, pairs = of({"a": [1.0, 2.0, None], "b": [2.0, None, 1.0]})
    assert (len(pairs), pairs.incomplete) == (1, 2)
    assert (found["a"].wins, found["b"].wins) == (1, 0)


def test_a_scheduler_that_always_failed_is_left_out():
    found, pairs = of({"a": [1.0, 2.0], "b": [2.0, 3.0], "c": [None, None]})
    assert pairs.absent == ("c",)
    assert (list(found), len(pairs)) == (["a", "b"], 2)


def test_nobody_to_compare_with():
    found, pairs = of({"a": [1.0, None], "b": [None, 1.0]})
    assert (found, len(pairs)) == ({}, 0)


def test_a_profile_by_hand():
    _, pairs = of(FOUR_SCHEDULERS)
    profile = performance_profile(pairs)
    assert profile["factor"].tolist() == [1.0, 2.0, 4.0]
    assert profile["eager"].tolist() == [0.5, 0.75, 1.0]
    assert profile["lws"].tolist() == [0.5, 1.0, 1.0]
    assert profile["prio"].tolist() == [0.5, 0.75, 1.0]


def test_what_failed_is_never_reached_by_a_profile():
    _, pairs = of({"a": [1.0, 2.0, 1.0], "b": [2.0, None, 1.0]})
    profile = performance_profile(pairs)
    assert profile["factor"].tolist() == [1.0, 2.0]
    assert profile["a"].tolist() == [1.0, 1.0]
    assert profile["b"].tolist() == pytest.approx([1 / 3, 2 / 3])
