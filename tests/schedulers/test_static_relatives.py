"""IPEFT and IPPTS by their definitions, and HeteroPrio's theorems against enumerated optima."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from by_the_book import problems
from classic import ARABNEJAD, TOPCUOGLU, graph_of, problem_of, processors, timeline
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import few

from tasksim.base.errors import InputError
from tasksim.graph.builder import GraphBuilder
from tasksim.schedulers.registry import create
from tasksim.schedulers.static import Problem, plan
from tasksim.schedulers.static.peft import (
    critical_costs,
    on_critical_paths,
    optimistic_costs,
    pessimistic_costs,
    predicted_costs,
)
from tasksim.schedulers.static.spoliation import heteroprio_static

PHI = (1 + 5**0.5) / 2
INF = float("inf")


def independent(durations, workers):
    """Independent tasks; *durations* and *workers* are per architecture."""
    builder = GraphBuilder("independent")
    for _ in durations[0]:
        builder.insert("task")
    rows = [row for row, count in zip(durations, workers, strict=True) for _ in range(count)]
    return Problem.of(builder.build(), processors([0] * sum(workers)), np.array(rows, dtype=float))


def optimum_s(durations, workers):
    """The shortest makespan of independent tasks, of all assignments."""
    rows = [row for row, count in zip(durations, workers, strict=True) for _ in range(count)]
    best = INF
    for choice in product(range(len(rows)), repeat=len(rows[0])):
        load = [0.0] * len(rows)
        for task, worker in enumerate(choice):
            load[worker] += rows[worker][task]
        best = min(best, max(load))
    return best


def test_the_device_takes_what_it_speeds_up_most_and_the_core_what_least():
    """Speed-ups of 2, 8 and 4."""
    made = plan("heteroprio-static", independent([[4.0, 8.0, 8.0], [2.0, 1.0, 2.0]], [1, 1]))
    assert made.worker.tolist() == [0, 1, 1]
    assert made.start_s.tolist() == [0.0, 0.0, 1.0]


def test_an_idle_device_takes_a_running_task_over_from_its_beginning():
    problem = independent([[10.0, 10.0], [1.0, 1.0]], [1, 1])
    made = heteroprio_static(problem)
    assert made.makespan_s == 2.0
    assert made.worker.tolist() == [1, 1]
    assert heteroprio_static(problem, spoliation=False).makespan_s == 10.0


def test_of_running_tasks_the_one_that_ends_last_is_taken_over():
    problem = independent([[10.0, 14.0, 30.0], [4.0, 5.0, 1.0]], [2, 1])
    made = heteroprio_static(problem)
    assert made.worker.tolist() == [0, 2, 2]
    assert made.makespan_s == 10.0


def test_the_core_from_which_a_task_was_taken_goes_on_with_another():
    """A task is ready at 1 s that only the core runs, which is within another until 10 s."""
    builder = GraphBuilder("then")
    for _ in range(2):
        builder.insert("task")
    builder.insert("task", after=[0])
    table = np.array([[10.0, 10.0, 2.0], [1.0, 1.0, INF]])
    made = heteroprio_static(Problem.of(builder.build(), processors([0, 0]), table))
    assert sorted(made.start_s[:2].tolist()) == [0.0, 1.0]
    first = int(made.start_s[0])
    assert (made.worker[2], made.start_s[2]) == (0, 1.0 + first)


def test_the_golden_ratio_is_nearly_reached():
    """The device ends its task at 617, too late to save more than 1 of the core's 1618."""
    durations = [[1000.0, 1618.0], [617.0, 1000.0]]
    made = heteroprio_static(independent(durations, [1, 1]))
    assert made.makespan_s == 1617.0
    assert optimum_s(durations, [1, 1]) == 1000.0


@pytest.mark.parametrize(
    ("workers", "ratio", "most"),
    [([1, 1], PHI, 6), ([2, 1], 1 + PHI, 5), ([3, 1], 1 + PHI, 4), ([2, 2], 2 + 2**0.5, 4)],
    ids=str,
)
@settings(max_examples=few(40), deadline=None)
@given(data=st.data())
def test_independent_tasks_stay_within_the_proven_ratio(workers, ratio, most, data):
    count = data.draw(st.integers(1, most))
    seconds = st.lists(st.integers(1, 30), min_size=count, max_size=count)
    durations = [data.draw(seconds), data.draw(seconds)]
    made = heteroprio_static(independent(durations, workers))
    assert made.makespan_s <= ratio * optimum_s(durations, workers) + 1e-9


def tables_by_the_book(problem, critical):
    """The two tables of IPEFT, in loops, per task and worker."""
    communication, memory = problem.mean_communication_s(apart=True), problem.memory_of
    costs = problem.costs_s[:, problem.class_of]
    workers = range(problem.workers)
    longest = np.zeros((problem.tasks, problem.workers))
    after_critical = np.zeros((problem.tasks, problem.workers))
    for task in reversed(range(problem.tasks)):
        rows = np.flatnonzero(problem.edges.source == task).tolist()
        some = [row for row in rows if critical[problem.edges.target[row]]] or rows
        for own in workers:
            for table, chosen, pick in ((longest, rows, max), (after_critical, some, min)):
                times = [
                    pick(
                        table[after, w]
                        + costs[after, w]
                        + communication[row] * (memory[w] != memory[own])
                        for w in workers
                        if costs[after, w] < INF
                    )
                    for row in chosen
                    for after in [problem.edges.target[row]]
                ]
                table[task, own] = max(times, default=0.0)
    return longest, after_critical


@settings(max_examples=few(60), deadline=None)
@given(problem=problems())
def test_ipefts_tables_are_by_the_book(problem):
    critical = on_critical_paths(problem)
    longest, after_critical = tables_by_the_book(problem, critical)
    assert pessimistic_costs(problem)[:, problem.class_of] == pytest.approx(longest)
    found = critical_costs(problem, critical)[:, problem.class_of]
    assert found == pytest.approx(after_critical)
    assert (pessimistic_costs(problem) >= optimistic_costs(problem) - 1e-9).all()


@pytest.mark.parametrize(
    ("example", "critical"),
    [(TOPCUOGLU, [1, 2, 9, 10]), (ARABNEJAD, [1, 5, 9, 10])],
    ids=["topcuoglu", "arabnejad"],
)
def test_critical_paths_of_the_papers_examples(example, critical):
    found = on_critical_paths(problem_of(*example))
    assert [task + 1 for task in np.flatnonzero(found)] == critical


def test_a_parent_of_the_critical_path_ends_as_early_as_it_can():
    """Task 2 ends at 1 on P2, at 2 on P1, from where task 3 could go on without a copy of 5 s."""
    graph = graph_of(3, {(1, 3): 5, (2, 3): 5})
    table = np.array([[20.0, 50.0, 8.0], [50.0, 2.0, 8.0], [50.0, 1.0, 100.0]])
    problem = Problem.of(graph, processors([0, 1, 2]), table)
    assert on_critical_paths(problem).tolist() == [True, False, True]
    assert plan("ipeft", problem).worker[1] == 2
    assert plan("peft", problem).worker[1] == 1


def predicted_by_the_book(problem):
    """The predict cost matrix in loops, per task and worker."""
    communication, memory = problem.mean_communication_s(apart=True), problem.memory_of
    costs, workers = problem.costs_s[:, problem.class_of], range(problem.workers)
    means = [np.mean([cost for cost in row if cost < INF]) for row in costs]
    own = [
        [cost if cost < INF else mean for cost in row]
        for row, mean in zip(costs.tolist(), means, strict=True)
    ]
    found = [list(row) for row in own]
    for task in reversed(range(problem.tasks)):
        after = [
            (communication[row], problem.edges.target[row])
            for row in np.flatnonzero(problem.edges.source == task)
        ]
        for here in workers if after else ():
            found[task][here] = max(
                min(
                    found[then][there]
                    + costs[then, there]
                    + own[task][there]
                    + sent * (memory[here] != memory[there])
                    for there in workers
                )
                for sent, then in after
            )
    return np.array(found).reshape(costs.shape)


@settings(max_examples=few(60), deadline=None)
@given(problem=problems())
def test_ippts_matrix_is_by_the_book(problem):
    found = predicted_costs(problem)[:, problem.class_of]
    assert found == pytest.approx(predicted_by_the_book(problem))
    assert np.isfinite(plan("ippts", problem).end_s).all()


def test_ippts_on_a_diamond():
    """Ranks 13.5 * 2, 5 * 1, 7 * 1 and 0: task 3 is placed before task 2.

    From task 4 on, the matrix is (2, 1); of task 3, 2 + 2 + 3 on P1 and 1 + 1 + 5 on P2, so (7, 7);
    of task 2, 8 on P1 and 4 on P2, so (4 + 2, 4); of task 1, over task 2 (9 + 1, 9), and over
    task 3 (12, 12 + 3 or 15). Task 2 ends at 9 on P1, with 2 to go, at 5 on P2, with 2 to go.
    """
    costs = [(2, 3), (4, 2), (3, 5), (2, 1)]
    problem = problem_of(costs, {(1, 2): 1, (1, 3): 3, (2, 4): 2, (3, 4): 1})
    assert predicted_costs(problem).tolist() == [[12, 15], [6, 4], [7, 7], [2, 1]]
    assert timeline(plan("ippts", problem), 2) == [
        [(1, 0, 2), (3, 2, 5)],
        [(2, 3, 5), (4, 6, 7)],
    ]


def test_an_option_that_does_not_exist():
    with pytest.raises(InputError, match=r"'spoliation': got 2 .*; legal: 0 or 1"):
        create("heteroprio-static:spoliation=2")


@settings(max_examples=few(30), deadline=None)
@given(problem=problems(), name=st.sampled_from(["heft", "cpop", "peft", "etf", "bil", "hbmct"]))
def test_a_problem_with_other_durations_is_planned_as_a_new_one(problem, name):
    """The data of the graph are kept; the durations are the new ones."""
    _ = problem.edges, problem.initial, problem.commuting
    changed = problem.with_costs(problem.costs_s[::-1] * 2.0 + 1.0)
    afresh = replace(problem, costs_s=problem.costs_s[::-1] * 2.0 + 1.0)
    made, other = plan(name, changed), plan(name, afresh)
    assert made.worker.tolist() == other.worker.tolist()
    assert made.end_s.tolist() == other.end_s.tolist()
