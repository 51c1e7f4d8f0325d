"""The makespan alone: the schedulers of its replay, and its words in summaries."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.base.threadclock import has_thread_clock
from tasksim.native.calm_moments import is_measurable
from tasksim.run.facts import run_facts
from tasksim.run.record import Disturbance
from tasksim.scenario import alone
from tasksim.scenario.alone import alone_makespan_s, replay_under, with_alone
from tasksim.schedulers.central import Eager

OWN_SCHEDULER = """
from tasksim.schedulers.central import Eager


class Lifo(Eager):
    def pop(self, worker):
        return super().pop(worker)


class Fails(Eager):
    def pop(self, worker):
        raise ValueError("no such luck")
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The name of a module of one's own that nobody has imported yet."""
    name = f"schedulers_of_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(OWN_SCHEDULER)
    monkeypatch.syspath_prepend(tmp_path)
    return name


@pytest.fixture
def chain():
    """A chain of three tasks of 1 s, and a run of it, the second task held up for 2 s."""
    graph = tasksim.generate("chain", length=3, duration=1.0)
    run = tasksim.simulate(graph, workers=1)
    tasks = replace(
        run.tasks, popped_s=[0.0, 1.0, 4.0], start_s=[0.0, 1.0, 4.0], end_s=[1.0, 4.0, 5.0],
        ready_s=[0.0, 1.0, 4.0], cpu_s=[1.0, 1.0, 1.0], preemptions=[0, 5, 0],
    )  # fmt: skip
    told = Disturbance((2.0,), (5,), 0.0)
    return graph, replace(run, kind="native", tasks=tasks, disturbance=told)


@pytest.mark.parametrize("option", ["", ":x=1"])
def test_a_recorded_run_has_nothing_imported(chain, own, option):
    graph, run = chain
    named = replace(run, scheduler=f"{own}:Lifo{option}")
    assert alone_makespan_s(named, graph) is None
    assert with_alone(named, graph) is named
    assert own not in sys.modules
    said = dict(run_facts(named))["alone"]
    assert said.startswith(f"unknown until it is replayed under {own}:Lifo")
    assert f"tasksim simulate RUN --durations alone --scheduler {own}:Lifo" in said


def test_under_a_scheduler_that_its_user_names_a_run_is_replayed(chain, own):
    graph, run = chain
    name = f"{own}:Lifo"
    named = replace(run, scheduler=name)
    assert with_alone(named, graph, replay_under(name)).disturbance.alone_s == pytest.approx(3.0)
    assert with_alone(named, graph).disturbance.alone_s == pytest.approx(3.0)  # known from now on


def test_a_replay_that_fails_does_not_take_the_run_away(chain, own):
    graph, run = chain
    with pytest.warns(UserWarning, match=r"its replay failed: .*no such luck"):
        assert with_alone(run, graph, replay_under(f"{own}:Fails")) is run


class Counts(Eager):
    """Counts what it was given, over all its runs."""

    def __init__(self):
        self.pushed = 0

    def push(self, task):
        self.pushed += 1
        super().push(task)


class Unique(Counts):
    """Cannot be copied."""

    def __deepcopy__(self, memo):
        raise InputError("there is one")


@pytest.mark.skipif(not has_thread_clock(), reason="the system does not tell processor times")
@pytest.mark.skipif(not is_measurable(1), reason="the system does not tell what others take")
@pytest.mark.parametrize(("made", "known"), [(Counts, True), (Unique, False)])
def test_an_object_is_not_called_by_the_replay(monkeypatch, made, known):
    monkeypatch.setattr(alone, "others_share", lambda _: 0.5)
    scheduler = made()
    run = tasksim.execute("chain length=5 duration=0.001", workers=1, scheduler=scheduler)
    assert scheduler.pushed == 5
    assert (run.disturbance.alone_s is not None) is known
