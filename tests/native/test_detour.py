"""Detours of data between cores: the time beyond the least one, and unknown where nobody tells."""

from __future__ import annotations

import json

import numpy as np
import pytest
from compiled_core import needs_core

from tasksim.native import detour, idle_notes
from tasksim.native.detour import INTERVAL_S, VALID_S, detour_s
from tasksim.native.idle_notes import note
from tasksim.native.this_machine import usable_cores

NEAR_S, FAR_S = 30e-9, 190e-9


class Machine:
    """A virtual machine of five cores whose passes take what is told."""

    def __init__(self):
        self.time_s = 100.0
        self.pass_s = dict.fromkeys([(0, 1), (1, 2), (2, 3), (3, 4)], NEAR_S)
        self.at_once = []
        """The pairs of each measurement."""

    def pass_times_s(self, pairs):
        self.at_once.append(list(pairs))
        return [self.pass_s[pair] for pair in pairs]

    def later(self, pass_s, seconds=2 * INTERVAL_S):
        """Let time go by, after which all passes take *pass_s*."""
        self.time_s += seconds
        self.pass_s = dict.fromkeys(self.pass_s, pass_s)


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Return a machine whose user has run nothing so far."""
    found = Machine()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(detour, "_pass_times_s", found.pass_times_s)
    monkeypatch.setattr(detour, "_found", {})
    monkeypatch.setattr(detour, "_tried_s", {})
    monkeypatch.setattr(idle_notes, "_least", {})
    monkeypatch.setattr(detour, "functions", lambda: "a core")
    monkeypatch.setattr(detour, "is_virtual", lambda: True)
    monkeypatch.setattr(detour, "cores_for", lambda n: list(range(5)) if n <= 5 else None)
    monkeypatch.setattr(detour, "monotonic", lambda: found.time_s)
    return found


def test_a_detour_is_the_time_beyond_the_least(machine):
    assert detour_s(2) == 0.0
    machine.later(FAR_S)
    assert detour_s(2) == pytest.approx(FAR_S - NEAR_S)
    machine.later(NEAR_S)
    assert detour_s(2) == 0.0


def test_later_processes_know_the_least(machine, tmp_path):
    detour_s(2)
    assert "passes 0,1" in (tmp_path / "tasksim" / "idle-states.json").read_text()
    idle_notes._least.clear()
    machine.later(FAR_S)
    assert detour_s(2) == pytest.approx(FAR_S - NEAR_S)


def test_without_a_place_for_notes_the_process_knows_the_least(machine, tmp_path):
    (tmp_path / "tasksim").write_text("no folder")
    detour_s(2)
    machine.later(FAR_S)
    assert detour_s(2) == pytest.approx(FAR_S - NEAR_S)


def test_notes_of_idle_states_remain(machine, tmp_path):
    note("0,1", np.ones((2, 2)))
    detour_s(2)
    [days] = json.loads((tmp_path / "tasksim" / "idle-states.json").read_text()).values()
    assert [sorted(names) for names in days.values()] == [["0,1", "passes 0,1"]]


def test_it_is_the_mean_over_neighbours_none_of_which_are_in_two_pairs_at_once(machine):
    detour_s(5)
    machine.later(NEAR_S)
    machine.pass_s[1, 2] = FAR_S
    assert detour_s(5) == pytest.approx((FAR_S - NEAR_S) / 4)
    assert machine.at_once[-2:] == [[(0, 1), (2, 3)], [(1, 2), (3, 4)]]


def test_cores_are_asked_for_once_in_a_while(machine):
    detour_s(2)
    machine.later(FAR_S, INTERVAL_S / 2)
    assert detour_s(2) == 0.0
    machine.later(FAR_S, INTERVAL_S)
    assert detour_s(2) > 0.0


def test_while_others_have_the_cores_the_last_detour_counts(machine):
    machine.later(NEAR_S)
    detour_s(2)
    machine.later(FAR_S)
    expected = detour_s(2)
    machine.later(np.inf, VALID_S / 2)
    assert detour_s(2) == expected
    machine.later(np.inf, VALID_S / 2)
    assert detour_s(2) is None
    machine.later(FAR_S)
    assert detour_s(2) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "value"), [("functions", lambda: None), ("is_virtual", lambda: False)]
)
def test_where_nobody_tells_it_is_unknown(machine, monkeypatch, name, value):
    monkeypatch.setattr(detour, name, value)
    assert detour_s(2) is None
    assert machine.at_once == []


@pytest.mark.parametrize("workers", [1, 6])
def test_a_worker_alone_and_workers_without_cores_have_none(machine, workers):
    assert detour_s(workers) is None


@pytest.mark.skipif(len(usable_cores()) < 2, reason="needs two cores")
@pytest.mark.parametrize("attempts", [needs_core(20)])
def test_passes_between_two_cores_take_time(attempts):
    pair = tuple(usable_cores()[:2])
    for _ in range(attempts):  # others may have one of them
        [found] = detour._pass_times_s([pair])
        assert found == np.inf or 0.0 < found < 1e-3


@pytest.mark.parametrize("side", [needs_core(0), needs_core(1)])
def test_a_thread_whose_partner_does_not_answer_gives_up(side):
    line, seconds = np.zeros(1, np.uint64), np.empty(3)
    core = detour.functions()
    found = core.tasksim_passes(line.ctypes.data, side, 3, 1e-3, seconds.ctypes.data)
    assert found == 0
