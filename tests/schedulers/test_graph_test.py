from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import replay_of

from tasksim.base.errors import InputError
from tasksim.engine.conformance import checks
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, Commute, GraphBuilder
from tasksim.platform.description import Memory, Overheads, Platform, Worker
from tasksim.schedulers.graph_test import GraphTest, depths, descendants
from tasksim.schedulers.registry import create


def diamond_and_tail():
    """0 -> 1, 2 -> 3 -> 4, and 5 by itself."""
    builder = GraphBuilder("diamond")
    top = builder.insert("task")
    left, right = (builder.insert("task", after=[top]) for _ in range(2))
    join = builder.insert("task", after=[left, right])
    builder.insert("task", after=[join])
    builder.insert("task")
    return builder.build()


def mixed_platform(overheads=None):
    """One accelerator, two CPUs."""
    return Platform(
        name="mixed",
        workers=(
            Worker(id=0, name="cuda 0", architecture="cuda", memory=0, node=0, core=None),
            Worker(id=1, name="cpu 0", architecture="cpu", memory=0, node=0, core=0),
            Worker(id=2, name="cpu 1", architecture="cpu", memory=0, node=0, core=1),
        ),
        memories=(Memory(id=0, name="ram", node=0, size_bytes=None),),
        overheads=overheads or Overheads(),
    )


def run(graph, platform, costs, scheduler="graph_test"):
    replay = replay_of(graph, platform, create(scheduler), costs)
    replay.run(0)
    return replay


def test_depth_is_the_longest_path_in_dependencies():
    assert depths(diamond_and_tail()) == [3, 2, 2, 1, 0, 0]


def test_descendants_are_counted_once():
    assert descendants(diamond_and_tail()) == [4, 2, 2, 1, 0, 0]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000))
def test_descendants_are_the_reachable_tasks(seed):
    graph = generate("random-layered", layers=4, width=5, seed=seed)
    reach = [set() for _ in range(len(graph))]
    for task in reversed(range(len(graph))):
        for after in graph.successors[graph.successor_ptr[task] : graph.successor_ptr[task + 1]]:
            reach[task] |= {int(after)} | reach[after]
    assert descendants(graph) == [len(tasks) for tasks in reach]


def test_deepest_first_whatever_the_application_says():
    builder = GraphBuilder("priorities")
    builder.insert("task", priority=9)
    first = builder.insert("task", priority=-9)
    builder.insert("task", after=[first])
    ours = run(builder.build(), Platform.identical(1), [[1.0, 1.0, 1.0]])
    assert list(ours.ledger.start) == [1.0, 0.0, 2.0]


def test_nothing_runs_before_all_are_submitted():
    builder = GraphBuilder("independent")
    for _ in range(3):
        builder.insert("task")
    platform = Platform(
        name="slow submission",
        workers=Platform.identical(3).workers,
        memories=Platform.identical(3).memories,
        overheads=Overheads(submission_s=1.0),
    )
    ours = run(builder.build(), platform, [[5.0] * 3])
    assert list(ours.ledger.ready) == [0.0, 1.0, 2.0]
    assert list(ours.ledger.start) == [2.0, 2.0, 2.0]


def test_tasks_that_wait_for_a_commutative_handle_are_not_waited_for():
    builder = GraphBuilder("commute")
    handle = builder.handle("x", 8)
    for _ in range(3):
        builder.insert("task", Commute(handle))
    assert max(run(builder.build(), Platform.identical(2), [[1.0] * 3]).ledger.end) == 3.0


def test_the_kind_with_more_speed_in_sum_takes_the_task():
    """Two CPUs of 3 s have less speed than one GPU of 1 s, more than one of 2 s."""
    builder = GraphBuilder("two")
    builder.insert("task", RW(builder.handle("a", 8)))
    builder.insert("task", RW(builder.handle("x", 8)))
    ours = run(builder.build(), mixed_platform(), [[1.0, 2.0], [3.0, 3.0]])
    assert list(ours.ledger.worker) == [0, 1]


def test_equal_speeds_go_to_the_accelerators():
    builder = GraphBuilder("one")
    builder.insert("task")
    assert list(run(builder.build(), mixed_platform(), [[2.0], [4.0]]).ledger.worker) == [0]


def test_descendants_is_a_switch():
    with pytest.raises(InputError, match=r"option 'descendants': got 2 .*; legal: 0 or 1"):
        GraphTest(descendants=2)


@pytest.mark.parametrize("check", list(checks()), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ["graph_test", "graph_test:descendants=1"])
def test_rules(name, check):
    check(partial(create, name))
