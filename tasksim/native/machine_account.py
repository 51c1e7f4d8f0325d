"""Account of the time that the host, limits and other programs take on this machine."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.base.threadclock import has_thread_clock
from tasksim.native.this_machine import usable_cores
from tasksim.run.crowding import UNKNOWN_CACHES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.native.processor_time import ThreadAccount
    from tasksim.run.crowding import CacheState
    from tasksim.run.record import Disturbance

__all__ = ["MachineAccount", "busy_s", "disturbance_of", "pressure_s", "throttled_s"]

STAT_FILE: Final = Path("/proc/stat")
STEAL_COLUMN: Final = 8
"""Column of a core in /proc/stat (proc(5)) with the time that the host took, in clock ticks of
1/100 s."""
BUSY_COLUMNS: Final = (1, 2, 3, 6, 7)
"""Columns with the time for which a core was busy: user, nice, system, interrupts."""
PRESSURE_FILE: Final = Path("/proc/pressure/cpu")
PRESSURE_PATTERN: Final = re.compile(r"^some .*total=(\d+)$", re.MULTILINE)
"""Total time in which some thread of the machine had no core, in microseconds (Linux's
accounting/psi)."""
CGROUP_FILE: Final = Path("/proc/self/cgroup")
CGROUP_MOUNT: Final = Path("/sys/fs/cgroup")
UNITS_PER_S: Final = {"throttled_usec": 1e6, "throttled_time": 1e9}
"""Names in cpu.stat of the time in which a group was throttled (version 2 and version 1 of control
groups), and their units per second."""


class MachineAccount(NamedTuple):
    """Times since the machine started, as the system reports them; None if it does not."""

    steal_s: float | None
    """Time that the host of a virtual machine took from the usable cores, summed up."""
    throttled_s: float | None
    """Time for which a processor time limit throttled this process."""
    pressure_s: float | None
    """Time in which some thread of the machine was ready to run and had no core."""

    @classmethod
    def now(cls) -> MachineAccount:
        """Return the current account."""
        ticks = stolen_ticks()
        steal_s = None if ticks is None else ticks / os.sysconf("SC_CLK_TCK")
        return cls(steal_s, throttled_s(), pressure_s())

    def since(self, earlier: MachineAccount) -> MachineAccount:
        """Return the difference to an *earlier* account."""
        return MachineAccount(
            *(
                None if now is None or before is None else max(now - before, 0.0)
                for now, before in zip(self, earlier, strict=True)
            )
        )


def disturbance_of(
    accounts: Sequence[ThreadAccount | None],
    machine: MachineAccount,
    caches: CacheState = UNKNOWN_CACHES,
    detour: float | None = None,
) -> Disturbance | None:
    """Return the time that others took from the workers, by the accounts of threads and machine.

    *caches* is the state of the caches (:mod:`tasksim.native.cache_state`), *detour* the additional
    time that data took between cores (:mod:`tasksim.native.detour`).
    Return None if the system does not report it, or if there are fewer cores than workers: then the
    workers also wait for each other.
    """
    known = [account for account in accounts if account is not None]
    shares_cores = len(accounts) > len(usable_cores())
    if len(known) < len(accounts) or shares_cores or not has_thread_clock():
        return None
    from tasksim.native.caches import last_cache_bytes
    from tasksim.run.record import Disturbance

    return Disturbance(
        waited_s=tuple(None if isnan(each.waited_s) else each.waited_s for each in known),
        preemptions=tuple(each.preemptions for each in known),
        steal_s=machine.steal_s,
        throttled_s=machine.throttled_s,
        pressure_s=machine.pressure_s,
        cache_bytes=last_cache_bytes(),
        displaced_share=caches.displaced_share,
        detour_s=detour,
        read_ratio=caches.read_ratio,
    )


def stolen_ticks() -> int | None:
    """Return the clock ticks that the host took from the usable cores; None if unknown."""
    return _ticks([STEAL_COLUMN])


def busy_s() -> float | None:
    """Return the time for which usable cores were busy, in seconds, summed up; None if unknown."""
    ticks = _ticks(BUSY_COLUMNS)
    return None if ticks is None else ticks / os.sysconf("SC_CLK_TCK")


def _ticks(of: Sequence[int]) -> int | None:
    """Return the clock ticks in some columns of the usable cores; None if they are unknown."""
    wanted = {f"cpu{core}" for core in usable_cores()}
    found: list[int] = []
    with suppress(OSError, ValueError, IndexError), STAT_FILE.open(encoding="ascii") as lines:
        for line in lines:
            columns = line.split()
            if columns[0] in wanted:
                found.append(sum(int(columns[column]) for column in of))
    return sum(found) if len(found) == len(wanted) else None


def throttled_s(groups: Path = CGROUP_FILE, mount: Path = CGROUP_MOUNT) -> float | None:
    """Return the time for which a limit throttled this process, in seconds; None if unknown."""
    for path in _statistics(groups, mount):
        with suppress(OSError, ValueError):
            for line in path.read_text(encoding="ascii").splitlines():
                name, value = line.split()
                if name in UNITS_PER_S:
                    return int(value) / UNITS_PER_S[name]
    return None


def pressure_s(file: Path = PRESSURE_FILE) -> float | None:
    """Return the time in seconds in which a thread of the machine had no core; None if unknown."""
    with suppress(OSError, ValueError):
        found = PRESSURE_PATTERN.search(file.read_text(encoding="ascii"))
        return None if found is None else int(found[1]) / 1e6
    return None


def _statistics(groups: Path, mount: Path) -> Iterator[Path]:
    """Yield possible places of the statistics of this process's group, the nearest first."""
    with suppress(OSError, ValueError):
        for line in groups.read_text(encoding="utf-8").splitlines():
            _, controllers, group = line.split(":", 2)
            inner = group.lstrip("/")
            if not controllers:
                yield mount / inner / "cpu.stat"
                yield mount / "cpu.stat"  # a container sees its own group as the root
            elif "cpu" in controllers.split(","):
                for name in (controllers, "cpu"):
                    yield mount / name / inner / "cpu.stat"
                    yield mount / name / "cpu.stat"
