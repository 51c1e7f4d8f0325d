"""Counting under Valgrind: what an interruption ends."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from threading import Thread

import pytest

from tasksim.calibration.counters import valgrind
from tasksim.native.caches import Cache

CACHES = [Cache(level, 2**size, 8, 64) for level, size in ((1, 15), (2, 18), (3, 23))]
LONG_S = 60
"""Limit of a count; it ends in a hundredth of that, so a busy machine may be slow."""


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """Stand in for Valgrind, which says who it is and counts for long; return where it says so."""
    program = tmp_path / "valgrind"
    (tmp_path / "begun").mkdir()
    program.write_text(f"#!/bin/sh\n: > {tmp_path}/begun/$$\nexec sleep {LONG_S}\n")
    program.chmod(0o755)
    monkeypatch.setattr(valgrind, "find_valgrind", lambda: str(program))
    monkeypatch.setattr(valgrind, "data_caches", lambda: CACHES)
    monkeypatch.setattr(valgrind, "window_library", lambda path: path)
    monkeypatch.setattr(valgrind, "_prepare", lambda request: None)
    return tmp_path / "begun"


def ended(begun):
    """Return whether no process goes on that has *begun*."""
    return not any(Path("/proc", path.name).exists() for path in begun.iterdir())


def interrupt_when_both(begun):
    while sum(1 for _ in begun.iterdir()) < 2:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interruption_ends_the_processes_that_count(begun):
    before = time.monotonic()
    Thread(target=interrupt_when_both, args=(begun,), daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        valgrind.count({})
    # They have been told; when the system lets them end is its own affair.
    while not ended(begun) and time.monotonic() - before < LONG_S / 2:
        time.sleep(0.01)
    assert time.monotonic() - before < LONG_S / 2
    assert ended(begun)
