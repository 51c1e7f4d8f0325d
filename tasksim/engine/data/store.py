"""Store of the data in a device's limited memory, with the order of their eviction.

Eviction searches a memory from the first datum in that order. It skips a datum that may not leave
now, because it is used or wanted, has another size, or is the only copy. Skipped data are sorted by
the reason, so that no search visits them again; a change of the reason sorts them again.
"""

from __future__ import annotations

from collections import OrderedDict
from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tasksim.engine.data.pool import Pool

__all__ = ["Candidates", "Store"]

StoredDatum: TypeAlias = tuple[int, int]
"""A position in the order of eviction, and its datum."""
Sort: TypeAlias = tuple[bool, int]
"""Whether a datum is wanted, and its size if it is valid elsewhere."""

ONLY_COPY: Final = -1
"""Value in place of the size, for a datum that is valid nowhere else."""
FIRST_UNNEEDED: Final = -(1 << 60)
"""Position of the first unneeded datum: unneeded data come before the others, which count from 0,
and there are fewer of either kind than the magnitude of this number."""
MAX_HEAP_ENTRIES_PER_DATUM: Final = 4
"""Heap entries per sorted datum at which outdated entries are removed: rarely enough to cost
nothing, and memory stays bounded."""


class Candidates:
    """The data sorted so far, and those that may leave, by size.

    Parameters
    ----------
    sizes, valid : sequence of int
        Size in bytes of each datum of the graph, and the mask of memories in which it is valid.
    bit : int
        Mask of this memory.
    pinned, wanted : mapping
        Data in use here, and prefetched data whose tasks have not taken them yet.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        valid: Sequence[int],
        bit: int,
        pinned: Mapping[int, int],
        wanted: Mapping[int, int],
    ) -> None:
        self._sizes, self._valid, self._bit = sizes, valid, bit
        self._pinned, self._wanted = pinned, wanted
        self.places: dict[int, int] = {}
        """Position of each sorted datum in the order of eviction; negative: not needed."""
        self._count = 0
        # Heaps are cleaned lazily: an entry counts if the datum still has this position and sort.
        self._heaps: dict[Sort, list[StoredDatum]] = {}
        self._sort: dict[int, Sort] = {}  # in whose heap each datum has an entry

    def add(self, handle: int, *, unneeded: bool) -> None:
        """Sort *handle* behind all others that are needed, or not needed, like it."""
        self.places[handle] = self._count + FIRST_UNNEEDED if unneeded else self._count
        self._count += 1
        self.changed(handle)

    def remove(self, handle: int) -> None:
        """Remove *handle*, which was used or has left."""
        if self.places.pop(handle, None) is not None:
            self._sort.pop(handle, None)

    def changed(self, handle: int) -> None:
        """Sort *handle* again, after a change of its use, of its tasks, or of its other copies."""
        if handle in self._pinned:
            return
        size = ONLY_COPY if self._valid[handle] == self._bit else self._sizes[handle]
        sort = (handle in self._wanted, size)
        if self._sort.get(handle) != sort:
            self._sort[handle] = sort
            heap = self._heaps.get(sort)
            if heap is None:
                heap = self._heaps[sort] = []
            elif len(heap) > MAX_HEAP_ENTRIES_PER_DATUM * len(self.places):
                heap[:] = [entry for entry in heap if self._counts(entry, sort)]
                heapify(heap)
            heappush(heap, (self.places[handle], handle))

    def fits(self, handle: int, size: int, *, keep_wanted: bool) -> bool:
        """Return whether *handle*, sorted or not, has *size*, is valid elsewhere and may leave."""
        return (
            self._sizes[handle] == size
            and self._valid[handle] != self._bit
            and handle not in self._pinned
            and not (keep_wanted and handle in self._wanted)
        )

    def first(self, size: int, *, keep_wanted: bool) -> StoredDatum | None:
        """Return the first datum of *size*, or of :data:`ONLY_COPY`, that may leave."""
        free = self._first((False, size))
        if keep_wanted:
            return free
        wanted = self._first((True, size))
        return min(free, wanted) if free and wanted else free or wanted

    def elsewhere(self, *, keep_wanted: bool) -> Iterator[int]:
        """Yield all that may leave and are valid elsewhere; each leaves before the next."""
        sorts = [s for s in self._heaps if s[1] != ONLY_COPY and not (keep_wanted and s[0])]
        heads = [(head, sort) for sort in sorts if (head := self._first(sort))]
        heapify(heads)
        while heads:
            (_, handle), sort = heads[0]
            yield handle
            head = self._first(sort)
            if head:
                heapreplace(heads, (head, sort))
            else:
                heappop(heads)

    def only_copies(self, size: int, *, keep_wanted: bool) -> list[int]:
        """Return the first data that are valid only here, with at least *size* bytes in total."""
        found = []
        while size > 0 and (entry := self.first(ONLY_COPY, keep_wanted=keep_wanted)):
            handle = entry[1]
            del self._sort[handle]  # makes the next one the first
            found.append(handle)
            size -= self._sizes[handle]
        for handle in found:
            self.changed(handle)
        return found

    def _first(self, sort: Sort) -> StoredDatum | None:
        """Return the first valid entry of *sort*, and drop those before it."""
        heap = self._heaps.get(sort)
        while heap:
            if self._counts(heap[0], sort):
                return heap[0]
            heappop(heap)
        return None

    def _counts(self, entry: StoredDatum, sort: Sort) -> bool:
        """Return whether *entry* has this *sort*; data in use are sorted again once free."""
        place, handle = entry
        if self.places.get(handle) != place or self._sort.get(handle) != sort:
            return False
        if handle in self._pinned:
            del self._sort[handle]
            return False
        return True


class Store:
    """The memory of a device, with its allocator and its data in least-recently-used order.

    ``pinned`` counts the users of a datum or of its place, ``wanted`` the tasks for which it was
    prefetched and that have not taken it yet. A search for victims visits the data in order and
    sorts those that it skips (:class:`Candidates`), until they are used again: so no search visits
    the same data twice, and without evictions nothing is sorted.

    Parameters
    ----------
    pool : Pool
        The allocator.
    sizes, valid : sequence of int
        Size in bytes of each datum of the graph, and the mask of memories in which it is valid.
    memory : int
        Number of this memory in the masks.
    """

    def __init__(self, pool: Pool, sizes: Sequence[int], valid: Sequence[int], memory: int) -> None:
        self.pool = pool
        self.used_bytes = 0
        self.pinned: dict[int, int] = {}
        self.wanted: dict[int, int] = {}
        # Not plain dictionaries: they scan the slots of removed entries to find the first one.
        self._recent: OrderedDict[int, None] = OrderedDict()
        self._unneeded: OrderedDict[int, None] = OrderedDict()
        self._candidates = Candidates(sizes, valid, 1 << memory, self.pinned, self.wanted)
        self._sorted = self._candidates.places

    def settle(self, handle: int) -> None:
        """Note that *handle* has a place."""
        self._recent[handle] = None

    def drop(self, handle: int) -> None:
        """Note that *handle* has left."""
        self._recent.pop(handle, None)
        self._unneeded.pop(handle, None)
        self._candidates.remove(handle)
        self.wanted.pop(handle, None)

    def touch(self, handle: int) -> None:
        """Note a use of *handle*: it goes behind all others that may be needed."""
        if handle in self._recent:
            self._recent.move_to_end(handle)
        elif self._sorted.get(handle, -1) >= 0:
            self._candidates.remove(handle)
            self._recent[handle] = None
        elif handle in self._sorted:  # an unneeded datum stays unneeded
            self._candidates.changed(handle)

    def take(self, handle: int) -> None:
        """Note that a task begins to use *handle*, which may have been prefetched for it."""
        wanted = self.wanted
        if handle in wanted:
            count = wanted[handle] - 1
            if count:
                wanted[handle] = count
            else:
                del wanted[handle]
        self.touch(handle)

    def want(self, handle: int) -> None:
        """Note that a task will need *handle* here, and count that as a use."""
        wanted = self.wanted
        wanted[handle] = wanted.get(handle, 0) + 1
        self.touch(handle)

    def pin(self, handle: int) -> None:
        """Keep *handle* from leaving."""
        pinned = self.pinned
        pinned[handle] = pinned.get(handle, 0) + 1

    def unpin(self, handle: int) -> None:
        """Undo one :meth:`pin`."""
        pinned = self.pinned
        count = pinned[handle]
        if count > 1:
            pinned[handle] = count - 1
        else:
            del pinned[handle]
            if handle in self._sorted:
                self._candidates.changed(handle)

    def revalidated(self, handle: int) -> None:
        """Note that *handle* has become valid elsewhere, or is no longer."""
        if handle in self._sorted:
            self._candidates.changed(handle)

    def will_not_be_used(self, handle: int) -> None:
        """Make *handle*, if it is here, leave before all data that may be needed."""
        if handle in self._recent:
            del self._recent[handle]
            self._unneeded[handle] = None
        elif self._sorted.get(handle, -1) >= 0:
            self._candidates.remove(handle)
            self._unneeded[handle] = None

    def victim(self, size: int, *, keep_wanted: bool) -> int | None:
        """Return the first datum of *size* that may leave and is valid elsewhere; None if none is.

        It is not in use; with *keep_wanted*, no task wants it either.
        """
        candidates, recent = self._candidates, self._recent
        if self._unneeded:
            self._sort_unneeded()
        first = candidates.first(size, keep_wanted=keep_wanted) if self._sorted else None
        if first is not None:
            return first[1]
        while recent:
            handle = next(iter(recent))
            if candidates.fits(handle, size, keep_wanted=keep_wanted):
                return handle
            del recent[handle]
            candidates.add(handle, unneeded=False)
        return None

    def victims(self, *, keep_wanted: bool) -> Iterator[int]:
        """Yield all data that may leave and are valid elsewhere; each leaves before the next.

        Use it if there is no :meth:`victim` of the needed size.
        """
        self._sort_all()
        return self._candidates.elsewhere(keep_wanted=keep_wanted)

    def only_copies(self, size: int, *, keep_wanted: bool) -> list[int]:
        """Return the first data that may leave and are valid only here, at least *size* bytes.

        If all of them are smaller together, return all.
        """
        self._sort_all()
        return self._candidates.only_copies(size, keep_wanted=keep_wanted)

    def _sort_unneeded(self) -> None:
        while self._unneeded:
            self._candidates.add(self._unneeded.popitem(last=False)[0], unneeded=True)

    def _sort_all(self) -> None:
        self._sort_unneeded()
        while self._recent:
            self._candidates.add(self._recent.popitem(last=False)[0], unneeded=False)
