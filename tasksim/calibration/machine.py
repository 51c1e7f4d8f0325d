"""Memory and data caches of this machine, and the facts that measurements on it depend on."""

from __future__ import annotations

import os
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tasksim.kernels.threads import blas_info
from tasksim.native.this_machine import processor

__all__ = ["Cache", "data_caches", "machine_facts", "memory_bytes"]


def memory_bytes() -> int | None:
    """Return the size of main memory in bytes, or None if the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def machine_facts(cores: int) -> dict[str, str | int]:
    """Return the facts that a measurement on *cores* cores of this machine depends on.

    Coefficient files contain them, so that a prediction can be traced to its origin.
    """
    import numpy
    import scipy

    libraries = {  # for instance openblas 0.3.30 (SkylakeX)
        f"{found['internal_api']} {found['version']} ({found.get('architecture')})"
        for found in blas_info()
    }
    return {
        "processor": processor(),
        "cores": cores,
        "logical_cores": os.cpu_count() or cores,
        "system": f"{platform.system()} {platform.machine()}",
        "python": ".".join(map(str, sys.version_info[:3])),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "blas": "; ".join(sorted(libraries)),
    }


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
