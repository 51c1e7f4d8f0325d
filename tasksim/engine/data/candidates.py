"""Candidates: the data of one memory at which eviction has looked, sorted by what may leave.

Eviction goes through a memory from the datum that would leave first. What it passes may not leave
now: it is used, or wanted, or has another size, or is the only copy. It is kept here, sorted by the
reason, so that no search passes it again; a change of the reason sorts it anew.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Candidates"]

Entry: TypeAlias = tuple[int, int]
"""A place in the order of leaving, and the datum that has it."""
Sort: TypeAlias = tuple[bool, int]
"""Whether a datum is wanted, and its size if it is valid elsewhere."""

ONLY: Final = -1
"""Instead of a size: the datum is valid nowhere else."""
UNNEEDED: Final = -(1 << 60)
"""The place of the first datum that nobody needs: they come before the others, which count from 0,
and there are fewer of either than this."""
MANY: Final = 4
"""A heap with so many entries per datum that is sorted is cleaned of those that do not count: so
seldom that it costs nothing, and memory stays bounded."""


class Candidates:
    """The data sorted out so far, and those that may leave by size.

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
            elif len(heap) > MANY * len(self.places):
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
