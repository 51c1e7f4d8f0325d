"""Recutils' fields and values, as StarPU writes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.formats.traces.textlines import lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tasksim.formats.traces.records import Records

__all__ = [
    "FOOTPRINT_PARAMETER",
    "ITERATION_PARAMETER",
    "LONGEST_NODE",
    "LONGEST_RANK",
    "add_record",
    "counted",
    "job_id",
    "ms_text",
    "nanoseconds",
    "node_memory",
    "rank_of",
    "records",
    "thinned",
    "whole_ns",
]

TIME_FIELDS: Final = ("StartTime", "EndTime", "SubmitTime", "ReadyTime", "PopTime")
"""Fields of times; the last is tasksim's own, which StarPU has in sched_tasks.rec."""
ITERATION_PARAMETER: Final = "iteration"
"""Parameter of imported tasks that numbers them: no duration depends on it."""
FOOTPRINT_PARAMETER: Final = "footprint"
"""Parameter of imported tasks that only tells configurations apart: a formula of it means nothing.
"""
LONGEST_NODE: Final = 5
"""Maximum number of digits of a memory node: records of runs number them with 16 bits."""
LONGEST_RANK: Final = 6
"""Upper bound (exclusive) of the digits of a rank: no machine has a million nodes."""


def records(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the records of a recutils file with their first lines and fields.

    A line that begins with ``+`` continues the value before; ``#`` begins a comment, ``%`` a
    description of the records. StarPU writes no empty line after ``EndDependencies``.
    """
    found: dict[str, str] = {}
    first, last = 0, ""
    for number, line in lines(path):
        if not line.strip() or last == "EndDependencies":
            if found:
                yield first, found
            found, last = {}, ""
        if not line.strip():
            continue
        if line[0] in "#%":
            continue
        if line[0] == "+" and last in found:
            found[last] += "\n" + line[1:].strip()
            continue
        last, colon, value = line.partition(":")
        if not colon or not last or " " in last:
            raise InputError(f"{path}:{number}: got '{line[:60]}'; legal: FIELD: VALUE")
        if not found:
            first = number
        found[last] = value.strip()
    if found:
        yield first, found


def job_id(text: str) -> str:
    """Return the id of a task without leading zeros of its rank, which only some files have."""
    rank, between, number = text.partition("_")
    known = between and rank.isdecimal() and len(rank) < LONGEST_RANK
    return f"{int(rank)}_{number}" if known else text


def node_memory(rank: int) -> str:
    """Return the name of the memory of a rank's node, as on platforms of several nodes."""
    return f"node{rank}/ram"


def rank_of(fields: dict[str, str]) -> str:
    """Return the rank of a record if there are several, else an empty text."""
    rank = fields.get("MPIRank", "")
    return str(int(rank)) if rank.isdecimal() and len(rank) < LONGEST_RANK else ""


def add_record(
    found: Records,
    fields: dict[str, str],
    line: int,
    worker: str = "",
    sizes: Mapping[str, int] | None = None,
) -> None:
    """Add the task of *fields*, with times in milliseconds; *worker* is its name, if known.

    *sizes* are those of data by name, for tasks without them.
    """
    task = job_id(fields.get("JobId", ""))
    if not task:
        found.bad("a task without JobId", line)
        return
    try:
        times = [_time(fields, name) for name in TIME_FIELDS]
        order = float(fields.get("SubmitOrder") or "nan")
        priority = int(fields.get("Priority") or 0)
        parameters = _parameters(fields)
    except (ValueError, OverflowError) as error:
        found.bad(f"task {task}: {str(error)[:80]}", line)
        return
    start, end, submitted, ready, popped = times
    rank = rank_of(fields)
    where = worker or fields.get("WorkerId", "")
    if rank and where and not worker:
        where = f"node{rank}/{where}"
    if where and fields.get("MemoryNode"):
        found.memory_of.setdefault(where, fields["MemoryNode"])
    kernel = fields.get("Name") or fields.get("Model") or "unnamed"
    if not found.add(
        task, kernel, where, start, end, line=line, submitted_s=submitted, ready_s=ready,
        popped_s=popped, order=order, priority=priority, before=_before(fields),
        parameters=parameters,
    ):  # fmt: skip
        return
    if fields.get("Handles") and where:
        handles = fields["Handles"].split()
        if rank:
            handles = [f"{rank}_{handle}" for handle in handles]
        said = fields.get("Sizes", "").split()
        if not said and sizes is not None and all(handle in sizes for handle in handles):
            said = [str(sizes[handle]) for handle in handles]
            found.note("tasks.rec has no sizes of data: those of data.rec count")
        wrong = found.accesses(handles, fields.get("Modes", "").split(), said)
        if wrong:
            found.bad(f"task {task}: {wrong}", line)


def _before(fields: dict[str, str]) -> str:
    """Return the ids of the dependencies of a task."""
    ids = fields.get("DependsOn", "")
    return ids if "_" not in ids else " ".join(map(job_id, ids.split()))


LONGEST_MS: Final = 1e12
"""Upper bound of times in ms, three decades."""


def nanoseconds(milliseconds: float) -> float:
    """Return seconds, rounded to nanoseconds, the resolution of clocks."""
    if abs(milliseconds) < LONGEST_MS:
        return round(milliseconds * 1e6) / 1e9
    return milliseconds / 1e3


def whole_ns(times_s: Any) -> list[int]:
    """Return whole nanoseconds, so that written times do not overlap by rounding."""
    found: list[int] = np.round(np.asarray(times_s) * 1e9).astype(np.int64).tolist()
    return found


def ms_text(ns: int) -> str:
    """Return milliseconds with the six digits of nanoseconds."""
    return f"{ns // 1_000_000}.{ns % 1_000_000:06d}"


def counted(since_s: Any, until_s: Any) -> tuple[Any, Any]:
    """Return the times at which things begin or end, and their number from then on."""
    times = np.concatenate((since_s, until_s))
    change = np.concatenate((np.ones(len(since_s), int), -np.ones(len(until_s), int)))
    order = np.lexsort((-change, times))
    return times[order], np.cumsum(change[order])


def thinned(at: Any, value: Any, most: int) -> tuple[Any, Any]:
    """Return *most* of the points of a curve, evenly chosen, or all if there are not more."""
    if len(at) <= most:
        return at, value
    chosen = np.linspace(0, len(at) - 1, most).astype(int)
    return at[chosen], value[chosen]


def _time(fields: dict[str, str], name: str) -> float:
    text = fields.get(name)
    if not text:
        return math.nan
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{name}: got '{text[:40]}'; legal: milliseconds") from None
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{name}: got '{text[:40]}'; legal: finite milliseconds from 0")
    return nanoseconds(value)


def _parameters(fields: dict[str, str]) -> dict[str, float]:
    """Return the parameters that distinguish configurations: footprint and flop."""
    found: dict[str, float] = {}
    footprint = fields.get("Footprint")
    if footprint:
        found[FOOTPRINT_PARAMETER] = float(int(footprint, 16))
    if fields.get("GFlop"):
        found["flop"] = float(fields["GFlop"]) * 1e9
    if not all(math.isfinite(value) and value >= 0 for value in found.values()):
        raise ValueError("its footprint or flop is not a finite number from 0")
    iteration = fields.get("Iteration", "").split()
    if iteration and int(iteration[0]) >= 0:
        found[ITERATION_PARAMETER] = float(int(iteration[0]))
    return found
