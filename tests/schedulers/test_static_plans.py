"""Rules that every plan keeps; fast planning against planning by the book."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from by_the_book import ByTheBook, problems, rows
from classic import assert_valid, processors
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import replay_of
from tiers import few

from tasksim.base.errors import InputError
from tasksim.core import interface
from tasksim.graph.analysis import critical_path
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, Commute, GraphBuilder, R, Reduce, W
from tasksim.platform.description import Memory, Platform, Worker
from tasksim.platform.load import load
from tasksim.schedulers.registry import create
from tasksim.schedulers.static import ALGORITHMS, Problem, plan
from tasksim.schedulers.static.peft import optimistic_costs
from tasksim.schedulers.static.plan import Timeline
from tasksim.schedulers.static.problem import edges_of, flows_of
from tasksim.schedulers.static.ranked import by_rank, upward_ranks

INF = float("inf")


@pytest.mark.parametrize("name", ALGORITHMS)
@settings(max_examples=few(60), deadline=None)
@given(problem=problems())
def test_every_plan_is_valid_and_within_its_bounds(name, problem):
    made = plan(name, problem)
    assert_valid(made, problem)
    least = problem.costs_s.min(axis=1, initial=INF) if problem.tasks else np.zeros(0)
    assert made.makespan_s >= critical_path(problem.graph, least)[0] - 1e-9
    assert made.makespan_s >= least.sum() / problem.workers - 1e-9
    assert_exclusive(made, problem)
    again = plan(name, problem)
    assert again.worker.tolist() == made.worker.tolist()
    assert again.start_s.tolist() == made.start_s.tolist()


def assert_exclusive(made, problem):
    """Tasks that commute on a datum do not overlap."""
    holders = {}
    for task, handles in problem.commuting.items():
        for handle in handles:
            holders.setdefault(handle, []).append(task)
    for tasks in holders.values():
        spans = sorted((made.start_s[task], made.end_s[task]) for task in tasks)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_tasks_that_commute_are_planned_one_after_the_other(name):
    g = GraphBuilder("commute")
    x = g.handle("x", size_bytes=8)
    for _ in range(6):
        g.insert("task", Commute(x))
    problem = Problem.of(g.build(), Platform.identical(3), [[2.0, 1, 1, 2, 1, 1]])
    made = plan(name, problem)
    assert_exclusive(made, problem)
    assert made.makespan_s == 8


def positive(problem):
    """The problem with every task taking time: tasks of no length fit in anywhere."""
    return replace(problem, costs_s=np.where(problem.costs_s == 0, 0.25, problem.costs_s))


@settings(max_examples=few(80), deadline=None)
@given(problem=problems(commuting=False).map(positive))
def test_heft_is_heft_by_the_book(problem):
    book = ByTheBook(problem)
    for task in by_rank(upward_ranks(problem)):
        starts = [book.inserted(task, w) for w in range(problem.workers)]
        ends = [start + book.cost(task, w) for w, start in enumerate(starts)]
        worker = ends.index(min(ends))
        book.place(task, worker, starts[worker])
    assert rows(plan("heft", problem)) == book.plan()


@settings(max_examples=few(80), deadline=None)
@given(problem=problems(commuting=False), longest=st.booleans())
def test_min_min_and_max_min_are_by_the_book(problem, longest):
    book = ByTheBook(problem)
    free = [0.0] * problem.workers
    edges = problem.edges
    before = {t: set(edges.source[edges.target == t].tolist()) for t in range(problem.tasks)}
    while len(book.worker) < problem.tasks:
        options = []
        for task in range(problem.tasks):
            if task not in book.worker and before[task] <= set(book.worker):
                ends = [
                    (max(free[w], book.ready(task, w)) + book.cost(task, w), w)
                    for w in range(problem.workers)
                ]
                options.append((*min(ends), task))
        end, worker, task = min(options, key=lambda o: (-o[0] if longest else o[0], o[2]))
        book.place(task, worker, max(free[worker], book.ready(task, worker)))
        free[worker] = end
    assert rows(plan("max-min" if longest else "min-min", problem)) == book.plan()


@settings(max_examples=few(60), deadline=None)
@given(problem=problems())
def test_the_optimistic_cost_table_is_by_the_book(problem):
    edges, memory = problem.edges, problem.memory_of
    mean = problem.mean_communication_s(apart=True)
    table = np.zeros((problem.tasks, problem.workers))
    for task in reversed(range(problem.tasks)):
        for worker in range(problem.workers):
            for row in np.flatnonzero(edges.source == task):
                after = edges.target[row]
                table[task, worker] = max(
                    table[task, worker],
                    min(
                        table[after, other]
                        + problem.costs_s[after, problem.class_of[other]]
                        + (mean[row] if memory[other] != memory[worker] else 0.0)
                        for other in range(problem.workers)
                    ),
                )
    assert optimistic_costs(problem)[:, problem.class_of].tolist() == table.tolist()


@settings(max_examples=few(100), deadline=None)
@given(tasks=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5)), min_size=1, max_size=20))
def test_a_timeline_finds_the_first_gap(tasks):
    line, busy = Timeline(), []
    for ready, duration in tasks:
        start = line.earliest(ready, duration)
        expected = next(
            s for s in range(ready, 10**6)
            if all(s + duration <= b or s >= e for b, e in busy)
        )  # fmt: skip
        assert start == expected
        line.occupy(start, duration)
        busy.append((start, start + duration))


def test_a_task_without_length_splits_a_gap():
    line = Timeline()
    line.occupy(2.0, 0.0)
    assert line.earliest(0.0, 2.0) == 0.0
    assert line.earliest(0.0, 3.0) == 2.0


def test_data_flow_from_who_wrote_them_last():
    g = GraphBuilder("flows")
    x, y = g.handle("x", size_bytes=5), g.handle("y", size_bytes=7)
    g.insert("task", R(x), W(y))  # 0: x is at its home
    g.insert("task", R(y), RW(x))  # 1: y from 0, x from its home
    g.insert("task", R(x), R(y))  # 2: x from 1, y from 0, whom it follows only by 1
    g.insert("task", W(y))  # 3: waits, gets nothing
    graph = g.build()
    flows = flows_of(graph)
    assert sorted(zip(*(c.tolist() for c in flows), strict=True)) == [
        (-1, 0, x), (-1, 1, x), (0, 1, y), (0, 2, y), (1, 2, x),
    ]  # fmt: skip
    edges = edges_of(graph, flows)
    columns = (edges.source, edges.target, edges.copies, edges.size_bytes)
    assert list(zip(*(c.tolist() for c in columns), strict=True)) == [
        (0, 1, 1, 7), (0, 2, 1, 7), (1, 2, 1, 5), (1, 3, 0, 0), (2, 3, 0, 0),
    ]  # fmt: skip


def test_what_several_tasks_wrote_together_comes_from_all_of_them():
    g = GraphBuilder("flows")
    x, y = g.handle("x", size_bytes=5), g.handle("y", size_bytes=7)
    for _ in range(2):
        g.insert("task", Commute(x), Reduce(y))
    g.insert("task", R(x), R(y))
    flows = flows_of(g.build())
    assert sorted(zip(*(c.tolist() for c in flows), strict=True)) == [
        (-1, 0, x), (-1, 1, x), (0, 2, x), (0, 2, y), (1, 2, x), (1, 2, y),
    ]  # fmt: skip


def test_data_at_home_arrive_after_a_copy():
    g = GraphBuilder("home")
    x = g.handle("x", size_bytes=6, home=1)
    g.insert("task", R(x))
    problem = Problem.of(g.build(), processors([0, 1], bandwidth=2.0, latency=1.0), [[1.0], [9.0]])
    made = plan("heft", problem)
    assert (made.worker.tolist(), made.start_s.tolist()) == ([0], [4.0])


def test_means_are_over_workers_and_over_pairs_of_workers():
    g = GraphBuilder("two")
    x = g.handle("x", size_bytes=6)
    g.insert("task", W(x))
    g.insert("task", R(x))
    costs = [[1.0, INF], [3.0, 5.0], [8.0, 7.0]]
    problem = Problem.of(g.build(), processors([0, 0, 1]), costs)
    assert problem.mean_costs_s.tolist() == [4.0, 6.0]
    assert problem.mean_communication_s().tolist() == [6 * 4 / 6]
    assert problem.mean_communication_s(apart=True).tolist() == [6.0]


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([[float("nan")]], r"task #0: unknown duration; a static schedule needs"),
        ([[INF]], r"no worker can run task #0"),
    ],
)
def test_durations_that_cannot_be_planned_with(costs, message):
    g = GraphBuilder("one")
    g.insert("task")
    with pytest.raises(InputError, match=message):
        Problem.of(g.build(), Platform.identical(1), costs)


def test_memories_without_a_way_between_them():
    g = GraphBuilder("one")
    x = g.handle("x", size_bytes=1)
    g.insert("task", RW(x))
    platform = Platform(
        "apart",
        (Worker(0, "a", "cpu", 0), Worker(1, "b", "cpu", 1)),
        (Memory(0, "m0"), Memory(1, "m1")),
    )
    with pytest.raises(InputError, match=r"no route from memory 0 to memory 1"):
        Problem.of(g.build(), platform, [[1.0], [1.0]])


DEVICES = """
version: 1
arch: {cuda: {pipeline: 2}, cpu: {}}
memories: {ram: {}, gpu0: {}, gpu1: {}}
workers: {cuda: {count: 2, memory: [gpu0, gpu1]}, cpu: {count: 2, memory: ram}}
links:
  host: {bandwidth: 6 GB/s}
  up: {bandwidth: 5 GB/s, latency: 8 us}
  down: {bandwidth: 5 GB/s, latency: 9 us, measured_bandwidth: 4 GB/s, measured_latency: 12 us}
  wire: {bandwidth: 3 GB/s, latency: 5 us, between: [ram, gpu1]}
routes:
  - {from: ram, to: gpu0, links: [down, host, host]}
  - {from: gpu0, to: ram, links: [up, host, host]}
copying: {contention: 2}
"""


def test_a_plan_without_a_run_knows_the_same_copies_as_one_in_a_run(tmp_path):
    """Measured values, links crossed twice, contention, copies by a third memory."""
    (tmp_path / "devices.yaml").write_text(DEVICES)
    platform = load(tmp_path / "devices.yaml")
    graph = generate("cholesky", tiles=4)
    times = [[1.0] * len(graph)] * len(platform.classes)
    alone = Problem.of(graph, platform, times)
    seen = Problem.of_view(replay_of(graph, platform, create("heft"), times).node.view)
    assert alone.latency_s.ravel().tolist() == pytest.approx(seen.latency_s.ravel().tolist())
    inverse = alone.seconds_per_byte
    assert inverse.ravel().tolist() == pytest.approx(seen.seconds_per_byte.ravel().tolist())
    assert inverse[0, 1] == pytest.approx(4 / 4e9)
    assert inverse[1, 2] == pytest.approx(4 / 3e9 + 2 / 3e9)
    assert alone.latency_s[1, 2] == pytest.approx(13e-6)


@settings(max_examples=few(60), deadline=None)
@given(problem=problems())
def test_plans_of_few_tasks_and_memories_are_those_of_arrays(problem):
    for name in ("heft", "cpop", "min-min", "peft"):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(interface, "functions", lambda: None)  # Python plans
            made = plan(name, problem)
            # The function "plan" hides its module.
            patched.setattr(sys.modules[Timeline.__module__], "MAX_LISTED_MEMORIES", 0)
            patched.setattr(sys.modules[by_rank.__module__], "MAX_LISTED_TASKS", 0)
            by_arrays = plan(name, replace(problem))
        assert np.array_equal(made.worker, by_arrays.worker)
        assert np.array_equal(made.start_s, by_arrays.start_s)
