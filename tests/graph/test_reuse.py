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
from tasksim.graph.reuse import ReuseTracker, accessed_bytes, remote_bytes, reuse_distances

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


def remote_by_definition(graph, order, worker):
    """Per task, the bytes that another worker wrote last and its own has not used since."""
    writer, users = {}, {}
    found = np.zeros(len(graph))
    for task in order:
        mine = worker[task]
        for handle, mode in graph.accesses_of(task):
            if mode == AccessMode.SCRATCH:
                continue
            if handle in writer and mine not in users[handle]:
                found[task] += graph.handle_size[handle]
            if mode != AccessMode.R:
                writer[handle], users[handle] = mine, set()
            users.setdefault(handle, set()).add(mine)
    return found


def test_data_that_another_worker_wrote_are_remote_once():
    builder = GraphBuilder("to and fro")
    a, b = builder.handle("a", size_bytes=10), builder.handle("b", size_bytes=200)
    for accesses in ([W(a)], [R(a), R(b)], [R(a)], [R(a), W(b)], [RW(a), R(b)], [R(a)]):
        builder.insert("task", *accesses)
    worker, start_s = np.array([0, 1, 1, 0, 1, 0]), np.arange(6.0)
    found = remote_bytes(builder.build(), worker, start_s)
    assert found.tolist() == [0, 10, 0, 0, 200, 10]
    assert not remote_bytes(builder.build(), np.zeros(6, int), start_s).any()


@given(started(), st.lists(st.integers(0, 2), min_size=15, max_size=15))
def test_remote_data_are_those_of_the_definition(case, workers):
    graph, order = case
    worker, start_s = np.array(workers[: len(graph)], int), np.empty(len(graph))
    start_s[list(order)] = np.arange(len(graph))
    found = remote_bytes(graph, worker, start_s)
    assert found.tolist() == remote_by_definition(graph, order, worker).tolist()
