"""Sums over levels of priority: of what belongs to the levels up to one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.base.sums import total

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LevelSums", "Ranks"]

BITS: Final = 4
"""A node of the tree has 2^BITS branches: with few, there are many nodes to go through; with many,
many numbers to add. The core has the same, or sums would be rounded otherwise."""
BRANCHES: Final = 2**BITS


class Ranks:
    """Priorities by rank: 0 is the most urgent of all that there are.

    *priority*: per task.
    """

    def __init__(self, priority: Sequence[int]) -> None:
        levels = sorted(set(priority), reverse=True)
        rank = {level: place for place, level in enumerate(levels)}
        self.of = [rank[each] for each in priority]
        """Per task."""
        self.count = len(levels)


class LevelSums:
    """A number per rank, 0 at first, and the sum of those of the first ranks.

    A tree, each node of which keeps the sums of its branches, made anew when something below
    changes: no rounding error stays, and what is added in which order does not hang on what was
    there before. Changes and questions take as many steps as there are digits in *ranks*, which
    is how many ranks there may be.
    """

    def __init__(self, ranks: int) -> None:
        depths = 1
        while ranks > BRANCHES**depths:
            depths += 1
        self._nodes: list[tuple[int, dict[int, list[float]]]]
        """Per depth, the leaves first: by how much a rank is shifted for its branch; nodes."""
        self._nodes = [(BITS * depth, {}) for depth in range(depths)]

    def add(self, rank: int, amount: float) -> None:
        """Add *amount* to what belongs to *rank*."""
        leaf = self._nodes[0][1].get(rank >> BITS)
        self._put(rank, (leaf[rank % BRANCHES] if leaf else 0.0) + amount)

    def clear(self, rank: int) -> None:
        """Let nothing belong to *rank*."""
        self._put(rank, 0.0)

    def up_to(self, rank: int) -> float:
        """Return the sum of ranks 0 to *rank*."""
        result = 0.0
        for shift, nodes in reversed(self._nodes):
            node = nodes.get(rank >> shift >> BITS)
            if node:
                result += total(node[: (rank >> shift) % BRANCHES + (not shift)])
        return result

    def _put(self, rank: int, amount: float) -> None:
        for shift, nodes in self._nodes:
            place = rank >> shift
            node = nodes.get(place >> BITS)
            if node is None:
                node = nodes[place >> BITS] = [0.0] * BRANCHES
            node[place % BRANCHES] = amount
            amount = total(node)
            if not any(node):  # as if it had never been there
                del nodes[place >> BITS]
