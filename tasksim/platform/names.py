"""The names in the data of a platform file, as written and not yet checked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["choice", "entries", "names", "split_full_name"]


def entries(data: Mapping[str, Any], section: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the well-formed entries of one section."""
    found = data.get(section)
    if not isinstance(found, dict):
        return []
    return [(name, entry) for name, entry in found.items() if isinstance(entry, dict)]


def names(data: Mapping[str, Any], section: str) -> list[str]:
    """Return the names that one section declares."""
    found = data.get(section)
    return list(found) if isinstance(found, dict) else []


def split_full_name(name: str) -> tuple[int | None, str]:
    """Return node and memory of ``node1/ram``; a plain name has no node."""
    match = re.fullmatch(r"node(0|[1-9][0-9]{0,8})/(.+)", name)
    return (int(match[1]), match[2]) if match else (None, name)


def choice(got: str, known: list[str]) -> str:
    """Return the end of a message: what was got, what is legal, and the nearest of it."""
    return f"got {got!r}, legal {', '.join(known) or 'none'}){nearest(got, known)}"
