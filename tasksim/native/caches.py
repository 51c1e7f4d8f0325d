"""Data caches of this machine, as the system reports them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["Cache", "data_caches", "last_cache_bytes"]

CACHE_FOLDER: Final = Path("/sys/devices/system/cpu/cpu0/cache")
SIZE_FACTORS: Final = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


@dataclass(frozen=True)
class Cache:
    """A data cache.

    Attributes
    ----------
    level, size_bytes, ways, line_bytes
        Level, size, associativity and line size of the whole cache, including shared ones.
    cores
        Number of cores that share it.
    """

    level: int
    size_bytes: int
    ways: int
    line_bytes: int
    cores: int = 1

    def geometry(self) -> tuple[int, int, int]:
        """Return size, ways and bytes per line of the nearest cache with a power of two of sets.

        >>> Cache(3, 503316480, 16, 64).geometry()
        (503316480, 30, 64)
        """
        sets = 1 << (max(1, self.size_bytes // (self.ways * self.line_bytes)).bit_length() - 1)
        ways = max(1, self.size_bytes // (sets * self.line_bytes))
        return sets * ways * self.line_bytes, ways, self.line_bytes


def data_caches() -> list[Cache]:
    """Return the data caches of the first core, nearest first; empty if the system reports none."""
    found = [_cache(path) for path in sorted(CACHE_FOLDER.glob("index*"))]
    return sorted((cache for cache in found if cache is not None), key=lambda cache: cache.level)


@cache
def last_cache_bytes() -> int | None:
    """Return the size of the last-level cache; None if it is unknown. The system is asked once."""
    caches = data_caches()
    return caches[-1].size_bytes if caches else None


def _cache(folder: Path) -> Cache | None:
    try:
        kind = (folder / "type").read_text().strip()
        level, line = (int((folder / n).read_text()) for n in ("level", "coherency_line_size"))
        match = re.fullmatch(r"(\d+)([KMG]?)", (folder / "size").read_text().strip())
        ways = int((folder / "ways_of_associativity").read_text())
        # A list such as 0-3,8.
        shared = (folder / "shared_cpu_list").read_text().strip().split(",")
        ends = [part.split("-") for part in shared]
        cores = sum(int(end[-1]) - int(end[0]) + 1 for end in ends)
    except (OSError, ValueError):
        return None
    if kind == "Instruction" or match is None or ways < 1:
        return None
    return Cache(level, int(match[1]) * SIZE_FACTORS[match[2]], ways, line, cores)
