"""Places of values in files, and problems at these places."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FileProblem", "Location", "Place"]

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
