"""The entry point: help without imports, errors and their exit codes."""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tasksim.base.errors import CheckFailed, InputError, TaskFailed
from tasksim.cli.command import Command, LazyGroup
from tasksim.cli.main import COMMANDS, cli
from tasksim.graph.builder import GraphBuilder
from tasksim.graph.graph_file import save


def test_without_arguments_there_are_examples(tasksim):
    called = tasksim("")
    assert called.code == 0
    assert "tasksim simulate cholesky tiles=20" in called.out
    assert "'tasksim --help' lists the commands." in called.out


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_examples_then_commands_then_exit_codes(tasksim, flag):
    out = tasksim(flag).out
    places = [out.index(text) for text in ("Examples:", "simulate   Predict", "Exit codes: 0 ok")]
    assert places == sorted(places)
    assert all(f"\n  {name} " in out for name in COMMANDS)


def test_help_lists_options_only_and_its_own_last(tasksim):
    out = tasksim("reproduce --help").out
    assert "\n  RUN is the folder" in out
    assert "\nOptions:\n  --engine" in out
    checks = tasksim("tune table --help").out.partition("\nChecks:\n")[2]
    assert "\n  -h, --help" in checks


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_first(tasksim, name):
    for flag in ("-h", "--help"):
        told = tasksim(f"{name} {flag}")
        assert (told.code, told.err) == (0, "")
        out = told.out
        assert out.index("Examples:\n  tasksim ") < out.index("Options:")
        assert out.split("Examples:")[1].lstrip().startswith(f"tasksim {name}")
        assert "130" in out.split("Exit codes:")[1]


def test_a_default_with_a_unit_is_shown_as_it_is_typed(tasksim):
    assert "[default: 5%]" in tasksim("report kernels -h").out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_is_a_command_line_that_parses(name):
    command = import_module(COMMANDS[name][0].partition(":")[0]).__dict__[
        COMMANDS[name][0].partition(":")[2]
    ]
    assert isinstance(command, Command)
    for example in command.examples:
        words = [w.strip("'") for w in re.sub(r"^mpiexec -n \d ", "", example).split()]
        assert words[:2] == ["tasksim", name]
        # With its settings: a command keeps the help option that its first context asks for.
        context = click.Context(command, **command.context_settings)
        # Raises if an option is unknown or misses its value.
        command.make_parser(context).parse_args(words[2:])


def failing(monkeypatch, error):
    """Let the command ``doctor`` raise *error*."""

    def fail():
        raise error

    command = Command("doctor", callback=fail)
    monkeypatch.setattr(LazyGroup, "get_command", lambda self, ctx, name: command)


def call(line):
    result = CliRunner().invoke(cli, line.split(), prog_name="tasksim")
    return result.exit_code, result.stderr


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (InputError("bad"), 2, "Error: bad\n"),
        (TaskFailed("gemm #3 failed"), 1, "Error: gemm #3 failed\n"),
        (CheckFailed("off by 7 %"), 3, "Error: off by 7 %\n"),
        (KeyboardInterrupt(), 130, "\nInterrupted.\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "Error: No space left on device\n"),
        (PermissionError(errno.EACCES, "Denied", "/x"), 1, "Error: /x: Denied\n"),
        (MemoryError(), 1, "Error: out of memory\n"),
        (
            ZeroDivisionError("division by zero"),
            1,
            "Error: ZeroDivisionError: division by zero"
            " (run again with --debug for the traceback)\n",
        ),
    ],
)
def test_errors_are_one_line_and_an_exit_code(monkeypatch, error, code, message):
    failing(monkeypatch, error)
    assert call("doctor") == (code, message)


@pytest.mark.parametrize("line", ["--debug doctor", "doctor --debug"])
def test_debug_shows_the_traceback(monkeypatch, line):
    failing(monkeypatch, InputError("bad"))
    code, err = call(line)
    assert code == 2
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.endswith("InputError: bad\nError: bad\n")


def test_warnings_are_one_line(monkeypatch):
    import warnings

    command = click.Command("doctor", callback=lambda: warnings.warn("mind the gap", stacklevel=1))
    monkeypatch.setattr(LazyGroup, "get_command", lambda self, ctx, name: command)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert call("doctor") == (0, "Warning: mind the gap\n")


def test_a_closed_pipe_is_silent():
    command = f"{shlex.quote(sys.executable)} -m tasksim list kernels | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("kernels:\n", "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_one_line(unbuffered):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tasksim", "list", "kernels"],
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=300,
        )
    assert (done.returncode, done.stderr) == (1, "Error: No space left on device\n")


@pytest.mark.slow
def test_interrupting_ends_with_130(tmp_path):
    # Ten tasks, of which the first lets there be progress, and the second has no end.
    builder = GraphBuilder("waits")
    for task, duration_s in enumerate([0.1, *[1e6] * 9]):
        builder.insert("task", after=[task - 1] if task else [], duration_s=duration_s)
    save(builder.build(), tmp_path / "waits.npz")
    process = subprocess.Popen(
        [sys.executable, "-m", "tasksim", "run", "waits.npz", "-o", "run", "--log", "info"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "running: 10 %, 1/10" in next(line for line in process.stderr if "running" in line)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err.endswith("Interrupted.\n")
    assert "Traceback" not in err
    assert (out, [path.name for path in tmp_path.iterdir()]) == ("", ["waits.npz"])
