"""Runs over nodes in the place of a graph: replayed where they ran."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.run.record import Disturbance, WorkerInfo
from tasksim.scenario.alone import replay_under, with_alone
from tasksim.scenario.over_ranks import _alone_makespan_s
from tasksim.scenario.resolved import resolve
from tasksim.scenario.scenario import Scenario
from tasksim.scenario.solving import solve
from tasksim.schedulers.central import Eager

NETWORK = "switch:bandwidth=1GB/s,latency=1us"


@pytest.fixture
def over_ranks():
    """A run over four ranks of a worker each, which share two cores."""
    run = tasksim.simulate(
        "cholesky tiles=5 tile_size=16", workers=1, nodes=4, grid="4x1", owner="column",
        network=NETWORK, durations="potrf=1,trsm=1,syrk=1,gemm=1",
    )  # fmt: skip
    said = {"ranks": {"grid": "4x1", "owner": "column"}, "shared_cores": 2}
    return replace(run, kind="native", platform="elsewhere", config=said)


def replayed(run, **words):
    return resolve(Scenario(run, durations="measured", scheduler="lws", **words))


def test_ranks_are_nodes_again(over_ranks):
    found = replayed(over_ranks, network=NETWORK)
    scenario = found.scenario
    assert (scenario.nodes, scenario.grid, scenario.owner) == (4, "4x1", "column")
    assert scenario.workers == 1
    assert found.cluster.cores == 2


@pytest.mark.parametrize(
    ("words", "nodes"),
    [({"workers": 4}, None), ({"workers": 1, "nodes": 2, "network": NETWORK}, 2)],
)
def test_what_is_said_counts(over_ranks, words, nodes):
    found = replayed(over_ranks, **words)
    assert found.scenario.nodes == nodes
    assert found.cluster is None or found.cluster.cores is None


def test_without_a_network_it_is_said_what_to_give(over_ranks):
    with pytest.raises(InputError, match=r"over 4 ranks.* network elsewhere;"):
        replayed(over_ranks)


def test_the_network_of_the_machine_is_found_in_the_library(over_ranks, tmp_path):
    (tmp_path / "networks").mkdir()
    file = tmp_path / "networks" / "elsewhere.yaml"
    file.write_text("version: 1\nnetwork: {topology: switch, bandwidth: 1 GB/s, latency: 1 us}\n")
    assert replayed(over_ranks, library=str(tmp_path)).scenario.network == str(file)
    over_ranks.config["ranks"]["network"] = str(file)
    assert replayed(over_ranks).scenario.network == str(file)


def test_alone_without_a_network_messages_take_what_they_took_in_the_run(over_ranks):
    del over_ranks.config["shared_cores"]
    with pytest.warns(UserWarning, match="'mpiexec -n 4 tasksim calibrate network"):
        found = resolve(Scenario(over_ranks, durations="alone"))
    taken_s = np.quantile(over_ranks.messages.end_s - over_ranks.messages.start_s, 0.25)
    assert found.cluster.network.alone_s(0, 1, 16 * 16 * 8) == pytest.approx(taken_s)
    assert (found.scenario.grid, found.scenario.owner) == ("4x1", "column")
    assert solve(found).makespan_s == pytest.approx(over_ranks.makespan_s, rel=1e-6)


class Seen(Eager):
    """Notes on how many workers it was asked to run."""

    workers: ClassVar[list[int]] = []

    def attach(self, view, rng):
        super().attach(view, rng)
        self.workers.append(len(view.workers))


def test_alone_over_ranks_is_replayed_under_the_runs_scheduler_on_the_graph_that_was_run(
    over_ranks, monkeypatch
):
    run = replace(over_ranks, graph_name="mine:own", disturbance=Disturbance((1.0,) * 4, (1,) * 4))
    run = replace(run, tasks=replace(run.tasks, cpu_s=run.tasks.duration_s))
    graph = tasksim.generate("cholesky", tiles=5, tile_size=16)
    monkeypatch.setattr(Seen, "workers", [])
    with pytest.warns(UserWarning, match="calibrate network"):
        found = with_alone(run, graph, replay_under(Seen(), _alone_makespan_s))
    assert found.disturbance.alone_s == pytest.approx(run.makespan_s)
    assert Seen.workers == [1, 1, 1, 1]


def test_unequal_ranks_are_refused(over_ranks):
    uneven = (*over_ranks.workers, WorkerInfo("3.cpu1", "cpu", 3))
    with pytest.raises(InputError, match="1, 2 workers"):
        replayed(replace(over_ranks, workers=uneven), network=NETWORK)


def test_a_simulated_run_on_nodes_is_replayed_to_the_same_times(tmp_path):
    asked = {"workers": 2, "grid": "1x3", "network": NETWORK, "scheduler": "eager"}
    run = tasksim.simulate(
        "lu tiles=4 tile_size=16", durations="getrf=1,trsm_ll=2,trsm_ru=2,gemm=3", **asked
    )
    tasksim.save_run(run, tmp_path / "run")
    again = tasksim.simulate(str(tmp_path / "run"), durations="measured", scheduler="eager")
    assert np.array_equal(again.tasks.start_s, run.tasks.start_s)
    assert np.array_equal(again.messages.end_s, run.messages.end_s)
