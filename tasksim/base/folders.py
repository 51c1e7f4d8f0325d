"""Parent folders of outputs: whether they can be made, and the removal of empty ones."""

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
    """Remove the folders above *path* that the block made and left empty.

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
    # os.path.exists, unlike Path.exists, does not raise for folders without permission.
    missing = [*takewhile(lambda folder: not os.path.exists(folder), path.parents)]  # noqa: PTH110
    try:
        yield
    finally:
        for folder in missing:  # the innermost first
            with suppress(OSError):  # it is not empty, or was never made
                folder.rmdir()


def why_unwritable(path: Path) -> str | None:
    """Return the reason why *path* cannot be created; None if it probably can.

    Permissions are not enough: for root, and under /proc, everything seems allowed. So the
    function makes a folder in the nearest existing folder above *path*, and removes it again.

    Examples
    --------
    >>> from pathlib import Path
    >>> why_unwritable(Path("/proc/new/run"))
    'nothing can be made in /proc (No such file or directory)'
    """
    above = Path(os.path.realpath(path)).parents
    # os.path.exists, unlike Path.exists, does not raise for folders without permission.
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
