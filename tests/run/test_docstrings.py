"""The examples in the docstrings of this room."""

import doctest
import importlib
import pkgutil

import pytest

import tasksim.run


@pytest.mark.parametrize("module", [m.name for m in pkgutil.iter_modules(tasksim.run.__path__)])
def test_examples_in_docstrings(module):
    found = importlib.import_module(f"tasksim.run.{module}")
    assert doctest.testmod(found, optionflags=doctest.ELLIPSIS).failed == 0
