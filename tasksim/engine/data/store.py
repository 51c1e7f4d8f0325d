"""Store: the limited memory of a device, what is in it, and what may leave it first."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from tasksim.engine.data.candidates import Candidates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.engine.data.pool import Pool

__all__ = ["Store"]


class Store:
    """The memory of a device: its allocator, and the data in it from the least recently used.

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
