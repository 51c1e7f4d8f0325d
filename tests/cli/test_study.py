"""``tasksim study``: new, run, table, show."""

from __future__ import annotations

import io
import os
import shlex
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from study_cases import CELLS, SLOW_SCHEDULER, SMALL_STUDY

from tasksim.formats.runs import load_run
from tasksim.study.sweep.store import read_table

SERIAL = ["--executor", "serial"]


@pytest.fixture
def study(tasksim):
    """A function that runs `tasksim study` with some words."""
    return lambda *words: tasksim(shlex.join(["study", *map(str, words)]))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(SMALL_STUDY)
    return path


@pytest.fixture
def done(study, file, tmp_path):
    """A study that is done: its folder."""
    study("run", file, "-o", tmp_path / "study", *SERIAL)
    return tmp_path / "study"


def test_the_example_runs_as_it_is(study, tmp_path):
    assert study("new", tmp_path / "new.yaml").code == 0
    called = study("run", tmp_path / "new.yaml", "-o", tmp_path / "study", *SERIAL)
    assert (called.code, called.out.splitlines()[0]) == (0, "cells    99 done")
    again = study("new", tmp_path / "new.yaml")
    assert again.code == 2
    assert "exists; give --force to replace it" in again.err


def test_a_run_resumes_and_says_so(study, file, done):
    called = study("run", file, "-o", done, *SERIAL)
    assert called.code == 0
    assert called.out.splitlines()[0] == f"cells    {CELLS} done, {CELLS} of them before"


def test_a_run_says_in_json_what_it_did(study, file, tmp_path):
    found = study("run", file, "-o", tmp_path / "study", "--json", *SERIAL).json
    assert (found["cells"], found["computed"], found["failed"]) == (CELLS, CELLS, 0)


def test_a_run_needs_a_place_for_its_answers(study, file):
    called = study("run", file)
    assert called.code == 2
    assert "Missing option '-o'" in called.err


def test_failed_cells_are_rows_and_an_exit_code(study, file, tmp_path):
    file.write_text(SMALL_STUDY.replace("- qr tiles=3", "- jacobi block_rows=2 block_columns=2"))
    called = study("run", file, "-o", tmp_path / "study", *SERIAL)
    assert called.code == 1
    assert f"failed   {CELLS // 3}: " in called.out
    table = study("table", tmp_path / "study")
    assert table.code == 0
    assert "no model of kernel" in table.out or "model" in table.out


def test_a_dry_run_counts_and_estimates_and_writes_nothing(study, file, tmp_path):
    called = study("run", file, "-o", tmp_path / "study", "--dry-run", "--jobs", "2")
    assert called.code == 0
    lines = called.out.splitlines()
    assert lines[0] == f"cells    {CELLS} in 9 groups of one graph and platform"
    assert lines[1].startswith("time     about ")
    assert lines[1].endswith(" on 2 at a time")
    assert lines[2].startswith("memory   about ")
    assert not (tmp_path / "study").exists()


def test_a_dry_run_knows_what_is_done(study, file, done):
    found = study("run", file, "-o", done, "--dry-run", "--json").json
    assert (found["cells"], found["done"], found["sampled"], found["seconds"]) == (
        CELLS,
        CELLS,
        0,
        0,
    )


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_grid_of_a_billion_cells_is_refused_with_its_size(study, file, tmp_path, dry):
    file.write_text(SMALL_STUDY.replace("seeds: 2", "seeds: 37037037"))
    called = study("run", file, "-o", tmp_path / "study", *dry)
    assert called.code == 2
    assert "the grid has 999999999 cells; legal: at most 1000000" in called.err


def test_a_study_that_has_changed_is_refused_and_extended(study, file, done):
    file.write_text(SMALL_STUDY.replace("- lws", "- lws\n  - prio"))
    refused = study("run", file, "-o", done, *SERIAL)
    assert refused.code == 2
    assert "schedulers: + prio" in refused.err
    assert "--extend adds the new cells" in refused.err
    extended = study("run", file, "-o", done, "--extend", *SERIAL)
    assert extended.out.splitlines()[0] == f"cells    {CELLS * 4 // 3} done, {CELLS} of them before"


def test_the_table_in_three_forms(study, done):
    text = study("table", done).out
    assert len(text.splitlines()) == CELLS + 1
    as_csv = pd.read_csv(io.StringIO(study("table", done, "--csv").out))
    as_json = study("table", done, "--json").json
    table = read_table(done)
    assert list(as_csv.columns) == as_json["columns"] == list(table.columns)
    assert as_csv["makespan_s"].tolist() == table["makespan_s"].tolist()
    assert [row["makespan_s"] for row in as_json["rows"]] == table["makespan_s"].tolist()
    assert as_json["rows"][0]["platform.workers.cpu.count"] is None
    assert as_json["rows"][-1]["platform.workers.cpu.count"] == 8


def test_a_table_of_no_study_is_refused(study, tmp_path):
    called = study("table", tmp_path)
    assert called.code == 2
    assert "is not a study's folder: it has no study.json" in called.err


def test_a_cell_is_shown_as_the_run_that_it_was(study, done, tmp_path):
    row = read_table(done).iloc[-1]
    shown = study("show", done, row["cell"][:8], "-o", tmp_path / "run", "--json")
    assert shown.code == 0
    assert shown.json["cell"] == row["cell"]
    assert shown.json["makespan_s"] == row["makespan_s"]
    assert load_run(tmp_path / "run").makespan_s == row["makespan_s"]


@pytest.mark.parametrize(("cell", "said"), [("", "several begin so: "), ("zzz", "no such cell")])
def test_a_cell_that_is_not_one_is_refused(study, done, cell, said):
    called = study("show", done, cell)
    assert called.code == 2
    assert said in called.err


def test_a_scheduler_that_would_be_imported_is_refused(study, file, tmp_path):
    file.write_text(SMALL_STUDY.replace("- lws", "- canary:Policy"))
    called = study("run", file, "-o", tmp_path / "study", *SERIAL)
    assert called.code == 2
    assert "study.yaml:10:5: schedulers.0: " in called.err
    assert "nothing is imported because a file names it" in called.err


def test_commands_are_told_with_the_nearest(study):
    called = study("tabel")
    assert called.code == 2
    assert "unknown command 'tabel', did you mean 'table'?" in called.err


@pytest.mark.parametrize(
    "executor",
    ["processes", *(pytest.param(e, marks=pytest.mark.slow) for e in ("serial", "threads"))],
)
def test_ctrl_c_keeps_what_is_done(file, tmp_path, executor):
    (tmp_path / "slowly.py").write_text(SLOW_SCHEDULER)
    slow = SMALL_STUDY.replace("- lws", "- slowly:Slow").replace("seeds: 2", "seeds: 20")
    file.write_text(slow)
    command = [sys.executable, "-m", "tasksim", "study", "run", file, "-o", tmp_path / "study"]
    command += ["--executor", executor, "--trust"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    while not list((tmp_path / "study" / "cells").glob("[!.]*")) and process.poll() is None:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "Interrupted."
    assert 0 < len(read_table(tmp_path / "study")) < 10 * CELLS
