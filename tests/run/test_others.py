"""Time that others took from a native run, in tasks and between them, over time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tasksim.run.crowding import BEAT_EXPONENTS, DETOUR_S, PULSE_WEIGHTS, crowding
from tasksim.run.facts import run_facts
from tasksim.run.others import (
    crowded_share,
    disturbance_account,
    disturbance_summary,
    others_between_s,
    others_curve,
    others_percent,
    others_s,
)
from tasksim.run.record import Disturbance
from tasksim.run.undisturbed import undisturbed_s, with_core_s
from tasksim.scenario.alone import with_alone


def a_run(make, waited_s=(3.0, 1.0)):
    """Return two workers: one loses 2 of the 4 s of its task, the other ends after 5 s of 8."""
    rows = [(0, 0, 0.0, 0.0, 0.0, 4.0, -1), (0, 1, 0.0, 0.0, 0.0, 5.0, -1)]
    rows.append((0, 0, 0.0, 0.0, 6.0, 8.0, -1))
    run = make.run(rows, workers=("cpu0", "cpu1"))
    tasks = replace(run.tasks, cpu_s=[2.0, 5.0, 2.0], preemptions=[1, 0, 0])
    told = Disturbance(waited_s, (1, 0))
    return replace(run, kind="native", tasks=tasks, disturbance=told)


def test_what_others_took_in_tasks_and_between_them(make):
    run = a_run(make)
    assert others_s(run) == pytest.approx([2.0, 0.0, 0.0])
    assert others_between_s(run) == pytest.approx([1.0, 1.0])
    assert others_percent(run) == pytest.approx([100 * 3 / 8, 100 / 8])


def test_what_others_took_on_the_same_processor_is_taken_from_its_worker(make):
    run = a_run(make)
    tasks = replace(run.tasks, pulse=[1.0, 1.0, 1.0], beat=[1.25, 1.0, 1.0])
    slowed_s = 2.0 - 2.0 / 1.25 ** BEAT_EXPONENTS[0]
    found = others_percent(replace(run, tasks=tasks))
    assert found == pytest.approx([100 * (3 + slowed_s) / 8, 100 / 8])


def test_over_time_it_adds_up_to_all_that_workers_waited(make):
    """cpu0 lacks half of its core in a task and in a gap, cpu1 a third of its in the end."""
    edges = np.array([0.0, 4.0, 5.0, 6.0, 8.0])
    found = others_curve(a_run(make), edges)
    assert found == pytest.approx(np.array([0.5, 0.5, 0.5 + 1 / 3, 1 / 3]) / 2)
    assert 2 * found @ np.diff(edges) == pytest.approx(4.0)


def test_what_nobody_knows_is_nothing(make):
    known = a_run(make, (None, 1.0))
    assert others_between_s(known) == pytest.approx([0.0, 1.0])
    assert np.isnan(others_percent(known)).tolist() == [True, False]
    run = make.run([(0, 0, 0.0, 0.0, 0.0, 4.0, -1)])
    assert np.isnan(others_percent(run)).all()
    assert others_curve(run, np.array([0.0, 1.0, 4.0])).tolist() == [0.0, 0.0]


def test_no_core_is_lost_twice(make):
    """More than a worker's whole gap is lost, where threads wait before their first task."""
    assert others_curve(a_run(make, (9.0, 9.0)), np.array([4.0, 5.0, 6.0])).tolist() == [0.5, 1.0]


def test_a_task_takes_less_without_others_on_the_same_processor(make):
    run = make.losing([0.0, 0.0, 1.0, 0.0, 0.0], [0, 0, 1, 0, 0])
    tasks = replace(run.tasks, pulse=[1.0, 1.5, 1.8, 100.0, np.nan])
    run = replace(run, tasks=tasks, disturbance=Disturbance((1.0,), (1,), 0.0))
    weight = PULSE_WEIGHTS["gemm"]
    factors = [1.0, 1 + 0.5 * weight, 1 + 0.8 * weight, 1 + weight, 1.0]
    assert crowding(run) == pytest.approx(factors)
    assert with_core_s(run) == pytest.approx([1.0] * 5)
    assert undisturbed_s(run) == pytest.approx(np.divide(1.0, factors))
    # Time without a core is one thing, time on a shared core another.
    assert others_between_s(run) == pytest.approx([0.0])
    share = disturbance_account(run)["crowded_share"]
    assert share == pytest.approx(1 - (np.divide([1, 1, 2, 1, 1], factors)).sum() / 6)
    assert f"took {100 * share:.0f} % of the tasks' time" in disturbance_summary(run)


def test_without_pulses_nobody_knows_of_others_on_the_processor(make):
    run = replace(make.losing([0.0], [0]), disturbance=Disturbance((0.0,), (0,)))
    assert crowded_share(run) is None
    assert "same processor" not in disturbance_summary(run)


def test_the_account_in_a_sentence(make):
    run = replace(make.losing([0.0, 1.0], [0, 1]), disturbance=Disturbance((1.0,), (1,)))
    assert disturbance_summary(run) == (
        "had the cores for 1 s (33.3 % of one worker), 1 of 2 tasks were preempted"
    )


def test_the_account_as_json_and_among_the_facts(make):
    told = Disturbance((1.0,), (4,), steal_s=0.0, alone_s=2.5, pressure_s=1.5)
    run = replace(make.losing([0.0, 1.0], [0, 1]), disturbance=told)
    account = disturbance_account(run)
    assert account["others_s"] == 1.0
    assert account["others_share"] == pytest.approx(1 / 3)
    assert account["preempted_tasks"] == 1
    assert (account["waited_s"], account["preemptions"]) == ({"cpu0": 1.0}, {"cpu0": 4})
    assert (account["blocking_kernels"], account["alone_s"]) == ([], 2.5)
    assert account["pressure_s"] == 1.5
    facts = dict(run_facts(run))
    assert facts["others"].startswith("had the cores for 1 s (33.3 % of one worker), 1 of 2 tasks")
    assert facts["alone"].startswith("2.5 s (")
    unknown = make.run([(1, 0, 0, 0, 0, 2.5, -1)])
    assert disturbance_account(unknown) is None
    assert not {"others", "alone"} & dict(run_facts(unknown)).keys()


def test_a_limit_is_said(make):
    run = replace(make.losing([0.0], [0]), disturbance=Disturbance((0.0,), (0,), None, 0.25))
    assert disturbance_summary(run).endswith("; a limit on processor time held it up for 250 ms")


def test_a_detour_is_told_and_what_it_costs_is_not_in_the_makespan_alone(make):
    graph, run = make.passed_on("geqrt", 1e9, detour_s=DETOUR_S)
    assert "data took 160 ns longer between them" in disturbance_summary(run)
    assert disturbance_account(run)["detour_s"] == DETOUR_S
    first_s, _, last_s = undisturbed_s(run, graph)
    # Alone, both workers read at once what the first has written.
    assert with_alone(run, graph).disturbance.alone_s == pytest.approx(first_s + last_s)
    _, near = make.passed_on("geqrt", 1e9, detour_s=10e-9)
    assert "longer" not in disturbance_summary(near)
