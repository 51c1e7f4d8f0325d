from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from shutil import copytree

import pytest
from click.testing import CliRunner
from json_schemas import check_json
from recorded_sizes import many_sizes, models  # noqa: F401  # fixtures

from tasksim.cli.main import cli
from tasksim.study.sweep.studies import run_study

COMMANDS_CHECKED_HERE = (
    "counters", "doctor", "profile", "report functions", "report refinement", "report scaling",
    "reproduce", "study show",
)  # fmt: skip
"""Commands whose JSON is validated here; that of others where pages list its keys."""
DURATIONS = "--durations potrf=1,trsm=3,syrk=3,gemm=6"


@dataclass
class Called:
    """Output and exit code of a command."""

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
        words = shlex.split(line)
        result = CliRunner().invoke(cli, words, prog_name="tasksim")
        if line.startswith(COMMANDS_CHECKED_HERE):
            check_json(words, result.stdout)
        return Called(result.exit_code, result.stdout, result.stderr)

    return call


@pytest.fixture(scope="session")
def computed(tmp_path_factory):
    """Return a function that copies the study of a text to a folder; it is computed once."""
    known = {}

    def copy(text, folder):
        if text not in known:
            place = tmp_path_factory.mktemp("study")
            (place / "study.yaml").write_text(text)
            run_study(place / "study.yaml", place / "study")
            known[text] = place / "study"
        return copytree(known[text], folder)

    return copy


@pytest.fixture
def simulate(tasksim):
    """Return a function that simulates a Cholesky factorisation of given durations."""

    def call(line: str = "tiles=5") -> Called:
        return tasksim(f"simulate cholesky {line} {DURATIONS} --workers 3")

    return call
