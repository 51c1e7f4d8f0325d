"""Versions of packages, without the module that everybody asks."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, distributions, version

import pytest

from tasksim.base.versions import version_of


def test_versions_are_those_that_python_says():
    names = {found.metadata["Name"] for found in distributions()}
    assert len(names) > 10
    assert {name: version_of(name) for name in names} == {name: version(name) for name in names}


def test_what_is_not_installed_has_none():
    with pytest.raises(PackageNotFoundError):
        version("no-such-package")
    assert version_of("no-such-package") is None


@pytest.mark.parametrize(
    ("folder", "file", "text"),
    [
        ("thing-2.5.dist-info", "METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 2.5\n"),
        ("Thing-2.5-py3.11.egg-info", "PKG-INFO", "Name: Thing\nVersion: 2.5\n"),
        ("thing-2.5.dist-info", "METADATA", "Name: thing\nVersion: 2.5\n\nVersion: 9\n"),
    ],
)
def test_all_ways_to_say_it_are_read(tmp_path, monkeypatch, folder, file, text):
    (tmp_path / folder).mkdir()
    (tmp_path / folder / file).write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "missing"), str(tmp_path), *sys.path])
    assert version_of("thing") == version("thing") == "2.5"
