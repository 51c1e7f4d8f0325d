"""Non-uniform memory on the command line: its cost, its words, its place in runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tasksim.graph.apps.registry import generate
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.network.cluster import Cluster
from tasksim.network.load import read_network
from tasksim.platform.load import load as load_platform
from tasksim.run.runfolder import load
from tasksim.scenario.advice import without_remote_cost

PLATFORM = """
version: 1
workers: {cpu: {count: 2}}
memory_domains: {numa: {workers: cpu, each: 1}}
numa:
  distances: 20
  placement: numa0
  kernels: {task: {memory_share: 0.5}}
"""
SIMULATE_COMMAND = (
    "simulate fork-join width=2 size_bytes=8 --platform ./two.yaml --durations task=1 "
    "--scheduler eager {}"
)


@pytest.fixture
def two(tmp_path):
    """Two sockets of one core each, all data in the first."""
    path = tmp_path / "two.yaml"
    path.write_text(PLATFORM)
    return path


@pytest.mark.parametrize("engine", ["simpy", "auto"])
def test_a_remote_task_takes_longer(tasksim, two, engine):
    # Of three stages, the middle one has a task on each socket: 1 + 1.5 + 1.
    done = tasksim(SIMULATE_COMMAND.format(f"--check --json --engine {engine}"))
    assert done.err == ""
    assert done.json["makespan_s"] == 3.5
    assert done.json["numa"]["extra_s"] == [0.0, 0.5]
    near = tasksim(SIMULATE_COMMAND.format("--json --set platform.numa.distances=10"))
    assert near.json["makespan_s"] == 3.0


def test_the_output_says_how_much_is_remote(tasksim, two):
    assert "remote access  " in tasksim(SIMULATE_COMMAND.format("")).out
    flat = tasksim(SIMULATE_COMMAND.format("--set platform.numa.distances=10")).out
    assert "remote access  " in flat
    two.write_text("version: 1\nworkers: {cpu: {count: 2}}\n")
    assert "remote access" not in tasksim(SIMULATE_COMMAND.format("")).out


def test_a_run_keeps_the_accesses(tasksim, two):
    tasksim(SIMULATE_COMMAND.format("-o run"))
    use = load(Path("run")).numa
    assert use.domains == ("numa0", "numa1")
    assert use.total_extra_s == 0.5
    assert use.accessed_bytes[1][0] == use.remote_bytes > 0.0
    assert use.accessed_bytes[1][1] == 0.0
    found = json.loads(Path("run/run.json").read_text())["metrics"]
    assert found["remote_bytes"] == use.remote_bytes
    assert (found["remote_share"], found["remote_extra_s"]) == (use.remote_share, 0.5)
    again = tasksim("simulate --from run --json").json
    assert again["makespan_s"] == 3.5


def test_the_account_says_what_remote_accesses_cost(tasksim, two):
    tasksim(SIMULATE_COMMAND.format("-o run"))
    use = load(Path("run")).numa
    found = tasksim("report account run --json").json
    assert found["replayed_s"] == found["recorded_s"] == 3.5
    assert found["numa"]["extra_s"] == [0.0, 0.5]
    assert found["numa"]["accessed_bytes"] == [list(row) for row in use.accessed_bytes]
    lines = tasksim("report account run").out.splitlines()
    (longer,) = [line for line in lines if "longer tasks" in line]
    assert longer.split()[-4:] == ["+250", "ms", "7.14", "%"]
    (there,) = [line for line in lines if "bytes accessed there" in line]
    assert there.endswith(f"{100 * use.remote_share:.2f} %")
    two.write_text("version: 1\nworkers: {cpu: {count: 2}}\n")
    tasksim(SIMULATE_COMMAND.format("-o flat"))
    assert tasksim("report account flat --json").json["numa"] is None
    assert "memory domains" not in tasksim("report account flat").out


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("extra_s", [0.0], "extra_s: got 1 values for 2 domains"),
        ("accessed_bytes", [[1.0], [2.0]], "accessed_bytes: must be a row of 2 values per domain"),
        ("domains", "numa0", "run.json"),
        ("extra_s", ["a", "b"], "run.json"),
    ],
)
def test_accesses_that_are_none_are_refused(tasksim, two, key, value, error):
    tasksim(SIMULATE_COMMAND.format("-o run"))
    path = Path("run/run.json")
    header = json.loads(path.read_text())
    header["numa"][key] = value
    path.write_text(json.dumps(header))
    refused = tasksim("validate run")
    assert refused.code == 2
    assert error in refused.err


def test_kernels_of_unknown_share_are_named(tasksim, two):
    two.write_text(PLATFORM.replace("{task: {memory_share: 0.5}}", "{other: {memory_share: 0.5}}"))
    done = tasksim(SIMULATE_COMMAND.format("--json"))
    assert done.json["makespan_s"] == 3.0
    assert done.err == (
        "Warning: numa: of task no memory share is known, so remote accesses cost them nothing "
        "(numa.kernels)\n"
    )


def test_nodes_that_share_cores_have_no_numa(two):
    graph, platform = generate("cholesky", tiles=4), load_platform(str(two))
    network = read_network("switch:bandwidth=1GB/s,latency=1us")
    models = ConstantLibrary(dict.fromkeys(graph.kernels, 1.0))
    shared = Cluster.alike(platform, 2, network.sized(2), cores=2)
    assert without_remote_cost(graph, platform, models, shared) == [
        "numa: not simulated where nodes share cores"
    ]
