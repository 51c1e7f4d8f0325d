"""Man pages: one for each command, with what its help says, and no mistake of troff."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from runpy import run_path

import pytest

ROOT = Path(__file__).parents[2]
MANPAGES = run_path(str(ROOT / "docs" / "manpages.py"))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("man")
    return {path.name: path for path in MANPAGES["write_pages"](folder, "1.2")}


def test_each_command_has_a_page(pages):
    assert {"tasksim.1", "tasksim-simulate.1", "tasksim-study-run.1"} <= set(pages)
    assert "simulate \\- Predict a run" in pages["tasksim-simulate.1"].read_text()
    assert "\\fB\\-\\-scheduler TEXT\\fR" in pages["tasksim-simulate.1"].read_text()
    assert "\\fB\\-h, \\-\\-help\\fR" in pages["tasksim-simulate.1"].read_text()
    assert "\\fBtasksim\\-study\\-run\\fR(1)" in pages["tasksim-study.1"].read_text()


def test_pages_are_made_without_the_packages_of_simulations(tmp_path):
    """Building a wheel installs click alone."""
    heavy = ("matplotlib", "networkx", "numpy", "pyarrow", "rich", "scipy", "simpy", "yaml")
    script = str(ROOT / "docs" / "manpages.py")
    code = f"""
import runpy, sys
sys.modules.update(dict.fromkeys({heavy}))
sys.argv[1:] = [{str(tmp_path / "man")!r}]
runpy.run_path({script!r}, run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "printed"), [(".x", "\\&.x"), ("'x'", "\\&'x'"), ("a\\b-c", "a\\eb\\-c")]
)
def test_no_character_is_a_command_of_troff(words, printed):
    assert MANPAGES["text"](words) == printed


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc checks the pages")
def test_pages_are_legal(pages):
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", *pages.values()],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    # Pages have no date: the same sources make the same wheel.
    wrong = [line for line in done.stdout.splitlines() if "missing date" not in line]
    assert wrong == []
