"""The loader of the core: there, absent, switched off, of another version, stale."""

from __future__ import annotations

import ctypes
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from numpy._core import _multiarray_umath

from tasksim.core import library
from tasksim.core.build import build
from tasksim.core.sources import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C++ compiler"
)


@pytest.fixture
def no_sources(tmp_path, monkeypatch):
    """An installation without the core: a folder of its own beside which it is looked for."""
    monkeypatch.setattr(library, "_loaded", {})
    monkeypatch.setattr(library, "BESIDE", tmp_path / "libtasksim_core.so")
    monkeypatch.setattr(library, "WHY_NOT", tmp_path / "not-built.txt")
    monkeypatch.delenv("TASKSIM_CORE", raising=False)
    return tmp_path


def made_of(text: str, folder: Path) -> Path:
    """Build a library of what tells the version, with *text* after the header."""
    sources = folder / "tasksim" / "core"
    sources.mkdir(parents=True)
    for name in ("tasksim_core.h", "version.cpp"):
        shutil.copy(FOLDER / name, sources)
    header = sources / "tasksim_core.h"
    header.write_text(header.read_text() + text)
    return build(folder / "other.so", folder=sources)


def test_the_expected_version_is_that_of_the_header():
    header = (FOLDER / "tasksim_core.h").read_text()
    assert re.findall(r"^#define TASKSIM_CORE_VERSION (\d+)$", header, re.MULTILINE) == [
        str(library.VERSION)
    ]


def test_off_is_off(monkeypatch):
    monkeypatch.setenv("TASKSIM_CORE", "off")
    assert library.library() is None
    assert library.status() == library.Status(False, "switched off by TASKSIM_CORE=off", None)


def test_what_was_not_built_says_so(no_sources):
    assert library.library() is None
    assert library.status().why == (
        "not built in this checkout; 'python -m tasksim.core.build' does it"
    )


def test_what_could_not_be_built_says_why(no_sources):
    (no_sources / "not-built.txt").write_text("no C++ compiler was found\nand more\n")
    assert library.status().why == "no C++ compiler was found when it was installed"


def test_a_path_that_is_none_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("TASKSIM_CORE", str(tmp_path / "none.so"))
    assert library.library() is None
    assert library.status().why == f"TASKSIM_CORE={tmp_path}/none.so: no such file"


def test_what_is_no_library_is_refused(monkeypatch, tmp_path):
    path = tmp_path / "text.so"
    path.write_text("text")
    monkeypatch.setenv("TASKSIM_CORE", str(path))
    assert library.library() is None
    assert library.status().why.startswith("cannot be loaded: ")
    assert library.status().path == path


def test_another_library_is_refused(monkeypatch):
    monkeypatch.setenv("TASKSIM_CORE", _multiarray_umath.__file__)
    assert library.library() is None
    assert library.status().why == "is no core of tasksim"


@needs_compiler
def test_another_version_is_refused(monkeypatch, tmp_path):
    more = "#undef TASKSIM_CORE_VERSION\n#define TASKSIM_CORE_VERSION 12345\n"
    monkeypatch.setenv("TASKSIM_CORE", str(made_of(more, tmp_path)))
    assert library.library() is None
    expected = library.VERSION
    assert library.status().why == f"built for another version: 12345, expected {expected}"
    assert library.status().version == 12345


@needs_compiler
def test_one_of_this_version_is_loaded_once(monkeypatch, tmp_path):
    monkeypatch.setenv("TASKSIM_CORE", str(made_of("", tmp_path)))
    found = library.library()
    assert isinstance(found, ctypes.CDLL)
    assert library.library() is found
    assert found.tasksim_core_version() == library.VERSION
    assert library.status().available
    assert library.status().compiler


@needs_compiler
def test_one_of_other_sources_is_refused(no_sources):
    made = made_of("// more\n", no_sources)
    made.rename(library.BESIDE)
    assert library.library() is None
    assert library.status().why == (
        "its sources have changed since it was built; 'python -m tasksim.core.build' builds it"
        " again"
    )
