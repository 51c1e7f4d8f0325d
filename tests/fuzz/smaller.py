"""Smaller inputs that break the same rule: what is kept is what it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .inputs import Input

__all__ = ["smaller"]

MAX_TRIES = 300
"""A find should be looked at in a minute; what is left is small enough to be looked at."""
_BINARY = (".npz", ".parquet")

T = TypeVar("T")


def smaller(given: Input, key: object, key_of: Callable[[Input], object]) -> Input:
    """Return a smaller input that is the same find: lines, then bytes left out.

    *key_of* reads an input and returns what tells finds apart.
    """
    tries = 0

    def same(other: Input) -> bool:
        nonlocal tries
        tries += 1
        return tries <= MAX_TRIES and key_of(other) == key

    found = dict(given)
    for name in sorted(given):
        without = {other: content for other, content in found.items() if other != name}
        if without and same(without):
            found = without
        elif not name.endswith(_BINARY):
            found[name] = _smaller_file(name, found, same)
    return found


def _smaller_file(name: str, given: Input, same: Callable[[Input], bool]) -> bytes:
    """Return less of the file *name* for which *same* still holds: fewer lines, then bytes."""

    def holds(parts: Sequence[bytes]) -> bool:
        return same({**given, name: b"".join(parts)})

    content = b"".join(_reduced(given[name].splitlines(keepends=True), holds))
    single = [content[place : place + 1] for place in range(len(content))]
    return b"".join(_reduced(single, holds))


def _reduced(parts: list[T], same: Callable[[list[T]], bool]) -> list[T]:
    """Return fewer *parts* for which *same* still holds: delta debugging, in halves and less."""
    size = max(1, len(parts) // 2)
    while parts:
        place, before = 0, len(parts)
        while place < len(parts):
            shorter = parts[:place] + parts[place + size :]
            if shorter and same(shorter):
                parts = shorter
            else:
                place += size
        if size == 1 and before == len(parts):
            break
        size = max(1, size // 2)
        if size == 1 and len(parts) > 400:
            break
    return parts
