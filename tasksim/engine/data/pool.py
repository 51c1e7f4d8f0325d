"""Pool of allocated space in one memory of a device, in chunks or in blocks kept for reuse."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tasksim.platform.costs import Allocation

__all__ = ["Pool"]


class Pool:
    """The allocator of a memory of *limit* bytes.

    Small blocks consist of whole units of a chunk, which the driver allocates at once and keeps. A
    freed large block is kept, too, for the next request of exactly its size, until the space is
    needed (StarPU's sub-allocator and allocation cache). The positions of small blocks in a chunk
    are not tracked: only their units are counted.
    """

    def __init__(self, limit: float, allocation: Allocation) -> None:
        self._unit = allocation.unit_bytes
        self._largest = allocation.largest_bytes
        self._chunk_units = floor(allocation.chunk_bytes / self._unit)
        self._room = limit * allocation.usable
        self._limit = self._room
        self._chunks: list[int] = []  # free units of each chunk
        self._free = 0  # free units of all chunks
        self._kept: dict[int, int] = {}  # free large blocks by size
        self._kept_bytes = 0

    def fits(self, sizes: list[int]) -> bool:
        """Return whether blocks of *sizes* fit together into the empty memory."""
        return sum(map(self._rounded, sizes)) <= self._limit

    def allocate(self, size: int) -> tuple[int, int] | None:
        """Allocate *size* bytes; return None if there is no room.

        Otherwise return the numbers of allocations and of releases that the driver makes for it.
        """
        if size <= self._largest:
            return self._allocate_units(ceil(size / self._unit))
        if self._kept.get(size):
            self._kept[size] -= 1
            self._kept_bytes -= size
            return 0, 0
        return self._allocate_alone(size)

    def give_back(self, size: int) -> None:
        """Free a block of *size* bytes."""
        if size > self._largest:
            self._kept[size] = self._kept.get(size, 0) + 1
            self._kept_bytes += size
            return
        units = ceil(size / self._unit)
        # Emptier chunks are filled last, so freed units go to the fullest chunk that can have
        # had them.
        for index, free in enumerate(self._chunks):
            if free + units <= self._chunk_units:
                self._chunks[index] = free + units
                self._free += units
                return
        self._room += units * self._unit

    def _rounded(self, size: int) -> float:
        return ceil(size / self._unit) * self._unit if size <= self._largest else size

    def _allocate_units(self, units: int) -> tuple[int, int] | None:
        for index, free in enumerate(self._chunks) if self._free >= units else ():
            if free >= units:
                self._chunks[index] = free - units
                self._free -= units
                return 0, 0
        chunk = self._chunk_units * self._unit
        released = self._release_kept(chunk)
        if chunk <= self._room:
            self._room -= chunk
            self._chunks.append(self._chunk_units - units)
            self._free += self._chunk_units - units
            return 1, released
        found = self._allocate_alone(units * self._unit)
        return None if found is None else (1, released + found[1])

    def _allocate_alone(self, size: float) -> tuple[int, int] | None:
        unused = self._room + self._kept_bytes
        if size > unused + self._free * self._unit:
            return None
        released = self._release_kept(min(size, unused))
        if size > self._room:
            # The last resort: units from the rests of several chunks.
            units = ceil((size - self._room) / self._unit)
            self._free -= units
            self._room += units * self._unit
            for index, free in enumerate(self._chunks):
                taken = min(free, units)
                self._chunks[index] -= taken
                units -= taken
        self._room -= size
        return 1, released

    def _release_kept(self, size: float) -> int:
        """Release kept blocks, if that makes *size* bytes free; return their number."""
        released = 0
        if self._room + self._kept_bytes < size:
            return released
        for kept in sorted(self._kept):
            while self._kept[kept] and self._room < size:
                self._kept[kept] -= 1
                self._room += kept
                self._kept_bytes -= kept
                released += 1
        return released
