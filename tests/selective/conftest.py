"""Runtimes that keep the account of selective runs."""

from __future__ import annotations

import pytest

from tasksim.core.library import status


@pytest.fixture(params=["python", "compiled"])
def runtime(request):
    """Keep the account in Python, or in the core, if it is there."""
    if request.param == "compiled" and not status().available:
        pytest.skip(f"the core is {status().why}")
    return request.param
