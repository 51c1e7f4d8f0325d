"""Progress of replays: the numbers of finished tasks, which grow."""

from __future__ import annotations

import pytest

from tasksim.core.library import status
from tasksim.engine import clock, outcome
from tasksim.engine.compiled import answers
from tasksim.scenario.resolved import resolve
from tasksim.scenario.scenario import Scenario
from tasksim.scenario.solving import replay

TILES_PER_ROW = 12
TASK_COUNT = 364
ENGINES = ["simpy", *(["compiled"] if status().available else [])]
pytestmark = pytest.mark.one_engine("each is asked by itself")


@pytest.fixture
def often(monkeypatch):
    """Reports after few events, without a pause."""
    monkeypatch.setattr(outcome, "PERIOD_S", 0.0)
    monkeypatch.setattr(outcome, "PAUSES_PER_COUNT", 0)
    monkeypatch.setattr(clock, "EVENTS_PER_LOOK", 10)
    monkeypatch.setattr(answers, "EVENTS_PER_CALL", 10)


def scenario(**more):
    durations = "potrf=1,trsm=3,syrk=3,gemm=6"
    return Scenario(f"cholesky tiles={TILES_PER_ROW}", workers=3, durations=durations, **more)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scheduler", ["lws", "dm"])
def test_the_number_of_finished_tasks_grows_to_that_of_all(often, engine, scheduler):
    told = []
    asked = resolve(scenario(scheduler=scheduler))
    run = replay(asked, engine=engine, progress=lambda *of: told.append(of))
    counts = [done for done, _ in told]
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert TASK_COUNT - 20 < counts[-1] <= TASK_COUNT
    assert {total for _, total in told} == {TASK_COUNT}
    assert run.tasks == replay(asked, engine=engine).tasks


@pytest.mark.parametrize("engine", ENGINES)
def test_on_nodes_tasks_and_messages_count(often, engine):
    told = []
    asked = resolve(
        scenario(nodes=2, network="switch:bandwidth=10GB/s,latency=1us", scheduler="prio")
    )
    run = replay(asked, engine=engine, progress=lambda *of: told.append(of))
    (total,) = {total for _, total in told}
    assert total > TASK_COUNT
    counts = [done for done, _ in told]
    assert counts == sorted(counts)
    assert total - 20 < counts[-1] <= total
    assert run.tasks == replay(asked, engine=engine).tasks


def test_a_count_that_takes_long_is_made_seldom(monkeypatch):
    seconds = iter([0.0, 0.5, 0.75, 20.0, 25.5, 25.75, 26.0])
    monkeypatch.setattr(outcome, "monotonic", lambda: next(seconds))
    told = []
    reports = outcome.Reports(lambda *of: told.append(of), 9, lambda: 5)
    reports.look()  # the count takes a quarter of a second: the next one is 25 s later
    reports.look()
    reports.look()
    assert told == [(0, 9), (5, 9)]
    reports.look()
    assert told == [(0, 9), (5, 9), (5, 9)]
