"""Recordings that are cut short as tasksim itself is ended: what is left becomes a run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

import tasksim
from tasksim.base.errors import InputError
from tasksim.cli.main import cli
from tasksim.recording.openmp import openmp_recording
from tasksim.recording.openmp.program import run_program
from tasksim.recording.openmp.raw_trace import ABOUT_FILE, FOLDER_PREFIX, RawTrace
from tasksim.recording.openmp.runtime import find_program, find_recorder
from tests.openmp_programs import EXAMPLES, HANG_S

WAITS = """
#include <stdio.h>
#include <unistd.h>
static volatile double sink;
int main(int count, char **values)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        for (int i = 0; i < 20; ++i) {
#pragma omp task
            for (int k = 0; k < 2000; ++k) sink += k;
        }
#pragma omp taskwait
        fclose(fopen(values[1], "w"));
        for (int tries = 0; access(values[2], F_OK) && tries < 30000; ++tries) usleep(10000);
#pragma omp task
        sink += 1;
    }
    return count != 3;
}
"""


def wait_for(what):
    until_s = time.monotonic() + HANG_S
    while not what():
        assert time.monotonic() < until_s, what
        time.sleep(0.01)


@pytest.mark.slow
def test_a_program_goes_on_and_is_recorded_when_tasksim_is_killed(compiled, tmp_path):
    ready, go, out = (tmp_path / name for name in ("ready", "go", "run"))
    command = [sys.executable, "-m", "tasksim", "record", "-o", out, compiled(WAITS), ready, go]
    with subprocess.Popen(
        [str(word) for word in command], stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:  # fmt: skip
        wait_for(ready.exists)
        process.kill()
    (raw,) = tmp_path.glob(f"{FOLDER_PREFIX}*")
    running = tasksim.recover_openmp(raw)
    assert running.tasks == 20
    assert any("still runs" in note for note in running.notes)
    go.touch()
    wait_for(lambda: not RawTrace.read(raw).is_running())
    done = CliRunner().invoke(cli, ["import", "openmp", str(raw), "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert "the recording was ended before the program" in done.stderr
    assert tasksim.load_run(out).config["recorded"]["tasks"] == 21
    assert raw.exists()


@pytest.fixture
def raw(compiled, tmp_path):
    """The folder of a raw trace of a program that has ended."""
    program = find_program(compiled(EXAMPLES / "fib.c"))
    with (tmp_path / "output").open("w") as output:
        run_program(program, ("10", "4"), find_recorder(), tmp_path / "raw", output)
    return tmp_path / "raw"


def test_a_raw_trace_is_the_recording_but_for_its_end(raw, compiled, recorded, tmp_path):
    expected = recorded(compiled(EXAMPLES / "fib.c"), "10", "4").recording
    found = tasksim.recover_openmp(raw, kernels={"fib": "other"})
    assert (found.tasks, found.ended) == (expected.tasks, None)
    assert "the recording was ended before the program: how that ended is unknown" in found.notes
    assert any("no kernel is called 'fib'" in note for note in found.notes)
    assert 0 < found.run.wall_s < HANG_S
    tasksim.check_run(found.run, found.graph)
    found.save(tmp_path / "run")
    assert tasksim.simulate(tmp_path / "run", workers=4).makespan_s > 0


def test_arguments_that_are_no_text_do_no_harm(raw):
    RawTrace(raw, RawTrace.read(raw).program, ("\udcff",), 1).write()
    assert RawTrace.read(raw).arguments == ("\\udcff",)
    assert not RawTrace.read(raw).is_running()


def test_the_place_of_the_records_is_said_and_they_are_kept_if_they_become_no_run(
    compiled, recorded, monkeypatch
):
    def fail(*_):
        raise MemoryError

    said = []
    monkeypatch.setattr(openmp_recording, "history_of", fail)
    with pytest.raises(MemoryError):
        openmp_recording.PreparedProgram(compiled(EXAMPLES / "fib.c"), ("5", "2")).record(
            say=said.append
        )
    folder = said[0].split()[3]
    assert said == [
        f"Records are in {folder} until they are a run",
        f"Records are kept: 'tasksim import openmp {folder} -o RUN' makes a run of them",
    ]
    monkeypatch.undo()
    assert tasksim.recover_openmp(folder).tasks > 0
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: shutil.rmtree(raw), r"raw: no such folder; legal: a folder \.tasksim-openmp-"),
        (
            lambda raw: shutil.rmtree(raw / "trace"),
            r"raw: no raw trace of an OpenMP program; legal",
        ),
        (lambda raw: (raw / ABOUT_FILE).unlink(), r"about.json: no such file"),
        (lambda raw: (raw / ABOUT_FILE).write_text("{"), r"about.json:\d+:\d+: "),
        (
            lambda raw: (raw / ABOUT_FILE).write_text("[]"),
            r"about.json: got \[\]; legal: program and",
        ),
        (
            lambda raw: (raw / ABOUT_FILE).write_text(json.dumps({"program": 3, "process": 0})),
            r"about.json: got .*; legal: program and process",
        ),
    ],
)
def test_what_is_no_raw_trace_is_refused(raw, change, message):
    change(raw)
    with pytest.raises(InputError, match=message):
        tasksim.recover_openmp(raw)


def test_a_folder_with_a_raw_trace_in_it_says_so(raw):
    raw.rename(raw.parent / f"{FOLDER_PREFIX}x")
    with pytest.raises(InputError, match=rf"; in it is \{FOLDER_PREFIX}x$"):
        tasksim.recover_openmp(raw.parent)
