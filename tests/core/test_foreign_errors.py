"""Schedulers in Python that break a rule on the core: told in the words of SimPy's engine."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from equal import answer
from own_schedulers import ENGINES, Gives, asked, both_clocks
from questions import drawn_question

from tasksim.base.errors import SchedulerError
from tasksim.core.library import status
from tasksim.engine.choice import replayed
from tasksim.schedulers.central import Eager

pytestmark = pytest.mark.skipif(not status().available, reason=f"the core is {status().why}")


def error_of(scheduler, engine, **question):
    with pytest.raises(SchedulerError) as caught:
        replayed(asked(scheduler, **question), 0, engine)
    return str(caught.value)


class Fails:
    def __index__(self):
        return 1 // 0


ILLEGAL_ANSWERS = [
    -1, 0, 2, 3, 10**30, -(10**30), True, 1.0, "1", b"", (), np.int64(0), np.int64(9),
    np.bool_(True), np.float64(1), Eager,
]  # fmt: skip


@both_clocks
@pytest.mark.parametrize("popped", ILLEGAL_ANSWERS, ids=repr)
def test_what_must_not_be_popped_is_refused_in_the_same_words(popped, machine):
    told = [error_of(Gives(popped), engine, machine=machine) for engine in ENGINES]
    assert told[0] == told[1]
    assert "scheduler Gives gave worker" in told[0]


@both_clocks
def test_an_index_that_fails_is_told(machine):
    for engine in ENGINES:
        with pytest.raises(ZeroDivisionError):
            replayed(asked(Gives(Fails()), machine=machine), 0, engine)


@both_clocks
def test_integers_of_numpy_are_tasks(machine):
    done = replayed(asked(Gives(np.int32(1)), machine=machine), 0, "compiled")
    assert (done.engine, done.why) == ("compiled", "scheduler Gives is called")


class Asks(Eager):
    """Asks the view wrongly."""

    def __init__(self, ask):
        super().__init__()
        self.ask = ask

    def push(self, task):
        self.ask(self.view, task)
        super().push(task)


QUESTIONS = [
    lambda view, task: view.sleeping(2),
    lambda view, task: view.sleeping(-3),
    lambda view, task: view.sleeping("0"),
    lambda view, task: view.sleeping(None),
    lambda view, task: view.wake(2),
    lambda view, task: view.wake(True),
    lambda view, task: view.wake("0"),
    lambda view, task: view.wake(10**30),
    lambda view, task: view.wake_any(3),
    lambda view, task: view.wake_all(None),
    lambda view, task: view.wake_any(),
    lambda view, task: view.wake(worker=5),
    lambda view, task: view.estimate(3, 0),
    lambda view, task: view.now(),
]


@both_clocks
@pytest.mark.parametrize("ask", range(len(QUESTIONS)))
def test_what_is_asked_wrongly_is_refused_in_the_same_words(ask, machine):
    told = [error_of(Asks(QUESTIONS[ask]), engine, machine=machine) for engine in ENGINES]
    told = [re.sub(r"[A-Za-z]+View\.", "", text) for text in told]
    assert told[0] == told[1]


def test_what_a_list_understands_is_understood():
    def ask(view, task):
        assert view.sleeping(-1) is view.sleeping(np.int64(1)) is view.sleeping(True)
        view.wake(np.int64(1))
        view.wake(worker=0)
        view.wake_any(-1)

    for engine in ENGINES:
        replayed(asked(Asks(ask)), 0, engine)


def test_places_of_data_are_asked_wrongly_in_the_same_words():
    questions = [
        lambda view, task: view.transfer_estimate(10**6, 0),
        lambda view, task: view.transfer_estimate("0", 0),
        lambda view, task: view.unready(-(10**6), 0),
        lambda view, task: view.unready(None, 0),
        lambda view, task: view.prefetch(10**30, 0),
        lambda view, task: view.prefetch_handle(10**6, 0),
    ]
    several = [s for s in range(40) if len(drawn_question(s, "eager").platform.memories) > 1]
    for ask in questions:
        given = [replace(drawn_question(several[0], "eager"), scheduler=Asks(ask)) for _ in ENGINES]
        told = [answer(*each) for each in zip(given, ENGINES, strict=True)]
        assert told[0] == told[1]
        assert "error" in told[0]


class Drops(Eager):
    def push(self, task):
        pass


class Circles(Eager):
    def pop(self, worker):
        for other in range(2):
            self.view.wake(other)


@both_clocks
@pytest.mark.parametrize("kind", [Drops, Circles])
def test_tasks_dropped_and_circles_are_told_in_the_same_words(kind, machine):
    told = [error_of(kind(), engine, machine=machine) for engine in ENGINES]
    assert told[0] == told[1]
