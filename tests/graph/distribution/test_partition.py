"""Owners by a partitioner: every datum has one, no node has too much work, few bytes are sent."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import few

from tasksim.base.errors import InputError
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import GraphBuilder, R, W
from tasksim.graph.distribution.owners import NodeGrid, owners_of
from tasksim.graph.distribution.partition import WORK_SLACK, affinity_of, partitioned, work_of
from tasksim.graph.distribution.parts import cut_by

try:
    import pymetis  # noqa: F401

    BY = ["partitioned", "metis"]
except ImportError:
    BY = ["partitioned"]


@st.composite
def graphs(draw):
    """Return tasks that read and write any data, some of them none, each of some duration."""
    g = GraphBuilder("drawn")
    data = [g.handle(f"x{k}", draw(st.integers(0, 10**6))) for k in range(draw(st.integers(1, 12)))]
    before = []
    for _ in range(draw(st.integers(1, 30))):
        used = draw(st.lists(st.sampled_from(data), max_size=3, unique_by=id))
        accesses = [draw(st.sampled_from((R, W)))(each) for each in used]
        duration_s = draw(st.floats(0, 10, allow_subnormal=False))
        after = [] if not before else draw(st.lists(st.sampled_from(before), max_size=1))
        before.append(g.insert("task", *accesses, duration_s=duration_s, after=after))
    return g.build()


@pytest.mark.parametrize("by", BY)
@settings(max_examples=few(100), deadline=None)
@given(graph=graphs(), nodes=st.integers(1, 5))
def test_every_datum_has_one_owner_and_the_work_is_balanced(by, graph, nodes):
    cut = cut_by(graph, NodeGrid(1, nodes), by)
    assert len(owners_of(graph, NodeGrid(1, nodes), by)) == graph.handles
    assert sorted(t for part in cut.parts for t in part.task[part.task >= 0].tolist()) == list(
        range(len(graph))
    )
    affinity, placed = affinity_of(graph), partitioned(graph, NodeGrid(1, nodes))
    node = np.concatenate((placed.owners, np.zeros(len(affinity.without_data), np.int64)))
    if placed.executor is not None:
        node[graph.handles :] = placed.executor[affinity.without_data]
    load = np.bincount(node, weights=affinity.work, minlength=nodes)
    mean = work_of(graph).sum() / nodes
    assert affinity.work.sum() == pytest.approx(work_of(graph).sum())
    assert load.max() <= (mean + max(WORK_SLACK * mean, affinity.work.max())) * (1 + 1e-5)


def stencil(side):
    """Return a grid of blocks, whose tasks read their neighbours', numbered at random."""
    g = GraphBuilder("stencil")
    order = np.random.default_rng(0).permutation(side * side).tolist()
    data = {place: g.handle(f"x{place}", 1000) for place in order}
    for place in order:
        row, column = divmod(place, side)
        near = [(row + d, column + e) for d, e in ((0, 1), (1, 0), (0, -1), (-1, 0))]
        read = [data[r * side + c] for r, c in near if 0 <= r < side and 0 <= c < side]
        g.insert("task", *(R(each) for each in read), W(data[place]), duration_s=1.0)
    return g.build()


@pytest.mark.parametrize("by", BY)
def test_neighbours_are_together(by):
    graph = stencil(16)
    found = cut_by(graph, NodeGrid(1, 4), by)
    dealt = cut_by(graph, NodeGrid(1, 4), "round-robin")
    assert len(found.messages) < len(dealt.messages) / 3
    assert np.bincount(found.executor, minlength=4).max() <= 66
    affinity = affinity_of(graph)
    owners = owners_of(graph, NodeGrid(1, 4), by)
    source = np.repeat(np.arange(len(affinity)), np.diff(affinity.pointers))
    between = affinity.bytes[owners[source] != owners[affinity.neighbours]].sum() / 2
    assert between < 2 * 3 * 2 * 16 * 1000  # straight cuts: 3 x 16, both ways


def test_tasks_without_data_go_round():
    g = GraphBuilder("tasks")
    first = g.insert("task", duration_s=1.0)
    for _ in range(7):
        first = g.insert("task", duration_s=1.0, after=[first])
    assert cut_by(g.build(), NodeGrid(1, 4), "round-robin").executor.tolist() == [0, 1, 2, 3] * 2
    chain = cut_by(g.build(), NodeGrid(1, 4), "partitioned").executor.tolist()
    assert sorted(chain) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert len(cut_by(g.build(), NodeGrid(1, 4), "partitioned").messages) == 3


def test_tasks_say_their_node():
    g = GraphBuilder("told")
    x, y = g.handle("x", 8), g.handle("y", 8)
    for node, access in ((1, W(x)), (0, R(x)), (1, R(y)), (0, W(y))):
        g.insert("task", access, node=node)
    cut = cut_by(g.build(), NodeGrid(1, 2), "parameter")
    assert cut.executor.tolist() == [1, 0, 1, 0]
    assert cut.owners[:2].tolist() == [1, 0]
    with pytest.raises(InputError, match="whole number from 0 to 0"):
        cut_by(g.build(), NodeGrid(1, 1), "parameter")
    with pytest.raises(InputError, match="potrf have no parameter node"):
        cut_by(generate("cholesky", tiles=2), NodeGrid(1, 1), "parameter")


def test_without_pymetis_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(InputError, match=r"pip install 'tasksim\[partition\]'.*owner partitioned"):
        owners_of(generate("cholesky", tiles=3), NodeGrid(1, 2), "metis")


def test_a_function_that_places_nothing_is_named():
    with pytest.raises(InputError, match="owner os:getcwd: TypeError"):
        owners_of(generate("cholesky", tiles=3), NodeGrid(1, 2), "os:getcwd")
