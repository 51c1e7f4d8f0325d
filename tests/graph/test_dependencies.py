"""Dependencies from accesses: small cases by hand, and two independent oracles."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import few

from tasksim.graph import dependencies
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.builder import RW, Commute, GraphBuilder, R, Reduce, Scratch, W, access

WRITING_MODES = {AccessMode.W, AccessMode.RW}
COMMUTING_MODES = {AccessMode.R, AccessMode.COMMUTATIVE, AccessMode.REDUCTION}


def edges(graph):
    return [(task, after) for task in range(len(graph)) for after in graph.successors_of(task)]


def on_one_handle(*functions):
    g = GraphBuilder("one handle")
    x = g.handle("x", size_bytes=8)
    for function in functions:
        g.insert("task", function(x))
    return edges(g.build())


@pytest.mark.parametrize(
    ("functions", "expected"),
    [
        ([W, R, R, W], [(0, 1), (0, 2), (1, 3), (2, 3)]),
        ([W, W, RW], [(0, 1), (1, 2)]),
        ([R, R, R], []),
        ([R, W], [(0, 1)]),
        ([W, Commute, Commute, R], [(0, 1), (0, 2), (1, 3), (2, 3)]),
        ([Commute, Commute, RW, Commute], [(0, 2), (1, 2), (2, 3)]),
        ([R, R, Commute, Commute], [(0, 2), (0, 3), (1, 2), (1, 3)]),
        ([W, Reduce, Reduce, R], [(0, 1), (0, 2), (1, 3), (2, 3)]),
        ([Reduce, Commute], [(0, 1)]),
        ([Scratch, W, Scratch, R, Scratch], [(1, 3)]),
    ],
)
def test_epochs_of_one_handle(functions, expected):
    assert on_one_handle(*functions) == expected


def test_a_dependency_through_two_handles_counts_once():
    g = GraphBuilder("twice")
    x, y = g.handle("x", size_bytes=8), g.handle("y", size_bytes=8)
    g.insert("task", W(x), W(y))
    g.insert("task", R(x), RW(y))
    graph = g.build()
    assert edges(graph) == [(0, 1)]
    assert graph.predecessor_count.tolist() == [0, 1]


@st.composite
def access_sequences(draw):
    """Per task a list of (handle, mode) with R, W, RW free and the others once per handle."""
    handles = draw(st.integers(1, 4))
    task = st.dictionaries(
        st.integers(0, handles - 1), st.sampled_from(list(AccessMode)), max_size=handles
    )
    return handles, [list(chosen.items()) for chosen in draw(st.lists(task, max_size=25))]


def built(handles, tasks):
    g = GraphBuilder("random")
    g.vector("x", handles, size_bytes=8)
    for accesses in tasks:
        g.insert("task", *(access(handle, mode) for handle, mode in accesses))
    return g.build()


def naive(tasks):
    """One access at a time: the current epoch of every handle, and the one before."""
    current, before, found = {}, {}, set()
    for task, accesses in enumerate(tasks):
        for handle, mode in accesses:
            if mode == AccessMode.SCRATCH:
                continue
            kind, members = current.get(handle, (None, []))
            if kind == mode and mode in COMMUTING_MODES:
                members.append(task)
            else:
                before[handle] = members
                current[handle] = (mode, [task])
            found |= {(earlier, task) for earlier in before[handle]}
    return sorted(found)


def conflict(one, other):
    return AccessMode.SCRATCH not in (one, other) and not (one == other and one in COMMUTING_MODES)


@settings(deadline=None, max_examples=few(200))
@given(access_sequences())
def test_edges_are_those_of_the_access_by_access_reference(case):
    handles, tasks = case
    assert edges(built(handles, tasks)) == naive(tasks)


@settings(deadline=None, max_examples=few(100))
@given(access_sequences())
def test_tasks_are_ordered_exactly_if_a_chain_of_conflicts_orders_them(case):
    handles, tasks = case
    conflicts = nx.DiGraph()
    conflicts.add_nodes_from(range(len(tasks)))
    for later, accesses in enumerate(tasks):
        for earlier in range(later):
            if any(
                handle == other_handle and conflict(mode, other_mode)
                for handle, mode in accesses
                for other_handle, other_mode in tasks[earlier]
            ):
                conflicts.add_edge(earlier, later)
    inferred = nx.DiGraph(edges(built(handles, tasks)))
    inferred.add_nodes_from(range(len(tasks)))
    closures = [set(nx.transitive_closure_dag(G).edges) for G in (inferred, conflicts)]
    assert closures[0] == closures[1]


@settings(deadline=None, max_examples=few(100))
@given(st.lists(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([1, 2, 3])), max_size=6)))
def test_repeated_accesses_order_as_their_union(tasks):
    merged = []
    for accesses in tasks:
        modes = {}
        for handle, mode in accesses:
            modes[handle] = AccessMode(modes.get(handle, 0) | mode)
        merged.append(list(modes.items()))
    graph = built(3, tasks)
    assert edges(graph) == naive(merged)
    assert [graph.accesses_of(task) for task in range(len(tasks))] == merged


@pytest.mark.parametrize("few", [0, dependencies.MAX_COMPARED_ACCESSES])
def test_the_first_repeated_access_is_found(few, monkeypatch):
    monkeypatch.setattr(dependencies, "MAX_COMPARED_ACCESSES", few)
    rng = np.random.default_rng(0)
    for _ in range(200):
        counts = rng.integers(0, 9, 12)
        pointers = np.concatenate(([0], np.cumsum(counts)))
        handles = rng.integers(0, 40, pointers[-1]).astype(np.int32)
        twice = [
            (task, handle)
            for task, own in enumerate(np.split(handles, pointers[1:-1]))
            for handle in np.unique(own).tolist()
            if (own == handle).sum() > 1
        ]
        assert dependencies.first_repeated(pointers, handles) == min(twice, default=None)
