"""Docstrings of public names: parameters one by one, See Also, examples; references that exist."""

from __future__ import annotations

import ast
import builtins
import doctest
import enum
import importlib
import inspect
import itertools
import re
import textwrap
from pathlib import Path

import pytest

import tasksim
from tasksim.base import errors

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = [name for name in tasksim.__all__ if callable(getattr(tasksim, name))]
SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)
ROLE = re.compile(r":(?:exc|func|class|mod|data):`([^`.~][^`]*|~tasksim[^`]*)`")
"""Methods and attributes belong to classes that a reader of the text knows."""


def sections(name: str) -> dict[str, str]:
    """Return the sections of a public name's docstring, by title."""
    parts = SECTION.split(inspect.getdoc(getattr(tasksim, name)) or "")
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def is_error(name: str) -> bool:
    found = getattr(tasksim, name)
    return isinstance(found, type) and issubclass(found, BaseException)


def parameters(name: str) -> list[str]:
    """Return the names of the parameters; those of a class's ``__init__``."""
    try:
        signature = inspect.signature(getattr(tasksim, name))
    except (TypeError, ValueError):
        return []
    return [p for p in signature.parameters if not p.startswith("_")]


def described(name: str) -> set[str]:
    """Return the parameters with an entry of their own, or a string below the field."""
    text = sections(name).get("Parameters", "")
    found = set(re.findall(r"^\*{0,2}(\w+)(?: : .+)?$", text, re.MULTILINE))
    return found.union(*map(fields_with_strings, inspect.getmro(getattr(tasksim, name))))


def fields_with_strings(kind: type) -> set[str]:
    """Return the fields of a class that are followed by a string, as PEP 257 has them."""
    if not kind.__module__.startswith("tasksim"):
        return set()
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    return {
        field.target.id
        for field, after in itertools.pairwise(body.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    }


def is_choice(name: str) -> bool:
    """Whether the name is an enumeration, which nobody makes."""
    found = getattr(tasksim, name)
    return isinstance(found, type) and issubclass(found, enum.Enum)


CALLABLE_NAMES = [name for name in PUBLIC if not is_error(name) and not is_choice(name)]


@pytest.mark.parametrize("name", CALLABLE_NAMES)
def test_parameters_are_described_one_by_one(name):
    kind = isinstance(getattr(tasksim, name), type)
    known = (
        described(name)
        if kind
        else set(
            re.findall(
                r"^\*{0,2}(\w+)(?: : .+)?$", sections(name).get("Parameters", ""), re.MULTILINE
            )
        )
    )
    assert [parameter for parameter in parameters(name) if parameter not in known] == []


@pytest.mark.parametrize("name", PUBLIC)
def test_related_names_are_told_and_exist(name):
    lines = re.findall(r"^(\S.*?)(?: : .*)?$", sections(name).get("See Also", ""), re.MULTILINE)
    told = [each for line in lines for each in line.split(", ")]
    assert told, "no See Also"
    missing = [other for other in told if not resolves(other, getattr(tasksim, name).__module__)]
    assert missing == []


@pytest.mark.parametrize("name", PUBLIC)
def test_an_example_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = getattr(tasksim, name)
    module = importlib.import_module(found.__module__)
    text = inspect.getdoc(found) or ""
    # The module's own names last, and among them __name__: what an example registers is the same
    # thing as when the tests of the module run it.
    names = {**vars(tasksim), **vars(module), "tasksim": tasksim}
    test = doctest.DocTestParser().get_doctest(text, names, name, None, None)
    assert test.examples, "no example"
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=told.append)
    assert not told, "".join(told)


MODULES = sorted((ROOT / "tasksim").rglob("*.py"))


@pytest.mark.slow
def test_references_of_docstrings_exist():
    texts = {path: path.read_text() for path in MODULES}
    missing = [
        (str(path.relative_to(ROOT)), getattr(node, "name", "module"), target)
        for path, text in texts.items()
        if ROLE.search(text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for target in ROLE.findall(ast.get_docstring(node) or "")
        if not resolves(target.lstrip("~"), module_in(path), getattr(node, "name", ""))
    ]
    assert missing == []


def module_in(path: Path) -> str:
    """Return the dotted name of the module in *path*."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def resolves(target: str, module: str, owner: str = "") -> bool:
    """Return whether *target* is a name in *module*, of a class there, public, or dotted."""
    target = re.sub(r"^.*<(.*)>$", r"\1", target)
    if target.startswith("tasksim."):
        return _dotted(target)
    home = importlib.import_module(module)
    places = [home, tasksim, errors, builtins]
    places += [value for value in vars(home).values() if isinstance(value, type)]
    if any(_inside(place, target) for place in places):
        return True
    return _dotted(target) or f"class {target.split('.')[0]}" in inspect.getsource(home)


def _inside(place: object, target: str) -> bool:
    names = place if isinstance(place, dict) else None
    for part in target.split("."):
        if names is not None:
            if part not in names:
                return False
            place, names = names[part], None
        elif hasattr(place, part):
            place = getattr(place, part)
        else:
            return part in getattr(place, "__annotations__", {}) or part in getattr(
                place, "__dataclass_fields__", {}
            )
    return True


def _dotted(target: str) -> bool:
    parts = target.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            place = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        return cut == len(parts) or _inside(place, ".".join(parts[cut:]))
    return False
