"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tasksim.graph

MODULES = [
    module.name for module in pkgutil.walk_packages(tasksim.graph.__path__, "tasksim.graph.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
