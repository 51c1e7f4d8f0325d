"""Errors of schedulers: whose they are, where, of which task; and schedulers that never end."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from compiled_core import needs_core
from scripted import replay_of

from tasksim.base.errors import InputError, SchedulerError
from tasksim.engine.choice import replayed
from tasksim.engine.question import Question
from tasksim.graph.apps.registry import generate
from tasksim.native.compiled import CompiledExecution
from tasksim.native.execution import Execution
from tasksim.platform.description import Overheads, Platform
from tasksim.runtime.view import Facts
from tasksim.schedulers.base import SCHEDULER_METHODS, Scheduler
from tasksim.schedulers.central import Eager

GRAPH = generate("chain", length=3)


def platform(**overheads):
    free = Platform.identical(2)
    return Platform(
        name="two", workers=free.workers, memories=free.memories, overheads=Overheads(**overheads)
    )


def replay(scheduler, **overheads):
    replay_of(GRAPH, platform(**overheads), scheduler, [[1.0] * 3]).run(0)


def called(scheduler, *, pushes="serial", **overheads):
    costs = np.ones((1, len(GRAPH)))
    question = Question(
        GRAPH, platform(**overheads), scheduler, costs, costs, simultaneous_pushes=pushes
    )
    replayed(question, 0, "compiled")


def called_machine(scheduler, **overheads):
    called(scheduler, pushes="blind", **overheads)


class Nothing:
    """A program whose tasks do nothing."""

    graph = GRAPH

    def run(self, task, worker):
        pass


def facts(scheduler, overheads):
    return Facts.on_any_worker(GRAPH, platform(**overheads), scheduler, [[1.0] * 3])


def native(scheduler, **overheads):
    execution = Execution(facts(scheduler, overheads), Nothing())
    execution.run(random.Random(0), pin=False)


def compiled(scheduler, **overheads):
    execution = CompiledExecution(facts(scheduler, overheads), Nothing())
    execution.run(random.Random(0), pin=False)


CLOCKS = [
    replay, needs_core(called), needs_core(called_machine), native, needs_core(compiled)
]  # fmt: skip
both = pytest.mark.parametrize("clock", CLOCKS)


def line(text):
    """The number of the line in this file that ends with the comment *text*."""
    rows = Path(__file__).read_text().splitlines()
    return next(n for n, row in enumerate(rows, 1) if row.endswith(f"# {text}"))


class Fails(Eager):
    def __init__(self, error, method):
        super().__init__()
        self.error, self.method = error, method

    def fail(self, method):
        if method == self.method:
            raise self.error  # here

    def attach(self, view, rng):
        super().attach(view, rng)
        self.fail("attach")

    def push(self, task):
        self.fail("push")
        super().push(task)

    def pop(self, worker):
        self.fail("pop")
        return super().pop(worker)

    def started(self, task, worker):
        self.fail("started")

    def finished(self, task, worker):
        self.fail("finished")


@both
@pytest.mark.parametrize("method", ["attach", "push", "pop", "started", "finished"])
def test_an_error_names_class_method_task_file_and_line(clock, method):
    task = "" if method in ("attach", "pop") else r" of task #0 \(.*\)"
    place = rf"{method}{task}, .*test_scheduler_errors\.py:{line('here')}"
    with pytest.raises(
        SchedulerError, match=rf"scheduler Fails failed in {place}: ValueError: no"
    ) as caught:
        clock(Fails(ValueError("no"), method))
    assert isinstance(caught.value.__cause__, ValueError)


class Chooses(Fails):
    """Chooses a worker at push, apart from the commitment to it."""

    def choose(self, task):
        self.fail("choose")
        return 0

    def chosen(self, choice):
        self.fail("chosen")
        return choice

    def commit(self, task, choice):
        self.fail("commit")
        self.push(task)


def blind(scheduler):
    replay = replay_of(GRAPH, platform(), scheduler, [[1.0] * 3], simultaneous_pushes="blind")
    replay.run(0)


@pytest.mark.parametrize("clock", [blind, needs_core(called_machine)])
@pytest.mark.parametrize("method", ["choose", "chosen", "commit"])
def test_an_error_of_a_choice_names_its_method(clock, method):
    with pytest.raises(SchedulerError, match=rf"scheduler Chooses failed in {method}.*: no"):
        clock(Chooses(ValueError("no"), method))


@both
def test_a_scheduler_cannot_end_the_program(clock):
    with pytest.raises(SchedulerError, match=r"failed in pop.*: SystemExit: 0"):
        clock(Fails(SystemExit(0), "pop"))


@both
def test_what_the_user_asked_wrongly_stays_as_it_is(clock):
    with pytest.raises(InputError, match=r"^option x is 7$"):
        clock(Fails(InputError("option x is 7"), "attach"))


@pytest.mark.parametrize("clock", [replay, needs_core(called), needs_core(called_machine)])
def test_an_interruption_stays_an_interruption(clock):
    with pytest.raises(KeyboardInterrupt):
        clock(Fails(KeyboardInterrupt(), "push"))


class WakesAStranger(Eager):
    def push(self, task):
        self.view.wake(9)  # stranger


@both
def test_an_unknown_worker_is_told_with_the_line_that_wakes_it(clock):
    where = rf"push of task #0 .*test_scheduler_errors\.py:{line('stranger')}"
    message = rf"scheduler WakesAStranger woke worker 9; the workers are 0 to 1 \(in {where}\)"
    with pytest.raises(SchedulerError, match=message):
        clock(WakesAStranger())


class Library(Eager):
    def pop(self, worker):
        return random.Random(0).choice([])  # library


@pytest.mark.parametrize("clock", [replay, needs_core(called)])
def test_an_error_in_a_library_names_the_line_that_called_it(clock):
    with pytest.raises(SchedulerError, match=rf"errors\.py:{line('library')}: IndexError"):
        clock(Library())


class Circles(Eager):
    """Workers wake each other, or themselves, and get nothing."""

    def pop(self, worker):
        for other in range(2):
            self.view.wake(other)


@both
@pytest.mark.parametrize("overheads", [{}, {"wakeup_s": 1e-6}, {"submission_s": 1e-6}])
def test_a_scheduler_that_wakes_workers_for_ever_is_stopped(clock, overheads):
    with pytest.raises(SchedulerError, match=r"scheduler Circles makes no progress .*task #0"):
        clock(Circles(), **overheads)


@pytest.mark.parametrize("clock", [replay, needs_core(called)])
def test_so_it_is_where_asking_takes_time(clock):
    with pytest.raises(SchedulerError, match=r"makes no progress"):
        clock(Circles(), progress_s=1e-6)


class Polls(Eager):
    """A worker that finds nothing asks again, until a task that runs has ended."""

    def pop(self, worker):
        task = super().pop(worker)
        if task is None:
            self.view.wake(1 - worker)
        return task


@pytest.mark.parametrize("clock", [replay, needs_core(called_machine)])
def test_asking_again_while_a_task_runs_is_no_circle_where_it_takes_time(clock):
    clock(Polls(), progress_s=1e-4)


@pytest.mark.parametrize("clock", [replay, needs_core(called)])
def test_nor_is_it_where_waking_does(clock):
    clock(Polls(), wakeup_s=1e-4)


def test_all_methods_of_a_scheduler_are_known_to_belong_to_it():
    methods = {name for name, one in vars(Scheduler).items() if callable(one) and name[0] != "_"}
    assert methods - {"core_options", "core_tables"} == set(SCHEDULER_METHODS)
