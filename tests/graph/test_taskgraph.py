"""The task graph: what it answers, and that nothing in it changes."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, GraphBuilder, R, W


@pytest.fixture
def graph():
    g = GraphBuilder("small", {"n": 2})
    x = g.vector("x", 3, size_bytes=100)
    g.insert("fill", W(x[0]), n=256)
    g.insert("scale", RW(x[0]), n=256, factor=0.1)
    g.insert("copy", R(x[0]), W(x[1]))
    g.insert("fill", W(x[1]), n=128)
    return g.build()


def test_labels_name_kernel_number_and_parameters(graph):
    assert graph.label(0) == "fill #0 (n=256)"
    assert graph.label(1) == "scale #1 (n=256, factor=0.1)"
    assert graph.label(2) == "copy #2"


def test_one_task(graph):
    assert graph.kernel_of(3) == "fill"
    assert graph.parameters_of(1) == {"n": 256.0, "factor": 0.1}
    assert graph.accesses_of(2) == [(0, 1), (1, 2)]
    assert graph.successors_of(0) == [1]
    assert graph.predecessor_count.tolist() == [0, 1, 1, 1]


def test_configurations_partition_the_tasks(graph):
    found = [(k, row.tolist(), tasks.tolist()) for k, row, tasks in graph.configurations()]
    assert found == [
        ("fill", [256], [0]),
        ("fill", [128], [3]),
        ("scale", [256, 0.1], [1]),
        ("copy", [], [2]),
    ]


def test_configurations_list_their_tasks_in_order():
    graph = generate("cholesky", tiles=6)
    found = {kernel: tasks.tolist() for kernel, _, tasks in graph.configurations()}
    assert list(found) == ["potrf", "trsm", "syrk", "gemm"]
    for kernel, tasks in found.items():
        assert tasks == [t for t in range(len(graph)) if graph.kernel_of(t) == kernel]


def test_summary_counts_data_in_use(graph):
    assert graph.summary() == {
        "name": "small",
        "arguments": {"n": 2},
        "tasks": 4,
        "edges": 3,
        "handles": 2,
        "size_bytes": 200,
        "hints": 0,
        "kernels": {"fill": 2, "scale": 1, "copy": 1},
        "configurations": 4,
    }
    assert repr(graph) == "<TaskGraph small: 4 tasks, 3 edges>"


def test_nothing_can_be_changed(graph):
    with pytest.raises(FrozenInstanceError):
        graph.name = "other"
    columns = [value for value in vars(graph).values() if isinstance(value, np.ndarray)]
    assert len(columns) == 15
    for column in [*columns, *graph.parameters, graph.predecessor_count]:
        with pytest.raises(ValueError, match="read-only"):
            column[...] = 0


def test_a_pickled_copy_is_the_same_and_as_immutable(graph):
    copy = pickle.loads(pickle.dumps(graph))
    assert copy.same_as(graph)
    assert not copy.priority.flags.writeable


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"arguments": {}},
        {"priority": [1, 0, 0, 0]},
        {"model_names": ("a", "b", "c")},
        {"parameters": (np.array([[256.0], [127.0]]), np.array([[256, 0.1]]), np.empty((1, 0)))},
        {"handle_size": [100, 100, 101]},
    ],
)
def test_same_as_sees_every_difference(graph, changes):
    assert graph.same_as(replace(graph))
    assert not graph.same_as(replace(graph, **changes))
