"""Bounds on clusters: no replay beats them, and they meet what can be drawn by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim import RW, ConstantLibrary, GraphBuilder, R, W
from tasksim.engine.cluster.bounds import cluster_bounds
from tasksim.engine.simulation import Simulation
from tasksim.graph.apps.registry import generate
from tasksim.graph.distribution.owners import NodeGrid, owners_of
from tasksim.graph.distribution.parts import distribute
from tasksim.network.cluster import Cluster
from tasksim.network.load import read_network
from tasksim.platform.description import Platform

DURATIONS_S = {
    "potrf": 1e-3,
    "trsm": 3e-3,
    "syrk": 3e-3,
    "gemm": 6e-3,
    "getrf": 1e-3,
    "trsm_ll": 3e-3,
    "trsm_ru": 3e-3,
    "task": 1e-3,
    "gemm_nn": 6e-3,
}


def bounds_on(graph, grid, network, workers=2):
    cut = distribute(graph, owners_of(graph, grid), grid.nodes)
    seconds = np.array([DURATIONS_S[graph.kernels[k]] for k in graph.kernel])
    return cut, cluster_bounds(cut, seconds, [workers] * grid.nodes, read_network(network))


def test_a_chain_over_two_nodes_is_its_tasks_and_its_messages():
    g = GraphBuilder("chain")
    x = g.vector("x", 2, size_bytes=1_000_000)
    g.insert("task", W(x[0]))
    g.insert("task", R(x[0]), RW(x[1]))
    g.insert("task", R(x[1]), RW(x[0]))
    _, bounds = bounds_on(g.build(), NodeGrid(1, 2), "switch:bandwidth=1GB/s,latency=10us")
    assert bounds.path_s == pytest.approx(3e-3 + 2 * (20e-6 + 1e-3))
    assert bounds.node_area_s == pytest.approx(2e-3 / 2)
    assert bounds.volume_s == pytest.approx(1e-3)


@given(
    st.sampled_from(["cholesky", "lu"]),
    st.integers(4, 7),
    st.sampled_from([NodeGrid(1, 2), NodeGrid(2, 2), NodeGrid(2, 3), NodeGrid(3, 1)]),
    st.sampled_from(
        [
            "switch:bandwidth=1GB/s,latency=10us",
            "switch:bandwidth=0.2GB/s,latency=1us,model=smpi",
            "switch:bandwidth=1GB/s,latency=5us,model=loggp",
        ]
    ),
)
@settings(deadline=None, max_examples=25)
def test_no_replay_beats_them(name, tiles, grid, network):
    graph = generate(name, tiles=tiles, tile_size=200)
    _, bounds = bounds_on(graph, grid, network)
    cluster = Cluster.alike(Platform.identical(2), grid.nodes, read_network(network))
    run = Simulation(graph, cluster, ConstantLibrary(DURATIONS_S), "prio", grid=grid).run()
    assert bounds.best_s <= run.makespan_s * (1 + 1e-9)


def test_a_slow_network_is_what_binds():
    _, bounds = bounds_on(generate("cholesky", tiles=12), NodeGrid(2, 2), "switch:bandwidth=50MB/s")
    assert bounds.best_s == bounds.volume_s > 2 * bounds.node_area_s
    _, wide = bounds_on(generate("cholesky", tiles=12), NodeGrid(2, 2), "switch:bandwidth=50GB/s")
    assert wide.best_s == wide.node_area_s > 100 * wide.volume_s


@pytest.mark.parametrize("grid", [NodeGrid(2, 2), NodeGrid(1, 4), NodeGrid(2, 4), NodeGrid(4, 4)])
def test_the_volume_of_block_cyclic_is_about_its_formula(grid):
    cut, _ = bounds_on(generate("cholesky", tiles=40), grid, "switch:bandwidth=1GB/s")
    # Each tile of a triangle goes to the other nodes of a row and of a column.
    sent = 40**2 / 2 * (grid.rows + grid.columns - 2)
    assert len(cut.messages.source) == pytest.approx(sent, rel=0.15)


def test_no_node_receives_less_than_the_least_volume():
    """Some node of a factorisation of n x n items receives at least a number of them.

    D. Irony, S. Toledo, A. Tiskin, "Communication lower bounds for distributed-memory matrix
    multiplication", JPDC 64, 2004; for LU and Cholesky G. Ballard et al., "Minimizing communication
    in numerical linear algebra", SIMAX 32, 2011: multiplications / (P sqrt(8 M)) - M items, with M
    the number of items that fit into a node's memory.
    """
    tiles, size = 24, 128
    graph = generate("cholesky", tiles=tiles, tile_size=size)
    cut, _ = bounds_on(graph, NodeGrid(4, 4), "switch:bandwidth=1GB/s")
    most = np.bincount(cut.messages.target, cut.messages.size_bytes).max()
    items = 3 * (tiles * size) ** 2 / 16 / 16
    least = (tiles * size) ** 3 / 6 / 16 / math.sqrt(8 * items) - items
    assert 0 < 8 * least < most


def test_nodes_without_tasks_do_no_harm():
    graph = generate("cholesky", tiles=2, tile_size=200)
    cluster = Cluster.alike(Platform.identical(2), 4, read_network("switch:bandwidth=1GB/s"))
    run = Simulation(
        graph, cluster, ConstantLibrary(DURATIONS_S), "prio", grid=NodeGrid(2, 2)
    ).run()
    assert run.makespan_s == pytest.approx(8e-3, rel=0.2)
