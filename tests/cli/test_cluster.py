"""Clusters on the command line, in files and in scenarios."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tasksim as package
from tasksim import InputError, Scenario

DURATIONS = "--durations potrf=1,trsm=3,syrk=3,gemm=6"
SWITCH = "switch:bandwidth=1GB/s,latency=1us"
ON_FOUR = f"--network {SWITCH} --nodes 4 --grid 2x2"
DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}


@pytest.fixture
def cholesky(tasksim):
    def call(line):
        return tasksim(f"simulate cholesky tiles=8 {DURATIONS} {line}")

    return call


def test_a_run_on_nodes_says_nodes_grid_and_messages(cholesky):
    said = cholesky(f"--workers 2 {ON_FOUR} --json --check").json
    assert (said["nodes"], said["grid"], said["workers"]) == (4, "2x2", 8)
    assert said["messages"] == {"count": 56, "bytes": 56 * 256 * 256 * 8}
    assert "56 messages, 28 MiB, between 4 nodes" in cholesky(f"--workers 2 {ON_FOUR}").out


def test_flushes_of_the_peer_are_a_setting(cholesky):
    assert cholesky(f"flush=peer --workers 2 {ON_FOUR} --json").json["messages"]["count"] == 65


def test_a_run_on_one_node_is_a_run_without_nodes(cholesky):
    one = cholesky(f"--workers 2 --network {SWITCH} --nodes 1 --json").json
    without = cholesky("--workers 2 --json").json
    added = {"nodes": 1, "grid": "1x1", "messages": {"count": 0, "bytes": 0}}
    assert {key: one[key] for key in added} == added
    timed = ("simulation_wall_s", "tasks_per_s")
    same = {key: value for key, value in one.items() if key not in (*added, *timed)}
    assert same == {key: value for key, value in without.items() if key not in timed}


def test_a_run_on_nodes_is_kept_compared_and_repeated(tasksim, cholesky):
    assert cholesky(f"--workers 2 {ON_FOUR} --owner column -o kept").code == 0
    again = tasksim("simulate --from kept -o again --json")
    assert again.err == "Wrote again\n"
    assert package.load_run("kept").messages == package.load_run("again").messages
    assert tasksim("compare kept again").code == 0
    words = json.loads(Path("kept/run.json").read_text())["config"]["cluster"]
    assert words == {"network": SWITCH, "nodes": 4, "grid": "2x2", "owner": "column"}


@pytest.mark.slow
def test_bounds_of_a_run_on_nodes_are_those_of_its_graph(tasksim, cholesky):
    assert cholesky(f"--workers 2 {ON_FOUR} -o kept").code == 0
    said = tasksim("bounds kept --json").json
    graph = tasksim(f"bounds cholesky tiles=8 {DURATIONS} --workers 2 {ON_FOUR} --json").json
    assert said["bounds"] == graph["bounds"]
    assert {"node_area_s", "volume_s", "path_s"} < said["bounds"].keys()
    assert said["best_s"] <= said["makespan_s"]
    sent = said["practical_critical_path"]["messages"]
    text = tasksim("bounds kept").out
    assert f"{sent['count']} messages between nodes on the path" in text
    viewed = tasksim("view kept --critical-path --json").json["runs"][0]
    assert viewed["critical_path"]["messages"] == sent


def test_bounds_of_a_run_whose_models_are_gone_are_those_it_kept(tasksim, cholesky):
    assert cholesky(f"--workers 2 {ON_FOUR} -o kept").code == 0
    text = Path("kept/run.json").read_text()
    Path("kept/run.json").write_text(text.replace('"tiles=8"', '"tiles=none"'))
    said = tasksim("bounds kept --json")
    assert said.code == 0
    assert said.json["bounds"].keys() == {"critical_path_s", "area_s"}
    assert said.err.startswith("no bounds with messages: ")


def test_the_file_of_a_cluster_says_nodes_and_network(tasksim, tmp_path):
    (tmp_path / "node.yaml").write_text("version: 1\nworkers: {cpu: {count: 2}}\n")
    text = "nodes: {count: 4, like: node.yaml}\n"
    text += "network: {topology: switch, bandwidth: 1 GB/s, latency: 1 us}\n"
    (tmp_path / "four.yaml").write_text(text)
    line = f"simulate cholesky tiles=8 {DURATIONS} --json"
    by_file = tasksim(f"{line} --platform four.yaml").json
    by_words = tasksim(f"{line} --platform node.yaml --nodes 4 --network {SWITCH}").json
    assert by_file["makespan_s"] == by_words["makespan_s"]
    assert by_file["messages"]["count"] == 56
    assert tasksim(f"{line} --platform four.yaml --grid 1x2").json["nodes"] == 2


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ("{count: 0, like: node}", "nodes: count is 0 (legal: an integer from 1 to 65536)"),
        ("{count: 2}", "nodes: like is None (legal: a platform's name, a file)"),
        (
            "{count: 2, like: node, weight: 3}",
            "nodes.weight: no such field (legal: count, like, cores)",
        ),
        (
            "{cuont: 2, like: node}",
            "nodes.cuont: no such field, did you mean 'count'? (legal: count, like, cores)",
        ),
    ],
)
def test_a_file_of_a_cluster_that_is_wrong_is_refused(tasksim, tmp_path, nodes, message):
    network = "network: {topology: switch, bandwidth: 1 GB/s, latency: 1 us}\n"
    (tmp_path / "wrong.yaml").write_text(f"nodes: {nodes}\n{network}")
    called = tasksim(f"simulate cholesky tiles=8 {DURATIONS} --platform wrong.yaml")
    assert called.code == 2
    assert message in called.err
    assert "wrong.yaml:1:" in called.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--nodes 4", "the network between the nodes is missing: give --network"),
        (f"--network {SWITCH}", "the number of nodes is missing: give --nodes N or --grid PxQ"),
        (f"--network {SWITCH} --nodes 5 --grid 2x2", "--grid 2x2 has 4 nodes, --nodes 5"),
        (f"--network {SWITCH} --grid 2", "--grid: got '2'; legal: ROWSxCOLUMNS"),
        (f"--network {SWITCH} --nodes 1000000", "--nodes: got 1000000"),
        (f"--network {SWITCH} --nodes 4 --owner rows", "unknown owner 'rows', did you mean"),
        ("--network nothing.xml --nodes 4", "nothing.xml"),
    ],
)
def test_what_does_not_go_together_is_refused(cholesky, line, message):
    called = cholesky(f"--workers 2 {line}")
    assert called.code == 2
    assert message in called.err
    assert len(called.errors) == 1


def test_bounds_count_the_workers_of_all_nodes(tasksim):
    line = f"bounds cholesky tiles=8 {DURATIONS} --json"
    alone = tasksim(f"{line} --workers 8").json
    spread = tasksim(f"{line} --workers 2 {ON_FOUR}").json
    assert {name: spread["bounds"][name] for name in alone["bounds"]} == alone["bounds"]
    assert spread["workers"] == 8


def test_a_scenario_on_nodes_is_written_read_and_varied():
    asked = Scenario(
        "cholesky tiles=8",
        workers=2,
        durations=DURATIONS_S,
        network=SWITCH,
        nodes=4,
        owner="column",
    )
    assert Scenario.from_json(asked.to_json()) == asked
    assert asked.label == "cholesky tiles=8, 2 workers, 4 nodes, lws"
    assert asked.fingerprint != asked.vary(owner="row").fingerprint
    runs = [one.solve() for one in asked.variants({"nodes": [1, 2, 4]})]
    assert [len(run.workers) for run in runs] == [2, 4, 8]


def test_the_public_function_takes_nodes():
    run = package.simulate(
        "cholesky tiles=8", workers=2, models=DURATIONS_S, network=SWITCH, nodes=4
    )
    assert len(run.messages) == 56


def test_real_runs_are_not_asked_for_so():
    with pytest.raises(InputError, match="mpiexec"):
        Scenario("cholesky tiles=8", workers=2, clock="native", nodes=4, network=SWITCH)


def test_bounds_on_nodes_know_of_messages(tasksim):
    line = f"bounds cholesky tiles=8 {DURATIONS} --workers 2"
    alone, on_four = (tasksim(f"{line} {more} --json").json for more in ("", ON_FOUR))
    assert set(on_four["bounds"]) - set(alone["bounds"]) == {"node_area_s", "volume_s", "path_s"}
    assert on_four["best_s"] == max(on_four["bounds"].values())
    assert on_four["bounds"]["path_s"] > on_four["bounds"]["critical_path_s"]
    assert "critical path with messages" in tasksim(f"{line} {ON_FOUR}").out
