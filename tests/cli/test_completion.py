"""Completion in shells: names of generators, settings, schedulers, platforms and models."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from tasksim.cli.main import cli


def completed(line):
    """Return what completes the last word of a *line*; ``FILE`` where the shell adds files."""
    *words, last = line.split(" ")
    shell = BashComplete(cli, {}, "tasksim", "_TASKSIM_COMPLETE")
    items = shell.get_completions(words[1:], last)
    return ["FILE" if item.type == "file" else item.value for item in items]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("tasksim simu", ["simulate"]),
        ("tasksim study ru", ["run"]),
        ("tasksim simulate chol", ["cholesky"]),
        ("tasksim run random-l", ["random-layered"]),
        ("tasksim simulate mygraph", ["FILE"]),
        ("tasksim simulate cholesky til", ["tiles=", "tile_size="]),
        ("tasksim simulate cholesky tiles=4 til", ["tile_size="]),
        ("tasksim simulate mine.py til", []),
        ("tasksim simulate mine:graph til", []),
        ("tasksim simulate cholesky --scheduler heteroprio-", ["heteroprio-static"]),
        ("tasksim simulate cholesky --platform xeon-", ["xeon-24c", "xeon-2c"]),
        ("tasksim simulate cholesky --platform mine", ["FILE"]),
        ("tasksim simulate cholesky --models xeon-", ["xeon-2c"]),
        ("tasksim simulate cholesky --uncertainty mo", ["models"]),
        ("tasksim list sched", ["schedulers"]),
        ("tasksim calibrate cholesky --scheduler eag", ["eager"]),
    ],
)
def test_names(line, found):
    assert completed(line) == found


def test_names_of_a_library(tmp_path):
    (tmp_path / "platforms").mkdir()
    (tmp_path / "platforms" / "xeon-own.yaml").touch()
    assert completed(f"tasksim simulate cholesky --library {tmp_path} --platform xeon-o") == [
        "xeon-own"
    ]


SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_one_of_the_shell(shell, tmp_path):
    """The script that ``_TASKSIM_COMPLETE=SHELL_source tasksim`` prints has no syntax error."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    script = tmp_path / "completion"
    script.write_text(SHELLS[shell](cli, {}, "tasksim", "_TASKSIM_COMPLETE").source())
    option = "--no-execute" if shell == "fish" else "-n"
    done = subprocess.run([shell, option, script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
