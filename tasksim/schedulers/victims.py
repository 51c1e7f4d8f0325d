"""Victims of work stealing, in order of number or of distance.

The set of victims is kept in sorted lists: one of all victims, one per node, and one per memory of
a node. A bisection finds the first victim, and no table of pairs of workers is needed.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.platform.description import Worker

__all__ = ["Victims"]


class Victims:
    """The set of workers that tasks can be stolen from; at first, it is empty."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._workers = workers
        self.among = [False] * len(workers)
        """Per worker, whether it is a victim."""
        self.all: list[int] = []
        """The victims in order of number."""
        places = {(worker.node, worker.memory) for worker in workers}
        nodes = {node for node, _ in places}
        # Levels share a list if there is only one node, or only one memory per node.
        self._of_node = {node: self.all if len(nodes) == 1 else [] for node in nodes}
        one_each = len(places) == len(nodes)
        self._of_place = {p: self._of_node[p[0]] if one_each else [] for p in places}
        self._several = len(places) > 1
        self._shared = len({memory for _, memory in places}) < len(places)
        """Whether workers of several nodes share a memory."""

    def add(self, worker: int) -> None:
        """Add *worker*, which is not a victim yet."""
        self.among[worker] = True
        insort(self.all, worker)
        if self._several:
            for members in self._others(worker):
                insort(members, worker)

    def discard(self, worker: int) -> None:
        """Remove *worker*, which is a victim."""
        self.among[worker] = False
        del self.all[bisect_left(self.all, worker)]
        if self._several:
            for members in self._others(worker):
                del members[bisect_left(members, worker)]

    def from_number(self, first: int) -> Iterator[int]:
        """Return all victims in order of number, from *first* on, wrapping round."""
        return _around(self.all, first)

    def from_nearest(self, thief: int) -> Iterator[int]:
        """Return all victims by their distance from *thief*.

        Victims with the same memory and node come first, then those of the same node, then those
        with the same memory, then the others. Ties are in order of number from *thief* on, wrapping
        round.
        """
        return self._by_distance(thief) if self._several else _around(self.all, thief + 1)

    def _by_distance(self, thief: int) -> Iterator[int]:
        own = self._workers[thief]
        place = self._of_place[own.node, own.memory]
        yield from _around(place, thief + 1)
        node = self._of_node[own.node]
        if node is not place:
            for worker in _around(node, thief + 1):
                if self._workers[worker].memory != own.memory:
                    yield worker
        if node is not self.all:
            yield from self._of_other_nodes(thief)

    def _of_other_nodes(self, thief: int) -> Iterator[int]:
        own, workers = self._workers[thief], self._workers
        others = (w for w in _around(self.all, thief + 1) if workers[w].node != own.node)
        if self._shared:  # the sort is stable, so it keeps the order of ties
            return iter(sorted(others, key=lambda w: workers[w].memory != own.memory))
        return others

    def _others(self, worker: int) -> list[list[int]]:
        """Return the distinct lists of *worker*'s node and memory, without the list of all."""
        own = self._workers[worker]
        node, place = self._of_node[own.node], self._of_place[own.node, own.memory]
        return [node] * (node is not self.all) + [place] * (place is not node)


def _around(members: list[int], first: int) -> Iterator[int]:
    """Yield the sorted *members* from *first* on, then those before it."""
    start = bisect_left(members, first)
    for index in range(start, len(members)):
        yield members[index]
    for index in range(start):
        yield members[index]
