"""Live pages of several nodes: they ask the core what their commands ask."""

from dataclasses import replace

import pytest
from view.live.conftest import DURATIONS
from view.live.test_commands import Page, differences, drawn, of_command, pytestmark  # noqa: F401

import tasksim
from tasksim.formats.runs import save_run
from tasksim.view.live.page import explore

DURATION_OPTION = "potrf=1ms,trsm=3ms,syrk=3ms,gemm=6ms"
NETWORKS = {
    "switch": "switch:bandwidth=3.01GB/s,latency=1.1us,limiter=4.7GB/s,model=loggp",
    "backbone": "backbone:bandwidth=1.3GB/s,latency=2us,backbone_bandwidth=2.9GB/s,model=lv08",
    "tree": "fat-tree:children=[2,4],parents=[1,2],cables=[1,1],bandwidth=1.7GB/s,latency=700ns",
    "torus": "torus:dimensions=[3,2],bandwidth=0.9GB/s,latency=1.3us,model=smpi",
    "dragonfly": "dragonfly:groups=2,chassis=2,routers=2,hosts=1,blue=3,bandwidth=1.1GB/s,"
    "latency=1us,isend=[{fixed: 1us},{above: 9kB,fixed: 2us,per_kilobyte: 1ns}]",
    "ideal": "switch:bandwidth=0.7GB/s,model=ideal",
}
"""Topologies and models of messages, one of each."""


def scenario(network, **more):
    """Return Cholesky on nodes of that network."""
    given = {"workers": 3, "durations": DURATION_OPTION, "nodes": 4, "scheduler": "prio", **more}
    return tasksim.Scenario("cholesky tiles=7 tile_size=100", network=network, **given)


def check(page, of_command, count, seed):  # noqa: F811
    """Compare what the page asks, in drawn settings, with what its commands ask."""
    (known,) = page.run()
    lines = drawn(known, count, seed)
    found = page.run(lines=lines)
    answered = [one for one in found if "refused" not in one]
    for one in answered:
        assert not list(differences(one["question"], of_command(one["command"]))), one["command"]
    # Seeds of more than 44 bits are not for several nodes.
    assert len(answered) >= count - sum("seed=" in line for line in lines)
    return known


@pytest.mark.parametrize("name", NETWORKS)
def test_a_page_of_nodes_asks_what_its_command_asks(name, tmp_path, of_command):  # noqa: F811
    over = {"tiles": [5]} if name == "switch" else {}
    page = Page(explore(scenario(NETWORKS[name]), over=over).html, tmp_path)
    known = check(page, of_command, 8, seed=name)
    keys = dict(known["axes"])
    assert {"nodes", "factor.network_bandwidth.*"} <= set(keys)
    assert ("factor.network_latency.*" in keys) == (name != "ideal")


def test_nodes_with_devices_and_owners(tmp_path, machine, of_command):  # noqa: F811
    one = scenario(
        NETWORKS["switch"], workers=None, platform=machine, durations=DURATIONS, nodes=None,
        grid="1x3", owner="partitioned", scheduler="dmdas",
        changes=["network.links.cable.latency=x3", "network.receive=4us"],
    )  # fmt: skip
    check(Page(explore(one, over={}).html, tmp_path), of_command, 8, seed=3)


def test_a_run_over_ranks_is_replayed_on_its_nodes(tmp_path, of_command):  # noqa: F811
    network = "switch:bandwidth=1.7GB/s,latency=900ns"
    simulated = scenario(network, grid="2x2").solve()
    ranks = {"grid": "2x2", "network": network, "owner": "row"}
    save_run(replace(simulated, kind="native", config={"ranks": ranks}), tmp_path / "native")
    page = Page(explore(tmp_path / "native").html, tmp_path)
    check(page, of_command, 6, seed=5)
    (base,) = page.run(lines=[""])
    assert "--nodes 4 --grid 2x2 --network switch:" in base["command"]
