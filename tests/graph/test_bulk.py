"""Generators of programs over nodes: what they compute, what they send, what they take."""

from __future__ import annotations

import pytest

from tasksim import ConstantLibrary
from tasksim.base.errors import InputError
from tasksim.engine.simulation import Simulation
from tasksim.graph.apps.registry import generate
from tasksim.graph.distribution.owners import NodeGrid, owners_of
from tasksim.graph.distribution.parts import distribute
from tasksim.models.kinds.given import GivenDurations, gives_durations
from tasksim.network.cluster import Cluster
from tasksim.network.load import read_network
from tasksim.platform.description import Platform

DURATIONS = {
    "potrf": 1e-3, "trsm": 3e-3, "syrk": 3e-3, "gemm": 6e-3, "pack": 1e-6, "stencil": 1e-3,
    "barrier": 0.0, "dot": 1e-5, "add": 1e-6, "axpy": 1e-5, "update": 1e-5,
}  # fmt: skip


def replayed(graph, nodes, grid=None, network="switch:bandwidth=1GB/s,latency=1us", workers=1):
    own = gives_durations(graph)
    durations = GivenDurations(graph) if own else ConstantLibrary(DURATIONS)
    cluster = Cluster.alike(Platform.identical(workers), nodes, read_network(network))
    return Simulation(graph, cluster, durations, "prio", grid=grid).run(check=True)


def kernels(graph):
    return graph.summary()["kernels"]


def test_summa_sends_a_along_rows_and_b_along_columns():
    graph = generate("summa", tiles=4, tile_size=10)
    assert kernels(graph) == {"gemm": 64}
    grid = NodeGrid(2, 2)
    cut = distribute(graph, owners_of(graph, grid), 4)
    # Each tile of A goes to the other node of its row, each of B to the other of its column.
    assert len(cut.messages.source) == 16 + 16


def test_bulk_steps_keep_nodes_together():
    free = replayed(generate("cholesky", tiles=8), 4, NodeGrid(2, 2))
    bulk = replayed(generate("bulk-cholesky", tiles=8, rows=2, columns=2), 4, NodeGrid(2, 2))
    assert bulk.makespan_s > 1.1 * free.makespan_s
    counts = kernels(generate("bulk-cholesky", tiles=8, rows=2, columns=2))
    assert {k: counts[k] for k in ("potrf", "trsm", "syrk", "gemm")} == kernels(
        generate("cholesky", tiles=8)
    )
    assert counts["barrier"] == 24 * (4 + 1 + 4)


def test_conjugate_gradients_exchange_halos_with_neighbours():
    graph = generate("cg", block_rows=2, block_columns=2, block_size=8, iterations=1)
    cut = distribute(graph, owners_of(graph, NodeGrid(2, 2)), 4)
    sizes = sorted(cut.messages.size_bytes.tolist())
    # Eight halos; two sums of three parts each; two results to three nodes each.
    assert sizes == [8] * 12 + [64] * 8


def test_conjugate_gradients_scale_weakly_until_the_sums_show():
    times = [
        replayed(
            generate("cg", block_rows=1, block_columns=n, iterations=3), n, NodeGrid(1, n)
        ).makespan_s
        for n in (1, 4, 16)
    ]
    assert times[0] < times[1] < times[2] < 1.1 * times[0]


@pytest.mark.parametrize("ranks", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("operation", ["bcast", "allreduce", "alltoall", "gather", "barrier"])
def test_collectives_of_any_size_are_graphs(operation, ranks):
    graph = generate("collective", operation=operation, ranks=ranks, size_bytes=100, repeat=2)
    if ranks > 1:
        replayed(graph, ranks, NodeGrid(1, ranks))


def test_algorithms_that_are_misspelt_are_refused():
    with pytest.raises(InputError, match="did you mean 'ring'"):
        generate("collective", operation="allreduce", ranks=4, algorithm="rign")
