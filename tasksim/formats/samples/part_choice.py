"""Choice of one of several sets of samples in a file: an architecture, a device, a call path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.models.samples import Unused

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["chosen", "chosen_rows", "other_parts"]


def chosen(names: Sequence[str], what: str, part: str | None, path: Path) -> str:
    """Return which of *names*, each *what*, is meant: *part*, or the only one.

    Raises
    ------
    InputError
        If there is no such name, or several and none was asked for.
    """
    if part is not None:
        if part not in names:
            raise unknown(what, part, names, str(path))
        return part
    if len(names) != 1:
        raise InputError(
            f"{path}: has samples of {len(names)} of these: {what} {', '.join(names)}; "
            "say which one is meant: --part NAME"
        )
    return names[0]


def chosen_rows(
    column: NDArray[Any] | None, what: str, part: str | None, path: Path
) -> tuple[NDArray[np.bool_] | slice, tuple[Unused, ...]]:
    """Return which rows to take, by a *column* of names, and the sets that others are of.

    All rows if there is no such column.
    """
    if column is None:
        if part is not None:
            raise InputError(f"{path}: has no column '{what}' to find '{part}' in")
        return slice(None), ()
    names = np.unique(column).tolist()
    name = chosen(names, what, part, path)
    return column == name, other_parts(names, what, name)


def other_parts(names: Sequence[str], what: str, part: str) -> tuple[Unused, ...]:
    """Return the sets of samples that are not used, where *part* of *names* is."""
    return tuple(
        Unused(f"{what} {name}", f"'{part}' is read", chosen=True) for name in names if name != part
    )
