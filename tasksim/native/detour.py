"""Detours: how much longer data take between two workers' cores than on the nearest cores.

The host of a virtual machine moves its cores. Data that one worker wrote reach another in 30 ns if
both cores share a cache, and in 190 ns if they do not, as on two groups of cores of an AMD EPYC. No
system reports it: a virtual machine says that its cores share a cache, wherever they are. Tasks
that read what others wrote take some percent longer then, for seconds or minutes, until the host
moves the cores again.
"""

from __future__ import annotations

import threading
from itertools import pairwise
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.core.interface import functions
from tasksim.native.idle_notes import least
from tasksim.native.this_machine import cores_for, is_virtual, pin_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Floats

__all__ = ["detour_s"]

DURATIONS_PER_MEASUREMENT: Final = 40
"""Number of durations that a measurement takes, each of 100 passes of a line: .2 to 1 ms in all."""
LINE_BYTES: Final = 128
"""Size of what is passed, in bytes: a line of a cache, or two that are fetched at once."""
PATIENCE_S: Final = 0.02
"""Time to wait for the other thread, in seconds: others may have its core."""
INTERVAL_S: Final = 0.2
"""Shortest time between two measurements of a process, in seconds."""
VALID_S: Final = 5.0
"""Time for which a measurement counts if later ones tell nothing, in seconds: the host seldom moves
cores more often."""

_tried_s: dict[tuple[int, ...], float] = {}
"""Cores -> time of this process's last measurement."""
_found: dict[tuple[int, ...], tuple[float, float]] = {}
"""Cores -> time and result of the last one that told something."""
_measuring = threading.Lock()
"""Held by the thread that measures: passes of another would make its own longer."""


def detour_s(workers: int) -> float | None:
    """Return the additional time that data take between the cores of *workers* at this moment.

    It is the mean over workers and their next ones, in seconds. The reference is the least time of
    the last days of use since the machine was started. None for a worker alone, on a machine of its
    own, whose cores are where they are, without the compiled core, and if others have the cores.
    """
    cores = cores_for(workers)
    if workers < 2 or cores is None or functions() is None or not is_virtual():
        return None
    key = tuple(cores[:workers])
    with _measuring:
        now_s = monotonic()
        if now_s > _tried_s.get(key, -inf) + INTERVAL_S:
            _tried_s[key] = now_s
            measured_s = _measured(key)
            if measured_s is not None:
                _found[key] = now_s, measured_s
        measuring_s, told_s = _found.get(key, (-inf, None))
        return told_s if now_s < measuring_s + VALID_S else None


def _measured(cores: tuple[int, ...]) -> float | None:
    """Return the mean detour between neighbours of *cores*; None: unknown."""
    pairs = list(pairwise(cores))
    pass_s = np.empty(len(pairs))
    for first in (0, 1):  # no core is in two pairs at once
        pass_s[first::2] = _pass_times_s(pairs[first::2])
    known = np.isfinite(pass_s)
    if not known.any():
        return None
    least_s = least("passes " + ",".join(map(str, cores)), pass_s[:, np.newaxis])[:, 0]
    return float((pass_s - least_s)[known].mean())


def _pass_times_s(pairs: Sequence[tuple[int, int]]) -> Floats:
    """Return the time of a pass between each of *pairs* of cores, all at once; inf: unknown."""
    core = functions()
    assert core is not None  # the caller has checked that there is a core
    found = np.full(len(pairs), inf)

    def work(number: int, side: int, line: np.ndarray) -> None:
        pin_thread(pairs[number][side])
        seconds = np.empty(DURATIONS_PER_MEASUREMENT)
        count = core.tasksim_passes(
            line.ctypes.data, side, DURATIONS_PER_MEASUREMENT, PATIENCE_S, seconds.ctypes.data
        )
        if side == 0 and count > DURATIONS_PER_MEASUREMENT // 2:
            # The first has waited for the other thread; an interruption lengthens some.
            found[number] = np.median(seconds[1:count])

    threads = []
    for number in range(len(pairs)):
        place = np.zeros(2 * LINE_BYTES, np.uint8)
        line = place[-place.ctypes.data % LINE_BYTES :]
        threads += [
            threading.Thread(target=work, args=(number, side, line), daemon=True) for side in (0, 1)
        ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
