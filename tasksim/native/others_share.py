"""Share of the cores that other programs use, by the system's account of processor time."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tasksim.native.cores import usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OthersShare", "busy_s", "core_ticks"]

STAT: Final = Path("/proc/stat")
IDLE: Final = ("idle", "iowait")
FIELDS: Final = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""Columns of a core in /proc/stat (proc(5)); those behind are parts of user and nice."""
LEAST_S: Final = 0.25
"""Shortest time of which a share is told: the system counts in hundredths of a second."""


class OthersShare:
    """The share of the usable cores that others have used since it was made.

    Calling it returns that share; None where the system does not tell, or not yet. Others are all
    other processes, and the host of a virtual machine where it tells what it has taken.

    Parameters
    ----------
    busy : callable, optional
        Returns the seconds that the cores have been busy, or None.
    own : callable, optional
        Returns the processor time of this process in seconds.
    clock : callable, optional
        Returns the time in seconds.
    cores : int, optional
        How many cores there are; by default the usable ones.

    Examples
    --------
    >>> busy, own, clock = iter([10.0, 13.0]), iter([0.0, 1.0]), iter([0.0, 2.0])
    >>> share = OthersShare(lambda: next(busy), lambda: next(own), lambda: next(clock), cores=2)
    >>> share()
    0.5
    """

    def __init__(
        self,
        busy: Callable[[], float | None] | None = None,
        own: Callable[[], float] = time.process_time,
        clock: Callable[[], float] = time.monotonic,
        cores: int | None = None,
    ) -> None:
        self._busy, self._own, self._clock = busy or busy_s, own, clock
        self._cores = cores or len(usable_cores())
        self._before = self._busy(), own(), clock()

    def __call__(self) -> float | None:
        """Return the share, from 0 to 1."""
        busy, own, now = self._busy(), self._own(), self._clock()
        busy_before, own_before, begun = self._before
        if busy is None or busy_before is None or now - begun < LEAST_S:
            return None
        others_s = (busy - busy_before) - (own - own_before)
        # The two accounts tick differently: a hundredth of a second more or less.
        return min(max(others_s / ((now - begun) * self._cores), 0.0), 1.0)


def busy_s() -> float | None:
    """Return for how long the usable cores have been busy, together; None if nobody tells."""
    ticks = core_ticks(*(field for field in FIELDS if field not in IDLE))
    return None if ticks is None else ticks / os.sysconf("SC_CLK_TCK")


def core_ticks(*fields: str) -> int | None:
    """Return the sum of *fields* of /proc/stat over the usable cores; None if nobody tells.

    In units of the system, hundredths of a second as a rule.
    """
    wanted = {f"cpu{core}" for core in usable_cores()}
    found: list[int] = []
    with suppress(OSError, ValueError), STAT.open(encoding="ascii") as lines:
        for line in lines:
            name, *ticks = line.split()
            if name in wanted:
                columns = zip(FIELDS, map(int, ticks), strict=False)
                found.append(sum(count for field, count in columns if field in fields))
    return sum(found) if len(found) == len(wanted) else None
