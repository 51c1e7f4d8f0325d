"""The folder in which a page is executed."""

import multiprocessing.process
import os
import sys
from pathlib import Path

import pytest
from executed_pages import STARPU

from tasksim.graph.apps import registry


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory: empty, with nothing of the user's in reach but caches."""
    monkeypatch.chdir(tmp_path)
    # Commands of pages run in this process: a process that they spawn looks for their program here.
    monkeypatch.setattr(multiprocessing.process, "ORIGINAL_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    home = tmp_path / "home"
    # Idle cores are measured once, not by each page.
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    notes = Path(caches, "tasksim")
    notes.mkdir(parents=True, exist_ok=True)
    (home / ".cache").mkdir(parents=True)
    (home / ".cache" / "tasksim").symlink_to(notes)
    monkeypatch.setenv("HOME", str(home))
    if STARPU.is_dir():
        (home / ".starpu").symlink_to(STARPU)
    before, generators = set(sys.modules), set(registry.names())
    # Last: what is asked of the folder now, before a page writes files to it, is remembered.
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    for name in set(registry.names()) - generators:
        registry.GENERATORS._found.pop(name, None)
    # What a page imports from its folder is not what another page means by the same name.
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]
