"""Campaign over the levels of memory: latencies by chases of pointers, bandwidths by streams."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import TasksimError
from tasksim.base.units import exact_quantity
from tasksim.calibration.caches import data_caches
from tasksim.calibration.memory.tool import MemoryTool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.calibration.caches import Cache

__all__ = ["Level", "corrected", "measure_memory", "working_sets", "write_memory"]

ROUNDS: Final = 41
"""Each latency is the least of so many: neighbours and interrupts only add time; so many tell what
is typical, too."""
STEPS: Final = 20_000
"""So few that most rounds end before the system lets somebody else run."""
STREAM_S: Final = 0.02
LEAST_SHARE: Final = 8
"""A level is measured over so many times the size of the one before it, or half of its own if that
is less: the rest of a cache that others use may not be ours."""
MOST_BYTES: Final = 1 << 30
MEMORY_SHARE: Final = 4
"""Of what is free, at most this part is taken."""
UNQUIET: Final = 1.2
"""Medians beyond so many times the least are said: the machine was not calm."""
JUMP: Final = 1.3
"""A level that is not so many times as far as the one before cannot be told from it."""
TIGHTEST: Final = 0.95
"""Of accesses in nearer levels, beyond which what is left does not tell a latency."""


@dataclass(frozen=True)
class Level:
    """A level of memory, measured.

    Attributes
    ----------
    name
        ``l1``, ``l2``, ``l3``, ``memory``.
    size_bytes
        As the system tells; None for memory.
    latency_s
        Of an access that depends on the one before.
    bandwidth_bytes_per_s
        Of 1, 2, ... cores together.
    cores
        How many share it.
    unrest
        The median of the latencies over the least.
    """

    name: str
    size_bytes: int | None
    latency_s: float
    bandwidth_bytes_per_s: tuple[float, ...]
    cores: int
    unrest: float

    def section(self) -> dict[str, Any]:
        """Return what a platform file has of it."""
        size = {} if self.size_bytes is None else {"size": exact_quantity(self.size_bytes, "size")}
        rates = [_rounded(rate, "bandwidth") for rate in self.bandwidth_bytes_per_s]
        latency = _rounded(self.latency_s, "time")
        return {**size, "latency": latency, "bandwidth": rates, "cores": self.cores}


def measure_memory(
    *, cores: int = 1, progress: Callable[[str, float], None] | None = None
) -> tuple[list[Level], list[str]]:
    """Return the levels of memory of this machine, nearest first, and what to know of them.

    Parameters
    ----------
    cores : int
        Up to how many stream at once.
    progress : callable, optional
        Called with what goes on and the share that is done.

    Raises
    ------
    TasksimError
        If there is no compiler, or the system does not tell the caches.
    """
    caches = data_caches()
    if not caches:
        raise TasksimError("measuring memory: the system does not tell the sizes of the caches")
    tool, levels, notes = MemoryTool(), [], []
    sizes = working_sets(caches, _available())
    nearer: list[tuple[int, float]] = []
    for number, (name, size) in enumerate(sizes):
        if progress is not None:
            progress(f"{name}: {size >> 10} KiB", number / len(sizes))
        cache = caches[number] if number < len(caches) else None
        seen = list(islice(tool.latencies(size, caches[0].line_bytes, STEPS), ROUNDS))
        latency, known = corrected(min(seen), size, nearer)
        if not known:
            notes.append(f"{name}: most of {size >> 20} MiB are in nearer caches: a rough latency")
        rates = tuple(_bandwidth(tool, size, count) for count in range(1, cores + 1))
        shared = cores if cache is None else cache.cores
        unrest = float(np.median(seen)) / min(seen)
        bytes_of = None if cache is None else cache.size_bytes
        levels.append(Level(name, bytes_of, latency, rates, shared, unrest))
        nearer.append((size if cache is None else cache.size_bytes, latency))
    return levels, [*notes, *_noted(levels)]


def working_sets(caches: Sequence[Cache], available: int) -> list[tuple[str, int]]:
    """Return each level's name and the bytes that it is measured over.

    >>> from tasksim.calibration.caches import Cache
    >>> small, large = Cache(1, 32768, 8, 64), Cache(2, 1 << 20, 16, 64)
    >>> working_sets([small, large], 1 << 34)
    [('l1', 16384), ('l2', 262144), ('memory', 67108864)]
    """
    found, before = [], 0
    for cache in caches:
        half = cache.size_bytes // 2
        found.append((f"l{cache.level}", min(half, LEAST_SHARE * before) if before else half))
        before = cache.size_bytes
    least = max(64 << 20, 4 * before)
    return [*found, ("memory", min(least, max(MOST_BYTES, 2 * before), available // MEMORY_SHARE))]


def corrected(seen_s: float, size: int, nearer: Sequence[tuple[int, float]]) -> tuple[float, bool]:
    """Return the latency of a level, of what was *seen* over *size* bytes, and whether it is known.

    Some of the accesses find their data in nearer levels (size, latency): as many as fit there.

    >>> corrected(8.5e-9, 400, [(100, 4e-9)])
    (1e-08, True)
    """
    share, spent, inside = 0.0, 0.0, 0
    for level, latency in nearer:
        part = (min(level, size) - inside) / size
        inside = min(level, size)
        share, spent = share + part, spent + part * latency
    if share > TIGHTEST:
        return seen_s, False
    return round((seen_s - spent) / (1 - share), 15), share < TIGHTEST / 2 + 0.25


def write_memory(path: Path, levels: Sequence[Level]) -> None:
    """Write the levels to the platform file at *path*, whose other sections remain."""
    import yaml

    from tasksim.base.files import read_text
    from tasksim.platform.load import dump

    known: dict[str, Any] = {"workers": {"cpu": {"count": os.cpu_count() or 1}}}
    comment = "Written by `tasksim calibrate memory`."
    if path.exists():
        text = read_text(path)
        known = yaml.safe_load(text) or {}
        first = text.partition("\n")[0]
        comment = first[1:].strip() if first.startswith("#") else comment
    hierarchy = {level.name: level.section() for level in levels}
    dump({"name": path.stem, **known, "memory_hierarchy": hierarchy}, path, comment=comment)


def _bandwidth(tool: MemoryTool, size: int, count: int) -> float:
    """Return the most that *count* cores get together: others only take from it."""
    each = size if size <= MOST_BYTES // 8 else max(size // count, 1)
    return max(tool.bandwidth(each, count, STREAM_S) for _ in range(5))


def _noted(levels: Sequence[Level]) -> list[str]:
    notes = [
        f"{level.name}: medians are {level.unrest:.2f} times the least: the machine is not calm"
        for level in levels
        if level.unrest > UNQUIET
    ]
    for before, level in pairwise(levels):
        if level.latency_s < JUMP * before.latency_s:
            notes.append(
                f"{level.name} is hardly farther than {before.name}: the sizes that the system "
                "tells (lscpu) may not be those that this machine has to itself"
            )
    return notes


def _available() -> int:
    """Return how many bytes of memory are free."""
    with contextlib.suppress(OSError), Path("/proc/meminfo").open(encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    return MOST_BYTES


def _rounded(value: float, dimension: Any) -> str:
    """Return a quantity with four digits: more were not measured."""
    return exact_quantity(float(f"{value:.4g}"), dimension)
