"""States of cores: whether another hyper-thread of a core works, and how fast its clock is.

A core of a virtual machine is often a hyper-thread; the other one of the same core belongs to
somebody else, and no account of the system says when it works. Meanwhile all tasks here take up to
twice as long, by processor time, too. Between tasks, a worker therefore measures a *pulse*
(``core/native/pulse.h``): the duration of a fixed piece of work that fills its core, in durations
of one that waits for itself. The latter is the *beat*: it tells the clock of the core, which is
slower while others have the host's other cores. A core that others leave alone is in its
*idle* state.

Workers may share a core, too: a machine's own hyper-threads, or those that a virtual machine does
not tell apart. In any run they disturb each other, so the idle state is measured while all cores of
the run work: of such a pair, it is that of a shared core, and pulses tell nothing. On a machine of
its own, a run itself decides how fast the clock is: only that of a virtual machine has a beat.
"""

from __future__ import annotations

import threading
from ctypes import byref, c_double
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.core.interface import functions, with_lock
from tasksim.native.idle_notes import note, noted
from tasksim.native.this_machine import cores_for, is_virtual, pin_thread, usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.base.arrays import Floats

__all__ = ["Idle", "idle_core_of_any", "idle_cores", "relative_pulse"]

WINDOW_S: Final = 1e-3
"""Duration of a measurement of pulses on all cores, in seconds: less than a time slice."""
MEASURING_S: Final = 0.05
"""Time for measurements, in seconds."""
FIRST_MEASURING_S: Final = 0.5
"""Shortest time for measurements on a machine without notes, in seconds."""
MAX_MEASURING_S: Final = 5.0
"""Longest such time, in seconds: others' work comes and goes."""
EQUAL_WINDOWS: Final = 5
"""Number of windows with the same smallest pulse after which no smaller one is expected: with
others, pulses differ."""
MAX_WINDOWS_DIFFERENCE: Final = 0.005
"""Largest relative difference of such pulses."""
START_S: Final = 0.2e-3
"""Time for one more thread to start, in seconds."""
MAX_GAP_S: Final = 2e-4
"""Longest time between two pulses of a thread that kept its core, in seconds."""
OUTER_SHARE: Final = 0.05
"""Share of a window's smallest readings, and of its largest, that do not count: an interruption
lengthens single ones."""
MIN_WORKING_SHARE: Final = 0.9
"""Smallest share of the threads that have to keep their cores in a measurement."""
MIN_PULSES: Final = 100
"""Smallest number of pulses that have such a mean."""
MAX_PULSES: Final = 10_000
"""Largest number of pulses of a measurement."""
MAX_DIFFERENCE: Final = 0.02
"""Largest relative difference of the idle pulses of equal cores."""


class Idle(NamedTuple):
    """The state of a core that others leave alone."""

    pulse: float
    """Duration of work that fills it, in those of work that waits for itself."""
    beat_s: float
    """Duration of work that waits for itself, in seconds; NaN: beats tell nothing of others."""


_known: dict[tuple[int, ...], list[Idle]] = {}
"""Cores of a run -> their idle states, as far as this process knows them."""


def idle_cores(workers: int) -> list[Idle] | None:
    """Return the idle state of the core on which each worker of a run is pinned.

    The first call of a process measures them, and takes the smallest of the last days of use since
    the machine was started: others may keep a core busy all the time. None if there are fewer cores
    than workers, if there is no compiled core to measure them, or if the threads had no cores
    meanwhile.
    """
    cores = cores_for(workers)
    if cores is None or functions() is None:
        return None
    key = tuple(cores[:workers])
    if key not in _known:
        name = ",".join(map(str, key))
        before = noted(name, (workers, 2))
        measured = (
            _measured(key, MEASURING_S, MEASURING_S)
            if before is not None
            else _measured(key, FIRST_MEASURING_S, MAX_MEASURING_S)
        )
        found = [each for each in (before, measured) if each is not None]
        if not found:
            return None
        smallest = np.min(found, axis=0)
        if measured is not None:
            note(name, measured)
        if not is_virtual():
            smallest[:, 1] = np.nan
        _known[key] = [Idle(*each) for each in smallest.tolist()]
    return _known[key]


def idle_core_of_any() -> Idle | None:
    """Return the idle state of whichever core a thread runs on; None if they differ, or unknown."""
    found = idle_cores(len(usable_cores()))
    if found is None:
        return None
    largest = max(found)
    if largest.pulse > (1.0 + MAX_DIFFERENCE) * min(found).pulse:
        return None
    return largest


def relative_pulse(idle: Idle) -> Callable[[], tuple[float, float]]:
    """Return a function that returns pulse and beat of its thread's core, in *idle* ones."""
    core = functions()
    assert core is not None  # it has measured the idle state
    pulse = with_lock(core, "pulse")  # shorter than to get Python's lock again

    def relative() -> tuple[float, float]:
        found = pulse()
        return found.pulse / idle.pulse, found.beat_s / idle.beat_s

    return relative


def _pulses(cores: Sequence[int], begin_s: float, end_s: float) -> list[Floats]:
    """Return pulses and beats of each of *cores* between two times of :func:`time.perf_counter`.

    Arrays of [readings, 2]; there are none of a thread that lost its core meanwhile.
    """
    core = functions()
    assert core is not None  # the caller has checked that there is a core
    taken: list[Floats] = [np.empty((0, 2))] * len(cores)
    gaps_s = [c_double(np.inf) for _ in cores]

    def work(number: int) -> None:
        pin_thread(cores[number])
        found = np.empty((MAX_PULSES, 2))
        count = core.tasksim_pulses(
            begin_s, end_s, len(found), found.ctypes.data, byref(gaps_s[number])
        )
        taken[number] = found[:count]

    threads = [
        threading.Thread(target=work, args=(number,), daemon=True) for number in range(len(cores))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [
        each if gap_s.value <= MAX_GAP_S else each[:0]
        for each, gap_s in zip(taken, gaps_s, strict=True)
    ]


def _measured(cores: Sequence[int], least_s: float, most_s: float) -> Floats | None:
    """Return the smallest pulse and beat of each of *cores* while all of them worked.

    It takes more than *least_s* while smaller pulses may follow, but not more than *most_s*.
    """
    smallest = np.full((EQUAL_WINDOWS, len(cores), 2), np.inf)
    begun_s = now_s = perf_counter()
    while now_s < begun_s + (least_s if _are_equal(smallest[..., 0]) else most_s):
        begin_s = perf_counter() + START_S * (1 + len(cores))
        idle = np.full((1, len(cores), 2), np.inf)
        for number, each in enumerate(_pulses(cores, begin_s, begin_s + WINDOW_S)):
            if len(each) >= MIN_PULSES:
                idle[0, number] = _inner_mean(each)
        # A thread that loses its core leaves its part of it to a worker on the same one.
        if np.isfinite(idle).mean() >= MIN_WORKING_SHARE:
            smallest = np.sort(np.concatenate([smallest, idle]), axis=0)[:EQUAL_WINDOWS]
        now_s = perf_counter()
    return smallest[0] if np.isfinite(smallest[0]).all() else None


def _inner_mean(readings: Floats) -> Floats:
    """Return the mean of pulses and beats, [readings, 2], without the outer ones.

    Medians would be multiples of the clock's steps, which are 10 to 40 ns on many processors.
    """
    outer = int(OUTER_SHARE * len(readings))
    inner: Floats = np.sort(readings, axis=0)[outer : len(readings) - outer].mean(axis=0)
    return inner


def _are_equal(pulses: Floats) -> bool:
    """Return whether the *pulses* of each core, of [windows, cores] in order, hardly differ."""
    equal = pulses[-1] <= (1.0 + MAX_WINDOWS_DIFFERENCE) * pulses[0]
    return bool((equal & np.isfinite(pulses[-1])).all())
