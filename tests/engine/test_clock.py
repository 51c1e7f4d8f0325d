"""The clock: whole ticks, ranks within an instant, routines that sleep and wake."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simpy import Environment
from simpy.events import NORMAL

from tasksim.engine.clock import Alarm, Clock, Routine, run, ticks


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0.0, 0), (1e-9, 1), (1.5e-6, 1500), (0.6e-9, 1), (0.1, 10**8)]
)
def test_ticks_are_nanoseconds(seconds, expected):
    assert ticks(seconds) == expected


@given(st.lists(st.integers(1, 50), max_size=20), st.randoms())
def test_sums_of_microseconds_do_not_depend_on_their_order(waits, rng):
    shuffled = rng.sample(waits, len(waits))
    assert sum(ticks(w * 1e-6) for w in waits) == sum(ticks(w * 1e-6) for w in shuffled)
    assert sum(ticks(w * 1e-6) for w in waits) == ticks(sum(waits) * 1e-6)


@given(st.lists(st.integers(0, 9), max_size=20))
def test_alarms_go_off_in_order_of_time_then_of_setting(delays):
    env, heard = Clock(0), []
    for number, delay in enumerate(delays):
        Alarm(env, delay, number, lambda event: heard.append((env.now, event.value)))
    run(env)
    assert heard == sorted((delay, number) for number, delay in enumerate(delays))


def steps(routine, log, waits):
    for wait in waits:
        log.append((routine.env.now, wait))
        yield wait
    log.append((routine.env.now, "end"))


def test_a_routine_waits_as_long_as_it_asks_for():
    env, log = Clock(0), []
    routine = Routine(env)
    routine.begin(steps(routine, log, [5, 0, 7]))
    run(env)
    assert log == [(0, 5), (5, 0), (5, 7), (12, "end")]


def test_a_routine_sleeps_until_it_is_woken():
    env, log = Clock(0), []
    routine = Routine(env)
    routine.begin(steps(routine, log, [None, 2]))
    assert routine.asleep
    Alarm(env, 9, None, lambda _: routine.wake())
    run(env)
    assert log == [(0, None), (9, 2), (11, "end")]


def test_waking_a_routine_that_waits_does_not_shorten_the_wait_but_is_noted():
    env, log = Clock(0), []
    routine = Routine(env)
    routine.begin(steps(routine, log, [5]))
    routine.wake()
    assert routine.woken
    assert not routine.notified
    run(env)
    assert log == [(0, 5), (5, "end")]


def test_to_notify_is_to_wake_and_to_note_why():
    routine = Routine(Clock(0))
    routine.notify()
    assert routine.woken
    assert routine.notified


def test_of_one_instant_the_lowest_rank_comes_first():
    env, log = Clock(0), []
    for rank in (3.0, 2.5, 2.0):
        routine = Routine(env)
        routine.rank = rank

        def loop(rank=rank):
            yield 4
            log.append(rank)

        routine.begin(loop())
    Alarm(env, 4, None, lambda _: log.append("alarm"))
    run(env)
    assert log == ["alarm", 2.0, 2.5, 3.0]


def test_simpys_environment_is_built_as_the_clock_assumes():
    """Events wait in the heap ``_queue`` as (time, priority, number, event); ``_eid`` counts them.

    The clock puts them there itself. If this fails, SimPy has changed, and the clock must follow.
    """
    env = Environment(3)
    assert env._queue == []
    assert env._now == 3
    event = env.timeout(4)
    assert env._queue == [(7, NORMAL, 0, event)]
    assert next(env._eid) == 1
    assert event.callbacks == []
