"""The structure of the code: no circles of imports."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "tasksim"
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """Return the dotted name of the module in *path*."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


NAMES = {path: name_of(path) for path in MODULES}


def is_type_only(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If):
        return False
    test = node.test
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def imported(path: Path, *, types: bool = False) -> set[str]:
    """Return the modules of the package that *path* imports when it runs, at any depth of it.

    With *types*, also those that it imports for annotations alone.
    """
    found: set[str] = set()
    todo: list[ast.AST] = [tree_of(path)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.expr):  # there are no imports in it
            continue
        if types and isinstance(node, ast.FunctionDef) and node.name == "_repr_html_":
            continue  # what a notebook shows of an object is made of all that is above it
        if not types and isinstance(node, ast.stmt) and is_type_only(node):
            todo.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        todo.extend(ast.iter_child_nodes(node))
    return found.intersection(NAMES.values()) - {NAMES[path]}


def circles(*, types: bool = False) -> list[list[str]]:
    """Return the modules that import each other in a circle."""
    graph = nx.DiGraph()
    for path in MODULES:
        graph.add_edges_from((NAMES[path], other) for other in imported(path, types=types))
    return [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1]


@pytest.mark.slow
def test_no_modules_import_each_other_in_a_circle():
    """Imports inside functions count too: they hide a circle and do not cut it."""
    assert circles() == []


def test_no_modules_name_each_others_types_in_a_circle():
    assert circles(types=True) == []
