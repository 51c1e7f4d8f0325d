"""Problems of a file, collected, and told together by line and column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Problems"]


class Problems:
    """Collects what is wrong with the file at *path* while it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._texts: list[str] = []

    def add(self, line: int, column: int, expected: str, found: str) -> None:
        """Note that something else was *expected* at a place than what was *found*."""
        self._texts.append(f"{self.path}:{line}:{column}: expected {expected}, found {found}")

    def raise_any(self) -> None:
        """Raise :exc:`InputError` with all that was noted, if anything was."""
        if self._texts:
            raise InputError("\n".join(self._texts))
