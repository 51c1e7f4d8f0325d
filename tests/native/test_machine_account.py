"""The account of the machine, from files as the system writes them."""

from __future__ import annotations

import os

import pytest

from tasksim.native import machine_account
from tasksim.native.machine_account import busy_s, stolen_ticks

STAT_TEXT = """\
cpu  999 9 99 9999 9 9 9 9 9 9
cpu0 100 2 30 500 7 4 5 6 1 1
cpu1 200 0 10 400 9 0 0 3 0 0
cpu10 70 0 0 0 0 0 0 0 0 0
intr 12345
"""


@pytest.fixture
def stat(tmp_path, monkeypatch):
    """Return the path of a made-up account of three cores, of which two may be used."""
    path = tmp_path / "stat"
    path.write_text(STAT_TEXT, encoding="ascii")
    monkeypatch.setattr(machine_account, "STAT_FILE", path)
    monkeypatch.setattr(machine_account, "usable_cores", lambda: [0, 1])
    return path


@pytest.mark.usefixtures("stat")
def test_cores_are_busy_without_idle_time_waits_for_disks_and_the_host():
    per_s = os.sysconf("SC_CLK_TCK")
    assert busy_s() == (100 + 2 + 30 + 4 + 5 + 200 + 10) / per_s
    assert stolen_ticks() == 6 + 3


@pytest.mark.parametrize("text", ["", "cpu0 1 2\ncpu1 3 4\n", "cpu0 100 2 30 500 7 4 5 6 1 1\n"])
def test_what_the_system_does_not_tell_is_unknown(stat, text):
    stat.write_text(text, encoding="ascii")
    assert busy_s() is None
    assert stolen_ticks() is None
