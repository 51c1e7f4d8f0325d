"""The engine is made of parts: no object with many methods, no long module."""

from __future__ import annotations

import importlib
import inspect
import types
from functools import cached_property
from pathlib import Path

import pytest

import tasksim

ROOMS = ("engine", "runtime", "native")
ROOT = Path(tasksim.__file__).parent
MODULES = sorted(
    ".".join(("tasksim", *path.relative_to(ROOT).with_suffix("").parts))
    for room in ROOMS
    for path in (ROOT / room).rglob("*.py")
)
MOST_METHODS = 25
MOST_LINES = 400


def methods(kind):
    """All methods and properties that objects of *kind* have from this package."""
    kinds = (types.FunctionType, property, cached_property, classmethod, staticmethod)
    return {
        name
        for parent in inspect.getmro(kind)
        if parent.__module__.startswith("tasksim.")
        for name, member in vars(parent).items()
        if isinstance(member, kinds)
    }


@pytest.mark.parametrize("name", MODULES)
def test_no_object_has_many_methods(name):
    module = importlib.import_module(name)
    kinds = [k for _, k in inspect.getmembers(module, inspect.isclass) if k.__module__ == name]
    many = {k.__name__: len(methods(k)) for k in kinds if len(methods(k)) > MOST_METHODS}
    assert many == {}


@pytest.mark.parametrize("name", MODULES)
def test_no_module_is_long(name):
    path = ROOT.parent.joinpath(*name.split(".")).with_suffix(".py")
    assert len(path.read_text().splitlines()) <= MOST_LINES
