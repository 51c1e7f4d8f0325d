"""Fixtures for tests of applications: both runtimes."""

import pytest

from tasksim.core.library import status

RUNTIMES = ["python", *(["compiled"] if status().available else [])]


@pytest.fixture(params=RUNTIMES)
def runtime(request):
    return request.param
