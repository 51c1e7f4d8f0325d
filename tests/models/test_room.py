"""The room as a whole: thresholds have reasons, imports make no circle."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOM = Path(__file__).parents[2] / "tasksim" / "models"
MODULES = sorted(ROOM.rglob("*.py"))


def has_a_number(value):
    return any(
        isinstance(part, ast.Constant) and type(part.value) in (int, float)
        for part in ast.walk(value)
    )


def bare_thresholds(path):
    """Yield the names of numeric constants that no docstring follows."""
    body = ast.parse(path.read_text()).body
    for statement, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
            continue
        target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
        if not (isinstance(target, ast.Name) and target.id.isupper()):
            continue
        documented = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if has_a_number(statement.value) and not documented:
            yield target.id


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOM)))
def test_thresholds_have_reasons(path):
    assert list(bare_thresholds(path)) == []


def module_name(path):
    return ".".join(path.relative_to(ROOM.parents[1]).with_suffix("").parts)


def top_level_imports(path):
    """Yield the modules of the room that *path* imports when it is imported itself."""
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith(
            "tasksim.models"
        ):
            yield statement.module


def test_imports_make_no_circle():
    names = {module_name(path): path for path in MODULES}
    needs = {name: set(top_level_imports(path)) & set(names) for name, path in names.items()}
    done: set[str] = set()
    while len(done) < len(needs):
        free = {name for name in needs if name not in done and needs[name] <= done}
        assert free, f"a circle among {sorted(set(needs) - done)}"
        done |= free


@pytest.mark.parametrize("name", ["kernelmodel", "uncertainty.doubt", "registry", "kinds.linear"])
def test_a_module_can_be_the_first_that_is_imported(name):
    subprocess.run([sys.executable, "-c", f"import tasksim.models.{name}"], check=True)


def test_nobody_asks_a_model_for_its_class():
    kinds = ("HistoryModel", "LinearModel", "PowerLaw", "SizeHistory", "TensorModel", "HybridModel")
    asked = [
        f"{path}:{number}"
        for path in ROOM.parent.rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if any(
            ("isinstance(" in line and kind in line) or f"import {kind} as" in line
            for kind in kinds
        )
    ]
    assert asked == []
