"""CP-SAT and the bounds: exact on tiny instances and on classics, never above the optimum."""

from __future__ import annotations

import sys
from itertools import permutations, product
from math import inf

import numpy as np
import pytest
from classic import ARABNEJAD, TOPCUOGLU, problem_of, processors
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import few

import tasksim
from tasksim.graph.builder import RW, GraphBuilder, R, W
from tasksim.optimization import boundprogram
from tasksim.optimization.bounds import mixed_bound, tight_bounds
from tasksim.optimization.replayer import Replayer
from tasksim.optimization.schedule import with_near_classes_merged
from tasksim.optimization.solver import SolverLimit, Solving, bound_of, has_solver
from tasksim.platform.description import Link, Memory, Platform, Worker
from tasksim.scenario.resolved import resolve
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
LA02 = """
0 20 3 87 1 31 4 76 2 17
4 25 2 32 0 24 1 18 3 81
1 72 2 23 4 28 0 58 3 99
2 86 1 76 4 97 0 45 3 90
4 27 0 42 3 48 2 17 1 46
1 67 0 98 4 48 3 27 2 62
4 28 1 12 3 19 0 80 2 50
1 63 0 94 2 98 3 50 4 80
4 14 0 75 2 50 1 41 3 55
4 72 2 18 1 37 3 79 0 61
"""
LA03 = """
1 23 2 45 0 82 4 84 3 38
2 21 1 29 0 18 4 41 3 50
2 38 3 54 4 16 0 52 1 52
4 37 0 54 2 74 1 62 3 57
4 57 0 81 1 61 3 68 2 30
4 81 0 79 1 89 2 89 3 11
3 33 2 20 0 91 4 20 1 66
4 24 1 84 0 32 2 55 3 8
4 56 0 7 3 54 2 64 1 39
4 40 1 83 0 19 2 8 3 7
"""
LA04 = """
0 12 2 94 3 92 4 91 1 7
1 19 3 11 4 66 2 21 0 87
1 14 0 75 3 13 4 16 2 20
2 95 4 66 0 7 3 7 1 77
1 45 3 6 4 89 0 15 2 34
3 77 2 20 0 76 4 88 1 53
2 74 1 88 0 52 3 27 4 9
1 88 3 69 0 62 4 98 2 52
2 61 4 9 0 62 1 52 3 90
2 54 4 5 3 59 1 15 0 88
"""
LA05 = """
1 72 0 87 4 95 2 66 3 60
4 5 3 35 0 48 2 39 1 54
1 46 3 20 2 21 0 97 4 55
0 59 3 19 4 46 1 34 2 37
4 23 2 73 3 25 1 24 0 28
3 28 0 45 4 5 1 78 2 83
0 53 3 71 1 37 4 29 2 12
4 12 2 87 3 33 1 55 0 38
2 49 3 83 1 40 0 48 4 7
2 65 3 17 0 90 4 27 1 23
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
    seen = set()

    def go_on(end, free, left):
        state = (end, free)
        if state in seen:
            return
        seen.add(state)
        if not left:
            best[0] = min(best[0], max(end, default=0.0))
            return
        for task in left:
            if any(end[source] == 0 for source in before[task]):
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
                    now = (*free[:worker], finish, *free[worker + 1 :])
                    go_on((*end[:task], finish, *end[task + 1 :]), now, left - {task})

    go_on((0.0,) * problem.tasks, (0.0,) * problem.workers, frozenset(range(problem.tasks)))
    return best[0]


@st.composite
def tiny_problems(draw, max_tasks=8):
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
    names = tuple(map(str, range(problem.costs_s.shape[1])))
    best = optimum(problem)
    for windows in ((), mixed_bound(problem, names).windows):
        found = bound_of(problem, limit, at_least_s=0.0, windows=windows)
        assert found == pytest.approx(best, rel=1e-12)
    # With a step of a third of the makespan, the bound is the least of those in the last step.
    coarse = Solving(problem, 0.0, best, windows=windows, grain=1 / 3).solve(limit)
    assert best * (1 - 1 / 3) < coarse.bound_s <= best
    assert coarse.optimal


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


def test_work_between_two_tasks_counts_in_the_mixed_bound():
    """One task, eight, one, eight, one on four workers: 1 + 2 + 1 + 2 + 1 seconds.

    Windows from the start to the end of the schedule alone say 1 + 17 / 4 + 1.
    """
    builder = GraphBuilder("two-forks")
    last = builder.insert("task")
    for _ in range(2):
        fork = [builder.insert("task", after=[last]) for _ in range(8)]
        last = builder.insert("task", after=fork)
    costs = np.ones((1, 19))
    problem = Problem.of(builder.build(), Platform.identical(4), costs)
    found = mixed_bound(problem, ("cpu",))
    assert found.value_s == pytest.approx(7.0, rel=1e-5)
    assert any(window.source >= 0 or window.target >= 0 for window in found.windows)
    binding = found.binding
    assert sum(binding.classes.values()) + binding.path == pytest.approx(1.0)
    assert sum(binding.kernels.values()) + binding.idle == pytest.approx(1.0)


SLOWER_CLASSICS = [(LA02, 655.0), (LA03, 597.0), (LA04, 590.0)]


@needs_solver
@pytest.mark.parametrize(
    ("text", "length"),
    [
        *((FT06, 55.0), (LA01, 666.0), (LA05, 593.0)),
        *(pytest.param(*classic, marks=pytest.mark.slow) for classic in SLOWER_CLASSICS),
    ],
)
def test_classics_of_the_job_shop_are_solved(text, length):
    graph, platform, costs = job_shop(text)
    seconds = {
        f"m{machine}:{graph.kernel_of(task)}": costs[machine, task]
        for machine, task in zip(*np.nonzero(np.isfinite(costs)), strict=True)
    }
    found = tasksim.optimize(graph, platform, durations=seconds, steps=20_000, method="solver")
    assert (found.makespan_s, found.gap) == (length, pytest.approx(0.0, abs=1e-9))


def standard_task_graph(seed):
    """A graph of 50 tasks on random layers, whole durations up to 10: the graph, the durations, the
    longest path and the sum.

    STG draws so (T. Tobita, H. Kasahara, 2002), but publishes no seeds: its own files are not here.
    """
    drawn = tasksim.generate("random-graph", shape="layered", tasks=50, predecessors=3, seed=seed)
    lengths = np.random.default_rng(seed).integers(1, 11, len(drawn)).tolist()
    source = np.repeat(np.arange(len(drawn)), np.diff(drawn.successor_ptr))
    builder, ends = GraphBuilder("standard"), []
    for task, length in enumerate(lengths):
        before = source[drawn.successors == task].tolist()
        builder.insert(f"t{length}", after=before)
        ends.append(length + max((ends[other] for other in before), default=0))
    seconds = {f"t{length}": float(length) for length in lengths}
    return builder.build(), seconds, max(ends), sum(lengths)


@needs_solver
@pytest.mark.parametrize(("seed", "workers"), [(0, 2), (0, 8), (1, 2), (1, 4), (1, 8), (2, 4)])
def test_standard_task_graphs_are_as_short_as_path_and_work_allow(seed, workers):
    """The optimum is known where a schedule is as long as the longest path or the work divided."""
    graph, seconds, path, work = standard_task_graph(seed)
    found = tasksim.optimize(graph, workers=workers, durations=seconds, steps=3000, method="solver")
    assert found.makespan_s == max(path, -(-work // workers))
    assert found.gap == pytest.approx(0.0, abs=1e-9)


@needs_solver
@pytest.mark.parametrize(("example", "length"), [(TOPCUOGLU, 73.0), (ARABNEJAD, 113.0)])
def test_with_copies_the_solver_proves_the_optimum_of_published_examples(example, length):
    """HEFT has 80 on the first, PEFT 122 on the second; the bounds that know copies are below."""
    costs, volumes = example
    problem = problem_of(costs, volumes)
    platform = processors(range(3))
    limit = SolverLimit(None, 5.0, 1, 0)
    assert bound_of(problem, limit, at_least_s=0.0, platform=platform) == pytest.approx(length)
    assert bound_of(problem, limit, at_least_s=0.0) < length
    names = ("P0", "P1", "P2")
    with_copies = mixed_bound(problem, names, platform)
    assert mixed_bound(problem, names).value_s < with_copies.value_s <= length
    binding = with_copies.binding
    assert binding.copies > 0
    assert sum(binding.kernels.values()) + binding.idle + binding.copies == pytest.approx(1.0)
    assert sum(binding.classes.values()) + binding.path == pytest.approx(1.0)


def test_devices_of_a_kind_that_are_nearly_equal_are_one_class_to_the_solver():
    """Its optimum is none of theirs, but a bound on it: each task counts as on the fastest."""
    workers = tuple(Worker(k, f"gpu{k}", "cuda" if k < 3 else "cpu", 0) for k in range(4))
    platform = Platform("devices", workers, (Memory(0, "ram"),))
    graph = tasksim.generate("chain", length=2)
    costs = np.array([[10.0, 11.0], [11.0, 10.0], [10.0, 20.0], [10.0, 10.0]])
    numbers = np.arange(4)
    problem = Problem(graph, costs.T, numbers, numbers * 0, np.zeros((1, 1)), np.zeros((1, 1)))
    merged = with_near_classes_merged(problem, platform)
    assert merged.class_of.tolist() == [0, 0, 1, 2]
    assert merged.costs_s.T.tolist() == [[10.0, 10.0], [10.0, 20.0], [10.0, 10.0]]


def test_windows_that_were_added_after_the_last_solution_do_not_bind(monkeypatch):
    """As if the time were over after the first solution."""
    monkeypatch.setattr(boundprogram, "MAX_ROUNDS", 1)
    graph = tasksim.generate("fork-join", width=8, duration=1.0)
    found = mixed_bound(Problem.of(graph, Platform.identical(4), np.ones((1, 10))), ("cpu",))
    assert len(found.windows) > 1
    assert found.value_s == pytest.approx(3.0, rel=1e-5)
    assert found.binding.idle == pytest.approx(0.0)


def test_a_slow_link_binds():
    """Four data of a gigabyte each cross a link of a gigabyte per second to the only worker."""
    builder = GraphBuilder("readers")
    for k in range(4):
        builder.insert("task", R(builder.handle(f"x{k}", size_bytes=10**9)))
    memories = (Memory(0, "ram"), Memory(1, "device"))
    link = Link(0, "bus", (0, 1), 1e9)
    platform = Platform("far", (Worker(0, "gpu0", "cuda", 1),), memories, links=(link,))
    problem = Problem.of(builder.build(), platform, np.full((1, 4), 0.5))
    found = mixed_bound(problem, ("cuda",), platform)
    assert found.value_s == pytest.approx(4.0, rel=1e-5)
    assert found.binding.links == {"bus": pytest.approx(1.0)}
    assert found.binding.copies == pytest.approx(1.0)
    assert mixed_bound(problem, ("cuda",)).value_s == pytest.approx(2.0, rel=1e-5)


@st.composite
def tiny_scenarios(draw):
    """Up to four tasks on cores and devices with memories of their own, and links between them."""
    devices = draw(st.integers(1, 2))
    cores = draw(st.integers(1, 3 - devices))
    workers = [Worker(k, f"cpu{k}", "cpu", 0) for k in range(cores)]
    workers += [Worker(cores + k, f"gpu{k}", "cuda", 1 + k) for k in range(devices)]
    memories = tuple(Memory(k, f"m{k}") for k in range(1 + devices))
    bandwidth = float(draw(st.sampled_from([1e6, 3e6])))
    links = tuple(Link(k, f"l{k}", (0, 1 + k), bandwidth, 0.1) for k in range(devices))
    platform = Platform("tiny", tuple(workers), memories, links=links)
    builder = GraphBuilder("tiny")
    handles = [
        builder.handle(f"x{k}", size_bytes=draw(st.sampled_from([0, 1_000_000, 5_000_000])))
        for k in range(3)
    ]
    seconds = {}
    for task in range(draw(st.integers(1, 4))):
        chosen = draw(st.dictionaries(st.integers(0, 2), st.sampled_from([R, RW, W]), max_size=2))
        accesses = [mode(handles[k]) for k, mode in sorted(chosen.items())]
        builder.insert(f"k{task}", *accesses)
        seconds[f"k{task}"] = float(draw(st.integers(1, 4)))
        seconds[f"cuda:k{task}"] = float(draw(st.integers(1, 4)))
    return tasksim.Scenario(builder.build(), platform=platform, durations=seconds)


@settings(max_examples=few(25), deadline=None)
@given(scenario=tiny_scenarios())
def test_no_replay_of_any_plan_is_shorter_than_a_bound_with_copies(scenario):
    replayer = Replayer(resolve(scenario).simulation())
    tasks, edges = len(replayer.graph), replayer.problem.edges
    orders = [
        np.array(order)
        for order in permutations(range(tasks))
        if all(order.index(a) < order.index(b) for a, b in zip(*edges[:2], strict=True))
    ]
    plans = product(range(replayer.problem.workers), repeat=tasks)
    best_s = min(
        replayer.makespan_s(np.array(worker), order) for worker in plans for order in orders
    )
    for found in tight_bounds(replayer, 0.5 if has_solver() else 0.0):
        assert found.value_s <= best_s
    found = tasksim.optimize(scenario, steps=400, method="annealing")
    assert found.makespan_s == pytest.approx(best_s)
    assert found.bound_s <= best_s


def test_without_the_solver_annealing_goes_on(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools", None)
    with pytest.raises(tasksim.InputError, match=r"pip install 'tasksim\[optimize\]'"):
        tasksim.optimize("fork-join width=3", workers=2, method="solver", steps=1)
    found = tasksim.optimize("fork-join width=4 duration=1.0", workers=3, steps=50)
    assert found.makespan_s == 4.0
