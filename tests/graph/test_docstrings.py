"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "analysis",
        "apps.dense",
        "apps.registry",
        "access_codes",
        "builder",
        "handles",
        "flop",
        "interchange",
    ],
)
def test_examples(module):
    result = doctest.testmod(importlib.import_module(f"tasksim.graph.{module}"))
    assert result.attempted > 0
    assert result.failed == 0
