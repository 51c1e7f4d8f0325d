"""A malformed graph is refused, and the message names the task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tasksim.base.errors import CycleError, GraphError
from tasksim.graph.builder import RW, GraphBuilder, R


@pytest.fixture
def graph():
    """Three tasks in a row, 0 -> 1 -> 2, and 0 -> 3."""
    g = GraphBuilder("small")
    x = g.handle("x", size_bytes=8)
    y = g.handle("y", size_bytes=8)
    g.insert("gemm", RW(x), RW(y), m=2)
    g.insert("gemm", RW(x), m=2)
    g.insert("gemm", RW(x), m=3)
    g.insert("sum", R(y))
    return g.build()


def with_edges(graph, *successors):
    pointers = np.cumsum([0, *map(len, successors)])
    flat = [task for tasks in successors for task in tasks]
    return replace(graph, successor_ptr=pointers, successors=np.array(flat, dtype=np.int32))


def test_a_good_graph_passes(graph):
    graph.validate()
    with_edges(graph, [1, 3], [2], [], []).validate()
    with_edges(graph, [], [], [], []).validate()


def test_an_edge_to_itself(graph):
    with pytest.raises(CycleError, match=r"^gemm #1 \(m=2\): depends on itself$"):
        with_edges(graph, [1], [1, 2], [], []).validate()


def test_a_cycle_is_named_in_the_order_of_its_edges(graph):
    expected = (
        r"small has a cycle: gemm #1 \(m=2\) -> sum #3 -> gemm #2 \(m=3\) -> gemm #1 \(m=2\)$"
    )
    with pytest.raises(CycleError, match=expected):
        with_edges(graph, [1], [3], [1], [2]).validate()


def test_a_long_cycle_is_abbreviated():
    g = GraphBuilder("ring")
    for _ in range(1000):
        g.insert("task")
    ring = np.roll(np.arange(1000, dtype=np.int32), -1)
    graph = replace(g.build(), successor_ptr=np.arange(1001), successors=ring)
    with pytest.raises(CycleError, match=r"cycle: task #0 -> task #1 -> .* -> \.\.\. -> task #0$"):
        graph.validate()


def test_an_edge_backwards_without_a_cycle(graph):
    with pytest.raises(GraphError, match=r"^gemm #0 \(m=2\): depends on sum #3, which is subm"):
        with_edges(graph, [1], [2], [], [0]).validate()


@pytest.mark.parametrize("successor", [4, -1])
def test_an_edge_to_nowhere(graph, successor):
    with pytest.raises(
        GraphError, match=rf"gemm #2 \(m=3\): its successor #{successor} .*there are 4"
    ):
        with_edges(graph, [1], [2], [successor], []).validate()


@pytest.mark.parametrize("successors", [[3, 1], [1, 1]])
def test_successors_out_of_order(graph, successors):
    with pytest.raises(GraphError, match=r"gemm #0 \(m=2\): successors are not ascending"):
        with_edges(graph, successors, [2], [], []).validate()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": [0, 0, 2, 1]}, r"task #2: no kernel 2 \(there are 2\)"),
        ({"row": [0, 0, 1, 1]}, r"task #3: no row 1 in the table of sum \(there are 1\)"),
        ({"row": [0, 0]}, r"row has length 2, not 4"),
        ({"priority": [0]}, r"priority has length 1, not 4"),
        ({"access_ptr": [0, 2, 3, 4]}, r"access_ptr has length 4, not 5"),
        ({"access_ptr": [0, 3, 2, 4, 5]}, r"task #1: access_ptr decreases"),
        ({"access_ptr": [0, 2, 3, 4, 6]}, r"access_ptr runs from 0 to 6, not from 0 to 5"),
        ({"access_handle": [0, 1, 0, 2, 1]}, r"gemm #2 \(m=3\): accesses handle 2"),
        ({"access_mode": [3, 3, 7, 3, 1]}, r"gemm #1 \(m=2\): access mode 7 \(legal: 1 R, 2 W"),
        ({"access_handle": [0, 0, 0, 0, 1]}, r"gemm #0 \(m=2\): accesses x as RW and RW"),
        ({"handle_size": [8, -1]}, r"y: size in bytes is -1"),
        ({"hint_handle": [0]}, r"hint_after has length 0, not 1"),
        ({"hint_handle": [2], "hint_after": [1]}, r"hint #0: on handle 2 \(there are 2\)"),
        (
            {"hint_handle": [1], "hint_after": [5]},
            r"hint #0 \(on y\): after 5 tasks; legal: 0 to 4",
        ),
        (
            {"hint_handle": [1, 0], "hint_after": [4, 3]},
            r"hint #1 \(on x\): after 3 tasks, the hint before it after 4; legal: ascending",
        ),
        ({"continues": [-1, 0, 1, 2]}, r"creator has length 0, not 4"),
        (
            {"continues": [-1, 1, -1, -1], "creator": [-1] * 4, "binding": [0] * 4},
            r"gemm #1 \(m=2\): continues is 1; legal: the number of an earlier task, or -1",
        ),
        (
            {"continues": [-1] * 4, "creator": [-1, -1, -2, -1], "binding": [0] * 4},
            r"gemm #2 \(m=3\): creator is -2; legal",
        ),
        (
            {"continues": [-1, 0, -1, 0], "creator": [-1] * 4, "binding": [0] * 4},
            r"sum #3: continues task #0, as does another task",
        ),
        (
            {"continues": [-1] * 4, "creator": [-1] * 4, "binding": [0, 4, 0, 0]},
            r"gemm #1 \(m=2\): binding 4 \(legal: 0 TIED, 1 FREE, 2 HELD, 3 GROUP\)",
        ),
        ({"handle_home": [-1, 0]}, r"x: home memory is -1"),
        ({"model_names": ("gemm",)}, r"model_names has length 1, not 2"),
        (
            {"parameters": (np.array([[2.0], [np.nan]]), np.empty((1, 0)))},
            r"gemm #2 \(m=nan\): parameter m is nan; legal: a finite number from 0",
        ),
        (
            {"parameters": (np.array([[-2.0], [1]]), np.empty((1, 0)))},
            r"gemm #0 \(m=-2\): parameter m is -2",
        ),
        (
            {"parameters": (np.ones((2, 2)), np.empty((1, 0)))},
            r"kernel gemm: table of shape \(2, 2\) for parameters \(m\)",
        ),
    ],
)
def test_malformed_columns(graph, changes, message):
    with pytest.raises(GraphError, match=message):
        replace(graph, **changes).validate()
