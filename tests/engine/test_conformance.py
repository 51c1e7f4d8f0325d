"""Every built-in scheduler passes the battery, and the battery finds what is wrong."""

from __future__ import annotations

from collections import deque
from functools import partial

import pytest

from tasksim.base.errors import CheckFailed, SchedulerError
from tasksim.engine.conformance import check_scheduler, checks, parametrize_with_checks
from tasksim.schedulers.base import Scheduler
from tasksim.schedulers.registry import create, names


class Named(partial):
    """A factory that pytest can name."""


def factory(name):
    made = Named(create, name)
    made.__name__ = name
    return made


@parametrize_with_checks([factory(name) for name in names(bare=True)])
def test_built_in_schedulers(scheduler, check):
    check(scheduler)


class Base(Scheduler):
    name = "base"

    def attach(self, view, rng):
        super().attach(view, rng)
        self.queue = deque()

    def push(self, task):
        self.queue.append(task)
        self.view.wake_all(task)

    def pop(self, worker):
        for task in self.queue:
            if self.view.can_run(task, worker):
                self.queue.remove(task)
                return task
        return None


class KeepsItsState(Base):
    def __init__(self):
        self.runs = 0

    def attach(self, view, rng):
        super().attach(view, rng)
        self.runs += 1

    def pop(self, worker):
        if self.runs > 1 and worker == 0:
            return None
        return super().pop(worker)


class GlobalRandomness(Base):
    def pop(self, worker):
        import random

        random.random()
        return super().pop(worker)


class IgnoresAbilities(Base):
    def pop(self, worker):
        return self.queue.popleft() if self.queue else None


def test_a_plain_scheduler_passes():
    check_scheduler(Base)


@pytest.mark.parametrize(
    ("scheduler", "error"),
    [
        (KeepsItsState, "second run of one object differs"),
        (GlobalRandomness, "global random state"),
        (IgnoresAbilities, "cannot run"),
    ],
)
def test_the_battery_finds_what_is_wrong(scheduler, error):
    with pytest.raises((CheckFailed, SchedulerError), match=error):
        check_scheduler(scheduler)


def test_there_are_ten_checks_or_more_each_with_a_sentence():
    assert len(list(checks())) >= 10
    assert all(check.__doc__ for check in checks())
