"""Eviction from the memories of devices, with the choice of data and the wait for space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.data.requests import FETCH, IDLE, NO_TASK, PREFETCH, WRITE_BACK, Request
from tasksim.engine.ticks import ticks

if TYPE_CHECKING:
    from tasksim.engine.clock import Clock, Routine, Steps
    from tasksim.engine.data.copies import Copies
    from tasksim.engine.data.copy_log import CopyLog
    from tasksim.engine.data.open_requests import OpenRequests
    from tasksim.engine.data.store import Store
    from tasksim.platform.costs import Allocation

__all__ = ["Eviction"]

WRITE_BACK_FACTOR = 2
"""Size of the data that are written home at a time because no other memory has them, as a multiple
of the needed size: the next request then often finds space at once (StarPU frees twice the
requested size, ``datawizard/memalloc.c``)."""


class Eviction:
    """Places in limited memories, and the evictions that make space for them.

    *copies*, *requests* and *log* belong to the node; *allocation* has the costs of its devices.
    """

    def __init__(
        self,
        clock: Clock,
        copies: Copies,
        requests: OpenRequests,
        log: CopyLog,
        allocation: Allocation,
    ) -> None:
        self._clock = clock
        self._copies = copies
        self._requests = requests
        self._log = log
        self._allocate = ticks(allocation.allocate_s)
        self._free = ticks(allocation.free_s)
        self._allocator_free = 0  # tick: allocations of all devices exclude each other
        self._starved = [False] * len(copies.stores)

    def place(self, request: Request, store: Store, routine: Routine) -> Steps:
        """Find a place for *request* in the memory of *store*, in the time of *routine*.

        Returns whether it found one.
        """
        size, memory = self._copies.size[request.handle], request.target
        found = store.pool.allocate(size)
        if found is None and request.kind != IDLE:
            found = self._make_room(store, memory, size, keep_wanted=request.kind == PREFETCH)
        if found is None:
            self._starved[memory] = True
            return False
        self._copies.settle(request.handle, memory)
        self._log.changed(memory, store.used_bytes, self._clock.now)
        cost = found[0] * self._allocate + found[1] * self._free
        if cost:
            now = self._clock.now
            self._allocator_free = max(now, self._allocator_free) + cost
            yield routine.wait(self._allocator_free - now)
        return True

    def unpinned(self, memory: int) -> None:
        """Wake the requests that found no room in *memory*."""
        if self._starved[memory]:
            self._starved[memory] = False
            self._requests.keepers[memory].notify()

    def written_back(self, store: Store, handle: int, memory: int) -> None:
        """Drop *handle*, after its write-back to make room in *memory*, unless it is needed now."""
        there = self._copies.places[handle] >> memory & 1
        if there and handle not in store.pinned and not self._copies.is_last(handle, memory):
            self._drop(store, handle, memory)
        self._starved[memory] = False
        self._requests.keepers[memory].notify()

    def _make_room(
        self, store: Store, memory: int, size: int, *, keep_wanted: bool
    ) -> tuple[int, int] | None:
        """Evict data until *size* bytes fit: first those valid elsewhere, preferably of equal size.

        Data with their only copy here are written home first, and leave when that is done.
        """
        self._copies.search(store)
        equal = store.victim(size, keep_wanted=keep_wanted)
        if equal is not None:
            self._drop(store, equal, memory)
            return store.pool.allocate(size)  # the room of the victim
        for victim in store.victims(keep_wanted=keep_wanted):
            self._drop(store, victim, memory)
            found = store.pool.allocate(size)
            if found is not None:
                return found
        for only in store.only_copies(WRITE_BACK_FACTOR * size, keep_wanted=keep_wanted):
            self._write_back(only, memory)
        return None

    def _drop(self, store: Store, handle: int, memory: int) -> None:
        self._copies.drop(handle, memory)
        self._log.changed(memory, store.used_bytes, self._clock.now)

    def _write_back(self, handle: int, memory: int) -> None:
        """Request a write-back of the only copy of *handle*, which must leave *memory*."""
        home = self._copies.home[handle]
        request = self._requests.ask((handle, True, False), home, (FETCH, NO_TASK, 0))
        while request.source != memory:  # over another memory: only the first copy counts
            before = [r for r in self._requests.of[handle] if r.next_hop is request]
            if not before:
                return
            request = before[0]
        request.reason = WRITE_BACK
