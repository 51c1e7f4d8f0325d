"""Several nodes in all that replays many times: the same numbers as one simulation gives."""

from __future__ import annotations

import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.scenario.scenario import Scenario
from tasksim.scenario.sureness import how_sure
from tasksim.study.sweep.store import read_table
from tasksim.study.sweep.studies import run_study

ON_FOUR = Scenario(
    "cholesky tiles=6",
    platform="xeon-2c",
    network="switch:bandwidth=100MB/s,latency=10us",
    nodes=4,
)

STUDY = """
version: 1
graphs: [cholesky tiles=6]
platforms:
  - platform: xeon-2c
    network: switch:bandwidth=100MB/s,latency=10us
    nodes: [1, 4]
schedulers: [lws, prio]
"""


@pytest.mark.parametrize("engine", ["auto", "simpy"])
@pytest.mark.parametrize("threads", [1, 2])
def test_many_simulations_give_what_each_gives(engine, threads):
    asked = [
        ON_FOUR.vary({"nodes": nodes, "scheduler": scheduler, "seed": seed, "noise": noise})
        for nodes in (1, 2, 4)
        for scheduler in ("lws", "random")
        for seed, noise in ((0, "none"), (7, "model"))
    ]
    many = tasksim.simulate_many(asked, threads=threads, engine=engine)
    assert many.makespan_s.tolist() == [scenario.solve().makespan_s for scenario in asked]
    runs = [scenario.solve() for scenario in asked]
    busy = [float((r.tasks.end_s - r.tasks.start_s).sum()) for r in runs]
    assert many.busy_s.tolist() == pytest.approx(busy)


def test_how_sure_is_asked_of_all_nodes():
    sure = how_sure(ON_FOUR, uncertainty="tasks", replications=20)
    assert sure.mean_s == pytest.approx(ON_FOUR.solve().makespan_s, rel=0.05)
    assert ON_FOUR.solve().makespan_s > 1.5 * ON_FOUR.vary({"nodes": 1}).solve().makespan_s


def test_tasks_on_the_path_are_counted_on_all_nodes():
    many = tasksim.simulate_many([ON_FOUR, ON_FOUR.vary({"seed": 1})])
    counts = many.critical_counts()
    assert counts[0] == 2  # the first potrf
    assert counts.max() == 2


def test_studies_have_nodes_as_an_axis(tmp_path):
    file = tmp_path / "scaling.yaml"
    file.write_text(STUDY)
    run_study(file, tmp_path / "study")
    table = read_table(tmp_path / "study")
    assert set(table["status"]) == {"done"}
    assert sorted(table["nodes"]) == [1, 1, 4, 4]
    for _, row in table.iterrows():
        run = ON_FOUR.vary({"nodes": int(row["nodes"]), "scheduler": row["scheduler"]}).solve()
        assert row["makespan_s"] == run.makespan_s
        assert row["lower_bound_s"] == max(run.bounds.values())
        assert row["busy_share"] == pytest.approx(
            run.tasks.duration_s.sum() / len(run.workers) / run.makespan_s
        )


def test_a_grid_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="has 6 nodes"):
        tasksim.simulate_many([ON_FOUR.vary({"grid": "2x3"})])
