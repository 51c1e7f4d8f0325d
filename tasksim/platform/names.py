"""Names in platform files, as written and unchecked, and names of copies."""

from __future__ import annotations

import re
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

__all__ = [
    "choice",
    "continued",
    "entries",
    "member",
    "names",
    "renamed",
    "split_full_name",
    "unique",
]


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


def member(group: str, index: int) -> str:
    """Return the name of one of several: ``cpu3``, or ``p100-3`` to separate digits."""
    return f"{group}-{index}" if group[-1:].isdigit() else f"{group}{index}"


def split_full_name(name: str) -> tuple[int | None, str]:
    """Return the node and the memory of ``node1/ram``; a plain name has no node."""
    match = re.fullmatch(r"node(0|[1-9][0-9]{0,8})/(.+)", name)
    return (int(match[1]), match[2]) if match else (None, name)


def choice(got: str, known: list[str]) -> str:
    """Return the end of a message: the value, the legal ones, and the nearest match."""
    return f"got {got!r}, legal {', '.join(known) or 'none'}){nearest(got, known)}"


def continued(name: str, taken: Iterable[str]) -> str:
    """Return *name* with the first number after those of the names *taken*.

    >>> continued("gpu0", ["ram", "gpu0", "gpu1"]), continued("gpu", ["gpu"])
    ('gpu2', 'gpu1')
    """
    base = name.rstrip("0123456789")
    numbers = [re.fullmatch(rf"{re.escape(base)}([0-9]*)", other) for other in taken]
    return f"{base}{1 + max(int(match[1] or 0) for match in numbers if match)}"


def renamed(link: str, new: Mapping[str, str]) -> str:
    """Return the name of a copy of a link, with its memories replaced or appended.

    >>> renamed("ram-gpu0", {"gpu0": "gpu3"}), renamed("slot", {"gpu0": "gpu3"})
    ('ram-gpu3', 'slot-gpu3')
    """
    words = "|".join(re.escape(name) for name in sorted(new, key=len, reverse=True))
    pattern = rf"(?<![A-Za-z0-9])({words})(?![A-Za-z0-9])"
    replaced = re.sub(pattern, lambda match: new[match[1]], link)
    return replaced if replaced != link else "-".join([link, *new.values()])


def unique(name: str, taken: Container[str]) -> str:
    """Return *name*, followed by a number if it is taken."""
    numbered = (f"{name}-{number}" for number in count(2))
    return next(n for n in chain([name], numbered) if n not in taken)
