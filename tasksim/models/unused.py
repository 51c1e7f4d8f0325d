"""Unused data: columns and rows of a file that samples or their model leave out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Unused", "unused_text"]


@dataclass(frozen=True)
class Unused:
    """A column, or rows, of a file that are not among its samples.

    Parameters
    ----------
    name : str
        The column, or another description of the data, such as ``"3 samples"``.
    why : str
        The reason, in a few words.
    chosen : bool, default=False
        Whether this is intended: the caller chose other columns, or the column is bookkeeping.
    """

    name: str
    why: str
    chosen: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the unused data as plain data."""
        return {"name": self.name, "why": self.why, "chosen": self.chosen}


def unused_text(unused: Iterable[Unused]) -> str:
    """Return the unused columns as text, grouped by reason; an empty text if there are none.

    >>> unused_text([Unused("layout", "text"), Unused("solver", "text"), Unused("id", "constant")])
    'layout, solver (text); id (constant)'
    """
    names: dict[str, list[str]] = {}
    for one in unused:
        names.setdefault(one.why, []).append(one.name)
    return "; ".join(f"{', '.join(of)} ({why})" for why, of in names.items())
