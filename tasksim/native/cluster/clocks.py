"""Clocks of the ranks, with their offset and drift relative to the clock of rank 0.

Ranks of one machine read one clock. A rank of another machine asks rank 0 for the time and assumes
that the answer was made half-way through the round trip, so its offset is known to within half of
it. The fastest of many round trips counts. The comparison is made before and after a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats
    from tasksim.native.cluster.ranks import Ranks

__all__ = ["ClockComparison", "RankClock", "clock_of", "compared_clock"]

ROUND_TRIPS: Final = 60
"""Round trips per rank, some milliseconds in all: the fastest is the undisturbed one."""


@dataclass(frozen=True)
class ClockComparison:
    """One comparison of a rank's clock with that of rank 0.

    Attributes
    ----------
    at_s
        Time of the comparison on the rank's clock.
    offset_s
        Offset to add to times of the rank's clock.
    uncertainty_s
        Largest possible error of the offset.
    """

    at_s: float
    offset_s: float
    uncertainty_s: float


@dataclass(frozen=True)
class RankClock:
    """A rank's clock during a run, relative to that of rank 0.

    Attributes
    ----------
    offset_s
        Offset at the beginning, to add to times of the rank's clock.
    drift
        Growth of the offset in seconds per second; 0 if it is not significant.
    uncertainty_s
        Largest possible error of an aligned time.
    """

    begun_s: float
    offset_s: float
    drift: float
    uncertainty_s: float

    def aligned(self, times_s: Floats) -> Floats:
        """Return times of the rank's clock as times of rank 0's clock."""
        found: Floats = times_s + self.offset_s + self.drift * (times_s - self.begun_s)
        return found


def compared_clock(ranks: Ranks) -> ClockComparison:
    """Compare the clock of this rank with that of rank 0; collective, one rank after another."""
    found = ClockComparison(perf_counter(), 0.0, 0.0)
    names = ranks.comm.allgather(_clock_name())
    for other in range(1, ranks.size):
        # Where ranks wait for a core, the fastest round trip takes milliseconds.
        if names[other] and names[other] == names[0]:
            continue
        if ranks.rank == 0:
            _answer(ranks.comm, other)
        elif ranks.rank == other:
            found = _asked(ranks.comm)
        ranks.comm.Barrier()
    return found


def _clock_name() -> str:
    """Return a name that ranks share if they read one clock; "" if the system does not tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
    try:
        return f"{boot} {Path('/proc/self/ns/time').readlink()}"
    except OSError:  # the system is too old for containers with a time of their own
        return boot


def _answer(comm: Any, other: int) -> None:
    time_s = np.empty(1)
    for _ in range(ROUND_TRIPS):
        comm.Recv(time_s, other)
        time_s[0] = perf_counter()
        comm.Send(time_s, other)


def _asked(comm: Any) -> ClockComparison:
    comparisons = []
    time_s = np.zeros(1)
    for _ in range(ROUND_TRIPS):
        asked_s = perf_counter()
        comm.Send(time_s, 0)
        comm.Recv(time_s, 0)
        answered_s = perf_counter()
        middle_s, half_s = (asked_s + answered_s) / 2, (answered_s - asked_s) / 2
        comparisons.append(ClockComparison(middle_s, float(time_s[0]) - middle_s, half_s))
    return min(comparisons, key=lambda each: each.uncertainty_s)


def clock_of(before: ClockComparison, after: ClockComparison) -> RankClock:
    """Return the clock of a rank from comparisons *before* and *after* a run.

    >>> clock_of(ClockComparison(0.0, 1.0, 1e-6), ClockComparison(100.0, 1.001, 1e-6)).drift
    1e-05
    """
    change_s = after.offset_s - before.offset_s
    uncertainty_s = max(before.uncertainty_s, after.uncertainty_s)
    between_s = after.at_s - before.at_s
    # A change within the errors of both comparisons may be none: no drift is better than noise.
    known = abs(change_s) > before.uncertainty_s + after.uncertainty_s and between_s > 0
    if known:
        drift = round(change_s / between_s, 12)
        return RankClock(before.at_s, before.offset_s, drift, uncertainty_s)
    best = min(before, after, key=lambda each: each.uncertainty_s)
    return RankClock(before.at_s, best.offset_s, 0.0, best.uncertainty_s)
