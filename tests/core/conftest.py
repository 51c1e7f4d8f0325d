"""Fixtures for tests of the build: a small core, and machines without a compiler."""

from __future__ import annotations

import shutil

import pytest
from core_sources import copied_sources

from tasksim.core.compiler import Compiler, find_compiler

COMPILERS = ("c++", "g++", "clang++")


@pytest.fixture
def compiler(monkeypatch):
    """The machine's C++ compiler; tests that need one are skipped where there is none."""
    monkeypatch.delenv("CXX", raising=False)
    found = next(filter(None, map(shutil.which, COMPILERS)), None)
    if found is None:
        pytest.skip("no C++ compiler")
    return found


@pytest.fixture
def strict(compiler):
    """Return the compiler, with warnings as errors."""
    found = find_compiler()
    return Compiler((*found.command, "-Wall", "-Wextra", "-Werror"), found.name)


@pytest.fixture
def sources(tmp_path):
    """The sources of a small core, in a checkout of its own."""
    return copied_sources(tmp_path)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The folder where the library is looked for: an empty one."""
    from tasksim.core import build, library

    folder = tmp_path / "installed"
    folder.mkdir()
    monkeypatch.setattr(library, "_loaded", {})
    for module in (library, build):
        monkeypatch.setattr(module, "BUILT_LIBRARY", folder / library.BUILT_LIBRARY.name)
        monkeypatch.setattr(module, "WHY_NOT", folder / library.WHY_NOT.name)
    # Without sources beside it, no recorder of OpenMP programs is built.
    monkeypatch.setattr(build, "BUILT_RECORDER", folder / library.BUILT_RECORDER.name)
    monkeypatch.delenv("TASKSIM_CORE", raising=False)
    return folder
