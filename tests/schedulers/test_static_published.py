"""Examples whose schedules are printed in papers and in other people's tests."""

from __future__ import annotations

import numpy as np
import pytest
from classic import (
    ARABNEJAD,
    TOPCUOGLU,
    assert_valid,
    graph_of,
    problem_of,
    processors,
    timeline,
)
from scripted import replay_of

from tasksim.base.errors import InputError
from tasksim.engine.durations import durations
from tasksim.engine.simulation import Simulation
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import GraphBuilder, R, W
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.platform.description import Platform
from tasksim.schedulers.registry import create
from tasksim.schedulers.static import ALGORITHMS, Problem, plan
from tasksim.schedulers.static.peft import optimistic_costs
from tasksim.schedulers.static.plan import Timetable
from tasksim.schedulers.static.ranked import (
    by_rank,
    critical_tasks,
    downward_ranks,
    upward_ranks,
)

UPWARD = [108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667]
DOWNWARD = [0, 31, 25, 22, 24, 27, 62.333, 66.667, 63.667, 93.333]
LEAVE_WORKERS_IDLE = ("mct", "met", "olb")
"""Algorithms that place tasks behind others whose data come later."""
CHOLESKY = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}


def test_heft_reproduces_its_papers_timeline():
    made = plan("heft", problem_of(*TOPCUOGLU))
    assert made.makespan_s == 80
    assert timeline(made, 3) == [
        [(2, 27, 40), (8, 57, 62)],
        [(4, 18, 26), (6, 26, 42), (9, 56, 68), (10, 73, 80)],
        [(1, 0, 9), (3, 9, 28), (5, 28, 38), (7, 38, 49)],
    ]


def test_ranks_of_the_heft_paper():
    problem = problem_of(*TOPCUOGLU)
    assert upward_ranks(problem).tolist() == pytest.approx(UPWARD, abs=5e-4)
    assert downward_ranks(problem).tolist() == pytest.approx(DOWNWARD, abs=5e-4)


def test_equal_ranks_keep_the_order_of_the_tasks_whatever_was_rounded():
    problem = problem_of(*TOPCUOGLU)
    ranks = upward_ranks(problem)
    assert [task + 1 for task in by_rank(ranks)] == [1, 3, 4, 2, 5, 6, 9, 7, 8, 10]
    for nudge in (1e-13, -1e-13):
        ranks[3] += nudge
        assert by_rank(ranks)[1:3] == [2, 3]


def test_cpop_reproduces_its_papers_makespan_and_critical_path():
    problem = problem_of(*TOPCUOGLU)
    priority = upward_ranks(problem) + downward_ranks(problem)
    assert [task + 1 for task in critical_tasks(problem, priority)] == [1, 2, 9, 10]
    made = plan("cpop", problem)
    assert made.makespan_s == 86
    assert made.worker[[0, 1, 8, 9]].tolist() == [1, 1, 1, 1]


def test_peft_reproduces_its_papers_table_and_makespan():
    problem = problem_of(*ARABNEJAD)
    assert optimistic_costs(problem).tolist() == [
        [64, 68, 86], [42, 39, 42], [27, 41, 43], [42, 39, 50], [28, 37, 28],
        [42, 39, 44], [13, 16, 22], [13, 16, 33], [13, 16, 20], [0, 0, 0],
    ]  # fmt: skip
    assert plan("peft", problem).makespan_s == 122
    assert plan("heft", problem).makespan_s == 133


def test_a_second_copy_of_the_paper_graph_from_time_10_on_ends_at_109():
    """The second graph is put into the gaps of the first one's schedule; a clock holds it back."""
    costs, volumes = TOPCUOGLU
    shifted = {(a + 11, b + 11): size for (a, b), size in volumes.items()}
    graph = graph_of(21, volumes | shifted, waits={12: [10]})
    inf = float("inf")
    table = [(*row, inf) for row in costs] + [(inf, inf, inf, 10)] + [(*row, inf) for row in costs]
    problem = Problem.of(graph, processors(range(4)), np.array(table).T)
    order = by_rank(upward_ranks(problem_of(*TOPCUOGLU)))
    timetable = Timetable(problem)
    for task in [*order, 10, *(task + 11 for task in order)]:
        timetable.place_earliest(task)
    made = timetable.plan()
    assert_valid(made, problem)
    assert made.end_s[:10].max() == 80
    assert made.makespan_s == 109


@pytest.mark.parametrize("example", [TOPCUOGLU, ARABNEJAD], ids=["topcuoglu", "arabnejad"])
@pytest.mark.parametrize("order", ["strict", "ready"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_simulation_of_the_classic_model_is_the_plan(name, order, example):
    """If a plan lets a ready task wait for no reason, order=ready departs from it."""
    if order == "ready" and name in LEAVE_WORKERS_IDLE:
        pytest.skip("its plan leaves workers idle that could go on")
    costs, volumes = example
    table = np.array(costs, dtype=float).T.tolist()
    scheduler = create(f"{name}:order={order}")
    replay = replay_of(graph_of(len(costs), volumes), processors(range(3)), scheduler, table)
    replay.run(0)
    assert replay.ledger.worker == scheduler.plan.worker.tolist()
    assert list(replay.ledger.end) == pytest.approx(scheduler.plan.end_s.tolist())


@pytest.mark.parametrize(("workers", "makespan_s"), [(1, 8000), (4, 2008), (8, 1014)])
def test_heft_on_cholesky_without_communication(workers, makespan_s):
    """The makespans on which three other simulators agree."""
    graph, platform = generate("cholesky", tiles=20), Platform.identical(workers)
    models = ConstantLibrary(CHOLESKY)
    made = plan("heft", Problem.of(graph, platform, durations(graph, platform, models)))
    assert made.makespan_s == makespan_s
    assert Simulation(graph, platform, models, "heft").run(check=True).makespan_s == makespan_s


def estee_plan1():
    """Eight tasks whose outputs have several readers (Estee's test graph plan1)."""
    g = GraphBuilder("plan1")
    a1, a2, a3_0, a3_1, a4, a5, a6, a7 = (
        g.handle(name, size_bytes=size)
        for name, size in zip(["a1", "a2", "a3[0]", "a3[1]", "a4", "a5", "a6", "a7"],
                              [1, 3, 1, 1, 6, 1, 1, 2], strict=True)
    )  # fmt: skip
    g.insert("task", W(a1))
    g.insert("task", W(a2))
    g.insert("task", R(a1), W(a3_0), W(a3_1))
    g.insert("task", W(a4))
    g.insert("task", R(a3_0), R(a2), R(a4), W(a5))
    g.insert("task", R(a4), W(a6))
    g.insert("task", W(a7))
    g.insert("task", R(a5), R(a6), R(a7), R(a3_1))
    return g.build(), [2.0, 3, 2, 1, 1, 6, 1, 1]


def test_levels_of_estees_plan1():
    graph, seconds = estee_plan1()
    problem = Problem.of(graph, processors([0, 1]), [seconds, seconds])
    assert upward_ranks(problem).tolist() == [9, 9, 6, 15, 3, 8, 4, 1]
    assert downward_ranks(problem).tolist() == [0, 0, 3, 0, 7, 7, 0, 14]
    ranks = upward_ranks(problem) + downward_ranks(problem)
    assert [task + 1 for task in critical_tasks(problem, ranks)] == [4, 6, 8]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_estees_plan1_on_one_worker_and_on_two(name):
    graph, seconds = estee_plan1()
    assert plan(name, Problem.of(graph, processors([0]), [seconds])).makespan_s == 17
    problem = Problem.of(graph, processors([0, 1]), [seconds, seconds])
    made = plan(name, problem)
    assert_valid(made, problem)
    assert 9 <= made.makespan_s <= 17


def test_an_unknown_algorithm_is_told_with_the_nearest():
    with pytest.raises(InputError, match=r"unknown static scheduling algorithm 'heff', did you"):
        plan("heff", problem_of(*TOPCUOGLU))
