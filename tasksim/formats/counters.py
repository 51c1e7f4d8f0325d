"""Counters of processors, as printed by perf, LIKWID and PAPI, and the meanings of their events."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, nan
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError
from tasksim.base.files import read_text
from tasksim.base.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = ["Counted", "counters_of", "meaning", "read_counts", "unused_events"]


@dataclass(frozen=True)
class Counted:
    """Counts of a program by a tool.

    Attributes
    ----------
    events
        Event, as the tool names it -> how often.
    duration_s
        How long the program took; None if the tool does not say.
    notes
        Caveats: events that were counted for a part of the time, or are not used.
    """

    events: dict[str, float]
    duration_s: float | None = None
    notes: tuple[str, ...] = ()


def _counted_number(text: str, what: str, where: str) -> float:
    """Return the number in *text*, a count or a time of a tool.

    Raises :exc:`InputError` with *where* it is, unless it is finite and not negative.
    """
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not 0 <= value < inf:
        raise InputError(f"{where}: {what}: got '{text}'; legal: a number, not negative")
    return value


QUANTITY_EVENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "instructions": ("instructions", "INSTR_RETIRED_ANY", "PAPI_TOT_INS"),
    "cycles": ("cycles", "cpu-cycles", "CPU_CLK_UNHALTED_CORE", "PAPI_TOT_CYC"),
    "stall_cycles": (
        "cycle_activity.stalls_mem_any", "CYCLE_ACTIVITY_STALLS_MEM_ANY", "PAPI_MEM_SCY",
        "stalled-cycles-backend", "CYCLE_ACTIVITY_STALLS_TOTAL", "PAPI_RES_STL",
    ),
    "accesses": ("PAPI_LST_INS",),
    "loads": ("L1-dcache-loads", "mem_inst_retired.all_loads", "MEM_INST_RETIRED_ALL_LOADS",
              "PAPI_LD_INS"),
    "stores": ("L1-dcache-stores", "mem_inst_retired.all_stores", "MEM_INST_RETIRED_ALL_STORES",
               "PAPI_SR_INS"),
    "l1_misses": ("L1-dcache-load-misses", "L1D_REPLACEMENT", "PAPI_L1_DCM"),
    "l2_misses": ("l2_rqsts.miss", "LLC-loads", "PAPI_L2_DCM", "PAPI_L2_TCM"),
    "l3_misses": ("LLC-load-misses", "LLC-misses", "cache-misses", "PAPI_L3_DCM", "PAPI_L3_TCM"),
    "l1_hits": ("mem_load_retired.l1_hit", "MEM_LOAD_RETIRED_L1_HIT",
                "MEM_LOAD_UOPS_RETIRED_L1_HIT"),
    "l2_hits": ("mem_load_retired.l2_hit", "MEM_LOAD_RETIRED_L2_HIT",
                "MEM_LOAD_UOPS_RETIRED_L2_HIT"),
    "l3_hits": ("mem_load_retired.l3_hit", "MEM_LOAD_RETIRED_L3_HIT",
                "MEM_LOAD_UOPS_RETIRED_L3_HIT"),
    "memory_accesses": ("mem_load_retired.l3_miss", "MEM_LOAD_RETIRED_L3_MISS",
                        "MEM_LOAD_UOPS_RETIRED_L3_MISS"),
}  # fmt: skip
"""Quantity -> events that count it, the best first."""
KEPT_QUANTITIES: Final = ("instructions", "cycles", "stall_cycles", "l1_hits", "l2_hits", "l3_hits",
               "memory_accesses")  # fmt: skip
_QUANTITY_OF_EVENT: Final = {
    event.lower(): (meant, rank)
    for meant, events in QUANTITY_EVENTS.items()
    for rank, event in enumerate(events)
}


def meaning(event: str) -> str | None:
    """Return the counter of an *event*, None if unknown; suffixes such as ``:u`` are ignored.

    >>> meaning("instructions:u"), meaning("PAPI_L1_DCM"), meaning("branch-misses")
    ('instructions', 'l1_misses', None)
    """
    found = _QUANTITY_OF_EVENT.get(_plain(event))
    return None if found is None else found[0]


def unused_events(events: Iterable[str]) -> list[str]:
    """Return those of *events* that make no counter: unknown ones, and second choices.

    >>> unused_events(["instructions:u", "branch-misses", "LLC-load-misses", "cache-misses"])
    ['branch-misses', 'cache-misses']
    """
    events = list(events)
    best = _best(events).values()
    return [event for event in events if event not in best]


def counters_of(counted: Counted, where: str, executions: float = 1.0) -> dict[str, float]:
    """Return the counters of one execution, from the events of several *executions*.

    Hits of a level are its own events, or the accesses that reached it minus its misses.

    Raises
    ------
    InputError
        If there are no instructions, a number is negative, or there are more misses than accesses.
    """
    known = {meant: counted.events[event] for meant, event in _best(counted.events).items()}
    for meant, value in known.items():
        if not value >= 0:
            raise InputError(f"{where}: {meant}: got {value:g}; legal: not negative")
    if "instructions" not in known:
        raise InputError(
            f"{where}: no event counts instructions (events: {', '.join(counted.events)}); "
            f"count one of {', '.join(QUANTITY_EVENTS['instructions'])}"
        )
    if "l1_hits" not in known:
        known.update(_hits(known, where))
    found: dict[str, float] = {
        name: known[name] / executions for name in KEPT_QUANTITIES if name in known
    }
    if "memory_accesses" not in found:
        raise InputError(
            f"{where}: no events count the accesses that reach memory (events:"
            f" {', '.join(counted.events)}); count L1-dcache-loads, L1-dcache-load-misses and"
            " LLC-load-misses, or hits of each level"
        )
    return found


def _plain(event: str) -> str:
    """Return the name of an *event* without its processor (``cpu_core/../``) and its privilege."""
    parts = event.split("/")
    return (parts[1] if len(parts) > 1 else parts[0]).split(":")[0].lower()


def _best(events: Iterable[str]) -> dict[str, str]:
    """Return the best event of each meaning, the first of equals."""
    best: dict[str, tuple[int, str]] = {}
    for event in events:
        meant, rank = _QUANTITY_OF_EVENT.get(_plain(event), (None, 0))
        if meant is not None and rank < best.get(meant, (rank + 1, ""))[0]:
            best[meant] = rank, event
    return {meant: event for meant, (_, event) in best.items()}


def _hits(known: Mapping[str, float], where: str) -> dict[str, float]:
    """Return the hits of each level, from the accesses that reached it and its misses."""
    accesses = known.get("accesses", known.get("loads", 0.0) + known.get("stores", 0.0))
    chain = [("accesses", accesses)]
    chain += [(n, known[n]) for n in ("l1_misses", "l2_misses", "l3_misses") if n in known]
    if not accesses or "l1_misses" not in known or len(chain) < 3:
        return {}
    hits = {}
    for (before, more), (after, less) in pairwise(chain):
        if less > more:
            raise InputError(f"{where}: {after} {less:g} are more than {before} {more:g}")
        hits[f"{after.split('_')[0]}_hits"] = more - less
    # The last level that is counted is the last one of the machine: its misses go to memory.
    return {**hits, "memory_accesses": chain[-1][1]}


PERF_SEPARATORS: Final = ",;\t"
PERF_EVENT: Final = 2
"""Index of the field with the event, after the count and its unit."""
PERF_SHARE: Final = 4
"""Index of the field with the percentage of time in which the event was counted."""
PERF_TIMES: Final = {
    "duration_time": {"ns": 1e-9, "": 1e-9},
    "task-clock": {"msec": 1e-3, "": 1e-3},
}
"""Events that are durations, the better first, with unit -> seconds."""


def _is_perf_stat(text: str) -> bool:
    """Return whether *text* is output of ``perf stat -x,``."""
    _, fields = next(_perf_rows(text), (0, [""]))
    return len(fields) > PERF_SHARE and (_is_number(fields[0]) or fields[0].startswith("<not"))


def _read_perf_stat(text: str, path: Path) -> Counted:
    """Return the counts in the output of ``perf stat -x,``.

    If there are more events than registers, perf counts each for a part of the time and
    extrapolates to the whole; ``notes`` say so.

    Raises
    ------
    InputError
        ``file:line``: of an event that was not counted, that this processor does not have, or
        that is negative.
    """
    events: dict[str, float] = {}
    times: dict[str, float] = {}
    notes = []
    for number, fields in _perf_rows(text):
        where = f"{path}:{number}"
        if len(fields) <= PERF_SHARE:
            raise InputError(
                f"{where}: got {counted(len(fields), 'field')}; legal: those of perf stat -x,"
            )
        count, unit, event = fields[0], fields[1], fields[PERF_EVENT]
        if count.startswith("<not"):
            why = {
                "<not supported>": "this machine cannot count it (many virtual machines cannot)",
                "<not counted>": "perf had no time to count it; count fewer events at once",
            }.get(count, "it was not counted")
            raise InputError(f"{where}: {event}: got {count}: {why}")
        value = _counted_number(count, event, where)
        name = event.split(":")[0]
        if name in PERF_TIMES:
            times[name] = value * PERF_TIMES[name].get(unit, PERF_TIMES[name][""])
            continue
        events[event] = value
        share = float(fields[PERF_SHARE]) if _is_number(fields[PERF_SHARE]) else 100.0
        if share < 100.0:
            notes.append(
                f"{event} was counted for {share:g} % of the time, and perf scaled it to all of it"
            )
    duration_s = next((times[name] for name in PERF_TIMES if name in times), None)
    return Counted(events, duration_s, tuple(notes))


def _perf_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each line, with its number."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            separator = max(PERF_SEPARATORS, key=line.count)
            yield number, [field.strip() for field in line.split(separator)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# Possessive: names and gaps that are given back one by one would take the square of a long line.
PAPI_EVENT: Final = re.compile(r"^[\s\"]*(PAPI_[A-Z0-9_]++)\"?\s*+[:=]?\s*+\"?(\S+?)\"?,?\s*$")
PAPI_TIME: Final = re.compile(
    r"^[\s\"]*real[ _]time(?:[ _](?P<in>nsec|usec|sec|s))?\"?\s*+[:=]?\s*+"
    r"\"?(?P<value>[^\s\",]+)\"?\s*(?P<unit>nsec|usec|sec|s)?,?\s*$",
    re.IGNORECASE,
)
PAPI_UNITS: Final = {"nsec": 1e-9, "usec": 1e-6, "sec": 1.0, "s": 1.0}


def _read_papi(text: str, path: Path) -> Counted:
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
        if match := PAPI_EVENT.match(line):
            count = _counted_number(match[2], match[1], where)
            events[match[1]] = events.get(match[1], 0.0) + count
        elif match := PAPI_TIME.match(line):
            unit = PAPI_UNITS[(match["in"] or match["unit"] or "nsec").lower()]
            time = _counted_number(match["value"], "real time", where)
            duration_s = (duration_s or 0.0) + unit * time
    return Counted(events, duration_s)


LIKWID_RUNTIME: Final = re.compile(r"^Runtime(?: \(RDTSC\))? \[s\]( STAT)?$")
LIKWID_COUNTER: Final = re.compile(r"^(?:FIXC|PMC|CBOX|MBOX|UPMC|CPMC|PWR)\d*\w*$")
"""Pattern of the registers in the second column, which distinguish a row of an event."""


def _read_likwid(text: str, path: Path) -> Counted:
    """Return the counts in the output of likwid-perfctr, summed over the measured cores.

    Raises
    ------
    InputError
        ``file:line``: of a count that is no number, or negative.
    """
    events: dict[str, float] = {}
    duration_s: float | None = None
    for number, (name, *cells) in _likwid_rows(text):
        where = f"{path}:{number}"
        if LIKWID_COUNTER.match(cells[0]):
            values = [_counted_number(cell, name, where) for cell in cells[1:] if cell]
            if not name.endswith(" STAT"):
                events[name] = sum(values)
        elif (match := LIKWID_RUNTIME.match(name)) and not match[1]:
            values = [_counted_number(cell, name, where) for cell in cells if cell]
            duration_s = max(values, default=0.0) or duration_s
    return Counted(events, duration_s)


def _likwid_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of tables, each with its line."""
    for number, line in enumerate(text.splitlines(), 1):
        separator = "|" if "|" in line else ","
        cells = [cell.strip() for cell in line.strip().strip("|").split(separator)]
        if len(cells) > 1 and cells[0]:
            yield number, cells


def read_counts(path: Path) -> Counted:
    r"""Return the counts of ``perf stat -x,``, likwid-perfctr or PAPI in the file at *path*.

    A note names the events that make no counter.

    Raises
    ------
    InputError
        If it is output of none of them, or malformed, with ``file:line``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "perf.csv")
    ...     _ = path.write_text("8250000,,instructions:u,3100000,100.00,2.1,insn per cycle\n")
    ...     counted = read_counts(path)
    >>> counted.events
    {'instructions:u': 8250000.0}
    """
    text = read_text(path)
    # The most specific first.
    if any(PAPI_EVENT.match(line) for line in text.splitlines()):
        counted = _read_papi(text, path)
    elif any(LIKWID_COUNTER.match(cells[1]) for _, cells in _likwid_rows(text)):
        counted = _read_likwid(text, path)
    elif _is_perf_stat(text):
        counted = _read_perf_stat(text, path)
    else:
        raise InputError(
            f"{path}: found no counters; legal: the output of 'perf stat -x,' or likwid-perfctr, or"
            " lines 'PAPI_TOT_INS: 8250000'"
        )
    unused = unused_events(counted.events)
    told = (f"not used: {', '.join(unused)}",) if unused else ()
    return replace(counted, notes=(*counted.notes, *told))
