"""Folders above what is written: those that were made in vain go again."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["no_empty_folders"]


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
