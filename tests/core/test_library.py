"""The loader of the core: there, absent, switched off, of another version, of other sources."""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING

import pytest
from numpy._core import _multiarray_umath

from tasksim.core import library
from tasksim.core.build import build
from tasksim.core.library import FOLDER

if TYPE_CHECKING:
    from pathlib import Path


def made_of(sources: Path, more: str) -> Path:
    """Build a library of *sources* whose header says *more*."""
    header = sources / "tasksim_core.h"
    header.write_text(header.read_text() + more)
    return build(sources.parents[1] / "other.so", folder=sources)


def test_the_expected_version_is_that_of_the_header():
    header = (FOLDER / "tasksim_core.h").read_text()
    found = re.findall(r"^#define TASKSIM_CORE_VERSION (\d+)$", header, re.MULTILINE)
    assert found == [str(library.INTERFACE_VERSION)]


def test_off_is_off(monkeypatch):
    monkeypatch.setenv("TASKSIM_CORE", "off")
    assert library.library() is None
    assert library.status() == library.Status(False, "switched off by TASKSIM_CORE=off", None)


def test_what_was_not_built_says_so(installed):
    assert library.library() is None
    why = "not built in this checkout; 'python -m tasksim.core.build' does it"
    assert library.status().why == why


def test_an_installation_without_sources_says_so(installed, monkeypatch):
    monkeypatch.setattr(library, "all_sources", list)
    assert library.status().why == "not in this installation"


def test_what_could_not_be_built_says_why(installed):
    library.WHY_NOT.write_text("no C++ compiler was found\nand more\n")
    assert library.status().why == (
        "not built when tasksim was installed: no C++ compiler was found"
    )


def test_a_path_that_is_none_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("TASKSIM_CORE", str(tmp_path / "none.so"))
    assert library.library() is None
    assert library.status().why == f"not there: TASKSIM_CORE={tmp_path}/none.so is no file"


def test_what_is_no_library_is_refused(monkeypatch, tmp_path):
    path = tmp_path / "text.so"
    path.write_text("text")
    monkeypatch.setenv("TASKSIM_CORE", str(path))
    assert library.library() is None
    assert library.status().why.startswith("not to be loaded: ")
    assert library.status().path == path


def test_another_library_is_refused(monkeypatch):
    monkeypatch.setenv("TASKSIM_CORE", _multiarray_umath.__file__)
    assert library.library() is None
    assert library.status().why == "no core of tasksim, another library"


@pytest.mark.usefixtures("compiler")
def test_another_version_is_refused(monkeypatch, sources):
    more = "#undef TASKSIM_CORE_VERSION\n#define TASKSIM_CORE_VERSION 12345\n"
    monkeypatch.setenv("TASKSIM_CORE", str(made_of(sources, more)))
    assert library.library() is None
    expected = library.INTERFACE_VERSION
    assert library.status().why == f"built for another version: 12345, expected {expected}"
    assert library.status().version == 12345


@pytest.mark.usefixtures("compiler")
def test_one_of_this_version_is_loaded_once(monkeypatch, sources):
    monkeypatch.setenv("TASKSIM_CORE", str(made_of(sources, "")))
    found = library.library()
    assert isinstance(found, ctypes.CDLL)
    assert library.library() is found
    assert found.tasksim_core_version() == library.INTERFACE_VERSION
    assert library.status().available
    assert library.status().compiler


@pytest.mark.usefixtures("compiler")
def test_one_of_other_sources_is_refused(sources, installed):
    made_of(sources, "// more\n").rename(library.BUILT_LIBRARY)
    assert library.library() is None
    assert library.status().why == (
        "not made of the sources that are here; 'python -m tasksim.core.build' does it again"
    )


@pytest.mark.usefixtures("compiler")
def test_one_of_these_sources_is_taken_whatever_their_times(sources, installed, monkeypatch):
    made_of(sources, "").rename(library.BUILT_LIBRARY)
    monkeypatch.setattr(library, "FOLDER", sources)
    (sources / "version.cpp").touch()
    assert library.status().available
