"""Fat tree of switches, with the numbers of children, parents and cables to a parent per level.

Routes are those of D-mod-K (E. Zahavi, "D-Mod-K routing providing non-blocking traffic for shift
permutations on real life fat trees", CCIT report 776, 2010), with SimGrid's choice of cables.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.documents import FileProblem, Location
from tasksim.base.documents.sections import ILLEGAL, FileProblems, ListOf, Whole, given
from tasksim.network.description import MAX_HOSTS, Links
from tasksim.network.topologies.cables import Cables, CablesSection

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FatTree", "FatTreeSection"]


@dataclass(frozen=True)
class FatTree:
    """A fat tree by levels, the hosts' first, with *children*, *parents* and *cables* of a switch.

    A switch of level l is identified by the hosts below it (the number of the first one, divided by
    their count) and by the parents on the way to it.
    """

    children: tuple[int, ...]
    parents: tuple[int, ...]
    parallel: tuple[int, ...]
    cables: Cables

    def __str__(self) -> str:
        return f"fat tree of {len(self.children)} levels"

    @property
    def nodes(self) -> int:
        """Number of hosts."""
        return prod(self.children)

    def sized(self, nodes: int) -> FatTree:  # noqa: ARG002
        """Return the tree, whose number of hosts is fixed."""
        return self

    @cached_property
    def _below(self) -> tuple[int, ...]:
        """Number of hosts below a switch, by level; 1 for a host."""
        return tuple(accumulate(self.children, mul, initial=1))

    @cached_property
    def _ways_up(self) -> tuple[int, ...]:
        """Number of switches with the same hosts below them, by level."""
        return tuple(accumulate(self.parents, mul, initial=1))

    @cached_property
    def _first(self) -> tuple[int, ...]:
        """The first cable above each level, and the number of all cables."""
        counts = (
            self.nodes // self._below[level] * self._ways_up[level] * self._ports(level)
            for level in range(len(self.children))
        )
        return tuple(accumulate(counts, initial=0))

    def _ports(self, level: int) -> int:
        return self.parents[level] * self.parallel[level]

    @property
    def link_count(self) -> int:
        """Number of links."""
        return self.cables.link_count(self._first[-1])

    @property
    def links(self) -> Links:
        """The links of all levels, the hosts' first."""
        return self.cables.links(self._first[-1])

    def _cable(self, level: int, host: int, way: int, port: int) -> int:
        """Return the cable above a switch of *level*, by a host below it and the *way* to it."""
        switch = host // self._below[level] * self._ways_up[level] + way
        return self._first[level] + switch * self._ports(level) + port

    def route(self, source: int, target: int) -> tuple[int, ...]:
        """Return the way up, chosen by the target's number, and the only way down."""
        if source == target:
            return (0,)
        up, level, way, ways = [], 0, 0, [0]
        while source // self._below[level] != target // self._below[level]:
            port = target // self._ways_up[level] % self._ports(level)
            up.append(self.cables.up(self._cable(level, source, way, port)))
            way += port % self.parents[level] * self._ways_up[level]
            ways.append(way)
            level += 1
        down = []
        for lower in reversed(range(level)):
            parent = (ways[lower + 1] - ways[lower]) // self._ways_up[lower]
            strand = source % self.parallel[lower]
            port = parent + strand * self.parents[lower]
            down.append(self.cables.down(self._cable(lower, target, ways[lower], port)))
        return (*up, *down)

    @property
    def kinds(self) -> dict[str, NDArray[np.int64]]:
        """The cables of each level: those of the hosts are ``level0``."""
        counts = np.diff(self._first).tolist()
        return self.cables.kinds({f"level{level}": count for level, count in enumerate(counts)})

    def link_name(self, link: int) -> str:
        """Return the level, the switch and its port."""
        if link == 0:
            return "loopback"
        cable = self.cables.cable(link)
        level = max(k for k, first in enumerate(self._first[:-1]) if first <= cable)
        switch, port = divmod(cable - self._first[level], self._ports(level))
        return self.cables.name(link, f"level{level}/{switch}/port{port}")


_COUNTS = ListOf(Whole(1, MAX_HOSTS), least=1)


class FatTreeSection(CablesSection):
    """Section of a fat tree."""

    children: list[int] = given(
        _COUNTS, description="children of a switch per level, the hosts' level first"
    )
    parents: list[int] = given(_COUNTS, description="parents of a host or switch per level")
    cables_: list[int] = given(
        _COUNTS, description="cables to each parent per level", alias="cables"
    )

    @classmethod
    def check(
        cls, name: str, value: Any, before: Any, location: Location, found: FileProblems
    ) -> Any:
        """Return *value*, if its levels match those of children, with not too many hosts."""
        children = before.get("children", value)
        if (
            name in ("parents", "cables_")
            and children is not ILLEGAL
            and len(value) != len(children)
        ):
            what = f"must have {len(children)} entries, one per level (got {len(value)})"
            found.append(FileProblem(location, what))
            return ILLEGAL
        if name == "children" and prod(value) > MAX_HOSTS:
            what = f"are {prod(value)} hosts, must be at most {MAX_HOSTS}"
            found.append(FileProblem(location, what))
            return ILLEGAL
        return value

    def build(self) -> Any:
        """Return the topology."""
        return FatTree(
            tuple(self.children), tuple(self.parents), tuple(self.cables_), self.cables()
        )
