"""Searches for schedules: never worse than a heuristic, repeatable, resumable, followed as said."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import graphs
from tiers import few

import tasksim
from tasksim.base.errors import InputError
from tasksim.optimization import chains, search
from tasksim.optimization.annealing import Annealing
from tasksim.optimization.bounds import mixed_bound
from tasksim.optimization.chains import ROUND_COUNT
from tasksim.optimization.replayer import Replayer
from tasksim.optimization.schedule import schedule_from
from tasksim.optimization.search import HEURISTICS
from tasksim.platform.description import Link, Memory, Platform, Worker
from tasksim.scenario.resolved import resolve
from tasksim.schedulers.static.plan import schedule_of

CORES = tuple(Worker(core, f"cpu{core}", "cpu", 0) for core in range(3))
HYBRID = Platform("hybrid", (*CORES, Worker(3, "gpu0", "cuda", 0)), (Memory(0, "ram"),))
DURATIONS = "potrf=2,trsm=5,syrk=5,gemm=9,cuda:potrf=1,cuda:trsm=1.5,cuda:syrk=1,cuda:gemm=1"
BASE_SCENARIO = tasksim.Scenario("cholesky tiles=5", platform=HYBRID, durations=DURATIONS)


def test_no_heuristic_is_better_and_the_plan_takes_as_long_as_it_says(tmp_path):
    found = tasksim.optimize(BASE_SCENARIO, steps=2000, seed=3, method="annealing")
    assert set(found.heuristics) == set(HEURISTICS)
    assert found.makespan_s < min(found.heuristics.values())
    assert found.bound_s <= found.makespan_s
    found.save(tmp_path / "best")
    run = BASE_SCENARIO.vary(scheduler=f"static:file={tmp_path / 'best' / 'plan.csv'}").solve(
        check=True
    )
    assert run.makespan_s == found.makespan_s
    prioritised = BASE_SCENARIO.vary(graph=str(tmp_path / "best" / "graph.npz"), settings=())
    for name, (before, after) in found.survives.items():
        assert BASE_SCENARIO.vary(scheduler=name).solve().makespan_s == before
        assert prioritised.vary(scheduler=name).solve().makespan_s == after


@pytest.mark.parametrize("method", ["annealing", pytest.param("auto", marks=pytest.mark.slow)])
def test_the_same_seed_and_steps_give_the_same_plan(method):
    one, other = (
        tasksim.optimize(BASE_SCENARIO, steps=500, seed=7, method=method) for _ in range(2)
    )
    assert one.makespan_s == other.makespan_s
    assert np.array_equal(one.plan.worker, other.plan.worker)
    assert np.array_equal(one.plan.start_s, other.plan.start_s)
    assert one.steps == other.steps == 500


def test_chains_find_the_same_on_one_core_as_on_two(monkeypatch):
    found = []
    for cores in ([0], [0, 1]):
        monkeypatch.setattr(chains, "usable_cores", lambda cores=cores: cores)
        found.append(tasksim.optimize(BASE_SCENARIO, steps=601, seed=5, method="annealing"))
    one, other = found
    assert one.steps == other.steps == 601
    assert np.array_equal(one.plan.start_s, other.plan.start_s)
    assert [better[:2] for better in one.improvements] == [
        better[:2] for better in other.improvements
    ]


class Clock:
    """A clock that each look at it moves on by some seconds."""

    def __init__(self, step_s):
        self.now_s, self.step_s = 0.0, step_s

    def perf_counter(self):
        self.now_s += self.step_s
        return self.now_s


def test_what_does_not_fit_into_the_time_is_not_begun(monkeypatch):
    """A heuristic takes a second at least; one that plans is expected to take .002 s."""
    clock = Clock(1.0)
    monkeypatch.setattr(search, "time", clock)
    monkeypatch.setattr(chains, "time", clock)
    found = tasksim.optimize(BASE_SCENARIO, time_s=1e-3, method="annealing")
    assert list(found.heuristics) == ["modular-heft"]
    assert (found.steps, found.survives) == (0, {})
    assert found.makespan_s == found.improvements[-1].makespan_s
    said = " ".join(found.notes)
    for what in ("one schedule and its replay", "no time for these heuristics: heft, peft"):
        assert what in said


def test_a_bound_without_time_is_that_of_the_longest_path():
    replayer = Replayer(resolve(BASE_SCENARIO).simulation())
    problem = replayer.problem
    names = ("cpu", "cuda")
    found = mixed_bound(problem, names, time_s=0.0)
    assert found.binding is None
    assert found.value_s == pytest.approx(
        resolve(BASE_SCENARIO).bounds()["critical_path_s"], rel=1e-5
    )
    assert found.value_s < mixed_bound(problem, names).value_s


def test_both_engines_find_the_same_plan():
    one, other = (
        tasksim.optimize(BASE_SCENARIO, steps=30, method="annealing", engine=e)
        for e in ("auto", "simpy")
    )
    assert np.array_equal(one.plan.worker, other.plan.worker)
    assert np.array_equal(one.plan.end_s, other.plan.end_s)


@settings(max_examples=few(25), deadline=None)
@given(graph=graphs(max_tasks=12), workers=st.integers(1, 3), seed=st.integers(0, 100))
def test_a_plan_is_possible_and_no_longer_than_any_heuristic(graph, workers, seed):
    platform = Platform.identical(workers)
    found = tasksim.optimize(graph, platform, steps=40, seed=seed, method="annealing")
    assert found.makespan_s <= min(found.heuristics.values()) + 1e-12
    assert found.bound_s <= found.makespan_s + 1e-9
    edges = tasksim.Problem.of(graph, platform, np.zeros((1, len(graph)))).edges
    assert (found.plan.end_s[edges.source] <= found.plan.start_s[edges.target]).all()


def test_a_search_that_is_resumed_is_no_worse_and_counts_on(tmp_path):
    first = tasksim.optimize(BASE_SCENARIO, steps=200, method="annealing")
    first.save(tmp_path / "best")
    then = tasksim.optimize(BASE_SCENARIO, steps=300, method="annealing", resume=tmp_path / "best")
    assert then.makespan_s <= first.makespan_s
    assert then.steps == 500


def test_an_optimal_heuristic_needs_no_search():
    found = tasksim.optimize("chain length=4 duration=1.0", workers=2, steps=100)
    assert (found.makespan_s, found.gap, found.steps) == (4.0, 0.0, 0)


def test_ctrl_c_keeps_the_best():
    def interrupt(message, share):
        if "gap" in message:
            raise KeyboardInterrupt

    found = tasksim.optimize(BASE_SCENARIO, steps=1000, method="annealing", progress=interrupt)
    assert found.interrupted
    assert found.steps == 1000 // ROUND_COUNT
    assert found.makespan_s <= min(found.heuristics.values())


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"steps": 0}, "steps: got 0 .*; legal: a whole number from 1"),
        ({"time_s": 0.0}, "time_s"),
        ({"method": "anealing"}, "anneal"),
        ({"platform": "xeon-2c"}, "a scenario says itself where it runs"),
        ({"resume": "nowhere", "steps": 1}, "nowhere has no optimum.json"),
    ],
)
def test_bad_arguments_are_refused(given_, message):
    with pytest.raises(InputError, match=message):
        tasksim.optimize(BASE_SCENARIO, **given_)


def test_a_task_that_fits_no_memory_is_refused():
    device = Memory(1, "gpu0", size_bytes=1000)
    worker = Worker(0, "gpu0", "cuda", 1)
    link = Link(0, "bus", (0, 1), 1e9)
    platform = Platform("small", (worker,), (Memory(0, "ram"), device), links=(link,))
    with pytest.raises(InputError, match=r"potrf #0 .* needs 524,288 bytes at once"):
        tasksim.optimize("cholesky tiles=3", platform, durations=DURATIONS, steps=1)


def test_places_that_no_worker_sees_cost_no_replay():
    replayer = Replayer(resolve(BASE_SCENARIO).simulation())
    start = schedule_from(replayer, schedule_of(BASE_SCENARIO.vary(scheduler="heft").solve()))
    annealing = Annealing(replayer, start, random.Random(1))
    before = replayer.replays
    for step in range(500):
        annealing.step(step / 500)
    assert 0 < replayer.replays - before < 500
    best = annealing.best
    assert replayer.makespan_s(best.worker, best.order) == best.makespan_s < start.makespan_s


def test_the_plan_of_another_graph_is_refused(tmp_path):
    tasksim.optimize(BASE_SCENARIO, steps=1).save(tmp_path / "best")
    with pytest.raises(
        InputError, match=r"plan.csv:3: task: got '17'; legal: a number from 0 to 9"
    ):
        tasksim.optimize(BASE_SCENARIO.vary({"graph.tiles": 3}), steps=1, resume=tmp_path / "best")
