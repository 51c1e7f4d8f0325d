"""Prefix sums over levels of priority."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.base.sums import total

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LevelSums", "Ranks"]

BRANCH_BITS: Final = 4
"""Bits of a rank per level of the tree: few mean many nodes to visit, many mean many numbers to
add. The compiled core has the same value: another one would round the sums in another way."""
BRANCHES: Final = 2**BRANCH_BITS
"""Number of branches of a node of the tree."""


class Ranks:
    """Ranks of the distinct priorities; rank 0 is the most urgent one.

    *priority* has the priority of each task.
    """

    def __init__(self, priority: Sequence[int]) -> None:
        levels = sorted(set(priority), reverse=True)
        rank = {level: place for place, level in enumerate(levels)}
        self.of = [rank[each] for each in priority]
        """Per task, its rank."""
        self.count = len(levels)


class LevelSums:
    """A number per rank, 0 at first, with prefix sums.

    The structure is a tree. Each node keeps the sums of its branches and computes them again after
    a change below, so that rounding errors do not accumulate and the order of additions does not
    depend on earlier values. A change or a query takes as many steps as *ranks*, the largest number
    of ranks, has digits in base :data:`BRANCHES`.
    """

    def __init__(self, ranks: int) -> None:
        depths = 1
        while ranks > BRANCHES**depths:
            depths += 1
        self._nodes: list[tuple[int, dict[int, list[float]]]]
        """Per depth from the leaves: the shift of a rank that gives its branch, and the nodes."""
        self._nodes = [(BRANCH_BITS * depth, {}) for depth in range(depths)]

    def add(self, rank: int, amount: float) -> None:
        """Add *amount* to the number of *rank*."""
        leaf = self._nodes[0][1].get(rank >> BRANCH_BITS)
        self._put(rank, (leaf[rank % BRANCHES] if leaf else 0.0) + amount)

    def clear(self, rank: int) -> None:
        """Set the number of *rank* to 0."""
        self._put(rank, 0.0)

    def up_to(self, rank: int) -> float:
        """Return the sum of ranks 0 to *rank*."""
        result = 0.0
        for shift, nodes in reversed(self._nodes):
            node = nodes.get(rank >> shift >> BRANCH_BITS)
            if node:
                # Only the leaf level includes the rank itself; higher levels add whole branches.
                result += total(node[: (rank >> shift) % BRANCHES + (not shift)])
        return result

    def _put(self, rank: int, amount: float) -> None:
        for shift, nodes in self._nodes:
            place = rank >> shift
            node = nodes.get(place >> BRANCH_BITS)
            if node is None:
                node = nodes[place >> BRANCH_BITS] = [0.0] * BRANCHES
            node[place % BRANCHES] = amount
            amount = total(node)
            if not any(node):  # an empty node takes no memory
                del nodes[place >> BRANCH_BITS]
