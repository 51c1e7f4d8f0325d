"""Paths through schedules: the longest by any cost, and slack."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tasksim
from tasksim.graph.builder import RW, GraphBuilder, R
from tasksim.run.critical import practical_critical_path
from tasksim.run.pathprofile import path_profile
from tasksim.run.schedulepath import longest_path, schedule_path, slack_s
from tasksim.run.taskcosts import task_costs

RANDOM = {
    "seed": st.integers(0, 1000),
    "workers": st.integers(1, 5),
    "tiles": st.integers(1, 5),
}


def drawn(make, seed, workers, tiles):
    graph = make.cholesky(tiles)
    seconds = np.random.default_rng(seed).uniform(0.1, 2, len(graph))
    return graph, make.schedule(graph, workers, seconds)


def all_paths(run, graph, weights):
    """The largest sum of weights of all paths, by recursion over all successors."""
    by_worker = {}
    for task in np.argsort(run.tasks.start_s, kind="stable").tolist():
        by_worker.setdefault(int(run.tasks.worker[task]), []).append(task)
    later = {task: list(graph.successors_of(task)) for task in range(len(graph))}
    for tasks in by_worker.values():
        for one, other in pairwise(tasks):
            later[one].append(other)
    known = {}
    for task in np.argsort(-run.tasks.start_s, kind="stable").tolist():
        known[task] = weights[task] + max((known[o] for o in later[task]), default=0.0)
    return max(known.values()), later


@given(**RANDOM)
@settings(max_examples=30, deadline=None)
def test_no_path_costs_more(make, seed, workers, tiles):
    graph, run = drawn(make, seed, workers, tiles)
    weights = np.random.default_rng(seed + 1).integers(0, 5, len(graph)).astype(float)
    most, later = all_paths(run, graph, weights)
    found = schedule_path(run, graph, weights)
    assert found.cost == most == weights[found.tasks].sum()
    assert (weights[found.tasks] > 0).all()
    # One after the other, also where what costs nothing lies between them.
    assert (np.diff(run.tasks.start_s[found.tasks]) > 0).all()
    by_time = longest_path(run, graph)
    for one, other in pairwise(by_time.tasks):
        assert other in later[one]


@given(**RANDOM)
@settings(max_examples=30, deadline=None)
def test_costs_of_the_critical_path_are_no_more_than_the_longest(make, seed, workers, tiles):
    graph = tasksim.generate("cholesky", tiles=tiles)
    seconds = np.random.default_rng(seed).uniform(0.1, 2, len(graph))
    run = make.schedule(graph, workers, seconds)
    profile = path_profile(run, graph)
    for name in ("synchronisations", "words", "flop"):
        along, most = getattr(profile.costs.path, name), getattr(profile.costs.longest, name)
        assert along <= most * (1 + 1e-12)
        assert most == longest_path(run, graph, name).cost
    assert profile.kernel_s <= longest_path(run, graph).cost * (1 + 1e-12)


@given(**RANDOM)
@settings(max_examples=30, deadline=None)
def test_slack_is_what_a_task_may_take_longer(make, seed, workers, tiles):
    graph, run = drawn(make, seed, workers, tiles)
    slack = slack_s(run, graph)
    assert (slack >= 0).all()
    for step in practical_critical_path(run).steps[-1:]:
        assert slack[step.task] == 0.0
    # The longest path through a task, what it may take longer, and no more, make up the makespan
    # where nothing but the schedule makes tasks wait.
    taken = run.tasks.duration_s
    for task in range(len(graph)):
        longer = taken.copy()
        longer[task] += slack[task]
        assert schedule_path(run, graph, longer).cost <= run.makespan_s * (1 + 1e-12)


def test_three_workers_by_hand():
    """Two short tasks that pass on much data, beside a long one that passes on little."""
    g = GraphBuilder("three")
    little, much = g.handle("little", 8), g.vector("much", 2, 8000)
    g.insert("long", RW(little), duration_s=5.0)
    g.insert("short", RW(much[0]), duration_s=1.0)
    g.insert("short", R(much[0]), RW(much[1]), duration_s=1.0)
    g.insert("end", R(little), R(much[1]), duration_s=1.0)
    graph = g.build()
    run = tasksim.simulate(graph, workers=3, scheduler="eager")
    workers = run.tasks.worker.tolist()
    assert longest_path(run, graph).tasks == [0, 3]
    costs = task_costs(run, graph)
    expected = [
        0.0,
        0.0,
        1000.0 * (workers[2] != workers[1]),
        1000.0 * (workers[3] != workers[2]) + (workers[3] != workers[0]),
    ]
    assert costs["words"].tolist() == expected
    path = longest_path(run, graph, "words")
    assert path.cost == sum(expected)
    assert slack_s(run, graph).tolist() == [0.0, 3.0, 3.0, 0.0]


def test_tasks_of_communication_kernels_move_their_bytes():
    g = GraphBuilder("collectives")
    a, b = g.vector("state", 2, 0)
    g.insert("gemm", RW(a), m=10, n=10, k=10, duration_s=1.0)
    g.insert("gemm", RW(b), m=10, n=10, k=10, duration_s=3.0)
    g.insert("bcast", RW(a), RW(b), bytes=800, ranks=2, stride=1, duration_s=1.0)
    g.insert("gemm", RW(b), m=10, n=10, k=10, duration_s=1.0)
    graph = g.build()
    run = tasksim.simulate(graph, workers=2)
    costs = path_profile(run, graph).costs.longest
    assert (costs.synchronisations, costs.words, costs.flop) == (1.0, 100.0, 4000.0)
    assert longest_path(run, graph, "words").tasks == [2]


@pytest.mark.parametrize(
    ("by", "said"),
    [("word", "did you mean 'words'"), ("flop", "flop: not known of task #0")],
)
def test_what_is_not_known_is_told(by, said):
    graph = tasksim.generate("chain", length=2)
    run = tasksim.simulate(graph, workers=1)
    with pytest.raises(tasksim.InputError, match=said):
        longest_path(run, graph, by)
    with pytest.raises(tasksim.InputError, match="the run has 2 tasks, graph chain 3"):
        slack_s(run, tasksim.generate("chain", length=3))


def test_an_empty_run_has_an_empty_path(make):
    graph = GraphBuilder("nothing").build()
    assert longest_path(make.run([]), graph) == (0.0, [])
