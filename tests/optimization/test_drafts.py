"""Drafts: estimates that learn from replays, and walks that the core and Python go alike."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest
from compiled_core import only_with_core
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from plans import drawn_plan
from strategies import graphs, machines, moving_graphs
from tiers import few

import tasksim
from tasksim.core import interface
from tasksim.engine.simulation import Simulation
from tasksim.models.kinds.given import GivenDurations
from tasksim.optimization import drafts
from tasksim.optimization.drafts import Drafts
from tasksim.optimization.replayer import Replayer
from tasksim.platform.description import Platform
from tasksim.scenario.resolved import resolve

WALK = {"temperature_s": 0.01, "seed": 3}


def replayer_of(graph, platform):
    return Replayer(Simulation(graph, platform, GivenDurations(graph)))


def estimate_s(made, plan):
    return made.walk(*plan, steps=0, **WALK).last_s


@settings(max_examples=few(60), deadline=None)
@given(graph=graphs(max_tasks=15), workers=st.integers(1, 4), seed=st.integers(0, 2**32))
def test_in_one_memory_the_estimate_is_the_replay(graph, workers, seed):
    """Unless tasks commute, which may run in another order than that of their list."""
    assume(len(graph))
    replayer = replayer_of(graph, Platform.identical(workers))
    assume(not replayer.problem.commuting)
    plan = drawn_plan(replayer.problem, seed)
    made = Drafts(replayer.problem, replayer.platform)
    assert estimate_s(made, plan) == pytest.approx(replayer.makespan_s(*plan), abs=1e-7)


@settings(max_examples=few(60), deadline=None)
@given(platform=machines(sizes=(None,)), graph=moving_graphs(), seed=st.integers(0, 2**32))
def test_an_estimate_that_has_learned_a_replay_is_as_long(platform, graph, seed):
    assume(len(graph))
    replayer = replayer_of(graph, platform)
    assume(not replayer.problem.commuting)
    plan = drawn_plan(replayer.problem, seed)
    made = Drafts(replayer.problem, replayer.platform)
    found_s = replayer.makespan_s(*plan)
    made.learn(*plan, replayer.table())
    assert estimate_s(made, plan) == pytest.approx(found_s, rel=1e-9, abs=1e-6)


@only_with_core
@settings(max_examples=few(60), deadline=None)
@given(platform=machines(sizes=(None,)), graph=moving_graphs(), seed=st.integers(0, 2**32))
def test_the_core_and_python_walk_alike(platform, graph, seed):
    assume(len(graph))
    replayer = replayer_of(graph, platform)
    problem = replayer.problem
    one, other = (Drafts(problem, platform, compiled=compiled) for compiled in (True, False))
    plan = drawn_plan(problem, seed)
    for number in range(3):
        asked = {"steps": 40, "temperature_s": 0.05 * number, "seed": seed + number}
        walked, same = one.walk(*plan, **asked), other.walk(*plan, **asked)
        assert np.array_equal(walked.worker, same.worker)
        assert np.array_equal(walked.order, same.order)
        assert walked[2:] == same[2:]
        plan = walked.worker, walked.order
        place = np.argsort(plan[1])
        assert (place[problem.edges.source] < place[problem.edges.target]).all()
        assert replayer.able[np.arange(problem.tasks), plan[0]].all()
        replayer.makespan_s(*plan)
        for made in (one, other):
            made.learn(*plan, replayer.table())


KERNELS = dict.fromkeys(("potrf", "trsm", "syrk", "gemm"), 1.0)


def test_a_cold_walk_makes_no_estimate_longer():
    asked = tasksim.Scenario("cholesky tiles=4", workers=3, models=KERNELS)
    replayer = Replayer(resolve(asked).simulation())
    made = Drafts(replayer.problem, replayer.platform)
    plan = drawn_plan(replayer.problem, 1)
    walked = made.walk(*plan, steps=2000, temperature_s=0.0, seed=1)
    assert walked.last_s < walked.first_s
    assert walked.last_s == pytest.approx(replayer.makespan_s(walked.worker, walked.order))


def test_a_search_without_the_core_finds_the_same_plan(monkeypatch):
    asked = tasksim.Scenario("cholesky tiles=3", workers=3, models=KERNELS)
    one = tasksim.optimize(asked, steps=20, method="annealing")
    monkeypatch.setattr(drafts.interface, "functions", lambda: None)
    other = tasksim.optimize(asked, steps=20, method="annealing")
    assert np.array_equal(one.plan.worker, other.plan.worker)
    assert np.array_equal(one.plan.start_s, other.plan.start_s)


def all_plans(problem):
    """Return each worker of each task, with each order in which predecessors come first."""
    edges = list(zip(problem.edges.source, problem.edges.target, strict=True))
    tasks = range(problem.tasks)
    orders = [
        order
        for order in itertools.permutations(tasks)
        if all(order.index(one) < order.index(other) for one, other in edges)
    ]
    for order in orders:
        for worker in itertools.product(range(problem.workers), repeat=problem.tasks):
            yield np.array(worker), np.array(order)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_all_schedules_of_a_tiny_graph_is_found(seed):
    """With copies: two workers with a memory each."""
    rng = np.random.default_rng(seed)
    builder = tasksim.GraphBuilder("tiny")
    data = [builder.handle(f"x{task}", size_bytes=1e6) for task in range(5)]
    seconds = {}
    for task in range(5):
        before = [data[k] for k in range(task) if rng.random() < 0.5]
        builder.insert(f"k{task}", *map(tasksim.R, before), tasksim.W(data[task]))
        seconds[f"k{task}"] = float(rng.uniform(1e-4, 1e-3))
        seconds[f"cuda:k{task}"] = float(rng.uniform(1e-4, 1e-3))
    memories = (tasksim.Memory(0, "ram"), tasksim.Memory(1, "gpu0"))
    workers = (tasksim.Worker(0, "cpu0", "cpu", 0), tasksim.Worker(1, "gpu0", "cuda", 1))
    links = (tasksim.Link(0, "bus", (0, 1), 5e9),)
    platform = Platform("two", workers, memories, links=links)
    asked = tasksim.Scenario(builder.build(), platform=platform, durations=seconds)
    found = tasksim.optimize(asked, steps=400, method="annealing", seed=seed)
    replayer = Replayer(resolve(asked).simulation())
    best_s = min(replayer.makespan_s(*plan) for plan in all_plans(replayer.problem))
    assert found.makespan_s == best_s


@only_with_core
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cost", np.nan), ("cost", np.inf), ("class_of", 9), ("memory_of", -1), ("before", 7),
        ("before_ptr", 1), ("next", 0), ("size_bytes", -1.0), ("lag", np.nan),
    ],
)  # fmt: skip
def test_the_core_refuses_arrays_that_are_no_problem(name, value):
    replayer = replayer_of(tasksim.generate("chain", length=3, duration=1.0), Platform.identical(2))
    columns = Drafts(replayer.problem, replayer.platform)._columns
    columns[name] = np.full_like(columns[name], value)
    asked = interface.Drafts(
        tasks=3, workers=2, classes=1, memories=1, tick_s=1e-9,
        **{column: values.ctypes.data for column, values in columns.items()},
    )  # fmt: skip
    assert interface.functions().tasksim_drafts_new(ctypes.byref(asked)) is None


@only_with_core
@pytest.mark.parametrize(
    ("worker", "order"), [([0, 0, 2], [0, 1, 2]), ([0, 0, 0], [1, 0, 2]), ([0, 0, 0], [0, 1, 1])]
)
def test_the_core_refuses_what_is_no_schedule(worker, order):
    replayer = replayer_of(tasksim.generate("chain", length=3, duration=1.0), Platform.identical(2))
    made = Drafts(replayer.problem, replayer.platform)
    with pytest.raises(AssertionError, match="refuses a schedule"):
        made.walk(np.array(worker), np.array(order), steps=1, **WALK)
