"""Messages in numbers and pictures: in flight, out of and into nodes, on the critical path."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

import tasksim
from tasksim import ConstantLibrary
from tasksim.base.errors import InputError
from tasksim.engine.simulation import Simulation
from tasksim.graph.distribution.owners import NodeGrid
from tasksim.network.cluster import Cluster
from tasksim.network.load import read_network
from tasksim.platform.description import Platform
from tasksim.run.network import in_flight, node_idleness, node_rates, path_messages
from tasksim.view.figure import figure
from tasksim.view.texttables import path_message_line

DURATIONS_S = {"potrf": 1e-3, "trsm": 3e-3, "syrk": 3e-3, "gemm": 6e-3}


def simulated(tiles=6, nodes=2, network="switch:bandwidth=1GB/s,latency=1us"):
    cluster = Cluster.alike(Platform.identical(2), nodes, read_network(network))
    graph = tasksim.generate("cholesky", tiles=tiles, tile_size=256)
    return Simulation(
        graph, cluster, ConstantLibrary(DURATIONS_S), "prio", grid=NodeGrid(1, nodes)
    ).run()


@pytest.fixture(scope="module")
def run():
    return simulated()


def test_all_messages_begin_and_end(run):
    for times, count in in_flight(run):
        assert (count[0], count[-1], count.min()) == (0, 0, 0)
        assert (np.diff(times) >= 0).all()
    (times, moving), _ = in_flight(run)
    spent = float((np.diff(times) * moving[:-1]).sum())
    assert spent == pytest.approx(float(run.messages.duration_s.sum()))


def test_rates_add_up_to_the_bytes(run):
    edges = np.linspace(0.0, run.makespan_s, 101)
    out, into = node_rates(run, edges)
    width = edges[1]
    for node in range(2):
        sent = run.messages.size_bytes[run.messages.source == node].sum()
        received = run.messages.size_bytes[run.messages.target == node].sum()
        assert out[node].sum() * width == pytest.approx(sent)
        assert into[node].sum() * width == pytest.approx(received)
        assert out[node].max() <= 1e9 * (1 + 1e-6)


def test_a_way_that_messages_share_carries_no_more_than_it_can():
    """The first message of a burst ends late: evenly over its time, the next would come on top."""
    crowded = simulated(tiles=12, nodes=2, network="switch:bandwidth=100MB/s,latency=1us")
    out, into = node_rates(crowded, np.linspace(0.0, crowded.makespan_s, 1001))
    # A clock that ticks each nanosecond moves ends by as much.
    assert out.max() == pytest.approx(1e8, rel=1e-3)
    assert into.max() == pytest.approx(1e8, rel=1e-3)


def test_idle_nodes_are_those_of_their_workers(run):
    idle = node_idleness(run)
    busy = sum(DURATIONS_S[run.kernel_names[k]] for k in run.tasks.kernel.tolist())
    assert 1.0 - idle.mean() == pytest.approx(busy / 4 / run.makespan_s)


def test_messages_on_the_path_explain_its_waits(run):
    path = tasksim.practical_critical_path(run)
    found = path_messages(run)
    nodes = [run.workers[run.tasks.worker[step.task]].node for step in path.steps]
    changes = sum(a != b for a, b in itertools.pairwise(nodes))
    assert 0 < found.count <= changes
    assert found.size_bytes == found.count * 8 * 256**2
    assert found.moving_s + found.waiting_s <= sum(path.waited_s.values()) + 1e-9
    line = path_message_line(found)
    assert line.startswith(f"{found.count} messages between nodes on the path: ")
    assert found.to_json()["bytes"] == found.size_bytes


def test_the_panel_of_the_path_tells_messages_from_other_waiting(run):
    (axes,) = figure(run, ["path"]).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()][-2:] == [
        "messages",
        "waiting",
    ]
    upper = [bar for bar in axes.patches if bar.get_y() < 0.0]
    width = sum(bar.get_width() for bar in upper)
    assert width == pytest.approx(run.makespan_s)
    assert upper[-2].get_width() == pytest.approx(path_messages(run).moving_s)
    alone = tasksim.simulate("cholesky tiles=3", workers=2, durations=DURATIONS_S)
    (axes,) = figure(alone, ["path"]).axes
    assert "messages" not in [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_run_of_one_node_has_none():
    alone = tasksim.simulate("cholesky tiles=3", workers=2, durations=DURATIONS_S)
    with pytest.raises(InputError, match="no messages: it was on one node"):
        path_messages(alone)


def test_network_and_messages_are_drawn_by_default(run):
    axes = figure(run).axes
    labels = [each.get_ylabel() for each in axes]
    assert "in | out (GB/s)" in labels or "in | out (MB/s)" in labels
    assert "messages" in labels
    assert all("node" not in (each.get_xlabel() or "") for each in axes)


def test_arrows_lead_from_node_to_node(run):
    (gantt,) = figure(run, ["gantt"], arrows=True).axes
    (quiver,) = [each for each in gantt.collections if type(each).__name__ == "Quiver"]
    assert min(len(run.messages), 80) == quiver.N
    assert "arrows" not in gantt.get_title(loc="left") or len(run.messages) > 80


def test_more_arrows_than_can_be_followed_are_thinned():
    many = simulated(tiles=14, nodes=4)
    (gantt,) = figure(many, ["gantt"], arrows=True).axes
    assert f"of {len(many.messages)} messages" in gantt.get_title(loc="left")


def test_idle_nodes_of_several_runs_stand_beside_each_other(run):
    other = dataclasses.replace(run, seed=1)
    (axes,) = figure([run, other], ["nodes"]).axes
    assert len(axes.patches) == 4


def test_the_network_of_many_nodes_is_one_area():
    many = simulated(tiles=12, nodes=9)
    (axes,) = figure(many, ["network"]).axes
    assert len([p for p in axes.patches if type(p).__name__ == "StepPatch"]) == 2
