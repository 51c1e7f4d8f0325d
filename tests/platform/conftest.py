from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tasksim.base.errors import InputError
from tasksim.platform.load import load


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """An empty working directory, without the user's own library."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "none"))
    return tmp_path


@pytest.fixture
def write(here):
    """Write a file in the working directory and return its relative path."""

    def write_file(text: str, name: str = "p.yaml") -> Path:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
        return path

    return write_file


@pytest.fixture
def errors():
    """Load what must be refused and return the lines of the error."""

    def lines(*args, **options) -> list[str]:
        with pytest.raises(InputError) as refused:
            load(*args, **options)
        return str(refused.value).splitlines()

    return lines
