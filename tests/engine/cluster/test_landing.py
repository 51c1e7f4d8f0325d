"""Received data land in pinned main memory, which workers of nodes with devices allocate."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.engine.clock import Clock, Routine
from tasksim.engine.cluster.cluster import ClusterReplay
from tasksim.engine.data.landing import Landing
from tasksim.engine.question import ClusterQuestion, NodeQuestion
from tasksim.graph.builder import RW, GraphBuilder, R, W
from tasksim.graph.distribution.parts import distribute
from tasksim.network.load import read_network
from tasksim.platform.costs import Allocation
from tasksim.platform.description import Device, Link, Memory, Platform, Worker
from tasksim.schedulers.registry import create

MIB = 2**20
MS = 10**6
CHUNKS = Allocation(pin_s=1e-3, chunk_bytes=4.0 * MIB, unit_bytes=MIB, largest_bytes=2.0 * MIB)
"""A MiB a millisecond, 4 MiB at a time."""


def served(sizes, workers=1, at_once=5):
    """Return when each that asks for room at 0 has it, in ms; *workers* serve whenever woken."""
    clock, found = Clock(), {}
    routines = [Routine(clock) for _ in range(workers)]
    landing = Landing(clock, CHUNKS, routines, at_once)

    def serves(routine):
        while True:
            yield routine.sleep()
            yield routine.wait(0)
            while (yield from landing.serve(routine)):
                pass

    for routine in routines:
        routine.begin(serves(routine))
    for number, size in enumerate(sizes):
        landing.ask(size, 0, lambda n=number: found.setdefault(n, clock.now / MS))
    clock.run()
    return [found[number] for number in range(len(sizes))], landing


def test_a_chunk_is_pinned_for_several_data():
    assert served([MIB] * 5)[0] == [4.0, 4.0, 4.0, 4.0, 8.0]


def test_large_data_are_pinned_one_by_one():
    assert served([3 * MIB, 3 * MIB])[0] == [3.0, 6.0]


def test_workers_wait_for_each_other():
    assert served([2 * MIB] * 4, workers=4, at_once=1)[0] == [4.0, 4.0, 8.0, 8.0]


def test_what_is_given_back_is_taken_again_at_once():
    _, landing = served([MIB])
    assert not landing.ask(MIB, 0, lambda: None)
    landing.give_back(MIB)
    assert not landing.ask(2 * MIB, 0, lambda: None)
    assert landing.ask(MIB, 0, lambda: None)


def test_a_worker_leaves_what_takes_long_to_others():
    """It turns to five, of which the first takes more than a millisecond; another has the rest."""
    assert served([3 * MIB] * 3, workers=2)[0] == [3.0, 6.0, 9.0]


def machine(pin_s, devices, chunk=1):
    memories = (Memory(0, "ram"), Memory(1, "gpu0", size_bytes=2**30))
    workers = (Worker(0, "cpu0", "cpu", 0), Worker(1, "gpu0", "cuda", 1))
    allocation = Allocation(
        pin_s=pin_s, chunk_bytes=chunk * 1.0 * MIB, unit_bytes=1024.0, largest_bytes=1.0 * MIB
    )
    return Platform(
        "machine", workers, memories, links=(Link(0, "bus", (0, 1), 1e9),), allocation=allocation,
        devices={"cuda": Device(pipeline=2)} if devices else {},
    )  # fmt: skip


def twice():
    """Node 0 writes A, in 1 ms, which node 1 reads on its core; then both again."""
    g = GraphBuilder("twice")
    a, b = g.handle("A", MIB), g.handle("B", 8)
    for _ in range(2):
        g.insert("write", W(a))
        g.insert("read", R(a), RW(b))
    return g


def replayed(platform, network, g, costs):
    """Return the messages of a graph of two nodes, the second of which owns B alone."""
    questions = [NodeQuestion(platform, create("eager"), costs, costs) for _ in range(2)]
    graph = g.build()
    cut = distribute(graph, [int(h == 1) for h in range(graph.handles)], 2)
    replay = ClusterReplay(ClusterQuestion(cut, questions, read_network(network).sized(2)))
    replay.run(0)
    return replay.records()["messages"]


COSTS = np.array([[1e-3] * 4, [np.inf] * 4])
NETWORK = "switch:bandwidth=1GB/s,latency=1us,model={}"


def test_a_receive_waits_for_pinned_memory_once():
    messages = replayed(machine(pin_s=5e-3, devices=True), NETWORK.format("ideal"), twice(), COSTS)
    moved_s = MIB * 1e-9 + 2e-6
    assert messages.ready_s.tolist() == pytest.approx([1e-3, 5e-3 + moved_s + 1e-3])
    # The room of the first is that of the second, once it was read.
    assert messages.start_s.tolist() == pytest.approx([5e-3, 5e-3 + moved_s + 1e-3])


@pytest.mark.parametrize(("pin_s", "begins_s"), [(0.0, 3.05e-3), (5e-3, 22.05e-3)])
def test_what_comes_early_needs_room_of_its_own(pin_s, begins_s):
    """The second version of A comes while the first is read, and another receive is awaited."""
    g = GraphBuilder("early")
    a, b, c = g.handle("A", MIB), g.handle("B", 8), g.handle("C", MIB)
    g.insert("write", W(a))
    g.insert("read", R(a), RW(b))
    g.insert("write", W(a))
    g.insert("read", R(a), RW(b))
    g.insert("write", R(a), W(c))
    g.insert("read", R(c), RW(b))
    costs = np.array([[1e-3, 9e-3, 1e-3, 1e-3, 1e-3, 1e-3], [np.inf] * 6])
    messages = replayed(machine(pin_s, devices=True, chunk=2), NETWORK.format("cm02"), g, costs)
    # Room for A and C takes a chunk of 10 ms, that for the second A another.
    assert messages.start_s.tolist()[1] == pytest.approx(begins_s, abs=2e-4)


@pytest.mark.parametrize("changed", [{"pin_s": 0.0}, {"devices": False}])
def test_without_costs_or_devices_nobody_waits(changed):
    messages = replayed(
        machine(**{"pin_s": 5e-3, "devices": True} | changed),
        NETWORK.format("ideal"),
        twice(),
        COSTS,
    )
    assert messages.awaited_s.tolist()[0] == 0.0
    assert messages.start_s.tolist()[0] == 1e-3
