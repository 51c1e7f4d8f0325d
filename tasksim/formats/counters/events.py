"""Events of processors, as tools name them, and the counters that they make."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf, nan
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Counted", "counted_number", "counters_of", "meaning", "unused_events"]


@dataclass(frozen=True)
class Counted:
    """Counts that a tool made of a program.

    Attributes
    ----------
    events
        Event, as the tool names it -> how often.
    duration_s
        How long the program took; None if the tool does not say.
    notes
        What to know of the numbers: events that were counted for a part of the time, or are not
        used.
    """

    events: dict[str, float]
    duration_s: float | None = None
    notes: tuple[str, ...] = ()


def counted_number(text: str, what: str, where: str) -> float:
    """Return the number that *text*, a count or a time of a tool, is.

    Raises :exc:`InputError`, which says *where* it stands, unless it is finite and not negative.
    """
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not 0 <= value < inf:
        raise InputError(f"{where}: {what}: got '{text}'; legal: a number, not negative")
    return value


MEANINGS: Final[Mapping[str, tuple[str, ...]]] = {
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
"""Quantity -> the events that count it, the best first."""
KEPT: Final = ("instructions", "cycles", "stall_cycles", "l1_hits", "l2_hits", "l3_hits",
               "memory_accesses")  # fmt: skip
_MEANING: Final = {
    event.lower(): (meant, rank)
    for meant, events in MEANINGS.items()
    for rank, event in enumerate(events)
}


def meaning(event: str) -> str | None:
    """Return what an *event* means, None if that is not known here; ``:u`` and such are left out.

    >>> meaning("instructions:u"), meaning("PAPI_L1_DCM"), meaning("branch-misses")
    ('instructions', 'l1_misses', None)
    """
    found = _MEANING.get(_plain(event))
    return None if found is None else found[0]


def unused_events(events: Iterable[str]) -> list[str]:
    """Return those of *events* that make no counter: they are unknown, or another is better.

    >>> unused_events(["instructions:u", "branch-misses", "LLC-load-misses", "cache-misses"])
    ['branch-misses', 'cache-misses']
    """
    events = list(events)
    best = _best(events).values()
    return [event for event in events if event not in best]


def counters_of(counted: Counted, where: str, executions: float = 1.0) -> dict[str, float]:
    """Return the counters of one execution that the events of *executions* make.

    Hits of a level are its own events, or the accesses that reached it less those that missed.

    Raises
    ------
    InputError
        If there are no instructions, a number is negative, or more missed than came.
    """
    known = _meant(counted.events)
    for meant, value in known.items():
        if not value >= 0:
            raise InputError(f"{where}: {meant}: got {value:g}; legal: not negative")
    if "instructions" not in known:
        raise InputError(
            f"{where}: no event counts instructions (events: {', '.join(counted.events)}); "
            f"count one of {', '.join(MEANINGS['instructions'])}"
        )
    if "l1_hits" not in known:
        known.update(_hits(known, where))
    found: dict[str, float] = {name: known[name] / executions for name in KEPT if name in known}
    if "memory_accesses" not in found:
        raise InputError(
            f"{where}: no events tell which accesses reach memory (events: "
            f"{', '.join(counted.events)}); count L1-dcache-loads, L1-dcache-load-misses and "
            "LLC-load-misses, or hits of each level"
        )
    return found


def _plain(event: str) -> str:
    """Return the name of an *event* without its processor (``cpu_core/../``) and its privilege."""
    parts = event.split("/")
    return (parts[1] if len(parts) > 1 else parts[0]).split(":")[0].lower()


def _meant(events: Mapping[str, float]) -> dict[str, float]:
    """Return the events by what they mean, of several that mean the same the best."""
    return {meant: events[event] for meant, event in _best(events).items()}


def _best(events: Iterable[str]) -> dict[str, str]:
    """Return the best event of each meaning, the first of equals."""
    best: dict[str, tuple[int, str]] = {}
    for event in events:
        meant, rank = _MEANING.get(_plain(event), (None, 0))
        if meant is not None and rank < best.get(meant, (rank + 1, ""))[0]:
            best[meant] = rank, event
    return {meant: event for meant, (_, event) in best.items()}


def _hits(known: Mapping[str, float], where: str) -> dict[str, float]:
    """Return the hits of each level, of what reached it and what it missed."""
    accesses = known.get("accesses", known.get("loads", 0.0) + known.get("stores", 0.0))
    chain = [("accesses", accesses)]
    chain += [(n, known[n]) for n in ("l1_misses", "l2_misses", "l3_misses") if n in known]
    if not accesses or "l1_misses" not in known or len(chain) < 3:
        return {}
    for (before, more), (after, less) in pairwise(chain):
        if less > more:
            raise InputError(f"{where}: {after} {less:g} are more than {before} {more:g}")
    return _of_chain(chain)


def _of_chain(chain: Sequence[tuple[str, float]]) -> dict[str, float]:
    found = {}
    for (_, more), (missed, less) in pairwise(chain):
        found[f"{missed.split('_')[0]}_hits"] = more - less
    # The last level that is counted is the last one there is: what it misses comes from memory.
    return {**found, "memory_accesses": chain[-1][1]}
