"""Calibrations into one library at once: what each reported is there, whatever ends the others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tasksim.base.errors import InputError
from tasksim.base.lockfile import locked
from tasksim.calibration import calibrate as module
from tasksim.calibration.calibrate import calibrate
from tasksim.calibration.domain import parse_domain
from tasksim.calibration.domain_campaign import MeasureOptions, measure
from tasksim.calibration.write_library import earlier_samples
from tasksim.graph.apps.registry import generate

ROOT = Path(__file__).resolve().parents[2]
CALIBRATE = "calibrate chain length=2 duration=%g --library lib --name here --workers 1 --json"
ENDLESS_OPTIONS = "--max-time 1h --tolerance 0.000001%"
OPTIONS = "--max-time 5s --tolerance 1000%"


SAVES_OFTEN = """
import runpy
import tasksim.calibration.calibrate as module
module.KernelCampaign.save_interval_s = 0.05
runpy.run_module("tasksim", run_name="__main__", alter_sys=True)
"""


def started(folder, line, *how):
    return subprocess.Popen(
        [sys.executable, *(how or ("-m", "tasksim")), *line.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_what_each_reported_is_there_though_others_are_killed(tmp_path):
    """Three end, the fourth, which would never be content, is killed when it has written."""
    endless = started(tmp_path, f"{CALIBRATE % 0.009} {ENDLESS_OPTIONS}", "-c", SAVES_OFTEN)
    samples = tmp_path / "lib" / "models" / "here" / "task.samples.csv"
    while not samples.exists():
        assert endless.poll() is None
        time.sleep(0.01)
    durations = (0.001, 0.002, 0.003)
    others = [started(tmp_path, f"{CALIBRATE % duration} {OPTIONS}") for duration in durations]
    # They wait, and say for whom.
    assert f"waiting for process {endless.pid} on " in others[0].stderr.readline()
    endless.send_signal(signal.SIGKILL)
    endless.communicate()
    reported = {}
    for process in others:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        for row in json.loads(out)["kernels"]:
            duration = row["parameters"]["duration_s"]
            reported[duration] = max(reported.get(duration, 0), row["count"] + row["dropped"])
    there = earlier_samples(samples.parent)["task"]
    assert set(durations) <= reported.keys()
    for duration, count in reported.items():
        assert (there.parameters[:, 0] == duration).sum() >= count
    # No two of them took the same number for a run: one run has tasks of one duration only.
    runs = {(int(run), d) for run, d in zip(there.runs, there.parameters[:, 0], strict=True)}
    assert len(runs) == len({run for run, _ in runs})
    validated = started(tmp_path, "validate lib")
    assert "error" not in "".join(validated.communicate())
    assert validated.returncode == 0


@pytest.fixture
def held_elsewhere():
    """Let another thread hold the lock of what the test names, until the test ends."""
    over, threads = threading.Event(), []

    def hold(target):
        has = threading.Event()

        def body():
            with locked(target):
                has.set()
                over.wait()

        threads.append(threading.Thread(target=body))
        threads[-1].start()
        has.wait()

    yield hold
    over.set()
    for thread in threads:
        thread.join()


def test_waiting_for_another_one_can_be_interrupted(tmp_path, held_elsewhere, monkeypatch):
    told = []

    def warn(text):
        told.append(text)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(module.warnings, "warn", warn)
    held_elsewhere(tmp_path / "models" / "here")
    with pytest.raises(KeyboardInterrupt):
        calibrate([generate("chain", length=2)], tmp_path, workers=1, machine="here")
    assert [text.partition(" process ")[0] for text in told] == ["waiting for"]


def test_a_file_that_another_one_measures_is_refused(tmp_path, held_elsewhere):
    output = tmp_path / "potrf.csv"
    held_elsewhere(output)
    with pytest.raises(InputError, match="is being written by process"):
        measure(parse_domain("potrf", ["n=8..16"]), output, MeasureOptions(samples=1))
    assert not output.exists()
