"""Calibrations that are interrupted, or that find no place to write: what was measured is kept."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from made_calibrations import entry, here, seconds, sizes

from tasksim.base.errors import OutputError
from tasksim.calibration import calibrate as module
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.write_library import earlier_samples
from tasksim.graph.apps.registry import generate
from tasksim.models.kinds.linear import LinearModel
from tasksim.platform.load import load

CHAIN = generate("chain", length=3)
# Interrupted, and no place to write


def interrupt_in(round_):
    def progress(what, share):
        if what == f"round {round_}":
            raise KeyboardInterrupt

    return progress


def test_interrupted_what_was_measured_is_kept(machine, tmp_path):
    report = here([CHAIN], tmp_path, progress=interrupt_in(2))
    assert report.interrupted
    assert report.rows[0].count == 6
    assert entry(tmp_path).model.report()["samples"] == 6
    assert len(load(str(report.platform_path)).workers) == 1
    assert here([CHAIN], tmp_path).rows[0].count >= 15  # and added to


@pytest.mark.slow
def test_terms_of_an_earlier_calibration_are_kept(machine, tmp_path):
    machine.durations_s = seconds
    graph = sizes(8.0, 9.0, 10.0)
    here([graph], tmp_path, terms={"gemm": "1 + m"})
    again = here([graph], tmp_path)
    assert entry(tmp_path, "gemm").model.terms == "1 + m"
    assert again.notes[-1].startswith("gemm: a linear model of the terms 1 + m, as in an earlier")
    here([graph], tmp_path, terms={"gemm": "m"})
    assert entry(tmp_path, "gemm").model.terms == "m"
    for options in ({"replace": True}, {"search": "none"}):
        here([graph], tmp_path, terms={"gemm": "m"})
        assert here([graph], tmp_path, **options).notes == []
        assert entry(tmp_path, "gemm").model.kind == "history"


def pressing(times=1):
    """Return a function that is as if somebody pressed Ctrl-C so many times."""

    def press(*_, **__):
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)

    return press


def before_calling(monkeypatch, where, name, first):
    called = getattr(where, name)
    monkeypatch.setattr(where, name, lambda *a, **k: (first(), called(*a, **k))[1])


@pytest.mark.parametrize("name", ["write_samples_of", "save_kernel", "write_platform"])
def test_ctrl_c_again_and_again_loses_nothing(machine, tmp_path, monkeypatch, name):
    before_calling(monkeypatch, module, name, pressing(2))
    machine.durations_s = seconds
    terms = {"gemm": "1 + m"}
    report = here([sizes(8.0, 9.0, 10.0), CHAIN], tmp_path, terms=terms, progress=interrupt_in(3))
    assert report.interrupted
    assert len(earlier_samples(tmp_path / "models" / "here")["gemm"]) == 90
    assert entry(tmp_path).model.report()["samples"] == 9
    assert len(load(str(report.platform_path)).workers) == 1


def test_ctrl_c_while_all_is_known_is_told(machine, tmp_path, monkeypatch):
    before_calling(monkeypatch, module, "write_platform", pressing())
    report = here([CHAIN], tmp_path)
    assert report.interrupted
    assert report.rows[0].stopped == "tolerance"


def test_ctrl_c_ends_the_search_for_terms_and_leaves_the_samples(machine, tmp_path, monkeypatch):
    machine.durations_s = seconds
    before_calling(monkeypatch, LinearModel, "fit", pressing())
    report = here([sizes(8.0, 9.0, 10.0), CHAIN], tmp_path, terms={"gemm": "auto"})
    assert report.interrupted
    assert report.notes[0] == "gemm: only samples were written, as the fit was interrupted"
    assert [row.kernel for row in report.rows] == ["gemm"] * 3 + ["task"]
    assert len(earlier_samples(tmp_path / "models" / "here")["gemm"]) >= 150
    assert entry(tmp_path).model.report()["samples"] == 15


def test_a_signal_amid_the_tables_of_a_run_leaves_the_run_in_all_or_none(
    machine, tmp_path, monkeypatch
):
    add, calls = module.FarTable.add, count()

    def interrupted(table, *args):
        add(table, *args)
        if next(calls) == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(module.FarTable, "add", interrupted)
    report = here([CHAIN], tmp_path)
    assert report.interrupted
    assert len(earlier_samples(tmp_path / "models" / "here")["task"]) == 4 * len(CHAIN)


def test_a_signal_that_other_code_swallowed_ends_the_measurement_all_the_same(machine, tmp_path):
    def swallow(what, share):
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    report = here([CHAIN], tmp_path, progress=swallow)
    assert report.interrupted
    assert report.rows == []


def test_interrupted_in_the_warm_up_there_is_nothing_and_earlier_files_stay(
    machine, tmp_path, contents
):
    report = here([CHAIN], tmp_path / "new", progress=interrupt_in(0))
    assert report.interrupted
    assert report.rows == []
    assert contents(tmp_path) == {}
    here([CHAIN], tmp_path)
    before = contents(tmp_path)
    for replace in (False, True):
        assert here([CHAIN], tmp_path, progress=interrupt_in(0), replace=replace).interrupted
    assert contents(tmp_path) == before


def test_interrupted_before_the_terms_can_be_fitted(machine, tmp_path):
    machine.durations_s = seconds
    report = here([sizes(8.0)], tmp_path, terms={"gemm": "m"}, progress=interrupt_in(1))
    assert report.interrupted
    assert len(earlier_samples(tmp_path / "models" / "here")["gemm"]) == 10


@pytest.mark.parametrize("written", range(3))
def test_a_full_disk_leaves_the_earlier_files(machine, tmp_path, monkeypatch, contents, written):
    """However far the writing comes, every file is the earlier one or a complete new one."""
    here([CHAIN], tmp_path)
    before = contents(tmp_path)
    write, left = Path.write_bytes, [written]

    def full(path, data):
        if not left[0]:
            write(path, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        left[0] -= 1
        return write(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(OutputError, match=r"cannot write .*: No space left on device"):
            here([CHAIN], tmp_path, options=CalibrationOptions(max_seconds=1e9, min_runs=6))
    after = contents(tmp_path)
    assert set(after) == set(before)
    assert sum(after[name] != before[name] for name in before) == written
    assert here([CHAIN], tmp_path).rows[0].count >= 15  # all of it can be read


def test_a_library_that_is_a_file(machine, tmp_path):
    (tmp_path / "lib").write_text("not a folder")
    with pytest.raises(OutputError, match=r"cannot write .*Not a directory"):
        here([CHAIN], tmp_path / "lib")
    assert (tmp_path / "lib").read_text() == "not a folder"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_library_that_is_read_only(machine, tmp_path):
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(OutputError, match="Permission denied"):
            here([CHAIN], tmp_path / "lib")
    finally:
        tmp_path.chmod(0o755)


CALIBRATE = """
import runpy, sys
import tasksim.calibration.calibrate as module
module.KernelCampaign.save_interval_s = 0.05
runpy.run_module("tasksim", run_name="__main__", alter_sys=True)
"""


def test_ctrl_c_ends_the_command_and_keeps_what_there_is(tmp_path):
    line = "calibrate chain length=5 --library lib --name here --workers 1 --max-time 60s"
    environment = {**os.environ, "PYTHONPATH": str(Path(module.__file__).parents[2])}
    process = subprocess.Popen(
        [sys.executable, "-c", CALIBRATE, *line.split(), "--tolerance", "0.000001%"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        while not (tmp_path / "lib" / "platforms" / "here.yaml").exists():
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert [line for line in err.splitlines() if "nterrupted" in line] == [
        "Interrupted: the samples so far are kept."
    ]
    assert "Traceback" not in err
    assert "task (duration_s=0.001)" in out
    samples = earlier_samples(tmp_path / "lib" / "models" / "here")["task"]
    assert len(samples) % 5 == 0
    assert entry(tmp_path / "lib").model.report()["samples"] == len(samples)
    assert not list(tmp_path.rglob(".*.tmp*"))
