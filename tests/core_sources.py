"""Sources of smaller cores, each in a checkout of its own."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tasksim.core.library import FOLDER

if TYPE_CHECKING:
    from pathlib import Path


NOT_OF_NATIVE_RUNS = (
    "engine", "models", "optimization", "planning", "wasm", "*.py", "*.so", "*.wasm", "__pycache__",
)  # fmt: skip


def copied_sources(place: Path) -> Path:
    """Copy what tells the version into a checkout in *place*; return the folder of the sources."""
    folder = place / "checkout" / "tasksim" / "core"
    folder.mkdir(parents=True)
    for name in ("tasksim_core.h", "version.cpp"):
        shutil.copy(FOLDER / name, folder)
    return folder


def sources_of_native_runs(place: Path) -> Path:
    """Copy what executes tasks into a checkout in *place*; return the folder of the sources."""
    ignore = shutil.ignore_patterns(*NOT_OF_NATIVE_RUNS)
    return shutil.copytree(FOLDER, place / "checkout" / "tasksim" / "core", ignore=ignore)
