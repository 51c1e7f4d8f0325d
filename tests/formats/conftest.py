"""Fixtures for tests of formats: files of some lines."""

from __future__ import annotations

import pytest


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write(text, name="some.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write
