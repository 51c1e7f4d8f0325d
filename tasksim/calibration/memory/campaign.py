"""Campaign over the levels of memory: latencies by chases of pointers, bandwidths by streams."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import TasksimError
from tasksim.calibration.caches import data_caches
from tasksim.calibration.memory.level import Level
from tasksim.calibration.memory.limits import Disturbed, disturbed
from tasksim.calibration.memory.tool import MemoryTool
from tasksim.calibration.physical_limits import disturbed_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.calibration.caches import Cache

__all__ = [
    "Level",
    "MemoryReport",
    "corrected",
    "measure_memory",
    "working_sets",
    "write_memory",
]

ROUNDS: Final = 41
"""Each latency is the least of so many: neighbours and interrupts only add time; so many tell what
is typical, too."""
STEPS: Final = 20_000
"""So few that most rounds end before the system lets somebody else run."""
THREADS_OF_A_CORE: Final = 2
"""A virtual machine does not tell which of its cores are threads of one, and share all caches."""
STREAM_S: Final = 0.004
"""So short that some streams end before the system lets somebody else run."""
STREAMS: Final = 15
"""Each bandwidth is the best of so many."""
PATIENCE_S: Final = 10.0
"""How long figures that break a physical limit are measured again: each try takes .1 s, and the
next one may meet a moment in which nobody else has the cores."""
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
class MemoryReport:
    """The levels of memory of this machine, nearest first, and what to know of them.

    Attributes
    ----------
    levels
        As measured.
    disturbed
        Figures that break a physical limit, however often they were measured.
    notes
        What to know of the latencies.
    """

    levels: list[Level]
    disturbed: list[Disturbed]
    notes: list[str]

    @property
    def warnings(self) -> list[str]:
        """The limits that figures break, and by how much these are off at least."""
        return [disturbed_text(one.off_by, one.text) for one in self.disturbed]


def measure_memory(
    *,
    cores: int = 1,
    patience_s: float = PATIENCE_S,
    progress: Callable[[str, float], None] | None = None,
    tool: MemoryTool | None = None,
) -> MemoryReport:
    """Measure the levels of memory of this machine.

    Parameters
    ----------
    cores : int
        Up to how many stream at once.
    patience_s : float
        How long figures that break a physical limit are measured again.
    progress : callable, optional
        Called with what goes on and the share that is done.
    tool : MemoryTool, optional
        What measures; by default one that is compiled for it.

    Raises
    ------
    TasksimError
        If there is no compiler, or the system does not tell the caches.
    """
    caches = data_caches()
    if not caches:
        raise TasksimError("measuring memory: the system does not tell the sizes of the caches")
    measured = _Measurement(tool or MemoryTool(), caches, cores)
    for place, (name, size) in enumerate(measured.sizes):
        if progress is not None:
            progress(f"{name}: {size >> 10} KiB", place / len(measured.sizes))
        for count in range(cores + 1):
            measured.measure(place, count)
    until = time.monotonic() + patience_s
    while (wrong := disturbed(measured.levels())) and time.monotonic() < until:
        if progress is not None:
            progress(f"again: {wrong[0].text}", 1.0)
        for place, count in dict.fromkeys((one.level, one.cores) for one in wrong):
            measured.measure(place, count)
    levels = measured.levels()
    return MemoryReport(levels, wrong, [*measured.rough(), *_noted(levels)])


class _Measurement:
    """What was measured so far: of each figure the best, as others only disturb."""

    def __init__(self, tool: MemoryTool, caches: Sequence[Cache], cores: int) -> None:
        self._tool, self._caches, self._cores = tool, caches, cores
        self.sizes = working_sets(caches, _available())
        self._seen_s: list[list[float]] = [[] for _ in self.sizes]
        self._rates = [[0.0] * cores for _ in self.sizes]

    def measure(self, place: int, count: int) -> None:
        """Measure the bandwidth of *count* cores in the level at *place*; 0: the latency."""
        size = self.sizes[place][1]
        if count == 0:
            line = self._caches[0].line_bytes
            self._seen_s[place] += islice(self._tool.latencies(size, line, STEPS), ROUNDS)
        else:
            rate = _bandwidth(self._tool, size, count)
            self._rates[place][count - 1] = max(rate, self._rates[place][count - 1])

    def levels(self) -> list[Level]:
        """Return the levels, by what is measured so far."""
        found = []
        for place, (name, _) in enumerate(self.sizes):
            seen = self._seen_s[place]
            cache = self._caches[place] if place < len(self._caches) else None
            found.append(
                Level(
                    name,
                    None if cache is None else cache.size_bytes,
                    self._latencies()[place][0],
                    tuple(self._rates[place]),
                    self._cores if cache is None else cache.cores,
                    float(np.median(seen)) / min(seen),
                )
            )
        return found

    def rough(self) -> list[str]:
        """Return notes on latencies that are hardly those of the level alone."""
        return [
            f"{name}: most of {size >> 20} MiB are in nearer caches: a rough latency"
            for (name, size), (_, known) in zip(self.sizes, self._latencies(), strict=True)
            if not known
        ]

    def _latencies(self) -> list[tuple[float, bool]]:
        """Return the latency of each level, without nearer ones, and whether it is known."""
        found: list[tuple[float, bool]] = []
        nearer: list[tuple[int, float]] = []
        for place, (_, size) in enumerate(self.sizes):
            found.append(corrected(min(self._seen_s[place]), size, nearer))
            bytes_of = self._caches[place].size_bytes if place < len(self._caches) else size
            nearer.append((bytes_of, found[-1][0]))
        return found


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


def write_memory(path: Path, levels: Sequence[Level], warnings: Sequence[str] = ()) -> None:
    """Write the levels to the platform file at *path*, whose other sections remain.

    The *warnings* become comments at its top: whoever reads the figures should know of them.
    """
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
    comment = "\n".join([comment, *(f"memory_hierarchy: {text}" for text in warnings)])
    dump({"name": path.stem, **known, "memory_hierarchy": hierarchy}, path, comment=comment)


def _bandwidth(tool: MemoryTool, size: int, count: int) -> float:
    """Return the most that *count* cores get together: others only take from it."""
    # What two threads of a core share must hold the data of both; of one thread no more, so that
    # nearer levels answer as much of them.
    few = size <= MOST_BYTES // 8
    each = size // THREADS_OF_A_CORE if few else max(size // count, 1)
    return max(tool.bandwidth(each, count, STREAM_S) for _ in range(STREAMS))


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
