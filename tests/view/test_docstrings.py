"""The examples in the docstrings of this room."""

import doctest
import importlib
import pkgutil

import pytest

import tasksim.view


@pytest.mark.parametrize("module", [m.name for m in pkgutil.iter_modules(tasksim.view.__path__)])
def test_examples_in_docstrings(module):
    found = importlib.import_module(f"tasksim.view.{module}")
    assert doctest.testmod(found, optionflags=doctest.ELLIPSIS).failed == 0
