"""Experiments ask tasksim as everybody does: by its public API, and by commands."""

import ast
from pathlib import Path

import tasksim

ROOT = Path(__file__).resolve().parents[2] / "experiments"


def imported(path):
    """The modules, and names of tasksim, that a module imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_experiments_use_the_public_api_alone():
    public = {"tasksim", *(f"tasksim.{name}" for name in tasksim.__all__)}
    for path in sorted(ROOT.glob("*/**/*.py")):
        if path.relative_to(ROOT).parts[0] != "frame":
            found = {module for module in imported(path) if module.split(".")[0] == "tasksim"}
            assert found <= public, path
