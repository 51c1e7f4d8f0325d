"""Text with PAPI's events: a name and a count per line, or PAPI's own report in JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tasksim.formats.counters.events import Counted, counted_number

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_papi", "read_papi"]

EVENT: Final = re.compile(r"^[\s\"]*(PAPI_[A-Z0-9_]+)\"?\s*[:=]?\s*\"?(\S+?)\"?,?\s*$")
TIME: Final = re.compile(
    r"^[\s\"]*real[ _]time(?:[ _](?P<in>nsec|usec|sec|s))?\"?\s*[:=]?\s*\"?(?P<value>[^\s\",]+)\"?"
    r"\s*(?P<unit>nsec|usec|sec|s)?,?\s*$",
    re.IGNORECASE,
)
UNITS: Final = {"nsec": 1e-9, "usec": 1e-6, "sec": 1.0, "s": 1.0}


def is_papi(text: str) -> bool:
    """Return whether *text* has events of PAPI."""
    return any(EVENT.match(line) for line in text.splitlines())


def read_papi(text: str, path: Path) -> Counted:
    """Return the events in *text*; those of several threads or regions are added up.

    Lines are ``PAPI_TOT_INS: 8250000`` (or with ``=``, or spaces), and ``real_time_nsec: 512000``.

    Raises
    ------
    InputError
        ``file:line``: of a count that is no number, or negative.
    """
    events: dict[str, float] = {}
    duration_s: float | None = None
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}:{number}"
        if match := EVENT.match(line):
            events[match[1]] = events.get(match[1], 0.0) + counted_number(match[2], match[1], where)
        elif match := TIME.match(line):
            unit = UNITS[(match["in"] or match["unit"] or "nsec").lower()]
            duration_s = (duration_s or 0.0) + unit * counted_number(
                match["value"], "real time", where
            )
    return Counted(events, duration_s)
