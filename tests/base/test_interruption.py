"""Signals are raised once, and where nothing is lost."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time

import pytest

from tasksim.base.interruption import Interrupts, unbroken


def press():
    signal.raise_signal(signal.SIGINT)


def test_the_first_is_raised_and_no_other():
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            press()
        press()
        press()
        interrupts.hold()
        assert not interrupts.noted
        press()
        assert interrupts.noted
    assert signal.getsignal(signal.SIGINT) is before


def test_those_after_a_while_are_raised_again():
    with Interrupts(again_s=0.0):
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                press()


def test_what_is_held_is_raised_where_it_is_asked_for():
    with Interrupts(held=True) as interrupts:
        interrupts.check()
        press()
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        interrupts.check()
        press()
        with pytest.raises(KeyboardInterrupt):
            interrupts.allow()


def test_what_was_pressed_too_often_is_forgotten_where_the_next_one_counts():
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            press()
        interrupts.hold()
        press()
        interrupts.rearm()
        with pytest.raises(KeyboardInterrupt):
            press()


def test_what_comes_within_an_unbroken_block_is_raised_at_its_end():
    done = []

    def work():
        with unbroken():
            press()
            with unbroken():
                done.append("inner")
            done.append("outer")

    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            work()
        assert done == ["inner", "outer"]
        assert interrupts.raised


def test_an_error_of_an_unbroken_block_goes_before_a_signal():
    def fail():
        with unbroken():
            press()
            raise KeyError

    with Interrupts() as interrupts:
        with pytest.raises(KeyError):
            fail()
        assert interrupts.noted
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
    with pytest.raises(KeyboardInterrupt), unbroken():  # nothing to hold back
        press()


class Dying:
    def __del__(self):
        press()


def finalizer():
    Dying()


def callback():
    ctypes.CFUNCTYPE(None)(press)()


@pytest.mark.parametrize("lose", [finalizer, callback])
@pytest.mark.parametrize("nested", [False, True])
def test_what_is_lost_is_raised_again(lose, nested, capsys):
    before = sys.unraisablehook
    with Interrupts() as outer:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012  # it comes any time after the first
            if nested:
                with Interrupts():
                    lose()
                    time.sleep(60)
            lose()
            time.sleep(60)
        outer.hold()
        assert outer.raised
    assert sys.unraisablehook is before
    assert "ignored" not in capsys.readouterr().err


def test_what_others_lose_is_told_as_ever(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: told.append(lost.exc_type))

    class Wrong:
        def __del__(self):
            raise ValueError

    with Interrupts():
        Wrong()
    assert told == [ValueError]


def test_what_an_inner_block_raises_is_raised_for_the_outer_one():
    with Interrupts(terminate=True) as outer:
        with Interrupts(held=True) as inner:
            signal.raise_signal(signal.SIGTERM)
            press()
            with pytest.raises(KeyboardInterrupt):
                inner.check()
        press()  # is the same interruption
        signal.raise_signal(signal.SIGTERM)
        outer.hold()


def test_handlers_of_others_stay():
    got = []
    before = signal.signal(signal.SIGINT, lambda *_: got.append(1))
    try:
        with Interrupts() as interrupts:
            press()
        assert (got, interrupts.noted) == ([1], False)
    finally:
        signal.signal(signal.SIGINT, before)
    with Interrupts():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_handler_that_is_set_within_the_block_stays():
    before = signal.getsignal(signal.SIGINT)
    try:
        with Interrupts():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_outside_the_main_thread_nothing_happens():
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def body():
        with Interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert seen == [before]
