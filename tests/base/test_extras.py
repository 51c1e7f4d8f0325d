"""Packages of extras: what works without them, and what says which extra is missing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import tasksim
from tasksim.base.errors import InputError
from tasksim.base.extras import EXTRAS, is_installed, needed_for, require
from tasksim.cli.doctor import OPTIONAL_PACKAGES, REQUIRED_PACKAGES
from tasksim.cli.main import cli
from tasksim.kernels.program import EXECUTORS

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
PROJECTS = {"sklearn": "scikit-learn"}
ALL_EXTRAS = ("kernels", "models", "study")


def names_of(requirements):
    return {re.split(r"[^\w-]", text)[0] for text in requirements}


@pytest.mark.parametrize(("package", "extra"), EXTRAS.items())
def test_each_extra_installs_its_package(package, extra):
    assert PROJECTS.get(package, package) in names_of(PROJECT["optional-dependencies"][extra])


def test_doctor_knows_the_dependencies():
    assert set(REQUIRED_PACKAGES) == names_of(PROJECT["dependencies"])
    assert {EXTRAS[package] for package in OPTIONAL_PACKAGES} == set(ALL_EXTRAS)
    assert PROJECT["optional-dependencies"]["all"] == [f"tasksim[{','.join(ALL_EXTRAS)}]"]


LEAN_PROGRAM = """
import ast, importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("numba", "pandas", "statsmodels"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from click.testing import CliRunner
from tasksim.cli.main import cli
for line in sys.stdin.read().splitlines():
    done = CliRunner().invoke(cli, line.split())
    print([line, done.exit_code, done.output.strip().splitlines()[-1]])
"""
WORKING_COMMANDS = """\
simulate cholesky tiles=4 --platform xeon-24c -o one
simulate cholesky tiles=4 --platform xeon-24c --uncertainty all --replications 12
compare one one --figure figure.png --html page.html
bounds one
run cholesky tiles=3 tile_size=32 --workers 2 --check
study new
study run study.yaml -o study
"""
REFUSED_COMMANDS = {
    "study report study": ("a report of a study", "pandas", "study"),
    "run jacobi block_rows=2 block_columns=2 block_size=8 iterations=1": (
        "executor 'jacobi'", "numba", "kernels",
    ),
    "fit samples.csv -o k.json": (
        "a comparison of kinds of kernel models", "statsmodels", "models",
    ),
    "fit samples.csv --kind mlr -o k.json": ("fitting a linear model", "statsmodels", "models"),
}  # fmt: skip


def test_a_plain_installation_simulates_and_names_extras(tmp_path):
    """Without packages of extras, commands work or name one, as if they were not installed."""
    (tmp_path / "samples.csv").write_text(
        "n,duration_s\n" + "".join(f"{n},{n * n * 1e-9}\n" for n in range(100, 900, 50))
    )
    done = subprocess.run(
        [sys.executable, "-c", LEAN_PROGRAM], input=WORKING_COMMANDS + "\n".join(REFUSED_COMMANDS),
        capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False,
    )  # fmt: skip
    answers = map(ast.literal_eval, done.stdout.splitlines())
    said = {line: (code, last) for line, code, last in answers}
    assert [said[line] for line in WORKING_COMMANDS.splitlines() if said[line][0]] == []
    for line, (what, package, extra) in REFUSED_COMMANDS.items():
        code, last = said[line]
        assert code == 2, (line, last)
        text = f"{what} needs {package}, which is not installed: pip install 'tasksim[{extra}]'"
        assert text in last


def test_python_names_the_extra(monkeypatch):
    run = tasksim.simulate("chain length=2", workers=1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"a pandas frame needs pandas.*'tasksim\[study\]'"):
        run.frame()


def test_a_registry_names_what_needs_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(EXECUTORS._found, "cg", raising=False)
    for name in [name for name in sys.modules if name.startswith("tasksim.kernels.grids")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(InputError, match=r"^executor 'cg' needs numba, .*tasksim\[kernels\]'$"):
        EXECUTORS.find("cg")


def test_a_package_of_no_extra_is_left_as_it_is():
    with pytest.raises(ModuleNotFoundError, match="colours"), needed_for("this"):
        import colours  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match="nothing"), needed_for("this"):
        import pandas.nothing  # noqa: F401  # pandas itself is there


def test_what_can_be_used_instead(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools", None)
    assert not is_installed("ortools")
    with pytest.raises(InputError, match=r"legal without it: annealing$"):
        require("ortools", "the solver", "annealing")


def test_commands_name_the_extra_of_any_import(monkeypatch, tmp_path):
    """Also where no feature foresaw that a package may be missing."""
    monkeypatch.chdir(tmp_path)

    def lacking(*_, **__):
        raise ModuleNotFoundError("No module named 'submitit'", name="submitit.core")

    monkeypatch.setitem(sys.modules, "submitit", None)
    monkeypatch.setattr("tasksim.cli.validate.validate.callback", lacking)
    done = CliRunner().invoke(cli, ["validate", "x"])
    assert done.exit_code == 2
    assert "Error: this command needs submitit, which is not installed" in done.output
