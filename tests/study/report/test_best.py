"""Best settings: what is best, what ties, how surely, and what is chosen from."""

import numpy as np
import pytest
from study_tables import grid_of, table_of

from tasksim.base.errors import InputError
from tasksim.study.report.best import best_choices


def test_the_best_scheduler_of_each_graph():
    graphs = ["lu", "qr"]
    first, second = best_choices(table_of({"a": [1.0, 4.0], "b": [2.0, 3.0]}, graphs))
    assert (first.question["graph"], first.choice, first.makespan_s) == (
        "lu",
        {"scheduler": "a"},
        pytest.approx(1.0),
    )
    assert (first.next_choice, first.margin, first.cell) == (
        {"scheduler": "b"},
        pytest.approx(1.0),
        "a-0",
    )
    assert second.choice == {"scheduler": "b"}
    assert second.surely == "one run"


def test_ties_are_told():
    (found,) = best_choices(table_of({"a": [1.0], "b": [1.0], "c": [2.0]}))
    assert (found.choice["scheduler"], found.ties) == ("a", 1)
    assert found.next_choice == {"scheduler": "c"}
    assert found.surely == "ties with 1 other, one run"


def test_how_surely_is_said_by_an_interval_over_seeds():
    rng = np.random.default_rng(1)
    noise = {seed: rng.normal(1.0, 0.01) for seed in range(8)}
    base = {"a": 1.0, "b": 1.05, "c": 2.0}
    (found,) = best_choices(grid_of(lambda s, seed: base[s] * noise[seed], "abc", range(8)))
    assert (found.surely, found.best_in, found.seeds) == ("sure", 8, 8)
    assert [found.margin, found.low, found.high] == pytest.approx([0.05] * 3)
    draws = {(s, seed): rng.normal(1.0, 0.05) for s in "abc" for seed in range(8)}
    (found,) = best_choices(grid_of(lambda s, seed: draws[s, seed], "abc", range(8)))
    assert found.surely == "not sure"


def test_few_seeds_are_counted():
    values = {("a", 0): 1.0, ("a", 1): 1.0, ("b", 0): 0.9, ("b", 1): 2.0}
    (found,) = best_choices(grid_of(lambda s, seed: values[s, seed], "ab", (0, 1)))
    assert found.choice == {"scheduler": "a"}
    assert found.surely == "best with 1 of 2 seeds"


def test_settings_are_chosen_from_when_asked_for():
    def makespan(scheduler, _seed, size, speed):
        return abs(size - 256) + (2.0 if scheduler == "a" else 3.0) / speed

    table = grid_of(makespan, "ab", graph__tile_size=[128, 256, 512], platform__speed=[1, 2])
    found = best_choices(table, ["tile_size"])
    assert [choice.choice for choice in found] == [{"scheduler": "a", "graph.tile_size": 256}] * 2
    assert [choice.question["platform.speed"] for choice in found] == [1, 2]
    assert len(best_choices(table)) == 6
    with pytest.raises(InputError, match="no axis of the study is called 'tile'"):
        best_choices(table, ["tile"])


def test_one_scheduler_is_the_only_choice():
    (found,) = best_choices(table_of({"a": [1.0]}))
    assert (found.surely, found.next_choice) == ("the only choice", None)


def test_only_seeds_that_all_have_are_compared():
    (found,) = best_choices(
        table_of({"a": [9.0, 1.0, 1.0], "b": [None, 2.0, 2.0]}, None, [0, 1, 2])
    )
    assert (found.choice, found.seeds) == ({"scheduler": "a"}, 2)
    assert found.makespan_s == pytest.approx(1.0)
