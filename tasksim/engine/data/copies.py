"""State of copies, that is valid copies, places and copies under way, per datum and memory.

Three bit masks per datum say where it is: *valid* copies (as in MSI: a single one is the owner's,
several are shared), *places* (allocated memory, with or without a valid copy in it), and copies on
their *way*. The data in the memory of a device are kept in the order of use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.data.pool import Pool
from tasksim.engine.data.store import Store

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform

__all__ = ["Changes", "Copies"]


class Changes:
    """Followers of changes in *memories*.

    ``followed`` is a mask of the memories that have followers. Code that moves data checks it
    first, so that a replay without followers takes no extra time.
    """

    def __init__(self, memories: int) -> None:
        self.followed = 0
        self._followers: list[list[set[int]]] = [[] for _ in range(memories)]

    def follow(self, memory: int) -> set[int]:
        """Return a set that gets every datum that changes in *memory* from now on."""
        told: set[int] = set()
        self._followers[memory].append(told)
        self.followed |= 1 << memory
        return told

    def leave(self, memory: int, told: set[int]) -> None:
        """Add no further changes in *memory* to *told*."""
        left = [other for other in self._followers[memory] if other is not told]
        self._followers[memory] = left
        if not left:
            self.followed &= ~(1 << memory)

    def note(self, handle: int, memories: int) -> None:
        """Add *handle* to the sets of the followers of *memories*, a mask."""
        for memory, followers in enumerate(self._followers):
            if memories >> memory & 1:
                for told in followers:
                    told.add(handle)


class Copies:
    """The state of every datum of *graph* in every memory of *platform*."""

    def __init__(self, graph: TaskGraph, platform: Platform) -> None:
        self.size: list[int] = graph.handle_size.tolist()
        self.home: list[int] = graph.handle_home.tolist()
        self.valid = [1 << home for home in self.home]
        self.places = list(self.valid)
        self.coming = [0] * graph.handles
        homes = frozenset(self.home)  # memories with the application's data are not bounded
        self.stores: list[Store | None] = [
            None
            if memory.size_bytes is None or memory.id in homes
            else Store(
                Pool(memory.size_bytes, platform.allocation), self.size, self.valid, memory.id
            )
            for memory in platform.memories
        ]
        self._searched: list[Store] = []
        self.changes = Changes(len(platform.memories))
        self.evictions = 0

    def read(self, handle: int, memory: int) -> None:
        """Note that *memory* has a valid copy of *handle*, like others."""
        bit = 1 << memory
        self.valid[handle] |= bit
        if self.changes.followed & bit:
            self.changes.note(handle, bit)
        for store in self._searched:
            store.revalidated(handle)

    def write(self, handle: int, memory: int) -> None:
        """Note that *handle* is written in *memory*: all other copies are invalid."""
        before, self.valid[handle] = self.valid[handle], 1 << memory
        if self.changes.followed:
            self.changes.note(handle, before ^ 1 << memory)
        for store in self._searched:
            store.revalidated(handle)

    def settle(self, handle: int, memory: int) -> None:
        """Note that *handle* got a place in *memory*."""
        bit = 1 << memory
        self.places[handle] |= bit
        if self.changes.followed & bit:
            self.changes.note(handle, bit)
        store = self.stores[memory]
        if store is not None:
            store.used_bytes += self.size[handle]
            store.settle(handle)

    def drop(self, handle: int, memory: int) -> None:
        """Remove *handle* from *memory*."""
        away = ~(1 << memory)
        if self.valid[handle] & ~away:
            self.evictions += 1
        self.valid[handle] &= away
        self.places[handle] &= away
        if self.changes.followed & ~away:
            self.changes.note(handle, ~away)
        store = self.stores[memory]
        if store is not None:
            store.used_bytes -= self.size[handle]
            store.pool.give_back(self.size[handle])
            store.drop(handle)
        for other in self._searched:
            other.revalidated(handle)

    def search(self, store: Store) -> None:
        """Report data that become valid elsewhere to *store*, which searches for victims."""
        if store not in self._searched:
            self._searched.append(store)

    def expect(self, handle: int, memory: int) -> None:
        """Note that a copy of *handle* to *memory* was requested."""
        bit = 1 << memory
        self.coming[handle] |= bit
        if self.changes.followed & bit:
            self.changes.note(handle, bit)

    def expect_no_more(self, handle: int, memory: int) -> None:
        """Note that no copy of *handle* is still on its way to *memory*."""
        bit = 1 << memory
        self.coming[handle] &= ~bit
        if self.changes.followed & bit:
            self.changes.note(handle, bit)

    def will_not_be_used(self, handle: int) -> None:
        """Make *handle* the first victim in all memories."""
        for store in self.stores:
            if store is not None:
                store.will_not_be_used(handle)

    def is_last(self, handle: int, memory: int) -> bool:
        """Return whether *memory* has the only valid copy of *handle*."""
        return bool(self.valid[handle] == 1 << memory)
