"""Store of the data in a device's limited memory, with the order of their eviction.

Eviction goes through a memory from the first datum in that order. It passes a datum that may not
leave now, because it is used or wanted, has another size, or is the only copy. Such candidates are
kept sorted by the reason, so that no search passes them again; a change of the reason sorts them
anew.
"""

from __future__ import annotations

from collections import OrderedDict
from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tasksim.engine.data.pool import Pool

__all__ = ["Candidates", "Store"]

Entry: TypeAlias = tuple[int, int]
"""A place in the order of eviction, and the datum that has it."""
Sort: TypeAlias = tuple[bool, int]
"""Whether a datum is wanted, and its size if it is valid elsewhere."""

ONLY: Final = -1
"""Placeholder for a size, if the datum is valid nowhere else."""
UNNEEDED: Final = -(1 << 60)
"""Place of the first unneeded datum: unneeded data come before the others, which count from 0, and
there are fewer of either than this."""
MAX_HEAP_ENTRIES_PER_DATUM: Final = 4
"""Entries per sorted datum at which outdated entries are removed from a heap: seldom enough to cost
nothing, and memory stays bounded."""


class Candidates:
    """The data sorted so far, and those that may leave, by size.

    Parameters
    ----------
    sizes, valid : sequence of int
        Per datum of the graph, its size in bytes, and a mask of the memories where it is valid.
    bit : int
        The mask of this memory.
    pinned, wanted : mapping
        What is used here right now, and what tasks want that have not taken it yet.
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
        """Per datum that is sorted, its place in the order of leaving; negative: not needed."""
        self._count = 0
        # Heaps are cleaned lazily: an entry counts if the datum still has this place, and its sort.
        self._heaps: dict[Sort, list[Entry]] = {}
        self._sort: dict[int, Sort] = {}  # in whose heap each datum has an entry

    def add(self, handle: int, *, unneeded: bool) -> None:
        """Sort *handle*, which comes after all others that are needed as much as it."""
        self.places[handle] = self._count + UNNEEDED if unneeded else self._count
        self._count += 1
        self.changed(handle)

    def remove(self, handle: int) -> None:
        """Forget *handle*: it was used, or has left."""
        if self.places.pop(handle, None) is not None:
            self._sort.pop(handle, None)

    def changed(self, handle: int) -> None:
        """Sort *handle* anew: it is free again, or wanted, or valid elsewhere, or not any more."""
        if handle in self._pinned:
            return
        size = ONLY if self._valid[handle] == self._bit else self._sizes[handle]
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
        """Return whether *handle*, sorted or not, is of *size*, valid elsewhere and may leave."""
        return (
            self._sizes[handle] == size
            and self._valid[handle] != self._bit
            and handle not in self._pinned
            and not (keep_wanted and handle in self._wanted)
        )

    def first(self, size: int, *, keep_wanted: bool) -> Entry | None:
        """Return the first that may leave of *size*; if that is :data:`ONLY`, valid only here."""
        free = self._first((False, size))
        if keep_wanted:
            return free
        wanted = self._first((True, size))
        return min(free, wanted) if free and wanted else free or wanted

    def elsewhere(self, *, keep_wanted: bool) -> Iterator[int]:
        """Yield all that may leave and are valid elsewhere; each leaves before the next."""
        sorts = [s for s in self._heaps if s[1] != ONLY and not (keep_wanted and s[0])]
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
        """Return the first data valid nowhere else that together have at least *size* bytes."""
        found = []
        while size > 0 and (entry := self.first(ONLY, keep_wanted=keep_wanted)):
            handle = entry[1]
            del self._sort[handle]  # so that the next one is the first
            found.append(handle)
            size -= self._sizes[handle]
        for handle in found:
            self.changed(handle)
        return found

    def _first(self, sort: Sort) -> Entry | None:
        """Return the first entry of *sort* that counts, and drop those before it."""
        heap = self._heaps.get(sort)
        while heap:
            if self._counts(heap[0], sort):
                return heap[0]
            heappop(heap)
        return None

    def _counts(self, entry: Entry, sort: Sort) -> bool:
        """Return whether *entry* is of this *sort*; what is used is sorted anew when it is free."""
        place, handle = entry
        if self.places.get(handle) != place or self._sort.get(handle) != sort:
            return False
        if handle in self._pinned:
            del self._sort[handle]
            return False
        return True


class Store:
    """The memory of a device, with its allocator and its data in least-recently-used order.

    ``pinned`` counts who uses a datum or its place right now, ``wanted`` the tasks for which it was
    brought ahead and that have not taken it yet. Who looks for victims goes through the data in
    order and leaves those that it passed sorted behind (:class:`Candidates`), until they are used
    again: so no search goes over the same data twice, and without evictions nothing is sorted.

    Parameters
    ----------
    pool : Pool
        The allocator.
    sizes, valid : sequence of int
        Per datum of the graph, its size in bytes, and a mask of the memories where it is valid.
    memory : int
        The number of this memory in those masks.
    """

    def __init__(self, pool: Pool, sizes: Sequence[int], valid: Sequence[int], memory: int) -> None:
        self.pool = pool
        self.used_bytes = 0
        self.pinned: dict[int, int] = {}
        self.wanted: dict[int, int] = {}
        # Not dictionaries: those look at all that was taken from their front to find the first.
        self._recent: OrderedDict[int, None] = OrderedDict()
        self._unneeded: OrderedDict[int, None] = OrderedDict()
        self._candidates = Candidates(sizes, valid, 1 << memory, self.pinned, self.wanted)
        self._sorted = self._candidates.places

    def settle(self, handle: int) -> None:
        """Note that *handle* has a place from now on."""
        self._recent[handle] = None

    def drop(self, handle: int) -> None:
        """Note that *handle* has left."""
        self._recent.pop(handle, None)
        self._unneeded.pop(handle, None)
        self._candidates.remove(handle)
        self.wanted.pop(handle, None)

    def touch(self, handle: int) -> None:
        """Note that *handle* was used just now."""
        if handle in self._recent:
            self._recent.move_to_end(handle)
        elif handle in self._sorted:
            self._touch_sorted(handle)

    def take(self, handle: int) -> None:
        """Note that a task uses *handle* from now on, which may have been brought ahead for it."""
        wanted = self.wanted
        if handle in wanted:
            count = wanted[handle] - 1
            if count:
                wanted[handle] = count
            else:
                del wanted[handle]
        if handle in self._recent:
            self._recent.move_to_end(handle)
        elif handle in self._sorted:
            self._touch_sorted(handle)

    def want(self, handle: int) -> None:
        """Note that a task will need *handle* here, and count that as a use."""
        wanted = self.wanted
        wanted[handle] = wanted.get(handle, 0) + 1
        if handle in self._recent:
            self._recent.move_to_end(handle)
        elif handle in self._sorted:
            self._touch_sorted(handle)

    def pin(self, handle: int) -> None:
        """Keep *handle* here."""
        pinned = self.pinned
        pinned[handle] = pinned.get(handle, 0) + 1

    def unpin(self, handle: int) -> None:
        """Take one :meth:`pin` back."""
        pinned = self.pinned
        count = pinned[handle]
        if count > 1:
            pinned[handle] = count - 1
        else:
            del pinned[handle]
            if handle in self._sorted:
                self._candidates.changed(handle)

    def revalidated(self, handle: int) -> None:
        """Note that *handle* has become valid elsewhere, or is not any more."""
        if handle in self._sorted:
            self._candidates.changed(handle)

    def will_not_be_used(self, handle: int) -> None:
        """Let *handle* leave before all that may be needed, if it is here."""
        if handle in self._recent:
            del self._recent[handle]
            self._unneeded[handle] = None
        elif self._sorted.get(handle, -1) >= 0:
            self._candidates.remove(handle)
            self._unneeded[handle] = None

    def victim(self, size: int, *, keep_wanted: bool) -> int | None:
        """Return the first datum of *size* that may leave and is valid elsewhere, if there is one.

        Nobody uses it; with *keep_wanted* no task wants it either.
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
        """Yield all that may leave and are valid elsewhere; each leaves before the next.

        To be asked when there is no :meth:`victim` of the size that is needed.
        """
        self._sort_all()
        return self._candidates.elsewhere(keep_wanted=keep_wanted)

    def only_copies(self, size: int, *, keep_wanted: bool) -> list[int]:
        """Return the first that may leave and are valid nowhere else, together *size* bytes.

        Or more, or all, if they are fewer.
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

    def _touch_sorted(self, handle: int) -> None:
        """Move *handle* behind all others that may be needed; what is unneeded stays so."""
        if self._sorted[handle] >= 0:
            self._candidates.remove(handle)
            self._recent[handle] = None
        else:
            self._candidates.changed(handle)
