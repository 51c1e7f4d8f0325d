"""The package as a whole: public names, what importing costs, which way imports go."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tasksim

ROOT = Path(__file__).parents[1]


def test_every_public_name_is_documented():
    documented = re.findall(r"^(\w+) {2,}\S", tasksim.__doc__, flags=re.MULTILINE)
    assert sorted(documented) == sorted(tasksim.__all__)


@pytest.mark.parametrize("name", tasksim.__all__)
def test_every_public_name_is_there(name):
    assert getattr(tasksim, name) is not None
    assert name in dir(tasksim)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'tasksim' has no attribute 'simulat'"):
        tasksim.simulat  # noqa: B018


def test_importing_tasksim_imports_nothing_else():
    code = "import sys, tasksim; print([m for m in sys.modules if m.startswith('tasksim')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout == "['tasksim']\n"


def test_the_readme_of_three_lines():
    graph = tasksim.generate("cholesky", tiles=2)
    models = tasksim.ConstantLibrary({"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0})
    run = tasksim.simulate(graph, tasksim.Platform.identical(2), models)
    assert run.makespan_s == 8.0


def test_imports_go_downwards_only():
    lint = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", lint, "--config", ROOT / "pyproject.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
