"""Reachability of memories: directly, or through one other memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["unreached"]


def unreached(
    memories: Sequence[Any], ways: Iterable[tuple[Any, Any]]
) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of *memories* of which no way leads from the first to the second.

    *ways* are pairs too, from source to target, and may lead over memories that are not among
    the *memories*. A runtime copies data directly, or through one memory in between.

    >>> list(unreached(["ram", "gpu0", "gpu1"], [("ram", "gpu0"), ("gpu0", "ram")]))
    [('ram', 'gpu1'), ('gpu0', 'gpu1'), ('gpu1', 'ram'), ('gpu1', 'gpu0')]
    """
    after: dict[Any, set[Any]] = {}
    before: dict[Any, set[Any]] = {}
    for source, target in ways:
        after.setdefault(source, set()).add(target)
        before.setdefault(target, set()).add(source)
    for source in memories:
        from_here = after.get(source, set())
        for target in memories:
            there = target == source or target in from_here
            if not there and from_here.isdisjoint(before.get(target, set())):
                yield source, target
