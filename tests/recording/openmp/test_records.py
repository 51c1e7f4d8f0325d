"""Records of the recorder: files that end anywhere, or are of something else."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tasksim
from tasksim.base.errors import InputError
from tasksim.native.pulse import Idle
from tasksim.recording.openmp import program
from tasksim.recording.openmp.openmp_recording import OpenMPRecording
from tasksim.recording.openmp.program import ProgramEnd, run_program
from tasksim.recording.openmp.raw_trace import TRACE_FOLDER
from tasksim.recording.openmp.runtime import find_program, find_recorder
from tasksim.recording.openmp.trace import read_trace
from tests.openmp_programs import EXAMPLES

HEADER_BYTES, RECORD_BYTES = 32, 16


@pytest.fixture(scope="module")
def trace(compiled, tmp_path_factory):
    """The folder of a trace of two threads, without the room that was reserved for more."""
    folder = tmp_path_factory.mktemp("trace")
    with pytest.MonkeyPatch.context() as patch, (folder / "output").open("w") as output:
        patch.setenv("OMP_NUM_THREADS", "2")
        found = find_program(compiled(EXAMPLES / "nqueens.c"))
        run_program(found, ("6", "3"), find_recorder(), folder / "here", output)
    for path in (folder / "here" / TRACE_FOLDER).glob("thread-*"):
        path.write_bytes(path.read_bytes().rstrip(b"\0") + bytes(RECORD_BYTES))
    return folder / "here" / TRACE_FOLDER


def recording_of(folder):
    return OpenMPRecording(
        EXAMPLES / "nqueens.c", read_trace(folder), ProgramEnd(137, "SIGKILL", 0), {}
    )


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40
)
@given(shares=st.tuples(st.floats(0, 1), st.floats(0, 1)), torn=st.booleans())
def test_a_process_killed_at_any_moment_leaves_a_run(trace, tmp_path_factory, shares, torn):
    """A record is there or is not: its type is written last."""
    folder = tmp_path_factory.mktemp("cut")
    for path, share in zip(sorted(trace.glob("thread-*")), shares, strict=False):
        data = path.read_bytes()
        records = int(share * ((len(data) - HEADER_BYTES) // RECORD_BYTES))
        kept = data[: HEADER_BYTES + RECORD_BYTES * records]
        kept += bytes(8) + b"\xff" * 8 if torn else b""
        (folder / path.name).write_bytes(kept + bytes(4096))
    for name in ("notes", "sites"):
        (folder / name).write_bytes((trace / name).read_bytes())
    recording = recording_of(folder)
    if not recording.tasks:
        return
    tasksim.check_run(recording.run, recording.graph)
    assert recording.simulate().makespan_s >= 0
    assert recording.simulate(workers=8).makespan_s >= 0


@pytest.mark.parametrize("virtual", [True, False])
def test_threads_of_a_virtual_machine_take_pulses(recorded, compiled, monkeypatch, virtual):
    """Relative to a core that is never idle enough, all are large."""
    monkeypatch.setattr(program, "is_virtual", lambda: virtual)
    monkeypatch.setattr(program, "idle_core_of_any", lambda: Idle(1e-3, 1e-12))
    tasks = recorded(compiled(EXAMPLES / "nqueens.c"), "6", "3").recording.run.tasks
    for column in (tasks.pulse, tasks.beat):
        known = np.isfinite(column)
        assert known[tasks.preemptions >= 0].all() if virtual else not known.any()
        assert (column[known] > 100).all()


def test_a_file_that_was_just_begun_counts_as_none(trace, tmp_path):
    for path in trace.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "thread-7").write_bytes(b"")
    (tmp_path / "thread-8").write_bytes(bytes(65536))
    assert recording_of(tmp_path).tasks == recording_of(trace).tasks


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("thread-0", b"something else, of forty bytes or so....", "not written by this version"),
        ("thread-0", b"tsOMPT\r\n" + b"\x09" + bytes(40), "not written by this version"),
        (
            "thread-0",
            b"tsOMPT\r\n" + b"\x01" + bytes(23) + b"\x63" + bytes(15),
            "record of type 99",
        ),
        ("sites", b"3\tnothing\n", "sites:1: not the line of a site"),
    ],
)
def test_files_of_something_else_are_refused(name, data, message, tmp_path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=re.escape(message)):
        read_trace(tmp_path)


def test_an_empty_folder_is_a_program_that_never_came_to_openmp(tmp_path):
    assert recording_of(tmp_path).tasks == 0
