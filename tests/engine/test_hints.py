"""Hints: in their turn among those who hear of the end of the task that wrote the datum last."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.core.library import status
from tasksim.engine.choice import Question, replayed
from tasksim.engine.cluster.work import Work
from tasksim.engine.data.accesses import ordered_accesses
from tasksim.engine.outcome import records
from tasksim.graph.builder import GraphBuilder, R, W
from tasksim.graph.distribution.parts import distribute
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
    tasks = records(graph, replayed(question, 0, engine).replay.outcome())["tasks"]
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
