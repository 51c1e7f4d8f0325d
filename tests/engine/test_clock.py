"""The clock: whole ticks, ranks within an instant, routines that sleep and wake."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.engine.clock import Clock, Routine
from tasksim.engine.ticks import ticks


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
    env, heard = Clock(), []
    for number, delay in enumerate(delays):
        env.alarm(delay, lambda event: heard.append((env.now, event.value)), number)
    env.run()
    assert heard == sorted((delay, number) for number, delay in enumerate(delays))


def test_a_time_whose_sums_no_float_would_hold_is_refused():
    assert ticks(1e200) == round(1e200 * 1e9)
    with pytest.raises(InputError, match=r"a time of 1e\+300 s is too long"):
        ticks(1e300)


def steps(env, routine, log, waits):
    for wait in waits:
        log.append((env.now, wait))
        yield routine.sleep() if wait is None else routine.wait(wait)
    log.append((env.now, "end"))


def test_a_routine_waits_as_long_as_it_asks_for():
    env, log = Clock(), []
    routine = Routine(env)
    routine.begin(steps(env, routine, log, [5, 0, 7]))
    env.run()
    assert log == [(0, 5), (5, 0), (5, 7), (12, "end")]


def test_a_routine_sleeps_until_it_is_woken():
    env, log = Clock(), []
    routine = Routine(env)
    routine.begin(steps(env, routine, log, [None, 2]))
    assert routine.asleep
    env.alarm(9, lambda _: routine.wake())
    env.run()
    assert log == [(0, None), (9, 2), (11, "end")]


def test_waking_a_routine_that_waits_does_not_shorten_the_wait_but_is_noted():
    env, log = Clock(), []
    routine = Routine(env)
    routine.begin(steps(env, routine, log, [5]))
    routine.wake()
    assert routine.woken
    assert not routine.notified
    env.run()
    assert log == [(0, 5), (5, "end")]


def test_to_notify_is_to_wake_and_to_note_why():
    routine = Routine(Clock())
    routine.notify()
    assert routine.woken
    assert routine.notified


def test_of_one_instant_the_lowest_phase_comes_first():
    env, log = Clock(), []
    for phase in (3.0, 2.5, 2.0):
        routine = Routine(env)
        routine.phase = phase

        def loop(phase=phase, routine=routine):
            yield routine.wait(4)
            log.append(phase)

        routine.begin(loop())
    env.alarm(4, lambda _: log.append("alarm"))
    env.run()
    assert log == ["alarm", 2.0, 2.5, 3.0]


def test_a_routine_that_is_woken_goes_on_before_its_waker():
    env, log = Clock(), []
    routine = Routine(env)
    routine.begin(steps(env, routine, log, [None, 2]))

    def wake(_):
        routine.wake()
        log.append("waker")

    env.alarm(9, wake)
    env.run()
    assert log == [(0, None), (9, 2), "waker", (11, "end")]


def test_an_error_in_a_routine_ends_the_run_as_it_is():
    """SimPy's own is a copy of it, made of its arguments, which not all errors allow."""

    class TakesTwo(Exception):
        def __init__(self, one, two):
            super().__init__(one)

    raised = TakesTwo(1, 2)
    env = Clock()
    routine = Routine(env)

    def fails():
        yield routine.wait(4)
        raise raised

    routine.begin(fails())
    with pytest.raises(TakesTwo) as caught:
        env.run()
    assert caught.value is raised


def test_events_of_simpy_come_before_those_with_a_rank():
    env, log = Clock(), []

    def process():
        yield env.timeout(4)
        log.append("simpy")

    env.alarm(4, lambda _: log.append("alarm"), phase=0.5)
    env.process(process())
    env.run()
    assert log == ["simpy", "alarm"]
