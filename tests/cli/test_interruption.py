"""Ctrl-C and SIGTERM: one line, exit code 130, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tasksim.graph.builder import GraphBuilder
from tasksim.graph.graph_file import save

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_command_ends_and_leaves_nothing(tmp_path, name):
    # The first task lets there be progress; the second has no end.
    builder = GraphBuilder("waits")
    builder.insert("task", duration_s=0.1)
    builder.insert("task", after=[0], duration_s=1e6)
    save(builder.build(), tmp_path / "waits.npz")
    line = "run waits.npz --workers 2 -o out --log info"
    process = subprocess.Popen(
        [sys.executable, "-m", "tasksim", *line.split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert any("running: 50 %" in line for line in process.stderr)  # now it runs
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "Interrupted."
    assert [path.name for path in tmp_path.iterdir()] == ["waits.npz"]


def test_the_handler_of_the_caller_is_restored(tasksim):
    before = signal.getsignal(signal.SIGTERM)
    tasksim("--version")
    assert signal.getsignal(signal.SIGTERM) is before


IMPORTING = """
import _signal, sys  # signal itself is one of the modules that are still to be imported

class Presses:
    pressed = False

    def find_spec(self, name, *_):
        if name == wanted or self.pressed and how == "often":
            self.pressed = True
            try:
                _signal.raise_signal(_signal.SIGINT)
            except KeyboardInterrupt:
                if how == "in C":
                    raise ImportError("numpy._core.multiarray failed to import") from None
                raise

import tasksim.__main__
wanted, how = sys.argv[1:]
sys.meta_path.insert(0, Presses())
sys.argv[1:] = ["simulate", "chain", "length=2"]
tasksim.__main__.main()
"""


@pytest.mark.parametrize(
    ("module", "how"),
    [
        ("tasksim.base.interruption", "often"),
        ("tasksim.cli.main", "once"),
        ("tasksim.cli.main", "often"),
        ("click", "often"),
        ("numpy", "once"),
        ("numpy", "in C"),
    ],
)
def test_ctrl_c_during_an_import_is_one_line(tmp_path, module, how):
    ended = subprocess.run(
        [sys.executable, "-c", IMPORTING, module, how],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr.split() == ["Interrupted."]


LONG_PROGRAM = """
import signal, sys, threading
import tasksim.__main__
from tasksim.kernels.program import WaitingProgram

def endless(self, task, worker):
    signal.raise_signal(signal.SIGINT)
    threading.Event().wait()

WaitingProgram.run = endless
sys.argv[1:] = ["run", "chain", "length=2", "--workers", "1", "-o", "out", "--runtime", "python"]
tasksim.__main__.main()
"""


def test_a_task_that_does_not_end_does_not_keep_the_command(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", LONG_PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 130
    assert ended.stderr.split()[-1] == "Interrupted."
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.iterdir())


ENDING = """
import _signal, atexit, sys
import tasksim.__main__

atexit.register(_signal.raise_signal, _signal.SIGINT)
sys.argv[1:] = ["simulate", "chain", "length=2"]
sys.meta_path.insert(0, type("Presses", (), {"find_spec": lambda name, *_: presses(name)}))

def presses(name):
    if name == "numpy":
        _signal.raise_signal(_signal.SIGINT)

tasksim.__main__.main()
"""


def test_ctrl_c_while_python_ends_after_ctrl_c_changes_nothing(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", ENDING],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr.split()) == (130, ["Interrupted."])
