"""Cores that nodes share: ranks of one machine, which has fewer cores than they have workers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tasksim
from tasksim.base.errors import InputError
from tasksim.engine.simulation import Simulation
from tasksim.graph.builder import GraphBuilder, W
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.network.cluster import Cluster
from tasksim.network.clusterfile import read_cluster_file
from tasksim.network.load import read_network
from tasksim.platform.description import Platform
from tasksim.run.measured import MeasuredDurations
from tasksim.run.sharedcores import own_core_s

NETWORK = "switch:bandwidth=1GB/s,latency=5us,model=ideal"


def ranks(nodes, cores, workers=1):
    return Cluster.alike(Platform.identical(workers), nodes, read_network(NETWORK), cores)


def independent(*kernels):
    """Return a graph of tasks that write data of their own, one on each node in turn."""
    g = GraphBuilder("independent")
    for number, kernel in enumerate(kernels):
        g.insert(kernel, W(g.handle(f"x{number}", 8)))
    return g.build()


def ends(kernels, cluster, **seconds):
    models = ConstantLibrary(seconds)
    run = Simulation(independent(*kernels), cluster, models, "eager", owner="round-robin").run()
    return run.tasks.end_s.tolist()


def test_two_tasks_on_one_core_take_twice_as_long():
    assert ends(["a", "a"], ranks(2, 1), a=1.0) == [2.0, 2.0]


def test_the_rate_changes_as_tasks_end():
    # Both at half the rate until 2 s, when a has had its second; b has two thirds left: 2 s alone.
    assert ends("ab", ranks(2, 1), a=1.0, b=3.0) == [2.0, 4.0]
    # Three on two cores: 2/3 of the rate until 1.5 s; then each has a core of its own.
    assert ends("abb", ranks(3, 2), a=1.0, b=2.0) == [1.5, 2.5, 2.5]


def test_as_many_cores_as_workers_are_not_shared():
    cluster = ranks(3, 3)
    assert cluster.shared_cores is None
    assert ends("abb", cluster, a=1.0, b=2.0) == [1.0, 2.0, 2.0]


KERNELS = ("potrf", "trsm", "syrk", "gemm")


@settings(max_examples=25, deadline=None)
@given(
    tiles=st.integers(2, 7),
    nodes=st.integers(2, 5),
    workers=st.integers(1, 3),
    cores=st.integers(1, 8),
    micro=st.lists(st.integers(1, 3000), min_size=4, max_size=4),
)
def test_the_work_that_is_done_is_that_of_the_tasks(tiles, nodes, workers, cores, micro):
    graph = tasksim.generate("cholesky", tiles=tiles)
    models = ConstantLibrary({k: 1e-6 * n for k, n in zip(KERNELS, micro, strict=True)})
    cluster = ranks(nodes, cores, workers)
    run = Simulation(graph, cluster, models, "lws").run(check=True)
    alone = models_of(models, graph)
    assert np.abs(own_core_s(run) - alone).max() < 1e-8  # an end is rounded to the next tick
    if cluster.shared_cores is None:
        assert "shared_cores" not in run.config
    own = Simulation(graph, ranks(nodes, None, workers), models, "lws").run()
    assert run.bounds["area_s"] >= own.bounds["area_s"]
    assert run.makespan_s >= run.bounds["area_s"] - 1e-8


def models_of(models, graph):
    from tasksim.engine.durations import durations

    return durations(graph, Platform.identical(1), models)[0]


def test_a_replay_with_the_durations_of_a_run_takes_what_tasks_would_have_taken_alone():
    graph = tasksim.generate("cholesky", tiles=6)
    models = ConstantLibrary({"potrf": 1e-3, "trsm": 2e-3, "syrk": 2e-3, "gemm": 4e-3})
    run = Simulation(graph, ranks(4, 2), models).run()
    again = Simulation(graph, ranks(4, 2), MeasuredDurations(run, graph)).run()
    assert again.makespan_s == pytest.approx(run.makespan_s, rel=1e-4)


def test_the_file_of_a_cluster_says_the_cores(tmp_path):
    file = tmp_path / "ranks.yaml"
    network = "network: {topology: switch, bandwidth: 1GB/s, latency: 1us}\n"
    text = "nodes: {count: 4, like: xeon-2c, cores: 2}\n" + network
    file.write_text(text)
    assert read_cluster_file(file).cores == 2
    graph, seconds = tasksim.generate("cholesky", tiles=6), "potrf=1ms,trsm=2ms,syrk=2ms,gemm=4ms"
    shared = tasksim.simulate(graph, platform=str(file), durations=seconds)
    file.write_text(text.replace(", cores: 2", ""))
    own = tasksim.simulate(graph, platform=str(file), durations=seconds)
    assert shared.config["shared_cores"] == 2
    assert shared.makespan_s > 1.5 * own.makespan_s
    file.write_text(text.replace("cores: 2", "cores: 0"))
    with pytest.raises(InputError, match="cores is 0"):
        read_cluster_file(file)


def test_no_cores_cannot_be_shared():
    with pytest.raises(InputError, match="cores that all nodes share: got 0"):
        ranks(2, 0)
