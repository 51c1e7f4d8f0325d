"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tasksim.platform

MODULES = [
    module.name for module in pkgutil.walk_packages(tasksim.platform.__path__, "tasksim.platform.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
