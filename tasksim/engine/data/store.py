"""Store: the limited memory of a device, what is in it, and what may leave it first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.engine.data.pool import Pool

__all__ = ["Store"]


class Store:
    """The memory of a device: its allocator, and the data in it from the least recently used.

    ``pinned`` counts who uses a datum or its place right now, ``wanted`` the tasks for which it was
    brought ahead and that have not taken it yet.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.used_bytes = 0
        self.recent: dict[int, None] = {}
        self.unneeded: dict[int, None] = {}
        self.pinned: dict[int, int] = {}
        self.wanted: dict[int, int] = {}

    def touch(self, handle: int) -> None:
        """Note that *handle* was used just now."""
        recent = self.recent
        if handle in recent:
            del recent[handle]
            recent[handle] = None

    def take(self, handle: int) -> None:
        """Note that a task uses *handle* from now on, which may have been brought ahead for it."""
        wanted = self.wanted
        if handle in wanted:
            count = wanted[handle] - 1
            if count:
                wanted[handle] = count
            else:
                del wanted[handle]
        recent = self.recent
        if handle in recent:
            del recent[handle]
            recent[handle] = None

    def want(self, handle: int) -> None:
        """Note that a task will need *handle* here, and count that as a use."""
        wanted, recent = self.wanted, self.recent
        wanted[handle] = wanted.get(handle, 0) + 1
        if handle in recent:
            del recent[handle]
            recent[handle] = None

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

    def victims(self, *, keep_wanted: bool) -> Iterator[int]:
        """Yield what may leave, that which nobody needs first, then the least recently used."""
        pinned, wanted = self.pinned, self.wanted if keep_wanted else {}
        for order in (self.unneeded, self.recent):
            for handle in order:
                if handle not in pinned and handle not in wanted:
                    yield handle
