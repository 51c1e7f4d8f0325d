"""Campaign over the levels of memory, with pointer chases for latencies and streams for bandwidths.

Values that break a physical limit are disturbed, and measured again.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.errors import TasksimError
from tasksim.base.units import exact_quantity
from tasksim.calibration.tools import MemoryTool
from tasksim.calibration.write_library import known_sections, rounded_quantity
from tasksim.native.caches import data_caches
from tasksim.platform.load import dump

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.progress import ShareProgress
    from tasksim.native.caches import Cache

__all__ = [
    "Disturbed",
    "Level",
    "MemoryReport",
    "corrected",
    "disturbed",
    "disturbed_text",
    "low_rates",
    "measure_memory",
    "working_sets",
    "write_memory",
]


class Disturbed(NamedTuple):
    """A value that breaks a physical limit and is to be measured again.

    Attributes
    ----------
    level
        Index of the level of memory.
    cores
        Number of cores of a bandwidth; 0 for the latency.
    off_by
        Least relative error.
    text
        Description of the broken limit.
    """

    level: int
    cores: int
    off_by: float
    text: str

    def said(self) -> str:
        """Return the message for this value."""
        return disturbed_text(self.off_by, self.text)


def low_rates(rates: Sequence[float], level: int = 0) -> list[Disturbed]:
    """Return the *rates* of 1, 2, ... cores together that are too low.

    More cores together have no lower rate than fewer, and each of them no higher one than a core
    alone. Disturbances only lower rates.

    Examples
    --------
    >>> [(low.cores, low.text) for low in low_rates([20e9, 13e9])]
    [(2, '2 cores together get 13 GB/s, and 1 gets 20')]
    >>> [(low.cores, low.text) for low in low_rates([2e9, 26e9])]
    [(1, '1 core gets 2 GB/s, and each of 2 gets 13')]
    """
    found = []
    for fewer, (less, more) in enumerate(pairwise(rates), 1):
        if more < less:
            verb = "get" if fewer > 1 else "gets"
            text = (
                f"{fewer + 1} cores together get {_giga(more)} GB/s, and {fewer} {verb} "
                f"{_giga(less)}"
            )
            found.append(Disturbed(level, fewer + 1, 1 - more / less, text))
    for cores, together in enumerate(rates[1:], 2):
        each = together / cores
        if each > rates[0]:
            text = f"1 core gets {_giga(rates[0])} GB/s, and each of {cores} gets {_giga(each)}"
            found.append(Disturbed(level, 1, 1 - rates[0] / each, text))
    return found


def disturbed_text(off_by: float, text: str) -> str:
    """Return the message for a value that breaks the limit described by *text*.

    >>> disturbed_text(1 / 3, "2 cores together get 6 GB/s, and 1 gets 9")
    'disturbed, off by 33 % at least: 2 cores together get 6 GB/s, and 1 gets 9'
    """
    return f"disturbed, off by {100 * off_by:.2g} % at least: {text}"


def _giga(rate: float) -> str:
    return f"{rate / 1e9:.3g}"


@dataclass(frozen=True)
class Level:
    """A measured level of memory.

    Attributes
    ----------
    name
        ``l1``, ``l2``, ``l3``, ``memory``.
    size_bytes
        Size reported by the system; None for memory.
    latency_s
        Latency of an access that depends on the one before.
    bandwidth_bytes_per_s
        Total bandwidth of 1, 2, ... cores.
    cores
        Number of cores that share it.
    unrest
        Median of the latencies divided by the least.
    """

    name: str
    size_bytes: int | None
    latency_s: float
    bandwidth_bytes_per_s: tuple[float, ...]
    cores: int
    unrest: float

    def section(self) -> dict[str, Any]:
        """Return its section of a platform file."""
        size = {} if self.size_bytes is None else {"size": exact_quantity(self.size_bytes, "size")}
        rates = [rounded_quantity(rate, "bandwidth") for rate in self.bandwidth_bytes_per_s]
        latency = rounded_quantity(self.latency_s, "time")
        return {**size, "latency": latency, "bandwidth": rates, "cores": self.cores}


def disturbed(levels: Sequence[Level]) -> list[Disturbed]:
    """Return the values of *levels*, nearest first, that break a physical limit.

    More cores have no less bandwidth than fewer, no core has more than alone, and a nearer level
    has neither less bandwidth nor more latency than a farther one.
    """
    found = [
        low._replace(text=f"{level.name}: {low.text}")
        for place, level in enumerate(levels)
        for low in low_rates(level.bandwidth_bytes_per_s, place)
    ]
    for place, (near, far) in enumerate(pairwise(levels)):
        pairs = zip(near.bandwidth_bytes_per_s, far.bandwidth_bytes_per_s, strict=True)
        for cores, (rate, farther) in enumerate(pairs, 1):
            if rate < farther:
                text = (
                    f"{cores} core{'s' if cores > 1 else ''}: {near.name} gives {_giga(rate)} GB/s,"
                    f" and {far.name}, which is farther, {_giga(farther)}"
                )
                found.append(Disturbed(place, cores, 1 - rate / farther, text))
        if near.latency_s > far.latency_s:
            text = (
                f"{near.name} answers after {1e9 * near.latency_s:.3g} ns, and {far.name}, which is"
                f" farther, after {1e9 * far.latency_s:.3g}"
            )
            found.append(Disturbed(place, 0, 1 - far.latency_s / near.latency_s, text))
    return found


LATENCY_ROUNDS: Final = 41
"""Number of measurements of a latency, of which the least counts: neighbours and interrupts only
add time. The median of as many shows the typical value."""
CHASE_STEPS: Final = 20_000
"""Accesses per measurement: few enough that most end before the system preempts them."""
THREADS_PER_CORE: Final = 2
"""Largest number of hardware threads per core: a virtual machine does not tell which of its cores
are threads of one core and share all caches."""
STREAM_S: Final = 0.004
"""Duration of a stream in seconds: short enough that some end before the system preempts them."""
STREAM_COUNT: Final = 15
"""Number of streams, of which the best counts."""
PATIENCE_S: Final = 10.0
"""Time for repetitions of values that break a physical limit, in seconds: each takes 0.1 s, and the
next one may meet a moment in which no other program has the cores."""
LEVEL_RATIO: Final = 8
"""Ratio of the measured size of a level to the size of the level before it, at most half of the
level's own size: other programs may use the rest of a cache."""
MAX_BYTES: Final = 1 << 30
MEMORY_DIVISOR: Final = 4
"""Divisor of the free memory: at most this part of it is used."""
MAX_CALM_RATIO: Final = 1.2
"""Ratio of median to least latency beyond which the machine is reported as not calm."""
MIN_LATENCY_STEP: Final = 1.3
"""Smallest ratio of the latencies of two levels that tells them apart."""
MAX_NEARER_SHARE: Final = 0.95
"""Largest share of accesses in nearer levels at which the rest still gives a latency."""


@dataclass(frozen=True)
class MemoryReport:
    """Levels of memory of this machine, nearest first, and remarks on them.

    Attributes
    ----------
    levels
        Measured levels.
    disturbed
        Values that break a physical limit in all repetitions.
    notes
        Remarks on the latencies.
    """

    levels: list[Level]
    disturbed: list[Disturbed]
    notes: list[str]

    @property
    def warnings(self) -> list[str]:
        """Physical limits that values break, and their least error."""
        return [one.said() for one in self.disturbed]


def measure_memory(
    *, cores: int = 1, progress: ShareProgress | None = None, tool: MemoryTool | None = None
) -> MemoryReport:
    """Measure the levels of memory of this machine.

    Parameters
    ----------
    cores : int
        Largest number of cores that stream at once.
    progress : callable, optional
        Called with the current activity and the share that is done.
    tool : MemoryTool, optional
        Tool that measures; compiled by default.

    Raises
    ------
    TasksimError
        If there is no compiler, or the system does not report the caches.
    """
    caches = data_caches()
    if not caches:
        raise TasksimError("measuring memory: the system does not report the sizes of the caches")
    measured = _Measurement(tool or MemoryTool(), caches, cores)
    for place, (name, size) in enumerate(measured.sizes):
        if progress is not None:
            progress(f"{name}: {size >> 10} KiB", place / len(measured.sizes))
        for count in range(cores + 1):
            measured.measure(place, count)
    until = time.monotonic() + PATIENCE_S
    while (wrong := disturbed(measured.levels())) and time.monotonic() < until:
        if progress is not None:
            progress(f"again: {wrong[0].text}", 1.0)
        for place, count in dict.fromkeys((one.level, one.cores) for one in wrong):
            measured.measure(place, count)
    levels = measured.levels()
    return MemoryReport(levels, wrong, [*measured.rough(), *_noted(levels)])


class _Measurement:
    """Best measurements so far.

    Disturbances only make values worse.
    """

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
            self._seen_s[place] += islice(
                self._tool.latencies(size, line, CHASE_STEPS), LATENCY_ROUNDS
            )
        else:
            # A cache shared by two threads of a core must hold the data of both; a single thread
            # gets no more, so that nearer levels serve the same share.
            few = size <= MAX_BYTES // 8
            each = size // THREADS_PER_CORE if few else max(size // count, 1)
            rates = (self._tool.bandwidth(each, count, STREAM_S) for _ in range(STREAM_COUNT))
            self._rates[place][count - 1] = max(self._rates[place][count - 1], *rates)

    def levels(self) -> list[Level]:
        """Return the levels from the measurements so far."""
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
        """Return notes on latencies that include much of nearer levels."""
        return [
            f"{name}: most of {size >> 20} MiB fit into nearer caches, so its latency is rough"
            for (name, size), (_, known) in zip(self.sizes, self._latencies(), strict=True)
            if not known
        ]

    def _latencies(self) -> list[tuple[float, bool]]:
        """Return the latency of each level without nearer ones, and whether it is precise."""
        found: list[tuple[float, bool]] = []
        nearer: list[tuple[int, float]] = []
        for place, (_, size) in enumerate(self.sizes):
            found.append(corrected(min(self._seen_s[place]), size, nearer))
            bytes_of = self._caches[place].size_bytes if place < len(self._caches) else size
            nearer.append((bytes_of, found[-1][0]))
        return found


def working_sets(caches: Sequence[Cache], available: int) -> list[tuple[str, int]]:
    """Return name and measured size in bytes of each level.

    >>> from tasksim.native.caches import Cache
    >>> small, large = Cache(1, 32768, 8, 64), Cache(2, 1 << 20, 16, 64)
    >>> working_sets([small, large], 1 << 34)
    [('l1', 16384), ('l2', 262144), ('memory', 67108864)]
    """
    found, before = [], 0
    for cache in caches:
        half = cache.size_bytes // 2
        found.append((f"l{cache.level}", min(half, LEVEL_RATIO * before) if before else half))
        before = cache.size_bytes
    least = max(64 << 20, 4 * before)
    return [*found, ("memory", min(least, max(MAX_BYTES, 2 * before), available // MEMORY_DIVISOR))]


def corrected(seen_s: float, size: int, nearer: Sequence[tuple[int, float]]) -> tuple[float, bool]:
    """Return the latency of a level from *seen_s* over *size* bytes, and whether it is precise.

    Some accesses find their data in *nearer* levels (size, latency): as many as fit there.

    >>> corrected(8.5e-9, 400, [(100, 4e-9)])
    (1e-08, True)
    """
    share, spent, inside = 0.0, 0.0, 0
    for level, latency in nearer:
        part = (min(level, size) - inside) / size
        inside = min(level, size)
        share, spent = share + part, spent + part * latency
    if share > MAX_NEARER_SHARE:
        return seen_s, False
    return round((seen_s - spent) / (1 - share), 15), share < MAX_NEARER_SHARE / 2 + 0.25


def write_memory(path: Path, levels: Sequence[Level], warnings: Sequence[str] = ()) -> None:
    """Write the levels to the platform file at *path*; its other sections stay.

    The *warnings* become comments at its top, for readers of the values.
    """
    known, comment = known_sections(path, "Written by `tasksim calibrate memory`.")
    hierarchy = {level.name: level.section() for level in levels}
    comment = "\n".join([comment, *(f"memory_hierarchy: {text}" for text in warnings)])
    dump({**known, "memory_hierarchy": hierarchy}, path, comment=comment)


def _noted(levels: Sequence[Level]) -> list[str]:
    notes = [
        f"{level.name}: the median is {level.unrest:.2f} times the least: the machine is not calm"
        for level in levels
        if level.unrest > MAX_CALM_RATIO
    ]
    for before, level in pairwise(levels):
        if level.latency_s < MIN_LATENCY_STEP * before.latency_s:
            notes.append(
                f"{level.name} is hardly slower than {before.name}: this machine may not have the "
                "cache sizes that the system reports (lscpu) to itself"
            )
    return notes


def _available() -> int:
    """Return the free memory in bytes."""
    with contextlib.suppress(OSError), Path("/proc/meminfo").open(encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    return MAX_BYTES
