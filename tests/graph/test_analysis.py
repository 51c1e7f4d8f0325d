"""Levels, critical path, width: by hand, published, and against enumeration of paths."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from growth import nearly_linear
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.graph import analysis
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import GraphBuilder
from tasksim.run.bounds import critical_path_bound

# In units of b³/3 operations.
COSTS = {"potrf": 1, "trsm": 3, "syrk": 3, "gemm": 6}


def graph_of(*predecessors):
    g = GraphBuilder("drawn")
    for after in predecessors:
        g.insert("task", after=after)
    return g.build()


@pytest.fixture
def diamond():
    """0 -> 1, 2 -> 3, and 4 alone."""
    return graph_of([], [0], [0], [1, 2], [])


def cholesky_costs(graph):
    return np.array([COSTS[name] for name in graph.kernels])[graph.kernel]


def test_levels_of_a_diamond(diamond):
    durations = [1, 2, 5, 3, 4]
    assert analysis.bottom_levels(diamond, durations).tolist() == [9, 5, 8, 3, 4]
    assert analysis.top_levels(diamond, durations).tolist() == [0, 1, 1, 6, 0]
    assert analysis.critical_path(diamond, durations) == (9, [0, 2, 3])
    assert analysis.work(diamond, durations) == 15
    assert analysis.levels(diamond).tolist() == [0, 1, 1, 2, 0]
    assert analysis.width(diamond) == 2
    assert analysis.sources(diamond).tolist() == [0, 4]
    pointers, indices = analysis.predecessors(diamond)
    assert (pointers.tolist(), indices.tolist()) == ([0, 0, 1, 2, 4, 4], [0, 0, 1, 2])


@pytest.mark.parametrize("seed", range(40))
def test_levels_are_the_same_by_blocks_and_task_by_task(seed, monkeypatch):
    rng = random.Random(seed)
    tasks, reach, most = rng.randrange(1, 200), rng.choice((1, 5, 30, 200)), rng.choice((0, 1, 4))
    before = [
        {rng.randrange(max(0, task - reach), task) for _ in range(rng.randint(0, most))}
        for task in range(1, tasks)
    ]
    graph = graph_of([], *before)
    durations = np.array([rng.random() for _ in range(tasks)])
    monkeypatch.setattr(analysis, "MIN_BLOCK_TASKS", 0)
    by_blocks = analysis.bottom_levels(graph, durations)
    monkeypatch.setattr(analysis, "MIN_BLOCK_TASKS", 10**9)
    assert by_blocks.tobytes() == analysis.bottom_levels(graph, durations).tobytes()
    assert critical_path_bound(graph, durations) == analysis.critical_path(graph, durations)[0]


def test_of_equal_paths_the_smallest_numbers_win(diamond):
    assert analysis.critical_path(diamond, [1, 2, 2, 1, 4]) == (4, [0, 1, 3])


def test_a_graph_without_tasks():
    graph = graph_of()
    assert analysis.critical_path(graph, []) == (0, [])
    assert analysis.bottom_levels(graph, []).tolist() == []
    assert analysis.width(graph) == 0


@pytest.mark.parametrize(("tiles", "length"), [(1, 1), (2, 8), (20, 170), (40, 350)])
def test_cholesky_takes_9n_minus_10(tiles, length):
    graph = generate("cholesky", tiles=tiles)
    costs = cholesky_costs(graph)
    assert analysis.critical_path(graph, costs)[0] == length
    assert analysis.work(graph, costs) == tiles**3


def test_the_critical_path_is_a_path_of_its_length():
    graph = generate("cholesky", tiles=12)
    costs = cholesky_costs(graph)
    length, path = analysis.critical_path(graph, costs)
    assert costs[path].sum() == length
    assert path[0] == 0
    assert path[-1] == len(graph) - 1
    for task, after in pairwise(path):
        assert after in graph.successors_of(task)


@pytest.mark.parametrize(
    ("durations", "message"),
    [
        ([1, 2], r"durations of shape \(2,\) for 5 tasks; legal: one per task"),
        ([1, 2, -1, 3, 4], r"task #2: duration is -1; legal: 0 or more"),
        ([1, 2, 3, np.nan, 4], r"task #3: duration is nan"),
    ],
)
def test_durations_are_checked(diamond, durations, message):
    for function in (analysis.bottom_levels, analysis.top_levels, analysis.work):
        with pytest.raises(InputError, match=message):
            function(diamond, durations)


@st.composite
def graphs_with_durations(draw):
    tasks = draw(st.integers(1, 12))
    after = [
        draw(st.lists(st.integers(0, task - 1), unique=True)) if task else []
        for task in range(tasks)
    ]
    durations = draw(st.lists(st.integers(0, 9), min_size=tasks, max_size=tasks))
    return graph_of(*after), durations


def longest_from(graph, durations, task):
    after = graph.successors_of(task)
    return durations[task] + max((longest_from(graph, durations, t) for t in after), default=0)


@settings(deadline=None, max_examples=100)
@given(graphs_with_durations())
def test_levels_agree_with_each_other_and_with_recursion(case):
    graph, durations = case
    bottom = analysis.bottom_levels(graph, durations)
    top = analysis.top_levels(graph, durations)
    assert bottom.tolist() == [longest_from(graph, durations, t) for t in range(len(graph))]
    length, path = analysis.critical_path(graph, durations)
    assert length == bottom.max() == (top + durations).max()
    assert (top + bottom)[path].tolist() == [length] * len(path)
    depth = analysis.levels(graph)
    assert np.bincount(depth).max() == analysis.width(graph)


def test_a_long_chain_takes_linear_time():
    chains = {length: generate("chain", length=length) for length in (12_500, 100_000)}

    def analysed(tasks):
        length, path = analysis.critical_path(chains[tasks], np.ones(tasks))
        assert analysis.width(chains[tasks]) == 1
        assert (length, len(path)) == (tasks, tasks)

    assert nearly_linear(analysed, 12_500, 100_000)
