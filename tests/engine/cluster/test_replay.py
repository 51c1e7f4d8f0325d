"""The replay of clusters: graphs drawn by hand, one node, every scheduler, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import CheckFailed, InputError, SchedulerError
from tasksim.engine.cluster.cluster import ClusterReplay
from tasksim.engine.durations import durations
from tasksim.engine.question import ClusterQuestion, NodeQuestion, Question
from tasksim.engine.replay import Replay
from tasksim.engine.simulation import Simulation
from tasksim.graph.builder import RW, GraphBuilder, R, W
from tasksim.graph.distribution.owners import NodeGrid, owners_of
from tasksim.graph.distribution.parts import distribute
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.network.cluster import Cluster
from tasksim.network.load import read_network
from tasksim.run.runchecks import check_run
from tasksim.schedulers.central import Eager
from tasksim.schedulers.registry import create, names

MB = 10**6
IDEAL = "switch:bandwidth=1GB/s,latency=5ms,model=ideal"
"""10 ms and 1 ms per MB, whatever else is under way."""
SHARED = "switch:bandwidth=1GB/s,latency=5ms,model=hockney"


def replayed(graph, owners, nodes, network, scheduler="eager", workers=1, seconds=1.0):
    """Replay *graph*, whose tasks take a second each, and return the replay and its records."""
    cut = distribute(graph, owners, nodes)
    costs = np.full((1, len(graph)), seconds)
    platform = tasksim.Platform.identical(workers)
    questions = [NodeQuestion(platform, create(scheduler), costs, costs) for _ in range(nodes)]
    replay = ClusterReplay(ClusterQuestion(cut, questions, read_network(network).sized(nodes)))
    replay.run(0)
    return replay.records()


def there_and_back():
    """Node 0 writes A, which 1 and 2 read; what they write it reads, and writes A again."""
    g = GraphBuilder("there and back")
    a, b, c = (g.handle(name, MB) for name in "ABC")
    g.insert("task", W(a))
    g.insert("task", R(a), W(b))
    g.insert("task", R(a), W(c))
    g.insert("task", R(b), R(c), RW(a))
    return g.build()


def test_each_message_of_three_nodes_comes_when_it_must():
    found = replayed(there_and_back(), [0, 1, 2], 3, IDEAL)
    messages = found["messages"]
    ends = list(zip(messages.source.tolist(), messages.target.tolist(), strict=True))
    assert ends == [(0, 1), (0, 2), (1, 0), (2, 0)]
    assert messages.ready_s.tolist() == [1.0, 1.0, 2.011, 2.011]
    assert messages.start_s.tolist() == [1.0, 1.0, 2.011, 2.011]
    assert messages.end_s.tolist() == [1.011, 1.011, 2.022, 2.022]
    assert found["tasks"].start_s.tolist() == [0.0, 1.011, 1.011, 2.022]
    assert found["tasks"].released_by.tolist() == [-1, 0, 0, 2]


def test_messages_that_leave_one_node_share_its_link():
    messages = replayed(there_and_back(), [0, 1, 2], 3, SHARED)["messages"]
    assert messages.end_s.tolist() == [1.012, 1.012, 2.024, 2.024]


def test_a_receive_waits_until_the_copy_before_it_was_read():
    g = GraphBuilder("read late")
    a, b = g.handle("A", MB), g.handle("B", MB)
    g.insert("write", W(a))
    g.insert("read", R(a), RW(b))
    g.insert("write", W(a))
    g.insert("read", R(a), RW(b))
    found = replayed(g.build(), [0, 1], 2, IDEAL)
    # The second is sent at 2, when the first was read only half: it waits till 2.011.
    assert found["messages"].ready_s.tolist() == [1.0, 2.011]
    assert found["messages"].awaited_s.tolist() == [0.0, 2.011]
    assert found["messages"].end_s.tolist() == [1.011, 2.022]


def test_a_writer_waits_until_what_it_overwrites_was_sent():
    g = GraphBuilder("sent first")
    a, b = g.handle("A", MB), g.handle("B", MB)
    g.insert("write", W(a))
    g.insert("read", R(a), RW(b))
    g.insert("write", W(a))
    found = replayed(g.build(), [0, 1], 2, IDEAL)
    assert found["tasks"].start_s.tolist() == [0.0, 1.011, 1.011]


def test_ten_messages_at_most_leave_a_node_together_the_most_urgent_first():
    g = GraphBuilder("many")
    data = g.vector("x", 12, MB)
    result = g.vector("y", 12, 8)
    for x in data:
        g.insert("write", W(x))
    for place, x in enumerate(data):
        g.insert("read", R(x), RW(result[place]), priority=place)
    owners = [0] * 12 + [1] * 12
    messages = replayed(g.build(), owners, 2, IDEAL, "prio", workers=12)["messages"]
    assert messages.start_s.tolist() == [1.011] * 2 + [1.0] * 10


def test_an_envelope_is_handled_after_the_other_under_the_peers_protocol():
    network = "switch:bandwidth=1GB/s,latency=5ms,model=cm02"
    messages = replayed(there_and_back(), [0, 1, 2], 3, network)["messages"]
    envelope = read_network(network).sized(3).alone_s(0, 1, 32)
    first, second = messages.start_s[2:] - messages.ready_s[2:]
    assert first == pytest.approx(envelope, abs=2e-9)
    assert second == pytest.approx(2 * envelope, abs=4e-9)


def test_what_a_node_that_is_no_owner_writes_goes_home():
    g = GraphBuilder("home")
    a = g.handle("A", MB)
    g.insert("write", RW(a))
    g.insert("read", R(a))
    cut = distribute(g.build(), [0], 2, executor=[1, -1])
    costs = np.ones((1, 2))
    platform = tasksim.Platform.identical(1)
    questions = [NodeQuestion(platform, create("eager"), costs, costs) for _ in range(2)]
    replay = ClusterReplay(ClusterQuestion(cut, questions, read_network(IDEAL).sized(2)))
    assert replay.run(0) == pytest.approx(2.022)


# One node


CHOLESKY = {"potrf": 1e-3, "trsm": 3e-3, "syrk": 2e-3, "gemm": 5e-3}


@pytest.mark.parametrize("scheduler", names(bare=True))
def test_one_node_is_that_node(scheduler):
    graph = tasksim.generate("cholesky", tiles=6)
    models, platform = ConstantLibrary(CHOLESKY), tasksim.Platform.identical(4)
    cluster = Cluster.alike(platform, 1, read_network(SHARED))
    alone = Simulation(graph, platform, models, scheduler).run()
    assert Simulation(graph, cluster, models, scheduler).run() == alone


@pytest.mark.parametrize("scheduler", names(bare=True))
def test_a_part_that_is_the_whole_graph_is_replayed_as_that(scheduler):
    graph = tasksim.generate("cholesky", tiles=6)
    platform = tasksim.Platform.identical(4)
    costs = durations(graph, platform, ConstantLibrary(CHOLESKY))
    cut = distribute(graph, np.zeros(graph.handles, int), 1)
    node = NodeQuestion(platform, create(scheduler), costs, costs)
    cluster = ClusterReplay(ClusterQuestion(cut, [node], read_network(SHARED).sized(1)))
    cluster.run(0)

    alone = Replay(Question(graph, platform, create(scheduler), costs, costs))
    alone.run(0)
    assert list(cluster.members[0].ledger.start) == list(alone.ledger.start)


# Every scheduler


@pytest.mark.parametrize("scheduler", names(bare=True))
def test_every_scheduler_works_per_node(scheduler):
    graph = tasksim.generate("cholesky", tiles=7, tile_size=500)
    cluster = Cluster.alike(tasksim.Platform.identical(3), 4, read_network(SHARED))
    run = Simulation(graph, cluster, ConstantLibrary(CHOLESKY), scheduler).run(check=True)
    assert len(run.messages) == len(distribute(graph, owners_of(graph, NodeGrid(2, 2)), 4).messages)
    assert run.makespan_s >= max(run.bounds.values())
    again = Simulation(graph, cluster, ConstantLibrary(CHOLESKY), scheduler).run()
    assert again == run


def test_nodes_run_what_they_own():
    graph = tasksim.generate("lu", tiles=5)
    cluster = Cluster.alike(tasksim.Platform.identical(2), 6, read_network(SHARED))
    seconds = dict.fromkeys(("getrf", "trsm_ll", "trsm_ru", "gemm_nn"), 1e-3)
    run = Simulation(
        graph, cluster, ConstantLibrary(seconds), grid=NodeGrid(2, 3), owner="column"
    ).run()
    node = np.array([worker.node for worker in run.workers])[run.tasks.worker]
    cut = distribute(graph, owners_of(graph, NodeGrid(2, 3), "column"), 6)
    assert node.tolist() == cut.executor.tolist()


def test_a_run_with_messages_is_kept(tmp_path):
    graph = tasksim.generate("cholesky", tiles=4)
    cluster = Cluster.alike(tasksim.Platform.identical(2), 2, read_network(SHARED))
    run = Simulation(graph, cluster, ConstantLibrary(CHOLESKY)).run()
    tasksim.save_run(run, tmp_path / "run")
    again = tasksim.load_run(tmp_path / "run")
    assert again == run
    assert len(again.messages) == 10 - 4


def test_messages_are_checked():
    from dataclasses import replace

    graph = tasksim.generate("cholesky", tiles=4)
    cluster = Cluster.alike(tasksim.Platform.identical(2), 2, read_network(SHARED))
    run = Simulation(graph, cluster, ConstantLibrary(CHOLESKY)).run(check=True)
    late = replace(run.messages, end_s=run.messages.end_s + 1)
    with pytest.raises(CheckFailed, match="its task starts before it has arrived"):
        check_run(replace(run, messages=late), graph)


# Errors


class Dropping(Eager):
    """Loses what is pushed on the node that it is made for."""

    def __init__(self, node):
        self.node = node

    def push(self, task):
        if self.node != 1:
            super().push(task)


class Circling(Eager):
    """Wakes a worker whenever it gives none a task."""

    def pop(self, worker):
        task = super().pop(worker)
        if task is None:
            self.view.wake(worker)
        return task


class Failing(Eager):
    """Fails at its first push."""

    def push(self, task):
        raise ValueError("no")


def run_with(schedulers):
    graph = tasksim.generate("cholesky", tiles=4)
    platform = tasksim.Platform.identical(2)
    costs = durations(graph, platform, ConstantLibrary(CHOLESKY))
    cut = distribute(graph, owners_of(graph, NodeGrid(1, 2)), 2)
    questions = [NodeQuestion(platform, scheduler, costs, costs) for scheduler in schedulers]
    return ClusterReplay(ClusterQuestion(cut, questions, read_network(SHARED).sized(2))).run(0)


def test_a_scheduler_that_drops_tasks_is_named_with_its_node():
    with pytest.raises(SchedulerError, match=r"^node 1: scheduler Dropping dropped syrk #4 "):
        run_with([Dropping(0), Dropping(1)])


def test_a_scheduler_that_turns_in_circles_is_named_with_its_node():
    with pytest.raises(SchedulerError, match=r"^node 0: scheduler Circling makes no progress"):
        run_with([Circling(), Eager()])


def test_a_scheduler_that_fails_is_named_with_its_node_and_task():
    with pytest.raises(SchedulerError, match=r"node 1: scheduler Failing .* push of syrk #4 "):
        run_with([Eager(), Failing()])


def test_a_grid_is_of_as_many_nodes_as_the_cluster():
    graph = tasksim.generate("cholesky", tiles=4)
    cluster = Cluster.alike(tasksim.Platform.identical(2), 4, read_network(SHARED))
    with pytest.raises(InputError, match="grid 2x3 has 6 nodes, the cluster 4"):
        Simulation(graph, cluster, ConstantLibrary(CHOLESKY), grid=NodeGrid(2, 3)).run()


def test_a_million_nodes_are_refused():
    with pytest.raises(InputError, match="1000000 nodes; legal: 1 to 65536"):
        Cluster.alike(tasksim.Platform.identical(2), 1_000_000, read_network(SHARED))


def test_nodes_may_have_nothing_to_do():
    graph = tasksim.generate("cholesky", tiles=2)
    cluster = Cluster.alike(tasksim.Platform.identical(2), 9, read_network(SHARED))
    run = Simulation(graph, cluster, ConstantLibrary(CHOLESKY)).run(check=True)
    assert run.makespan_s >= run.bounds["critical_path_s"]
    assert len(run.messages) == 2
