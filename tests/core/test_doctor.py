"""``tasksim doctor`` on the core: there or not there, and why."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tasksim.cli.main import cli
from tasksim.core import library
from tasksim.core.build import build
from tasksim.core.library import INTERFACE_VERSION


@pytest.fixture
def doctor(monkeypatch):
    """Return what calls it, without its measurement of a second."""
    monkeypatch.setattr("tasksim.cli.doctor._machine", dict)

    def call(*options: str) -> str:
        return CliRunner().invoke(cli, ["doctor", *options], prog_name="tasksim").stdout

    return call


def line_of(text):
    (line,) = [line for line in text.splitlines() if line.startswith("core ")]
    return line.removeprefix("core").strip()


def test_one_that_is_switched_off(doctor, monkeypatch):
    monkeypatch.setenv("TASKSIM_CORE", "off")
    assert line_of(doctor()) == (
        "missing, simulations are slower: switched off by TASKSIM_CORE=off"
    )
    assert json.loads(doctor("--json"))["core"] == {
        "available": False,
        "why": "switched off by TASKSIM_CORE=off",
        "path": None,
        "version": None,
        "compiler": None,
    }


@pytest.mark.usefixtures("compiler")
def test_one_that_is_there(doctor, monkeypatch, sources, tmp_path):
    path = build(tmp_path / "core.so", folder=sources)
    monkeypatch.setenv("TASKSIM_CORE", str(path))
    found = json.loads(doctor("--json"))["core"]
    assert (found["available"], found["path"]) == (True, str(path))
    assert found["version"] == INTERFACE_VERSION
    assert line_of(doctor()) == f"version {INTERFACE_VERSION}, by {found['compiler']}: {path}"


@pytest.mark.parametrize("made", [True, False])
def test_the_core_for_pages(doctor, made, monkeypatch, tmp_path):
    path = tmp_path / "core.wasm"
    monkeypatch.setattr(library, "WASM_PATH", path)
    if made:
        path.write_bytes(library.digest().encode())
    found = json.loads(doctor("--json"))["wasm"]
    assert (found["available"], found["path"]) == (made, str(path) if made else None)
    (line,) = [line for line in doctor().splitlines() if line.startswith("wasm ")]
    said = (
        f"pages replay by {path}" if made else "pages cannot replay: the core as WebAssembly is not"
    )
    assert line.removeprefix("wasm").strip().startswith(said)
