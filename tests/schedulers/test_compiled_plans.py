"""Static plans of the compiled core: those of the planners in Python, to the last bit."""

from __future__ import annotations

import ctypes
import random
from functools import partial

import numpy as np
import pytest
from by_the_book import problems
from hypothesis import given, settings
from tiers import few

from tasksim.base.interruption import Stopped
from tasksim.core import interface
from tasksim.core.library import status
from tasksim.graph.builder import RW, Commute, GraphBuilder, R, W
from tasksim.platform.description import Platform
from tasksim.schedulers.static import ALGORITHMS, Problem, compiled
from tasksim.schedulers.static.balanced import fcp
from tasksim.schedulers.static.batch import max_min, min_min
from tasksim.schedulers.static.immediate import met
from tasksim.schedulers.static.pairs import dls, gdl, wba

pytestmark = pytest.mark.skipif(not status().available, reason=f"the core is {status().why}")

NAMES = (
    "heft", "cpop", "peft", "min-min", "max-min", "sufferage", "mct", "met", "olb", "fastest-node",
    "etf", "dls", "gdl", "bil", "fcp", "flb", "wba",
)  # fmt: skip
"""Algorithms that the core has; others are made of these, or planned in Python."""
PLANNERS = {name: ALGORITHMS[name] for name in NAMES} | {
    "min-min in rounds": partial(min_min, rounds=True),
    "max-min in rounds": partial(max_min, rounds=True),
    "met, free first": partial(met, ties="free"),
    "dls by means": partial(dls, average="mean", descendants=True),
    "gdl by means": partial(gdl, average="mean", descendants=False),
    "fcp with a queue of two": partial(fcp, queue=2),
    "wba with any pair": partial(wba, alpha=1.0),
}


def without_core(planner, problem):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(interface, "functions", lambda: None)
        return planner(problem)


def bytes_of(plan):
    columns = (plan.worker, plan.start_s, plan.end_s)
    return [(str(column.dtype), column.tobytes()) for column in columns]


def drawn_problem(seed):
    """More tasks and workers than Hypothesis draws: sums of NumPy have another order then."""
    draw = random.Random(seed)
    tasks, workers = draw.choice((9, 40, 90)), draw.choice((3, 9, 17))
    g = GraphBuilder("drawn")
    data = [g.handle(f"x{k}", size_bytes=draw.randrange(3000)) for k in range(tasks // 2)]
    for task in range(tasks):
        modes = (R, R, W, RW, Commute) if seed % 2 else (R, R, W, RW)
        accesses = [draw.choice(modes)(x) for x in draw.sample(data, draw.randrange(3))]
        g.insert("task", *accesses, after=draw.sample(range(task), min(task, draw.randrange(3))))
    memory_of = np.array([draw.randrange(1 + seed % 4) for _ in range(workers)])
    classes = workers if seed % 3 else 2
    class_of = np.arange(workers) if seed % 3 else np.array([memory % 2 for memory in memory_of])
    costs = np.array([[draw.random() for _ in range(classes)] for _ in range(tasks)])
    costs[:, 1:][np.random.default_rng(seed).random((tasks, classes - 1)) < 0.2] = np.inf
    costs[:, class_of[0]] = np.where(np.isinf(costs[:, class_of[0]]), 1.0, costs[:, class_of[0]])
    latency, inverse = np.random.default_rng(seed).random((2, 4, 4)) * 1e-3
    for times in (latency, inverse):
        np.fill_diagonal(times, 0.0)
    return Problem(g.build(), costs, class_of, memory_of, latency, inverse)


@settings(max_examples=few(100), deadline=None)
@given(problem=problems())
def test_plans_of_the_core_are_those_of_python(problem):
    for name, planner in PLANNERS.items():
        expected = bytes_of(without_core(planner, problem))
        assert bytes_of(planner(problem)) == expected, name


@pytest.mark.parametrize("seed", range(few(60)))
def test_plans_of_many_workers_are_those_of_python(seed):
    problem = drawn_problem(seed)
    for name, planner in PLANNERS.items():
        expected = bytes_of(without_core(planner, problem))
        assert bytes_of(planner(problem)) == expected, name


def numbers_of(name, tasks):
    options = {"min-min": 1, "max-min": 1, "met": 1, "dls": 2, "gdl": 2, "fcp": 1}
    return [0.5] * (1 + tasks) if name == "wba" else [1.0] * options.get(name, 0)


@pytest.mark.parametrize("name", NAMES)
def test_the_core_has_the_algorithm(name):
    problem = drawn_problem(4)
    assert compiled.compiled_plan(problem, name, *numbers_of(name, problem.tasks)) is not None
    assert compiled.compiled_plan(problem, name, *numbers_of(name, problem.tasks), 1.0) is None
    assert compiled.compiled_plan(problem, f"{name}-", *numbers_of(name, problem.tasks)) is None


def test_problems_with_other_values_share_their_graph():
    problem = drawn_problem(1)
    assert bytes_of(ALGORITHMS["heft"](problem))
    other = problem.with_values(
        np.ascontiguousarray(problem.costs_s[::-1]),
        problem.edges.size_bytes * 3 + 1,
        problem.seconds_per_byte * 2,
    )
    assert vars(other)["_compiled_graph"] is vars(problem)["_compiled_graph"]
    made = ALGORITHMS["heft"](other)
    assert bytes_of(made) != bytes_of(ALGORITHMS["heft"](problem))
    assert bytes_of(made) == bytes_of(without_core(ALGORITHMS["heft"], other))


def test_a_problem_with_other_edges_is_planned_by_these():
    """A chain of three tasks, though the graph has independent ones."""
    g = GraphBuilder("free")
    for _ in range(3):
        g.insert("task")
    free = Problem.of(g.build(), Platform.identical(3), np.ones((1, 3)))
    assert ALGORITHMS["heft"](free).makespan_s == 1.0
    chain = GraphBuilder("chain")
    for task in range(3):
        chain.insert("task", after=range(max(0, task - 1), task))
    edges = Problem.of(chain.build(), Platform.identical(3), np.ones((1, 3))).edges
    for planner in (ALGORITHMS["heft"], ALGORITHMS["etf"], ALGORITHMS["lookahead"]):
        assert planner(free.with_edges(edges)).makespan_s == 3.0
        assert planner(free.with_edges(edges).with_costs(np.full((3, 1), 2.0))).makespan_s == 6.0


def test_python_plans_what_does_not_lie_as_the_core_reads_it():
    problem = drawn_problem(2)
    turned = problem.with_costs(np.asfortranarray(problem.costs_s))
    assert compiled.compiled_plan(turned, "heft") is None
    assert bytes_of(ALGORITHMS["heft"](turned))


@pytest.mark.parametrize("seed", range(few(500)))
def test_nonsense_is_refused_or_planned(seed):
    """Arrays with some wrong entries, of the right lengths: the core does not crash."""
    draw = random.Random(seed)
    problem = drawn_problem(draw.randrange(60))
    structure = compiled._structure(problem)
    kept = []
    lengths = {
        "cost": problem.costs_s.size, "class_of": problem.workers, "memory_of": problem.workers,
        "latency_s": 16, "seconds_per_byte": 16, "ptr": problem.tasks + 1,
        "by_target": len(problem.edges.source), "source": len(problem.edges.source),
        "target": len(problem.edges.source), "size": len(problem.edges.source),
        "target_ptr": problem.tasks + 1, "initial_task": len(problem.initial.task),
        "initial_home": len(problem.initial.task),
    }  # fmt: skip
    for name in draw.sample(sorted(lengths), draw.randint(1, 2)):
        floats = name in ("cost", "latency_s", "seconds_per_byte", "size")
        kind = ctypes.c_double if floats else ctypes.c_int64
        array = (kind * lengths[name]).from_address(getattr(structure, name))
        array = (kind * lengths[name])(*array)
        if len(array):
            wrong = (-1.0, 0.0, np.nan, np.inf, 1e300) if floats else (-1, 0, 1, 3, 91, 2**62)
            array[draw.randrange(len(array))] = draw.choice(wrong)
        kept.append(array)
        setattr(structure, name, ctypes.addressof(array))
    worker = np.empty(problem.tasks, np.int32)
    start, end = np.empty((2, problem.tasks))
    made = interface.PlanMade(worker.ctypes.data, start.ctypes.data, end.ctypes.data)
    for name in NAMES:
        numbers = numbers_of(name, problem.tasks)
        said = interface.functions().tasksim_plan(
            structure, name.encode(), (ctypes.c_double * len(numbers))(*numbers), len(numbers), made
        )
        assert said in (interface.CallStatus.DONE, interface.CallStatus.BAD_ARRAYS)


def test_a_long_plan_can_be_interrupted(monkeypatch):
    """Of 20,000 tasks at once, ETF compares each with each other: that takes seconds."""
    g = GraphBuilder("many")
    for _ in range(20_000):
        g.insert("task")
    problem = Problem.of(g.build(), Platform.identical(4), np.ones((1, 20_000)))

    def asked_to_give_up():
        raise Stopped

    monkeypatch.setattr(compiled, "POLL_S", 1e-3)
    monkeypatch.setattr(compiled, "give_up_if_asked", asked_to_give_up)
    with pytest.raises(Stopped):
        ALGORITHMS["etf"](problem)


def test_a_long_plan_is_the_same_in_a_thread(monkeypatch):
    problem = drawn_problem(3)
    expected = bytes_of(ALGORITHMS["heft"](problem))
    monkeypatch.setattr(compiled, "MAX_UNINTERRUPTED_TASKS", 0)
    assert bytes_of(ALGORITHMS["heft"](problem)) == expected
