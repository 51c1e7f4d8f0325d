"""Notes of what this machine shows while others leave it alone, for later processes.

Others may use it for as long as a process runs. So the smallest values of the last days of use
count, since the machine was started: the next start may be on another host, and a running virtual
machine may move to a slower one, which no system reports.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import TasksimError
from tasksim.base.files import read_text, write_text
from tasksim.base.lockfile import locked
from tasksim.native.this_machine import processor

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats

__all__ = ["least", "note", "noted"]

MIN_CHANGE: Final = 0.01
"""Smallest relative difference of values that is worth a note."""
KEPT_DAYS: Final = 3
"""Number of days of use whose values are kept. A value that none of them has shown again is that
of the host before."""
MAX_UNUSED_DAYS: Final = 30
"""Days after which the notes of a machine that nobody uses are deleted: each start of a machine has
notes of its own."""

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")

_NO_NOTES: Final = (TasksimError, OSError, ValueError, RuntimeError)
"""Errors of a file that is not there, or is no JSON, and of a user without a home."""
_least: dict[str, Floats] = {}
"""Name -> smallest values that this process has seen, which count where notes have no place."""


def noted(name: str, shape: tuple[int, int]) -> Floats | None:
    """Return the smallest values that earlier processes saw under *name*; None: no such values."""
    days = _days_of(_notes().get(_machine()))
    found = [values for day in days.values() if (values := _values(day, name, shape)) is not None]
    return np.min(found, axis=0) if found else None


def note(name: str, values: Floats) -> None:
    """Note *values*, a table, under *name*, unless smaller ones are noted for today."""
    today = _today().isoformat()
    before = _values(_days_of(_notes().get(_machine())).get(today), name, values.shape)
    if before is not None and (values > (1.0 - MIN_CHANGE) * before).all():
        return
    # A folder that cannot be written costs later processes some certainty, and nothing else.
    with suppress(*_NO_NOTES), locked(path := _path()):
        notes = _notes()
        days = _days_of(notes.get(_machine()))
        before = _values(days.get(today), name, values.shape)
        smallest = values if before is None else np.minimum(values, before)
        days[today] = days.get(today, {}) | {name: smallest.tolist()}
        notes[_machine()] = {day: days[day] for day in sorted(days)[-KEPT_DAYS:]}
        oldest = (_today() - timedelta(days=MAX_UNUSED_DAYS)).isoformat()
        used = {
            name: each for name, each in notes.items() if max(_days_of(each), default="") > oldest
        }
        write_text(path, json.dumps(used, indent=1) + "\n", force=True)


def least(name: str, values: Floats) -> Floats:
    """Note *values*, a table, under *name*; return the smallest that any process has seen."""
    note(name, values)
    found = [values, _least.get(name), noted(name, values.shape)]
    _least[name] = np.min([each for each in found if each is not None], axis=0)
    return _least[name]


def _path() -> Path:
    """Return the file of this user's machines: machine -> day -> name -> values."""
    folder = os.environ.get("XDG_CACHE_HOME")
    return (Path(folder) if folder else Path.home() / ".cache") / "tasksim" / "idle-states.json"


def _machine() -> str:
    """Return the processor and the boot of this machine."""
    with suppress(OSError):
        return f"{processor()}, boot {BOOT_ID.read_text(encoding='ascii').strip()}"
    return processor()


def _today() -> date:
    return datetime.now(UTC).date()


def _days_of(machine: object) -> dict[str, dict[str, Any]]:
    """Return the notes of a machine, day -> name -> values, without any that are no such notes."""
    days = {}
    for day, found in machine.items() if isinstance(machine, dict) else ():
        with suppress(TypeError, ValueError):
            days[date.fromisoformat(day).isoformat()] = dict(found)
    return days


def _values(day: dict[str, Any] | None, name: str, shape: tuple[int, ...]) -> Floats | None:
    """Return the values of *shape* in the notes of a day under *name*; None: no such values."""
    with suppress(TypeError, ValueError):  # no numbers, or no table
        found = np.array((day or {}).get(name), dtype=float)
        if found.shape == shape and (found > 0.0).all():
            return found
    return None


def _notes() -> dict[str, Any]:
    """Return the notes; none if there are none that can be read."""
    with suppress(*_NO_NOTES):
        found = json.loads(read_text(_path()))
        if isinstance(found, dict):
            return found
    return {}
