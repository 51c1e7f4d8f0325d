"""Replays of plans: the same makespan as a run of the scheduler that follows the plan."""

from __future__ import annotations

import numpy as np
from compiled_core import only_with_core
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import drawn_plan
from strategies import machines, moving_graphs
from tiers import few

from tasksim.engine.choice import plans_of, replayed
from tasksim.engine.question import Question
from tasksim.engine.simulation import Simulation
from tasksim.graph.apps.registry import generate
from tasksim.models.kinds.given import GivenDurations
from tasksim.optimization.replayer import Replayer
from tasksim.platform.description import Platform
from tasksim.schedulers.static.follower import PlannedFollower
from tasksim.schedulers.static.problem import Problem


def question(graph, platform, plan):
    durations = [graph.parameters_of(task)["duration_s"] for task in range(len(graph))]
    costs = np.tile(np.array(durations, np.float64), (len(platform.classes), 1))
    return Question(graph, platform, PlannedFollower(*plan), costs, costs)


@only_with_core
@settings(max_examples=few(60), deadline=None)
@given(platform=machines(sizes=(None,)), graph=moving_graphs(), seed=st.integers(0, 2**32))
def test_a_replayed_plan_takes_as_long_as_a_run_that_follows_it(platform, graph, seed):
    """Also the next plans, whose tables are written over those of the plans before."""
    durations = [graph.parameters_of(task)["duration_s"] for task in range(len(graph))]
    problem = Problem.of(graph, platform, [durations] * len(platform.classes))
    plans = plans_of(question(graph, platform, drawn_plan(problem, seed)))
    assert plans is not None
    for number in range(3):
        plan = drawn_plan(problem, seed + number)
        run = replayed(question(graph, platform, plan), 0, "compiled").replay
        table = run.records()["tasks"]
        makespan_s = float(table.end_s.max(initial=0.0))
        assert plans.makespan_s(*plan, moved=True) == makespan_s
        assert np.array_equal(plans.table().start_s, table.start_s)
        assert plans.makespan_s(*plan, moved=False) == makespan_s


@settings(max_examples=few(60), deadline=None)
@given(platform=machines(sizes=(None,)), graph=moving_graphs(), seed=st.integers(0, 2**32))
def test_both_engines_replay_a_plan_alike(platform, graph, seed):
    asked = Simulation(graph, platform, GivenDurations(graph))
    one, other = Replayer(asked), Replayer(asked, engine="simpy")
    assert not other.compiled
    for number in range(2):
        plan = drawn_plan(one.problem, seed + number)
        assert one.makespan_s(*plan) == other.makespan_s(*plan)
        assert np.array_equal(one.table().start_s, other.table().start_s)


def test_a_plan_that_waits_for_itself_takes_for_ever():
    """The second task of the only worker comes first in its list."""
    graph = generate("chain", length=2, duration=1.0)
    for engine in ("auto", "simpy"):
        asked = Simulation(graph, Platform.identical(1), GivenDurations(graph))
        replayer = Replayer(asked, engine=engine)
        worker = np.zeros(2, np.int64)
        assert replayer.makespan_s(worker, np.array([1, 0])) == float("inf")
        assert replayer.makespan_s(worker, np.array([0, 1])) == 2.0
