"""A folder that the processes of a test run share, made by the first one that asks for it."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest


def shared_folder(
    factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]
) -> Path:
    """Return the folder *name* of this test run; the first process that asks fills it by *make*.

    The others wait until it is filled. If *make* fails, the next one tries.
    """
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # each process has a folder in that of the run
        base = base.parent
    folder, filled = base / name, base / f"{name}.filled"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not filled.exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            filled.touch()
    return folder
