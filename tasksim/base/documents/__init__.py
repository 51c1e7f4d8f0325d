"""Readers of documents that report errors as file:line:column.

People write YAML files and small tables. YAML is checked as a whole, by declared sections, and all
problems are reported at once. Programs write JSON. It is read value by value, and the first problem
ends the reading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FileProblem", "Location", "Place", "line_and_column"]

Location = tuple[str | int, ...]
"""Path of a value in the data: ``("workers", "cpu", "count")``."""


class Place(NamedTuple):
    """Position of a value in a file; lines and columns count from 1."""

    path: Path
    line: int
    column: int

    def __str__(self) -> str:
        """Return ``file:line:column``."""
        return f"{self.path}:{self.line}:{self.column}"


class FileProblem(NamedTuple):
    """Problem at a location; *at_key* if the key is wrong and not its value."""

    location: Location
    what: str
    at_key: bool = False


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return line and column, from 1, of the character of *text* at *offset*."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
