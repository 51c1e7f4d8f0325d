"""Output of ``perf stat -x,``: a line per event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError
from tasksim.formats.counters.events import Counted, counted_number

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_perf_stat", "read_perf_stat"]

SEPARATORS: Final = ",;\t"
EVENT: Final = 2
"""Which field names the event: after the count and its unit."""
SHARE: Final = 4
"""Which says for how many per cent of the time it was counted, after how many nanoseconds."""
TIMES: Final = {"duration_time": {"ns": 1e-9, "": 1e-9}, "task-clock": {"msec": 1e-3, "": 1e-3}}
"""Events that are durations, the better first: unit -> seconds."""


def is_perf_stat(text: str) -> bool:
    """Return whether *text* is what ``perf stat -x,`` writes."""
    for line in _lines(text):
        fields = _fields(line[1])
        return len(fields) > SHARE and (_is_number(fields[0]) or fields[0].startswith("<not"))
    return False


def read_perf_stat(text: str, path: Path) -> Counted:
    """Return what ``perf stat -x,`` has counted.

    Where there are more events than registers, perf counts each for a part of the time and writes
    what the whole time would have had; that is said in ``notes``.

    Raises
    ------
    InputError
        ``file:line``: of an event that was not counted, that this processor does not have, or
        that is negative.
    """
    events: dict[str, float] = {}
    times: dict[str, float] = {}
    notes = []
    for number, line in _lines(text):
        fields, where = _fields(line), f"{path}:{number}"
        if len(fields) <= SHARE:
            raise InputError(f"{where}: got {len(fields)} fields; legal: those of perf stat -x,")
        event = fields[EVENT]
        value = _count(fields[0], event, where)
        name = event.split(":")[0]
        if name in TIMES:
            times[name] = value * TIMES[name].get(fields[1], TIMES[name][""])
            continue
        events[event] = value
        share = float(fields[SHARE]) if _is_number(fields[SHARE]) else 100.0
        if share < 100.0:
            notes.append(
                f"{event} was counted for {share:g} % of the time; perf has scaled it to all of it"
            )
    duration_s = next((times[name] for name in TIMES if name in times), None)
    return Counted(events, duration_s, tuple(notes))


def _count(text: str, event: str, where: str) -> float:
    if text.startswith("<not"):
        why = {
            "<not supported>": "this machine does not count it (many virtual machines do not)",
            "<not counted>": "perf had no time to count it: ask for fewer events at once",
        }.get(text, "it was not counted")
        raise InputError(f"{where}: {event}: got {text}: {why}")
    return counted_number(text, event, where)


def _lines(text: str) -> list[tuple[int, str]]:
    lines = enumerate(text.splitlines(), 1)
    return [(number, line) for number, line in lines if line.strip() and not line.startswith("#")]


def _fields(line: str) -> list[str]:
    separator = max(SEPARATORS, key=line.count)
    return [field.strip() for field in line.split(separator)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
