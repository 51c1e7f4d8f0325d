"""State of the caches near a core: what others displace, and how long reads take beside them.

A worker that has a core half of the time needs twice as long until it uses data again. How many of
them have left the caches by then depends on the others: programs on this machine, and on a virtual
machine the guests of its host. The same products of tiles beside the same two busy processes took
9 % longer on some days, and 5 % on others. While others read and write more than the caches hold,
the shared cache and the memory take longer to answer, too: beside three programs that add to 48 MB
each, tasks that never lost their cores took 4 to 15 % longer.
"""

from __future__ import annotations

import threading
from math import exp
from time import monotonic
from typing import Final

import numpy as np

from tasksim.core.interface import functions
from tasksim.native.idle_notes import least
from tasksim.run.crowding import UNKNOWN_CACHES, CacheState

__all__ = ["cache_state"]

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
"""Displaced share that counts as one more measurement: single ones differ by .2 from the mean of a
minute."""
MAX_MEDIANS: Final = 4.0
"""Largest time of a read that counts, in medians: longer ones were interrupted."""
NOTE_NAME: Final = "reads"
"""Name of the notes of the least times of reads."""

_found: list[tuple[float, float, float]] = []
"""Of this process's measurements, the time, the displaced share and the log of the read ratio."""
_measuring = threading.Lock()
"""Held by the thread that measures: the others need no measurement of their own."""


def cache_state() -> CacheState:
    """Return the share of near data that others displace, and how much longer reads take.

    The share tells where the time of a read after a pause of 6 ms lies between those of near data
    (0) and of data in no cache (1). Reads of both take longer while others keep the shared cache
    and the memory busy; the reference is the least time of the last days of use since the machine
    was started. The state is the mean of the last seconds: the first call of a process measures,
    and later ones at most every second. It is unknown without the compiled core, and if the
    processor cannot take data out of its caches.
    """
    with _measuring:
        now_s = monotonic()
        if not _found or now_s > _found[-1][0] + INTERVAL_S:
            measured = _measured()
            if measured is None:
                return UNKNOWN_CACHES
            _found[:] = [each for each in _found if now_s < each[0] + VALID_S]
            _found.append((now_s, *measured))
        _, shares, longer = zip(*_found, strict=True)
        return CacheState(
            displaced_share=(sum(shares) + EXPECTED_SHARE) / (len(shares) + 1),
            read_ratio=exp(sum(longer) / len(longer)),
        )


def _measured() -> tuple[float, float] | None:
    """Return the displaced share and the log of the read ratio at this moment; None: unknown."""
    core = functions()
    if core is None:
        return None
    seconds = np.empty((READS_PER_MEASUREMENT, 3))
    count = core.tasksim_cold_reads(READ_BYTES, PAUSE_S, READS_PER_MEASUREMENT, seconds.ctypes.data)
    if count < READS_PER_MEASUREMENT:
        return None
    near_s = float(seconds[:, 0].min())  # others may displace data at once
    middle_s = np.median(seconds, axis=0)
    _, after_pause_s, far_s = middle_s.tolist()
    if far_s <= near_s:
        return None
    share = float(np.clip((after_pause_s - near_s) / (far_s - near_s), 0.0, 1.0))
    # Others may keep the memory busy for a part of the reads.
    uninterrupted_s = np.minimum(seconds, MAX_MEDIANS * middle_s)
    near_and_far_s = np.exp(np.log(uninterrupted_s).mean(axis=0, keepdims=True))[:, [0, 2]]
    return share, float(np.log(near_and_far_s / least(NOTE_NAME, near_and_far_s)).mean())
