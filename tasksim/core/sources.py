"""The sources of the core: which files they are, and a digest that tells versions apart."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final

__all__ = ["FOLDER", "all_sources", "digest", "units"]

FOLDER: Final = Path(__file__).resolve().parent
"""Where they lie in a checkout. Wheels have the library instead."""


def units(folder: Path = FOLDER) -> list[Path]:
    """Return what the compiler is called with, in an order that does not depend on the machine."""
    return sorted(folder.rglob("*.cpp"))


def all_sources(folder: Path = FOLDER) -> list[Path]:
    """Return the units and the headers, in such an order."""
    return sorted([*folder.rglob("*.cpp"), *folder.rglob("*.h")])


def digest(folder: Path = FOLDER) -> str:
    """Return what differs between sources that differ: names and contents, not times."""
    total = sha256()
    for path in all_sources(folder):
        total.update(path.relative_to(folder).as_posix().encode() + b"\0")
        total.update(sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]
