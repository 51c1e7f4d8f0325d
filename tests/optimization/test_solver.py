"""CP-SAT and the bounds: exact on tiny instances and on classics, never above the optimum."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import few

import tasksim
from tasksim.graph.builder import RW, GraphBuilder
from tasksim.optimization.bounds import mixed_bound
from tasksim.optimization.solver import SolverLimit, bound_of, has_solver
from tasksim.platform.description import Memory, Platform, Worker
from tasksim.schedulers.static.problem import Problem

needs_solver = pytest.mark.skipif(not has_solver(), reason="OR-Tools is not installed")

FT06 = """
2 1 0 3 1 6 3 7 5 3 4 6
1 8 2 5 4 10 5 10 0 10 3 4
2 5 3 4 5 8 0 9 1 1 4 7
1 5 0 5 2 5 3 3 4 8 5 9
2 9 1 3 4 5 5 4 0 3 3 1
1 3 3 3 5 9 0 10 4 4 2 1
"""
LA01 = """
1 21 0 53 4 95 3 55 2 34
0 21 3 52 4 16 2 26 1 71
3 39 4 98 1 42 2 31 0 12
1 77 0 55 4 79 2 66 3 77
0 83 3 34 2 64 1 19 4 37
1 54 2 43 4 79 0 92 3 62
3 69 4 77 1 87 2 87 0 93
2 38 0 60 1 41 3 24 4 83
3 17 1 49 4 25 0 44 2 98
4 77 3 79 2 43 1 75 0 96
"""


def job_shop(text):
    """Return the graph, the platform and the durations: an architecture for each machine."""
    rows = [list(map(int, line.split())) for line in text.split("\n") if line]
    machines = max(max(row[::2]) for row in rows) + 1
    builder, seconds = GraphBuilder("job-shop"), {}
    for job, row in enumerate(rows):
        datum = builder.handle(f"job{job}", size_bytes=0)
        for step, (machine, length) in enumerate(zip(row[::2], row[1::2], strict=True)):
            builder.insert(f"op{job}.{step}", RW(datum))
            seconds[f"op{job}.{step}"] = {f"m{machine}": float(length)}
    workers = tuple(Worker(k, f"m{k}", f"m{k}", 0) for k in range(machines))
    graph = builder.build()
    costs = np.full((machines, len(graph)), inf)
    for task in range(len(graph)):
        ((name, length),) = seconds[graph.kernel_of(task)].items()
        costs[int(name[1:]), task] = length
    return graph, Platform("shop", workers, (Memory(0, "ram"),)), costs


def optimum(problem):
    """Return the makespan of the best schedule, by trying all of them."""
    edges = problem.edges
    before = [
        edges.source[edges.by_target[edges.target_ptr[t] : edges.target_ptr[t + 1]]].tolist()
        for t in range(problem.tasks)
    ]
    cost = problem.costs_s[:, problem.class_of].tolist()
    best = [sum(min(row) for row in cost)] if problem.tasks else [0.0]

    def go_on(end, free, left):
        if not left:
            best[0] = min(best[0], max(end.values(), default=0.0))
            return
        for task in left:
            if any(source not in end for source in before[task]):
                continue
            ready = max((end[source] for source in before[task]), default=0.0)
            tried = set()
            for worker, length in enumerate(cost[task]):
                key = (free[worker], length)
                if length == inf or key in tried:
                    continue
                tried.add(key)
                finish = max(ready, free[worker]) + length
                if finish < best[0]:
                    now = [*free[:worker], finish, *free[worker + 1 :]]
                    go_on({**end, task: finish}, now, [t for t in left if t != task])

    go_on({}, [0.0] * problem.workers, list(range(problem.tasks)))
    return best[0]


@st.composite
def tiny_problems(draw, max_tasks=6):
    """Up to three workers of up to two classes; some tasks run on one class only."""
    architectures = sorted(draw(st.lists(st.sampled_from("ab"), min_size=1, max_size=3)))
    workers = tuple(Worker(k, f"w{k}", name, 0) for k, name in enumerate(architectures))
    platform = Platform("tiny", workers, (Memory(0, "ram"),))
    tasks = draw(st.integers(1, max_tasks))
    data = range(3)
    builder = GraphBuilder("tiny")
    handles = [builder.handle(f"x{k}", size_bytes=0) for k in data]
    rows = []
    for _ in range(tasks):
        chosen = draw(st.sets(st.sampled_from(data), max_size=2))
        builder.insert("task", *(RW(handles[k]) for k in sorted(chosen)))
        row = [float(draw(st.integers(1, 9))) for _ in platform.classes]
        if len(row) == 2 and draw(st.booleans()):
            row[draw(st.integers(0, 1))] = inf
        rows.append(row)
    return Problem.of(builder.build(), platform, np.array(rows).T)


@settings(max_examples=few(150), deadline=None)
@given(problem=tiny_problems())
def test_the_mixed_bound_is_no_more_than_the_optimum(problem):
    names = tuple(map(str, range(problem.costs_s.shape[1])))
    found = mixed_bound(problem, names)
    assert found.value_s <= optimum(problem)
    assert found.value_s >= problem.costs_s.min(axis=1).max() * (1 - 1e-5)


@needs_solver
@settings(max_examples=few(60), deadline=None)
@given(problem=tiny_problems())
def test_the_solver_proves_the_optimum_of_tiny_instances(problem):
    limit = SolverLimit(None, 5.0, 1, 0)
    assert bound_of(problem, limit, at_least_s=0.0) == pytest.approx(optimum(problem), rel=1e-12)


def test_the_duals_of_the_mixed_bound_say_what_binds():
    """Two workers share four tasks of a second; a chain waits for nobody."""
    builder = GraphBuilder("four")
    for _ in range(4):
        builder.insert("task")
    platform = Platform.identical(2)
    found = mixed_bound(Problem.of(builder.build(), platform, np.ones((1, 4))), ("cpu",))
    assert found.value_s == pytest.approx(2.0, rel=1e-5)
    assert found.binding.classes == {"cpu": pytest.approx(1.0)}
    assert found.binding.kernels == {"task": pytest.approx(1.0)}
    chain = tasksim.generate("chain", length=3)
    found = mixed_bound(Problem.of(chain, platform, np.ones((1, 3))), ("cpu",))
    assert found.value_s == pytest.approx(3.0, rel=1e-5)
    assert found.binding.path == pytest.approx(1.0)
    assert found.binding.idle == pytest.approx(0.0)


def test_starts_and_ends_count_in_the_mixed_bound():
    """One task, eight beside each other, one task: 1 + 8 / 4 + 1 seconds on four workers."""
    graph = tasksim.generate("fork-join", width=8, duration=1.0)
    found = mixed_bound(Problem.of(graph, Platform.identical(4), np.ones((1, 10))), ("cpu",))
    assert found.value_s == pytest.approx(4.0, rel=1e-5)
    assert found.binding.idle == pytest.approx(0.5)


@needs_solver
@pytest.mark.parametrize(
    ("text", "length"), [(FT06, 55.0), pytest.param(LA01, 666.0, marks=pytest.mark.slow)]
)
def test_classics_of_the_job_shop_are_solved(text, length):
    graph, platform, costs = job_shop(text)
    problem = Problem.of(graph, platform, costs)
    assert bound_of(problem, SolverLimit(None, 60.0, 1, 0), at_least_s=0.0) == length
    seconds = {
        f"m{machine}:{graph.kernel_of(task)}": costs[machine, task]
        for machine, task in zip(*np.nonzero(np.isfinite(costs)), strict=True)
    }
    found = tasksim.optimize(graph, platform, durations=seconds, steps=20_000, method="solver")
    assert (found.makespan_s, found.gap) == (length, pytest.approx(0.0, abs=1e-9))


def test_without_the_solver_annealing_goes_on(monkeypatch):
    monkeypatch.setattr("tasksim.optimization.solver.find_spec", lambda name: None)
    with pytest.raises(tasksim.InputError, match=r"pip install 'tasksim\[optimize\]'"):
        tasksim.optimize("fork-join width=3", workers=2, method="solver", steps=1)
    found = tasksim.optimize("fork-join width=4 duration=1.0", workers=3, steps=50)
    assert found.makespan_s == 4.0
