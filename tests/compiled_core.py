"""The compiled core in tests: what needs it is skipped where it is not, with the reason."""

from __future__ import annotations

import pytest

from tasksim.core.library import status

only_with_core = pytest.mark.skipif(not status().available, reason=status().why)
"""Marks a test that needs the core."""


def needs_core(*values):
    """Return a parameter of a test that needs the core."""
    core = status()
    return pytest.param(*values, marks=pytest.mark.skipif(not core.available, reason=core.why))
