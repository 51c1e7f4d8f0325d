"""Sources of a small core: what tells the version, in a checkout of its own."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tasksim.core.library import FOLDER

if TYPE_CHECKING:
    from pathlib import Path


def copied_sources(place: Path) -> Path:
    """Copy the sources into a checkout in *place*; return their folder."""
    folder = place / "checkout" / "tasksim" / "core"
    folder.mkdir(parents=True)
    for name in ("tasksim_core.h", "version.cpp"):
        shutil.copy(FOLDER / name, folder)
    return folder
