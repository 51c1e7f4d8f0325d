"""Reuse distances: by hand, and against the definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import graphs

from tasksim.graph.access_mode import AccessMode
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, GraphBuilder, R, Scratch, W
from tasksim.graph.reuse import ReuseTracker, accessed_bytes, reuse_distances

INF = np.inf


def by_definition(graph, order):
    """Per access, the bytes of all accesses of the tasks after the one that last used the handle.

    Those of the task itself are not between: it starts at once with all its data.
    """
    result = np.empty(len(graph.access_handle))
    for place, task in enumerate(order):
        start = graph.access_ptr[task]
        for i, (handle, _) in enumerate(graph.accesses_of(task)):
            users = [
                earlier
                for earlier in range(place)
                for h, mode in graph.accesses_of(order[earlier])
                if h == handle and mode != AccessMode.SCRATCH
            ]
            between = order[max(users) + 1 : place] if users else None
            result[start + i] = INF if between is None else sum(bytes_of(graph, t) for t in between)
    return result


def bytes_of(graph, task):
    return sum(
        int(graph.handle_size[handle])
        for handle, mode in graph.accesses_of(task)
        if mode != AccessMode.SCRATCH
    )


@st.composite
def started(draw):
    """A graph, its handles of different sizes, and an order in which its tasks start."""
    graph = draw(graphs(max_tasks=15))
    sizes = draw(st.lists(st.integers(0, 9), min_size=graph.handles, max_size=graph.handles))
    return replace(graph, handle_size=sizes), draw(st.permutations(range(len(graph))))


def test_by_hand():
    builder = GraphBuilder("walk")
    a, b, c = (builder.handle(f"x{size}", size_bytes=size) for size in (10, 200, 3000))
    builder.insert("task", R(a), W(b))
    builder.insert("task", RW(c))
    builder.insert("task", R(b))
    builder.insert("task", R(a), R(b), R(c))
    graph = builder.build()
    assert reuse_distances(graph, range(4)).tolist() == [INF, INF, INF, 3000, 3200, 0, 200]
    assert reuse_distances(graph, [3, 2, 1, 0]).tolist() == [3200, 3000, 200, 0, INF, INF, INF]


def test_each_access_counts_also_to_the_same_data():
    """Bytes are not made distinct: a tile read twice in between counts twice."""
    builder = GraphBuilder("again")
    a, b = builder.handle("a", size_bytes=10), builder.handle("b", size_bytes=200)
    for handle in (a, b, b, a):
        builder.insert("task", R(handle))
    assert reuse_distances(builder.build(), range(4)).tolist() == [INF, INF, 0, 400]


def test_scratch_counts_nothing():
    """It has no bytes, and who has scratch memory of that name has not used the data."""
    builder = GraphBuilder("scratch")
    a, work = builder.handle("a", size_bytes=10), builder.handle("work", size_bytes=5000)
    builder.insert("task", R(a))
    builder.insert("task", Scratch(work), Scratch(a))
    builder.insert("task", R(a))
    graph = builder.build()
    assert accessed_bytes(graph).tolist() == [10, 0, 0, 10]
    assert reuse_distances(graph, range(3))[[0, 3]].tolist() == [INF, 0]
    tracker = ReuseTracker(graph)
    assert [sum(tracker.far_bytes(task, 0.0, 0.0)) for task in range(3)] == [10, 0, 0]


@given(started())
def test_distances_are_those_of_the_definition(case):
    graph, order = case
    counts = graph.access_mode != AccessMode.SCRATCH
    found = reuse_distances(graph, order)
    assert found[counts].tolist() == by_definition(graph, order)[counts].tolist()


@given(started(), st.sampled_from([0.0, 1.0, 5.0, 20.0, 100.0]))
def test_far_bytes_are_those_of_accesses_beyond_the_reach(case, reach):
    graph, order = case
    far = accessed_bytes(graph) * (by_definition(graph, order) > reach)
    tracker = ReuseTracker(graph)
    for task in order:
        mine = slice(graph.access_ptr[task], graph.access_ptr[task + 1])
        assert sum(tracker.far_bytes(task, reach, reach)) == far[mine].sum()


@given(started())
def test_a_longer_reach_leaves_less_far(case):
    graph, order = case
    far = [
        [sum(tracker.far_bytes(task, reach, reach)) for task in order]
        for reach, tracker in ((r, ReuseTracker(graph)) for r in (0.0, 10.0, 1e9))
    ]
    assert (np.diff(far, axis=0) <= 0).all()


@pytest.mark.parametrize("tiles", [1, 6])
def test_the_first_access_to_each_tile_of_a_factorisation_is_far(tiles):
    graph = generate("cholesky", tiles=tiles, tile_size=8)
    distances = reuse_distances(graph, range(len(graph)))
    assert np.isinf(distances).sum() == tiles * (tiles + 1) / 2
