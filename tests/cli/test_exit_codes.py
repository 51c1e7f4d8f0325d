"""The exit codes of commands: those of the documentation, each by a command that ends so."""

import re

import pytest
from executed_pages import ROOT

from tasksim.base.errors import TasksimError
from tasksim.cli.command import EXIT_CODES

SIMULATE_COMMAND = "simulate cholesky tiles=2 --workers 1 --durations potrf=1,trsm=3,syrk=3,gemm=6"
FAILING_PROGRAM = """\
import tasksim
from tasksim import RW

@tasksim.kernel
def broken(x: RW):
    raise ArithmeticError("no")

@tasksim.application("wrong")
def wrong(g):
    g.insert(broken, g.array("x"))
"""


def listed():
    """Return the codes in the table of docs/cli.md."""
    page = (ROOT / "docs" / "cli.md").read_text()
    section = page.partition("\n## Exit codes\n")[2].partition("\n## ")[0]
    return [int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)]


def classes(kind=TasksimError):
    """Return an error and all that are derived from it."""
    return {kind, *(each for child in kind.__subclasses__() for each in classes(child))}


def test_the_documentation_the_help_and_the_errors_have_the_same_codes():
    assert listed() == [0, 1, 2, 3, 130]
    assert [int(code) for code in re.findall(r"\b\d+\b", EXIT_CODES)] == listed()
    assert {kind.exit_code for kind in classes()} == {1, 2, 3}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (SIMULATE_COMMAND, 0),
        ("simulate choleski", 2),
        ("simulate --no-such-option", 2),
        ("reproduce no-such-run", 2),
        (f"{SIMULATE_COMMAND} --platform no-such-platform", 2),
        ("compare a b --max-error 1%", 3),
        ("reproduce edited", 3),
    ],
)
def test_commands_end_with_the_code_of_their_outcome(tasksim, tmp_path, line, code):
    for name, seconds in (("a", "6"), ("b", "7"), ("edited", "6")):
        durations = f"potrf=1,trsm=3,syrk=3,gemm={seconds}"
        tasksim(f"simulate cholesky tiles=3 --workers 1 --durations {durations} -o {name}")
    header = tmp_path / "edited" / "run.json"
    header.write_text(header.read_text().replace('"tiles=3"', '"tiles=2"'))
    assert tasksim(line).code == code


def test_a_kernel_that_fails_is_1(tasksim, tmp_path):
    (tmp_path / "wrong.py").write_text(FAILING_PROGRAM)
    done = tasksim("run wrong.py --workers 1")
    assert done.code == 1, done.err
    assert "no" in done.err


def test_an_interrupted_command_is_130(tasksim, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tasksim.scenario.resolved.Resolver.resolve", interrupted)
    assert tasksim(SIMULATE_COMMAND).code == 130
