"""Displacement: how much of the data near a core others replace with theirs in some milliseconds.

A worker that has a core half of the time needs twice as long until it uses data again. How many of
them have left the caches by then depends on the others: programs on this machine, and on a virtual
machine the guests of its host. The same products of tiles beside the same two busy processes took
9 % longer on some days, and 5 % on others.
"""

from __future__ import annotations

import threading
from time import monotonic
from typing import Final

import numpy as np

from tasksim.core.interface import functions

__all__ = ["displaced_share"]

READ_BYTES: Final = 4 * 2**20
"""Size of the data that are read, in bytes: more than the caches of most cores, and less than the
one that cores share."""
PAUSE_S: Final = 6e-3
"""Time between two reads of the same data, in seconds: as long as a worker waits beside two busy
processes on its core."""
READS_PER_MEASUREMENT: Final = 16
"""Number of times that a measurement reads the data after a pause: it takes 0.1 s in all."""
INTERVAL_S: Final = 1.0
"""Shortest time between two measurements of a process, in seconds."""
VALID_S: Final = 5.0
"""Time for which a measurement counts, in seconds: others come and go."""
EXPECTED_SHARE: Final = 0.6
"""Share that counts as one more measurement: single ones differ by .2 from the mean of a minute."""

_found: list[tuple[float, float]] = []
"""Times and results of this process's measurements."""
_measuring = threading.Lock()
"""Held by the thread that measures: the others need no measurement of their own."""


def displaced_share() -> float | None:
    """Return the share of data near a core that others displace within 6 ms.

    It tells where the time of a read after a pause lies between those of near data (0) and of data
    in no cache (1), in the mean of the last seconds: the first call of a process measures, and
    later ones at most every second. None without the compiled core, and if the processor cannot
    take data out of its caches.
    """
    with _measuring:
        now_s = monotonic()
        if not _found or now_s > _found[-1][0] + INTERVAL_S:
            measured = _measured()
            if measured is None:
                return None
            _found[:] = [each for each in _found if now_s < each[0] + VALID_S]
            _found.append((now_s, measured))
        return (sum(share for _, share in _found) + EXPECTED_SHARE) / (len(_found) + 1)


def _measured() -> float | None:
    """Return the share at this moment; None: unknown."""
    core = functions()
    if core is None:
        return None
    seconds = np.empty((READS_PER_MEASUREMENT, 3))
    count = core.tasksim_cold_reads(READ_BYTES, PAUSE_S, READS_PER_MEASUREMENT, seconds.ctypes.data)
    if count < READS_PER_MEASUREMENT:
        return None
    near_s = float(seconds[:, 0].min())  # others may displace data at once
    after_pause_s, far_s = np.median(seconds[:, 1:], axis=0).tolist()
    if far_s <= near_s:
        return None
    return float(np.clip((after_pause_s - near_s) / (far_s - near_s), 0.0, 1.0))
