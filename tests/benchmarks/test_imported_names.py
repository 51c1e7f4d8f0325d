"""Names that benchmarks and experiments import from tasksim, when they run."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

PROJECT_FOLDER = Path(__file__).resolve().parents[2]
FOLDERS = ("benchmarks", "experiments")


def imported(tree: ast.Module) -> list[tuple[str, str]]:
    """Return the modules of tasksim, and the names from each, that the top of a module imports."""
    return [
        (node.module, alias.name)
        for node in tree.body  # those for annotations alone are inside an "if"
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tasksim"
        for alias in node.names
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_all_names_exist(folder):
    missing = []
    for path in sorted((PROJECT_FOLDER / folder).rglob("*.py")):
        for module, name in imported(ast.parse(path.read_text())):
            whole = f"{module}.{name}"
            package = hasattr(import_module(module), "__path__")
            if not hasattr(import_module(module), name) and not (package and find_spec(whole)):
                missing.append(f"{path.relative_to(PROJECT_FOLDER)}: {whole}")
    assert not missing
