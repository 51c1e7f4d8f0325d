"""Folders above what is written: whether they can be made; those made in vain go again."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["no_empty_folders", "why_unwritable"]


@contextmanager
def no_empty_folders(path: Path) -> Iterator[None]:
    """Remove, after the block, the folders above *path* that it has made and left empty.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as place:
    ...     with no_empty_folders(Path(place) / "models" / "here" / "gemm.json"):
    ...         (Path(place) / "models" / "here").mkdir(parents=True)
    ...     list(Path(place).iterdir())
    []
    """
    # Unlike Path.exists, it never raises, where one may not look either.
    missing = [*takewhile(lambda folder: not os.path.exists(folder), path.parents)]  # noqa: PTH110
    try:
        yield
    finally:
        for folder in missing:  # the innermost first
            with suppress(OSError):  # it has something in it, or was never made
                folder.rmdir()


def why_unwritable(path: Path) -> str | None:
    """Return why nothing can be made at *path*; None if it seems that it can.

    Permissions do not tell all: to root, and under /proc, all seems to be allowed. So a folder is
    made beside *path*, or in the nearest folder above that there is, and removed.

    Examples
    --------
    >>> from pathlib import Path
    >>> why_unwritable(Path("/proc/new/run"))
    'nothing can be made in /proc (No such file or directory)'
    """
    above = Path(os.path.realpath(path)).parents
    # Unlike Path.exists, it never raises, where one may not look either.
    folder = next(each for each in above if os.path.exists(each))  # noqa: PTH110
    if not folder.is_dir():
        return f"{folder} is not a folder"
    probe = folder / f".tasksim.{os.urandom(4).hex()}.tmp"
    try:
        probe.mkdir()
    except OSError as error:
        return f"nothing can be made in {folder} ({error.strerror or error})"
    probe.rmdir()
    return None
