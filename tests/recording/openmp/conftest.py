"""OpenMP programs, compiled for tests and recorded; tests are skipped where something lacks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tasksim.base.errors import InputError
from tasksim.recording.openmp.openmp_recording import PreparedProgram
from tasksim.recording.openmp.runtime import find_recorder, find_runtime
from tests.openmp_programs import HANG_S, Recorded, compilers

LACKS_RUNTIME = ("cannot find -lomp", "omp.h' file not found")
"""Message of a Clang that is installed without its OpenMP runtime."""


class _Bounded(subprocess.Popen):
    """A process that must end, although its parent waits for it without a limit."""

    def wait(self, timeout=None):
        if timeout is not None:
            return super().wait(timeout)
        try:
            return super().wait(HANG_S)
        except subprocess.TimeoutExpired:
            self.kill()
            super().wait(HANG_S)
            pytest.fail(f"still running after {HANG_S:g} s, and killed: {self.args}")


@pytest.fixture(autouse=True, scope="module")
def _every_process_ends():
    """Fail where a recorded program hangs, which a recording waits for as long as it takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", _Bounded)
        yield


@pytest.fixture(scope="session")
def _needs():
    """Skip where programs cannot be recorded at all."""
    try:
        find_recorder()
        find_runtime()
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def compiled(tmp_path_factory, _needs):
    """Return a function that compiles a source, or a text of C, once; it returns the program."""
    made = {}

    def compile_(source, with_="gcc", *flags):
        programs = compilers(with_)
        if not programs:
            pytest.skip(f"no {with_} here")
        key = source, with_, flags
        if key not in made:
            folder = tmp_path_factory.mktemp("openmp")
            path = source
            if not isinstance(source, Path):
                path = folder / "program.c"
                path.write_text(source)
            target = folder / path.stem
            for program in programs:  # Clang 16 may be there without its runtime, and 14 with it
                command = [program, "-g", "-O1", "-fopenmp", *flags, str(path), "-o", str(target)]
                done = subprocess.run(
                    [*command, "-lm"], capture_output=True, text=True, check=False, timeout=HANG_S
                )
                if not any(text in done.stderr for text in LACKS_RUNTIME):
                    break
            else:
                pytest.skip(f"{with_} has no OpenMP runtime here")
            assert done.returncode == 0, done.stderr
            made[key] = target
        return made[key]

    return compile_


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Return a function that records a program on some threads."""

    def record(program, *arguments, threads=2, **options):
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
        with (tmp_path / "output").open("w+") as output:
            recording = PreparedProgram(program, arguments, **options).record(
                tmp_path / "here", stdout=output
            )
            output.seek(0)
            return Recorded(recording, output.read())

    return record
