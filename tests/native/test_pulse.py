"""Idle states of cores: measured, noted for later processes, and unknown where nobody can tell."""

from __future__ import annotations

import json
from datetime import date, timedelta
from itertools import count
from time import perf_counter

import numpy as np
import pytest
from compiled_core import needs_core

from tasksim.native import idle_notes, pulse
from tasksim.native.pulse import Idle, idle_core_of_any, idle_cores
from tasksim.native.this_machine import usable_cores


@pytest.fixture(autouse=True)
def notes(monkeypatch, tmp_path):
    """Return the file of notes of a user who has run nothing so far."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(pulse, "_known", {})
    return tmp_path / "tasksim" / "idle-states.json"


DAY_OF_USE = date(2026, 11, 30)


@pytest.fixture(autouse=True)
def today(monkeypatch):
    """Return a list with the day that it is."""
    day = [DAY_OF_USE]
    monkeypatch.setattr(idle_notes, "_today", lambda: day[0])
    return day


@pytest.fixture
def told(monkeypatch):
    """Return a list of what each measurement tells, from the first to the last, which remains."""
    found = [[2.0]]
    monkeypatch.setattr(pulse, "functions", lambda: "a core")
    monkeypatch.setattr(pulse, "is_virtual", lambda: True)

    def measured(cores, begin_s, end_s):
        of = found.pop(0) if len(found) > 1 else found[0]
        return [np.full((pulse.MIN_PULSES if each else 0, 2), (each, each / 8)) for each in of]

    monkeypatch.setattr(pulse, "_pulses", measured)
    monkeypatch.setattr(pulse, "perf_counter", count(0.0, 0.1).__next__)
    return found


def again():
    """Return the idle pulse of a core in another process."""
    pulse._known.clear()
    return idle_pulses(1)


def idle_pulses(workers):
    """Return the idle pulses of the cores of a run; the beats are eighths of them."""
    found = idle_cores(workers)
    if found is None:
        return None
    assert [each.beat_s for each in found] == [each.pulse / 8 for each in found]
    return [each.pulse for each in found]


def test_the_smallest_of_all_measurements_counts(told, notes):
    told[:] = [[3.0], [2.0], [2.5]]
    assert idle_pulses(1) == [2.0]
    name = str(usable_cores()[0])
    noted = json.loads(notes.read_text())
    assert noted == {idle_notes._machine(): {DAY_OF_USE.isoformat(): {name: [[2.0, 0.25]]}}}


def test_later_processes_know_of_a_smaller_one(told, notes):
    assert idle_pulses(1) == [2.0]
    told[:] = [[3.0]]
    assert again() == [2.0]
    told[:] = [[1.5]]
    assert again() == [1.5]
    assert "1.5" in notes.read_text()


def test_a_process_measures_once(told):
    assert idle_pulses(1) == [2.0]
    told[:] = [[1.5]]
    assert idle_pulses(1) == [2.0]


def test_notes_of_other_machines_remain(told, notes):
    notes.parent.mkdir()
    another = {"2026-11-29": {"0": [[1.0, 0.1]]}}
    notes.write_text(json.dumps({"another": another}))
    assert idle_pulses(1) == [2.0]
    assert json.loads(notes.read_text())["another"] == another


def test_notes_of_a_machine_that_is_not_used_are_deleted(told, notes, today):
    assert idle_pulses(1) == [2.0]
    before = set(json.loads(notes.read_text()))
    today[0] += timedelta(days=idle_notes.MAX_UNUSED_DAYS - 1)
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(idle_notes, "_machine", lambda: "another")
        again()
        assert set(json.loads(notes.read_text())) == {*before, "another"}
        today[0] += timedelta(days=1)
        again()
    assert set(json.loads(notes.read_text())) == {"another"}


def test_a_machine_that_was_started_again_may_be_on_another_host(told, monkeypatch, tmp_path):
    monkeypatch.setattr(idle_notes, "BOOT_ID", boot_id := tmp_path / "boot_id")
    boot_id.write_text("one\n")
    assert idle_pulses(1) == [2.0]
    told[:] = [[3.0]]
    assert again() == [2.0]
    boot_id.write_text("two\n")
    assert again() == [3.0]


def test_a_machine_that_moved_to_a_slower_host_forgets_the_faster_one(told, today):
    assert idle_pulses(1) == [2.0]
    told[:] = [[2.5]]
    for _ in range(idle_notes.KEPT_DAYS - 1):
        today[0] += timedelta(days=5)  # of no use, which tell nothing
        assert again() == [2.0]
    today[0] += timedelta(days=1)
    again()
    assert again() == [2.5]


def test_an_idle_state_that_is_seen_again_is_kept(told, today):
    for number in range(2 * idle_notes.KEPT_DAYS):
        told[:] = [[3.0 if number % idle_notes.KEPT_DAYS else 2.0]]
        assert again() == [2.0]
        today[0] += timedelta(days=1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"%s": 3}',
        '{"%s": {"0": [[1.0, 0.1]]}}',
        '{"%s": {"2026-11-30": [[1.0, 0.1]]}}',
        '{"%s": {"2026-11-30": 3}}',
        '{"%s": {"2026-11-30": {"0": [["x", 1]]}}}',
        '{"%s": {"2026-11-30": {"0": [2.5]}}}',
    ],
)
def test_damaged_notes_are_written_anew(told, notes, text):
    notes.parent.mkdir()
    notes.write_text(text.replace("%s", idle_notes._machine()))
    assert idle_pulses(1) == [2.0]
    assert again() == [2.0]


def test_without_a_place_for_notes_the_process_knows(told, notes, monkeypatch):
    notes.parent.write_text("no folder")
    assert idle_pulses(1) == [2.0]


def test_threads_that_were_interrupted_tell_nothing(told):
    told[:] = [[0.0]]
    assert idle_pulses(1) is None
    told[:] = [[0.0], [2.0], [0.0]]
    assert idle_pulses(1) == [2.0]


def test_workers_without_a_core_each_have_none(told):
    assert idle_cores(len(usable_cores()) + 1) is None


def test_without_the_compiled_core_pulses_are_unknown(monkeypatch):
    monkeypatch.setattr(pulse, "functions", lambda: None)
    assert idle_pulses(1) is None


@pytest.mark.skipif(len(usable_cores()) < 2, reason="needs two cores")
def test_of_ten_threads_nine_have_to_keep_their_cores(told, notes, monkeypatch):
    told[:] = [[1.0, 0.0], [2.0, 3.0], [0.0, 1.0]]
    assert idle_pulses(2) == [2.0, 3.0]
    monkeypatch.setattr(pulse, "MIN_WORKING_SHARE", 0.5)
    pulse._known.clear()
    notes.unlink()
    told[:] = [[1.0, 0.0], [2.0, 3.0], [0.0, 2.5]]
    assert idle_pulses(2) == [1.0, 2.5]


def test_pulses_that_differ_are_measured_until_the_smallest_returns(told):
    told[:] = [[3.0], [2.875], [2.75], [2.625], [2.5]]
    assert idle_pulses(1) == [2.5]


def test_enough_equal_pulses_are_the_smallest(told):
    told[:] = [[3.0], *([[2.0]] * 5), [1.0]]
    assert idle_pulses(1) == [2.0]


def test_on_a_machine_of_its_own_a_run_decides_about_the_clock(told, monkeypatch):
    monkeypatch.setattr(pulse, "is_virtual", lambda: False)
    [idle] = idle_cores(1)
    assert idle.pulse == 2.0
    assert np.isnan(idle.beat_s)


@pytest.mark.parametrize(("each", "any_core"), [([2.0, 2.02], 2.02), ([2.0, 3.0], None)])
def test_a_thread_on_any_core_has_the_idle_pulse_of_equal_cores(monkeypatch, each, any_core):
    monkeypatch.setattr(pulse, "idle_cores", lambda _: [Idle(found, 0.2) for found in each])
    assert idle_core_of_any() == (any_core and Idle(any_core, 0.2))


@pytest.mark.parametrize("idle", [needs_core(Idle(1.0, 1e-6))])
def test_a_pulse_and_a_beat_are_ratios_of_times(idle):
    found_pulse, found_beat = pulse.relative_pulse(idle)()
    assert 0.0 < found_pulse < np.inf
    assert 0.0 < found_beat < np.inf
    begin_s = perf_counter()
    [found] = pulse._pulses(usable_cores()[:1], begin_s, begin_s + pulse.WINDOW_S)
    assert (found > 0.0).all()  # of a thread that lost its core there are none
