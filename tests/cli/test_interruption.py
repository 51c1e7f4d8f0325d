"""Ctrl-C and SIGTERM: one line, exit code 130, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_command_ends_and_leaves_nothing(tmp_path, name):
    line = "run chain length=200 duration=0.1 --workers 2 -o out"
    process = subprocess.Popen(
        [sys.executable, "-m", "tasksim", *line.split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    # The first line of progress: now it runs.
    begun = process.stderr.readline()
    assert begun.startswith("running: "), begun
    signalled = time.monotonic()
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=30)
    assert time.monotonic() - signalled < 10
    assert (process.returncode, out) == (130, "")
    assert err.split() == ["Interrupted."]
    assert not list(tmp_path.iterdir())


def test_the_handler_of_the_caller_is_restored(tasksim):
    before = signal.getsignal(signal.SIGTERM)
    tasksim("--version")
    assert signal.getsignal(signal.SIGTERM) is before
