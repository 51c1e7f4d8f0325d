"""Hints: what they wait for, and their turn among those who hear of its end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tasksim.core.library import status
from tasksim.engine.choice import replayed
from tasksim.engine.cluster.work import Work
from tasksim.engine.data.accesses import Hints, hint_waits, ordered_accesses
from tasksim.engine.question import ClusterQuestion, NodeQuestion, Question
from tasksim.graph.builder import Commute, GraphBuilder, R, W
from tasksim.graph.distribution.parts import distribute
from tasksim.network.load import read_network
from tasksim.platform.description import Link, Memory, Overheads, Platform, Worker
from tasksim.runtime.release import PAUSE, Release
from tasksim.schedulers.registry import create

US = 1e-6
BOX = Platform(
    "box",
    tuple(Worker(number, f"cpu{number}", "cpu", 0) for number in range(4)),
    (Memory(0, "ram"), Memory(1, "other")),
    links=(Link(0, "pci", (0, 1), 1e9),),
    overheads=Overheads(push_s=US, submission_s=US),
)
ENGINES = ["simpy", pytest.param("compiled", marks=pytest.mark.skipif(
    not status().available, reason="the core is not there"))]  # fmt: skip


def read_before_and_after():
    """Return a task that writes a datum, and two that read it, with a hint between them."""
    graph = GraphBuilder("hinted")
    datum = graph.handle("x", size_bytes=8)
    graph.insert("write", W(datum), duration_s=1.0)
    graph.insert("read", R(datum), duration_s=1.0)
    graph.wont_use(datum)
    graph.insert("read", R(datum), duration_s=1.0)
    return graph.build()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("pushes", ["serial", "blind"])
@pytest.mark.parametrize("scheduler", ["lws", "dm"])
def test_who_reads_after_a_hint_is_pushed_after_it(engine, pushes, scheduler):
    """A hint takes two pushes and a submission; then comes the push of the second reader."""
    graph, costs = read_before_and_after(), np.ones((1, 3))
    question = Question(
        graph, BOX, create(scheduler), costs, costs, simultaneous_pushes=pushes
    )  # fmt: skip
    tasks = replayed(question, 0, engine).replay.records()["tasks"]
    assert tasks.ready_s[2] - tasks.ready_s[1] == pytest.approx(4 * US, abs=US / 10)


def test_a_release_pauses_before_successors_and_at_the_end():
    release = Release(read_before_and_after(), submitted=True)
    assert list(release.complete_in_turn(0, [0, 1, 1, 2])) == [PAUSE, 1, PAUSE, PAUSE, 2, PAUSE]


def test_tasks_of_a_node_take_data_by_number():
    """On one machine what is written comes first; on nodes each is by itself."""
    graph = GraphBuilder("order")
    first, second = (graph.handle(name, size_bytes=8) for name in "ab")
    graph.insert("task", W(second), R(first), duration_s=1.0)
    graph.insert("task", W(first), R(second), duration_s=1.0)
    whole = graph.build()
    part = distribute(whole, np.zeros(2, np.int32), 1).parts[0]
    written_first, by_number = ordered_accesses(whole)[0], ordered_accesses(Work(part).graph)[0]
    assert written_first == [
        [(1, False, True), (0, True, False)],
        [(0, False, True), (1, True, False)],
    ]
    assert by_number == [[(0, True, False), (1, False, True)], [(0, False, True), (1, True, False)]]


def test_a_hint_waits_for_who_writes_the_datum_last_before_it():
    graph = GraphBuilder("written")
    datum, other = (graph.handle(name, size_bytes=8) for name in "xy")
    graph.wont_use(datum)
    for access in (W(datum), R(datum), W(datum), W(other)):
        graph.insert("task", access)
    graph.wont_use(datum)
    graph.insert("task", W(datum))
    graph.wont_use(datum)
    assert Hints.of(graph.build()).waits == [[], [2], [4]]


def test_a_hint_waits_for_all_that_commute_before_it():
    graph = GraphBuilder("updated")
    datum = graph.handle("x", size_bytes=8)
    for access in (Commute, R, Commute, Commute):
        graph.insert("task", access(datum))
    graph.wont_use(datum)
    graph.insert("task", Commute(datum))
    assert Hints.of(graph.build()).waits == [[2, 3]]


def test_what_was_received_is_dropped_when_it_has_been_read():
    graph = GraphBuilder("received")
    datum, results = graph.handle("x", size_bytes=8), graph.vector("y", 3, 8)
    graph.insert("write", W(datum))
    for result in results:
        graph.insert("read", R(datum), W(result))
    graph.wont_use(datum)
    owner, reader = distribute(graph.build(), np.array([0, 1, 1, 0], np.int32), 2).parts
    # The owner reads what is its own; the reader's copy came by its receive, and two tasks read it.
    assert Hints.of(owner.graph, Work(owner).hint_waits).waits == [[0]]
    kernels = [reader.graph.kernel_of(task) for task in range(3)]
    assert kernels == ["receive", "read", "read"]
    waits = hint_waits(reader.graph, receive=len(reader.graph.kernels) - 1)
    assert waits.tasks.tolist() == [0, 1, 2]
    assert waits.drops.tolist() == [True]
    assert Work(reader).hint_waits.tasks.tolist() == [2, 0, 1]  # communication has the last numbers


def dropped(hinted):
    """Two nodes of one core: the second reads what it receives twice, then does something else."""
    graph = GraphBuilder("dropped")
    datum, results = graph.handle("x", size_bytes=8), graph.vector("y", 3, 8)
    graph.insert("write", W(datum))
    graph.insert("read", R(datum), W(results[0]))
    graph.insert("read", R(datum), W(results[1]))
    if hinted:
        graph.wont_use(datum)
    graph.insert("other", W(results[2]), R(results[1]))
    return graph.build()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_last_who_reads_what_was_received_pays_for_its_drop(engine):
    """Two pushes, and no submission, as nothing is sent home; then its worker asks again."""
    starts = [_starts(dropped(hinted), engine) for hinted in (False, True)]
    assert starts[1][:3] == starts[0][:3]
    assert starts[1][3] - starts[0][3] == pytest.approx(2 * US, abs=US / 10)


def _starts(graph, engine):
    cut = distribute(graph, np.array([0, 1, 1, 1], np.int32), 2)
    platform = replace(Platform.identical(1), overheads=Overheads(push_s=US, submission_s=US))
    costs = np.ones((1, len(graph)))
    nodes = [NodeQuestion(platform, create("lws"), costs, costs) for _ in range(2)]
    network = read_network("switch:bandwidth=1GB/s,latency=5ms,model=ideal").sized(2)
    done = replayed(ClusterQuestion(cut, nodes, network, "serial"), 0, engine)
    return done.replay.records()["tasks"].start_s.tolist()
