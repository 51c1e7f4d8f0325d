"""Chances that one scheduler beats another: counted by hand, symmetric, as sure as SciPy says."""

from __future__ import annotations

import pandas as pd
import pytest
from scipy import stats

from tasksim.study.report.blocks import chance_rows
from tasksim.study.report.chances import chances
from tasksim.study.report.findings import examine
from tasksim.study.report.pairs import PairedMakespans
from tasksim.study.report.table import StudyTable


def table_of(makespans):
    """A table of (graph, seed, scheduler) -> makespan."""
    rows = [(f"{g}{s}{k}", g, s, k, t) for (g, s, k), t in makespans.items()]
    frame = pd.DataFrame(rows, columns=["cell", "graph", "seed", "scheduler", "makespan_s"])
    return StudyTable.of(frame.assign(platform="p", status="done"))


def runs_of(won, of, graph="lu tiles=4"):
    """Runs of a and b, of which a wins the first ones."""
    found = {(graph, seed, "a"): 1.0 + seed for seed in range(of)}
    return found | {(graph, seed, "b"): (1.1 if seed < won else 0.9) + seed for seed in range(of)}


@pytest.mark.parametrize("won", [5, 7, 9, 10])
def test_of_one_configuration_it_is_the_share_of_runs(won):
    (found,) = chances(PairedMakespans.of(table_of(runs_of(won, 10))))
    exact = stats.binomtest(won, 10).proportion_ci(0.95, "exact")
    assert (found.first, found.second, found.ties) == ("a", "b", 0.0)
    assert found.probability == pytest.approx(won / 10)
    assert found.low == pytest.approx(exact.low)
    assert found.high == pytest.approx(exact.high)


def test_the_likelier_one_comes_first():
    (found,) = chances(PairedMakespans.of(table_of(runs_of(2, 10))))
    assert (found.first, found.second) == ("b", "a")
    assert found.probability == pytest.approx(0.8)


def test_identical_schedulers_are_as_likely_to_win():
    same = {(f"lu tiles={n}", 0, k): float(n) for n in range(2, 12) for k in "ab"}
    (found,) = chances(PairedMakespans.of(table_of(same)))
    assert (found.probability, found.ties) == (0.5, 1.0)
    assert found.low < 0.5 < found.high


def test_configurations_count_alike_however_many_seeds_they_have():
    much, little = runs_of(20, 20, "lu tiles=4"), runs_of(0, 2, "qr tiles=4")
    (found,) = chances(PairedMakespans.of(table_of(much | little)))
    assert found.probability == pytest.approx(0.5)


def test_more_seeds_of_many_configurations_do_not_make_it_surer():
    def of(seeds):
        all_runs = [runs_of(seeds, seeds, f"lu tiles={n}") for n in range(2, 10)]
        (found,) = chances(
            PairedMakespans.of(table_of({k: v for runs in all_runs for k, v in runs.items()}))
        )
        return found

    assert of(1).low == pytest.approx(of(20).low)
    assert of(20).low == pytest.approx(stats.binomtest(8, 8).proportion_ci(0.95, "exact").low)


def test_rows_look_at_differences_from_the_side_of_who_is_likelier():
    # b wins most runs, but one that it loses by far: a has the lower mean.
    runs = runs_of(1, 9)
    runs["lu tiles=4", 0, "b"] = 1000.0
    findings = examine(table_of(runs))
    assert findings.verdict.differences[0].faster == "a"
    ((who, probability, _, longer, interval),) = chance_rows(findings)
    assert (who, probability) == ("b beats a", "88.9 %")
    assert longer.startswith("-")
    low, high = interval.split(" to ")
    assert float(low) < float(high.rstrip(" %"))


def test_nothing_is_said_without_runs_of_both():
    alone = {(f"lu tiles={n}", 0, "a"): float(n) for n in range(2, 12)}
    assert chances(PairedMakespans.of(table_of(alone))) == []
