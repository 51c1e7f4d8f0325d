"""To NetworkX and back."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.base.errors import CycleError, GraphError, InputError
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import GraphBuilder
from tasksim.graph.interchange import from_networkx, task_order, to_networkx


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cholesky", {"tiles": 5, "dtype": "float32"}),
        ("lu", {"tiles": 3, "priorities": "bottom-level"}),
        ("qr", {"rows": 4, "columns": 2}),
        ("random-layered", {"layers": 3, "width": 4}),
        ("collective", {"operation": "allreduce", "ranks": 3}),
    ],
)
def test_there_and_back(name, arguments):
    graph = generate(name, **arguments)
    assert from_networkx(to_networkx(graph)).same_as(graph)


def test_nodes_carry_everything():
    graph = generate("lu", tiles=2, tile_size=10)
    G = to_networkx(graph, durations_s=[1, 2, 3, 4, 5])
    assert G.nodes[3] == {
        "kernel": "gemm",
        "priority": 4,
        "parameters": {"m": 10, "n": 10, "k": 10},
        "accesses": [(2, "R"), (1, "R"), (3, "RW")],
        "wont_use": [2, 1],
        "duration_s": 4.0,
    }
    assert "wont_use" not in G.nodes[1]
    assert sorted(G.edges) == [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]
    assert G.graph["model_names"]["gemm"] == "gemm_nn"


def test_a_foreign_graph():
    G = nx.DiGraph()
    G.add_node("b", duration=2.0, priority=3)
    G.add_node(("a", 1), duration_s=1)
    G.add_node("c", kernel="sum", parameters={"n": 4})
    G.add_edges_from([(("a", 1), "b"), ("b", "c"), (("a", 1), "c")])
    graph = from_networkx(G)
    assert task_order(G) == [("a", 1), "b", "c"]
    assert [graph.label(task) for task in range(3)] == [
        "task #0 (duration_s=1)", "task #1 (duration_s=2)", "sum #2 (n=4)",
    ]  # fmt: skip
    assert graph.priority.tolist() == [0, 3, 0]
    assert [graph.successors_of(task) for task in range(3)] == [[1, 2], [2], []]


def test_edges_are_those_of_the_networkx_graph():
    G = to_networkx(generate("chain", length=3))
    G.remove_edge(0, 1)
    assert from_networkx(G).successors.tolist() == [2]


@settings(deadline=None, max_examples=50)
@given(st.permutations(range(6)), st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5))))
def test_the_order_is_topological_then_of_insertion(insertion, pairs):
    G = nx.DiGraph()
    G.add_nodes_from(insertion)
    G.add_edges_from((a, b) for a, b in pairs if a < b)
    order = task_order(G)
    done = set()
    for node in order:
        ready = [n for n in insertion if n not in done and set(G.predecessors(n)) <= done]
        assert node == ready[0]
        done.add(node)
    assert from_networkx(G).edges == G.number_of_edges()


def test_hints_go_with_the_task_that_they_follow():
    g = GraphBuilder("hinted")
    x = g.vector("x", 2, size_bytes=8)
    g.wont_use(x[1])
    for _ in range(2):
        g.insert("task")
        g.wont_use(x[0])
    graph = g.build()
    G = to_networkx(graph)
    assert from_networkx(G).same_as(graph)
    G.remove_node(0)
    assert from_networkx(G).hint_after.tolist() == [0, 1]


def test_pieces_of_tasks_are_kept_there_and_back():
    graph = replace(
        generate("chain", length=3), continues=[-1, 0, -1], creator=[-1, -1, 0], binding=[2, 3, 1]
    )
    nodes = to_networkx(graph)
    assert nodes.nodes[1]["continues"] == 0
    assert from_networkx(nodes).same_as(graph)
    named = nx.relabel_nodes(nodes, {0: "a"})  # the numbers of the others stay
    named.nodes[1]["continues"] = named.nodes[2]["creator"] = "a"
    assert from_networkx(named).same_as(graph)
    assert "continues" not in to_networkx(generate("chain", length=3)).nodes[0]


def test_parallel_edges_count_once():
    G = nx.MultiDiGraph([("a", "b"), ("a", "b")])
    assert from_networkx(G).edges == 1


def test_a_cycle_is_named():
    G = nx.DiGraph([("start", "a"), ("a", "b"), ("b", "c"), ("c", "a")])
    with pytest.raises(CycleError, match=r"has a cycle: 'a' -> 'b' -> 'c' -> 'a'$"):
        from_networkx(G)
    with pytest.raises(CycleError, match=r"has a cycle: 'a' -> 'a'$"):
        from_networkx(nx.DiGraph([("a", "a")]))


def test_undirected_graphs_are_refused():
    with pytest.raises(InputError, match=r"is not directed; legal: a networkx\.DiGraph"):
        from_networkx(nx.Graph([("a", "b")]))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"duration": -1}, r"^node 'a': task #0: parameter duration_s is -1"),
        ({"priority": "high"}, r"^node 'a': task #0: priority 'high'"),
        ({"accesses": [(0, "RWX")]}, r"^node 'a': unknown access mode 'RWX'"),
        ({"accesses": [(0, "R")]}, r"task #0: accesses handle 0 \(there are 0\)"),
        ({"wont_use": [3]}, r"^node 'a': wont_use\(3\); legal: one of the 0 handles"),
        ({"accesses": [0]}, r"^node 'a': attributes {'accesses': \[0\]}: "),
        ({"parameters": 5}, r"^node 'a': attributes"),
    ],
)
def test_attributes_that_make_no_sense(attributes, message):
    G = nx.DiGraph()
    G.add_node("a", **attributes)
    with pytest.raises(InputError, match=message):
        from_networkx(G)


def test_nodes_of_one_kernel_have_the_same_parameters():
    G = nx.DiGraph()
    G.add_node("a", duration=1)
    G.add_node("b")
    with pytest.raises(GraphError, match=r"^node 'b': task #1: parameters \(\); earlier tasks"):
        from_networkx(G)
