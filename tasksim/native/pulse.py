"""Pulses of cores: whether another hyper-thread of a core works.

A core of a virtual machine is often a hyper-thread; the other one of the same core belongs to
somebody else, and no account of the system says when it works. Meanwhile all tasks here take up to
twice as long, by processor time, too. Between tasks, a worker therefore measures a *pulse*
(``core/native/pulse.h``): the duration of a fixed piece of work that fills its core, in durations
of one that waits for itself. The *idle pulse* is that of a core that others leave alone.

Workers may share a core, too: a machine's own hyper-threads, or those that a virtual machine does
not tell apart. In any run they disturb each other, so the idle pulse is measured while all cores of
the run work: of such a pair, it is that of a shared core, and pulses tell nothing.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from ctypes import byref, c_double
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import TasksimError
from tasksim.base.files import read_text, write_text
from tasksim.base.lockfile import locked
from tasksim.core.interface import functions, with_lock
from tasksim.native.this_machine import cores_for, pin_thread, processor, usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.base.arrays import Floats

__all__ = ["idle_pulse_of_any", "idle_pulses", "relative_pulse"]

WINDOW_S: Final = 1e-3
"""Duration of a measurement of pulses on all cores, in seconds: less than a time slice."""
MEASURING_S: Final = 0.05
"""Time for measurements, in seconds."""
FIRST_MEASURING_S: Final = 1.0
"""Time for measurements on a machine without notes, in seconds: others' work comes and goes."""
START_S: Final = 0.2e-3
"""Time for one more thread to start, in seconds."""
MAX_GAP_S: Final = 2e-4
"""Longest time between two pulses of a thread that kept its core, in seconds."""
IDLE_QUANTILE: Final = 0.1
"""Quantile of the pulses of a measurement that counts as idle: single ones may be wrong."""
MIN_WORKING_SHARE: Final = 0.9
"""Smallest share of the threads that have to keep their cores in a measurement."""
MIN_PULSES: Final = 100
"""Smallest number of pulses that have such a quantile."""
MAX_PULSES: Final = 10_000
"""Largest number of pulses of a measurement."""
MAX_DIFFERENCE: Final = 0.02
"""Largest relative difference of the idle pulses of equal cores."""
MIN_CHANGE: Final = 0.01
"""Smallest relative difference of idle pulses that is worth a note."""

_NO_NOTES: Final = (TasksimError, OSError, ValueError, RuntimeError)
"""Errors of a file that is not there, or is no JSON, and of a user without a home."""

_known: dict[tuple[int, ...], list[float]] = {}
"""Cores of a run -> their idle pulses, as far as this process knows them."""


def idle_pulses(workers: int) -> list[float] | None:
    """Return the idle pulse of the core on which each worker of a run is pinned.

    The first call of a process measures them, and takes the smallest ever seen on this machine:
    others may keep a core busy all the time. None if there are fewer cores than workers, if there
    is no compiled core to measure them, or if the threads had no cores meanwhile.
    """
    cores = cores_for(workers)
    if cores is None or functions() is None:
        return None
    key = tuple(cores[:workers])
    if key not in _known:
        noted = _noted(key)
        measured = _measured(key, MEASURING_S if noted else FIRST_MEASURING_S)
        found = [each for each in (noted, measured) if each is not None]
        if not found:
            return None
        _known[key] = np.min(found, axis=0).tolist()
        _note(key, _known[key])
    return _known[key]


def idle_pulse_of_any() -> float | None:
    """Return the idle pulse of whichever core a thread runs on; None if they differ, or unknown."""
    found = idle_pulses(len(usable_cores()))
    if found is None or max(found) > (1.0 + MAX_DIFFERENCE) * min(found):
        return None
    return max(found)


def relative_pulse(idle_pulse: float) -> Callable[[], float]:
    """Return a function that returns the pulse of its thread's core, in idle pulses."""
    core = functions()
    assert core is not None  # it has measured the idle pulse
    pulse = with_lock(core, "pulse")  # shorter than to get Python's lock again
    return lambda: pulse() / idle_pulse


def _pulses(cores: Sequence[int], begin_s: float, end_s: float) -> list[Floats]:
    """Return the pulses of each of *cores* between two times of :func:`time.perf_counter`.

    There are none of a thread that lost its core meanwhile.
    """
    core = functions()
    assert core is not None  # the caller has checked that there is a core
    taken: list[Floats] = [np.empty(0)] * len(cores)
    gaps_s = [c_double(np.inf) for _ in cores]

    def work(number: int) -> None:
        pin_thread(cores[number])
        found = np.empty(MAX_PULSES)
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


def _measured(cores: Sequence[int], seconds: float) -> list[float] | None:
    """Return the smallest pulses of each of *cores* while all of them worked."""
    found = np.full(len(cores), np.inf)
    until_s, now_s = perf_counter() + seconds, 0.0
    while now_s < until_s:
        begin_s = perf_counter() + START_S * (1 + len(cores))
        pulses = [
            float(np.quantile(each, IDLE_QUANTILE)) if len(each) >= MIN_PULSES else np.inf
            for each in _pulses(cores, begin_s, begin_s + WINDOW_S)
        ]
        # A thread that loses its core leaves its part of it to a worker on the same one.
        if np.isfinite(pulses).mean() >= MIN_WORKING_SHARE:
            found = np.minimum(found, pulses)
        now_s = perf_counter()
    return found.tolist() if np.isfinite(found).all() else None


def _note_path() -> Path:
    """Return the file of this user's machines: processor -> cores -> their idle pulses."""
    folder = os.environ.get("XDG_CACHE_HOME")
    return (Path(folder) if folder else Path.home() / ".cache") / "tasksim" / "idle-pulses.json"


def _noted(cores: Sequence[int]) -> list[float] | None:
    """Return the idle pulses that an earlier process saw."""
    noted = _notes().get(processor(), {})
    found = noted.get(_name(cores)) if isinstance(noted, dict) else None
    if not isinstance(found, list) or len(found) != len(cores):
        return None
    return found if all(isinstance(each, float) and each > 0.0 for each in found) else None


def _note(cores: Sequence[int], pulses: Sequence[float]) -> None:
    """Note idle *pulses* for later processes, unless they hardly differ from those noted."""
    noted = _noted(cores)
    if noted and max(np.abs(np.divide(pulses, noted) - 1)) < MIN_CHANGE:
        return
    # A folder that cannot be written costs later processes some certainty, and nothing else.
    with suppress(*_NO_NOTES), locked(path := _note_path()):
        noted = _noted(cores)
        smallest = list(pulses) if noted is None else np.minimum(pulses, noted).tolist()
        notes = _notes()
        machine = notes.get(processor())
        machine = machine if isinstance(machine, dict) else {}
        notes[processor()] = machine | {_name(cores): smallest}
        write_text(path, json.dumps(notes, indent=1) + "\n", force=True)


def _notes() -> dict[str, Any]:
    """Return the notes; none if there are none that can be read."""
    with suppress(*_NO_NOTES):
        found = json.loads(read_text(_note_path()))
        if isinstance(found, dict):
            return found
    return {}


def _name(cores: Sequence[int]) -> str:
    return ",".join(map(str, cores))
