"""Settings of networks: --set network.links.KIND.FIELD, and the costs of a message."""

from __future__ import annotations

import numpy as np
import pytest
from compiled_core import needs_core, only_with_core

import tasksim
from tasksim.base.errors import InputError
from tasksim.network.description import link_kinds
from tasksim.network.load import read_network
from tasksim.network.model import HostCost, cost_s
from tasksim.network.settings import with_settings

DURATIONS_S = {"potrf": 1e-3, "trsm": 3e-3, "syrk": 3e-3, "gemm": 6e-3}
NETWORK_TEXTS = {
    "switch:bandwidth=1GB/s,limiter=3GB/s,loopback_bandwidth=9GB/s": {
        "cable", "limiter", "loopback",
    },
    "switch:bandwidth=1GB/s,full_duplex=false": {"cable"},
    "backbone:bandwidth=1GB/s,backbone_bandwidth=2GB/s": {"backbone", "cable"},
    "fat-tree:children=[2,3],parents=[1,2],cables=[1,2],bandwidth=1GB/s": {
        "level0", "level1", "loopback",
    },
    "torus:dimensions=[3,2],bandwidth=1GB/s,full_duplex=false": {
        "dimension0", "dimension1", "loopback",
    },
    "dragonfly:groups=2,chassis=2,routers=2,hosts=1,blue=4,bandwidth=1GB/s": {
        "node", "green", "black", "blue", "loopback",
    },
}  # fmt: skip


@pytest.mark.parametrize("text", NETWORK_TEXTS)
def test_each_link_has_one_kind_which_its_name_tells(text):
    network = read_network(text).sized(6)
    kinds = link_kinds(network.topology)
    assert set(kinds) == NETWORK_TEXTS[text]
    together = np.concatenate(list(kinds.values()))
    assert sorted(together.tolist()) == list(range(network.topology.link_count))
    for kind, links in kinds.items():
        if kind != "cable":  # those of a switch are called up and down
            assert all(kind in network.topology.link_name(link) for link in links.tolist())


def test_a_kind_changes_alone_and_a_pattern_changes_all():
    tree = "fat-tree:children=[2,3],parents=[1,2],cables=[1,2],bandwidth=1GB/s,latency=2us"
    network = read_network(tree)
    changed = with_settings(
        network, ["network.links.level1.bandwidth=x0.5", "network.links.*.latency=3us"]
    )
    assert changed.bandwidth_bytes_per_s(0, 1) == 1e9
    assert changed.bandwidth_bytes_per_s(0, 2) == 0.5e9
    assert changed.latency_s(0, 2) == pytest.approx(4 * 3e-6)
    assert network.latency_s(0, 2) == pytest.approx(4 * 2e-6)


def test_costs_of_a_message_are_fixed_or_multiplied():
    network = read_network("switch:bandwidth=1GB/s,isend=[{fixed: 1 us, per_kilobyte: 2 us}]")
    twice = with_settings(network.sized(2), ["network.isend=x2"]).model
    assert cost_s(twice.isend_costs, 1000) == pytest.approx(6e-6)
    fixed = with_settings(network.sized(2), ["network.isend=5us", "network.receive=7us"]).model
    assert fixed.isend_costs == (HostCost(0.0, 5e-6, 0.0),)
    assert cost_s(fixed.receive_costs, 10**6) == 7e-6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("network.links.*.latency=-1us", "must not be negative .got '-1us'"),
        ("network.isend=-1us", "must not be negative .got '-1us'"),
        (
            "network.links.cabel.latency=x2",
            "no such kind of link .*legal cable.*did you mean 'cable'",
        ),
        ("network.links.cable.speed=x2", "unknown path .*legal network.links.KIND.bandwidth"),
        ("network.links.cable.latency", "must be PATH=VALUE"),
        ("network.links.cable.bandwidth=0 B/s", "must be above 0"),
        ("network.links.cable.bandwidth=fast", "--set network.links.cable.bandwidth=fast: "),
        ("network.receive=x2", "no value to multiply"),
    ],
)
def test_wrong_settings_are_told_with_what_is_legal(change, message):
    scenario = tasksim.Scenario(
        "cholesky tiles=3", workers=2, durations=DURATIONS_S, nodes=2,
        network="switch:bandwidth=1GB/s", changes=[change],
    )  # fmt: skip
    with pytest.raises(InputError, match=message):
        scenario.solve()


def test_a_network_that_is_not_there_cannot_be_changed():
    changes = ["network.links.*.latency=x2"]
    scenario = tasksim.Scenario(
        "cholesky tiles=3", workers=2, durations=DURATIONS_S, changes=changes
    )
    with pytest.raises(InputError, match="give nodes=N and network=NETWORK"):
        scenario.solve()


@pytest.mark.parametrize("engine", ["simpy", needs_core("compiled")])
def test_both_engines_take_the_changed_network(engine):
    slow = tasksim.Scenario(
        "cholesky tiles=5 tile_size=256", workers=2, durations=DURATIONS_S, nodes=4,
        scheduler="prio", network="backbone:bandwidth=1GB/s,backbone_bandwidth=2GB/s,latency=1us",
    )  # fmt: skip
    same = slow.vary(network="backbone:bandwidth=500MB/s,backbone_bandwidth=2GB/s,latency=3us")
    changes = ["network.links.cable.bandwidth=x0.5", "network.links.cable.latency=x3"]
    changed = slow.with_changes(changes).solve(engine=engine)
    assert changed.tasks == same.solve(engine=engine).tasks
    assert changed.makespan_s > slow.solve(engine=engine).makespan_s


@only_with_core
def test_explicit_links_are_replayed_by_both_engines(tmp_path):
    (tmp_path / "wire.yaml").write_text(
        "network:\n  topology: explicit\n  hosts: [a, b]\n"
        "  links: {wire: {bandwidth: 1 GB/s, latency: 1 us}}\n"
        "  routes: [{from: a, to: b, links: [wire]}]\n"
    )
    scenario = tasksim.Scenario(
        "cholesky tiles=5", workers=2, durations=DURATIONS_S, nodes=2, scheduler="prio",
        network=tmp_path / "wire.yaml", changes=["network.links.wire.bandwidth=x0.01"],
    )  # fmt: skip
    runs = [scenario.solve(engine=engine) for engine in ("simpy", "compiled")]
    assert runs[0].tasks == runs[1].tasks
    assert runs[0].messages == runs[1].messages
