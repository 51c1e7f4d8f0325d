"""Verdicts: who wins, and when nobody may be said to."""

import numpy as np
import pytest
from study_tables import names, table_of

from tasksim.study.report.evidence import MIN_BLOCKS, Evidence
from tasksim.study.report.findings import examine
from tasksim.study.report.pairs import PairedMakespans
from tasksim.study.report.verdict import judge

TEN_VALUES = np.arange(1.0, 11.0)


def verdict(makespans, graphs=None, seeds=None):
    return examine(table_of(makespans, graphs, seeds)).verdict


def test_a_winner_is_backed_by_an_interval():
    found = verdict(
        {"prio": TEN_VALUES, "eager": 1.1 * TEN_VALUES, "lws": 1.2 * TEN_VALUES}, names(10)
    )
    assert (found.kind, found.winner) == ("winner", "prio")
    assert found.text == (
        "prio wins: it is faster than each of the 2 others. Makespans of the next one, eager, are "
        "10 % (95 % interval 10 to 10 %) longer. Over 10 configurations (graph, platform, "
        "settings)."
    )
    assert found.leading == {"eager": 0.0, "lws": 0.0, "prio": 1.0}


def test_identical_schedulers_name_no_winner():
    found = verdict({"eager": TEN_VALUES, "lws": TEN_VALUES, "prio": TEN_VALUES}, names(10))
    assert (found.kind, found.winner) == ("no winner", None)
    assert found.alike == ("eager", "lws", "prio")
    assert found.text == "No winner: eager, lws and prio have the same makespans."


def test_nearly_identical_schedulers_name_no_winner():
    rng = np.random.default_rng(1)
    near = {name: TEN_VALUES * rng.normal(1.0, 0.01, 10) for name in ("eager", "lws", "prio")}
    found = verdict(near, names(10))
    assert found.kind == "no winner"
    assert "cannot be told apart" in found.text
    assert "which may be chance" in found.text


def test_chance_names_a_winner_as_rarely_as_it_says():
    rng = np.random.default_rng(2)
    named = 0
    for _ in range(100):
        noise = rng.normal(0.0, 0.02, size=(8, 3))
        evidence = Evidence("configuration", noise, 8, 1)
        named += judge(evidence, ["a", "b", "c"]).kind == "winner"
    assert named <= 8


def test_the_best_of_a_close_pair_is_no_winner_though_both_beat_a_third():
    jitter = np.where(np.arange(10) % 2, 1.01, 0.99)
    found = verdict({"a": TEN_VALUES, "b": TEN_VALUES * jitter, "c": 2 * TEN_VALUES}, names(10))
    assert found.kind == "no winner"
    assert set(found.alike) == {"a", "b"}


@pytest.mark.parametrize("count", range(1, MIN_BLOCKS))
def test_of_few_groups_nothing_is_said(count):
    found = verdict({"a": TEN_VALUES[:count], "b": 2 * TEN_VALUES[:count]}, names(count))
    assert (found.kind, found.winner, found.differences) == ("unknown", None, ())
    some = "is 1 configuration" if count == 1 else f"are {count} configurations"
    assert f"there {some} to compare in" in found.text


def test_one_scheduler_has_nobody_to_beat():
    assert verdict({"a": TEN_VALUES}, names(10)).text == ("No comparison: only a has makespans.")
    assert "no scheduler has makespans" in verdict({"a": [None]}).text


def test_schedulers_that_never_met():
    found = verdict({"a": [1.0, None], "b": [None, 1.0]}, names(2))
    assert found.kind == "unknown"
    assert "for which all schedulers have one" in found.text


def test_seeds_of_one_configuration_speak_of_it_alone():
    rng = np.random.default_rng(4)
    makespans = {"a": rng.normal(1.0, 0.01, 8), "b": rng.normal(1.2, 0.01, 8)}
    found = verdict(makespans, seeds=list(range(8)))
    assert found.winner == "a"
    assert found.text.endswith("Over 8 pairs of runs of 1 configuration, and of no others.")


def test_seeds_are_no_further_configurations():
    """A hundred runs of six graphs are six comparisons."""
    graphs = [name for name in names(6) for _ in range(20)]
    seeds = [seed for _ in range(6) for seed in range(20)]
    rng = np.random.default_rng(6)
    makespans = {n: rng.normal(1.0, 0.1, 120) for n in ("a", "b")}
    pairs = PairedMakespans.of(table_of(makespans, graphs, seeds))
    evidence = Evidence.of(pairs)
    assert (evidence.unit, len(evidence), evidence.seeds, len(pairs)) == (
        "configuration",
        6,
        20,
        120,
    )
    expected = np.log(pairs.makespans_s).reshape(6, 20, 2).mean(axis=1)
    assert evidence.log_s == pytest.approx(expected)


def test_seeds_that_change_nothing_are_one_run():
    evidence = Evidence.of(
        PairedMakespans.of(table_of({"a": [1.0] * 9, "b": [2.0] * 9}, None, range(9)))
    )
    assert (len(evidence), evidence.seeds, evidence.enough) == (1, 1, False)


def test_a_winner_that_failed_elsewhere_is_said_to():
    values = [*TEN_VALUES, None, None]
    found = verdict({"prio": values, "eager": [*(1.1 * TEN_VALUES), 1.0, None]}, names(12))
    assert found.winner == "prio"
    assert found.text.endswith("But it failed in 1 group in which another did not.")
