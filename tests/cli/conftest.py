from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

import pytest
from click.testing import CliRunner
from recorded_sizes import many_sizes, models  # noqa: F401  # fixtures

from tasksim.cli.main import cli

DURATIONS = "--durations potrf=1,trsm=3,syrk=3,gemm=6"


@dataclass
class Called:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def errors(self):
        """The lines that are errors."""
        return [line for line in self.err.splitlines() if line.startswith("Error: ")]


@pytest.fixture
def tasksim(tmp_path, monkeypatch):
    """Return a function that runs a command line, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))

    def call(line: str) -> Called:
        result = CliRunner().invoke(cli, shlex.split(line), prog_name="tasksim")
        return Called(result.exit_code, result.stdout, result.stderr)

    return call


@pytest.fixture
def simulate(tasksim):
    """Return a function that simulates a Cholesky factorisation of given durations."""

    def call(line: str = "tiles=5") -> Called:
        return tasksim(f"simulate cholesky {line} {DURATIONS} --workers 3")

    return call
