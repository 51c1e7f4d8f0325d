"""tasks.rec: what StarPU's trace tool writes of each task, recutils' fields and values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError
from tasksim.formats.registry import Format
from tasksim.formats.traces.records import Records
from tasksim.formats.traces.textlines import head_text, lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace
    from tasksim.run.record import Run

__all__ = [
    "TASKS_REC", "add_record", "job_id", "nanoseconds", "node_memory", "read_tasks_rec", "records",
]  # fmt: skip

FILE: Final = "tasks.rec"
TIMES: Final = ("StartTime", "EndTime", "SubmitTime", "ReadyTime", "PopTime")
"""The last is tasksim's own; StarPU has it in sched_tasks.rec."""
LONGEST_RANK: Final = 6
"""Digits of a rank that is one: no machine has a million nodes."""


def records(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the records of a recutils file: the line where each begins, and its fields.

    A field that begins with ``+`` goes on with the value before; ``#`` begins a comment, ``%`` what
    describes the records. Behind ``EndDependencies`` StarPU writes no empty line.
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


def read_tasks_rec(path: Path, *, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in a ``tasks.rec``, with ``data.rec`` beside it where that is there.

    Parameters
    ----------
    path : Path
        The file, or a folder that has one.
    skip_bad : bool, default False
        Whether records that are wrong are passed over, and counted.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    from tasksim.formats.traces.ownnotes import own_notes
    from tasksim.formats.traces.recorded_trace import assembled

    hints = 0
    path = path / FILE if path.is_dir() else path
    found = Records(path, skip_bad=skip_bad)
    found.name = path.resolve().parent.name if path.name == FILE else found.name
    own = own_notes(path)
    for line, fields in records(path):
        if "Control" not in fields:
            add_record(found, fields, line)
        else:
            hints += 1
    if own.workers:
        own.add_to(found)
    else:
        _add_beside(found)
        _name_workers(found)
    if hints:
        found.note(f"{hints} hints that data will not be used any more are left out")
    return assembled(found)


def job_id(text: str) -> str:
    """Return the id of a task: ranks before it have leading zeros in some files, not in others."""
    rank, between, number = text.partition("_")
    return f"{int(rank)}_{number}" if between and rank.isdecimal() else text


def node_memory(rank: int) -> str:
    """Return the name of the memory of a rank's node, as platforms of several nodes have it."""
    return f"node{rank}/ram"


def _rank(fields: dict[str, str]) -> str:
    """Return the rank that a record is of, where there are several; else nothing."""
    rank = fields.get("MPIRank", "")
    return str(int(rank)) if rank.isdecimal() and len(rank) < LONGEST_RANK else ""


def add_record(found: Records, fields: dict[str, str], line: int, worker: str = "") -> None:
    """Add a task of such *fields*, times in milliseconds; *worker* is its name, if it is known."""
    task = job_id(fields.get("JobId", ""))
    if not task:
        found.bad("a task without JobId", line)
        return
    try:
        times = [_time(fields, name) for name in TIMES]
        order = float(fields.get("SubmitOrder") or "nan")
        priority = int(fields.get("Priority") or 0)
        parameters = _parameters(fields)
    except (ValueError, OverflowError) as error:
        found.bad(f"task {task}: {str(error)[:80]}", line)
        return
    start, end, submitted, ready, popped = times
    rank = _rank(fields)
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
        wrong = found.accesses(
            handles, fields.get("Modes", "").split(), fields.get("Sizes", "").split()
        )
        if wrong:
            found.bad(f"task {task}: {wrong}", line)


def _before(fields: dict[str, str]) -> str:
    """Return the ids of the tasks that one depends on."""
    ids = fields.get("DependsOn", "")
    return ids if "_" not in ids else " ".join(map(job_id, ids.split()))


LONGEST_MS: Final = 1e12
"""Beyond three decades the nanoseconds are below what a float of seconds can say anyway."""


def nanoseconds(milliseconds: float) -> float:
    """Return seconds, to the nanosecond that clocks have: files have decimal milliseconds."""
    if abs(milliseconds) < LONGEST_MS:
        return round(milliseconds * 1e6) / 1e9
    return milliseconds / 1e3


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
    """Return what tells configurations of a kernel apart: StarPU's footprint, as a number."""
    found: dict[str, float] = {}
    footprint = fields.get("Footprint")
    if footprint:
        found["footprint"] = float(int(footprint, 16))
    if fields.get("GFlop"):
        found["flop"] = float(fields["GFlop"]) * 1e9
    if not all(math.isfinite(value) and value >= 0 for value in found.values()):
        raise ValueError("its footprint or flop is no finite number from 0")
    iteration = fields.get("Iteration", "").split()
    if iteration and int(iteration[0]) >= 0:
        found["iteration"] = float(int(iteration[0]))
    return found


def _add_beside(found: Records) -> None:
    """Add what the files beside the trace say: ``data.rec``, ``sched_tasks.rec``, ``comms.rec``."""
    from tasksim.formats.traces.comms_rec import add_messages
    from tasksim.formats.traces.sched_rec import add_scheduling

    names = {what: found.path.name.replace("tasks", what) for what in ("data", "sched_tasks")}
    beside = {what: found.path.with_name(name) for what, name in names.items()}
    if "tasks" not in found.path.name:  # then no name tells which files belong to it
        found.note(NO_HOMES)
        return
    if beside["data"].is_file():
        _add_homes(found, beside["data"])
    else:
        found.note(NO_HOMES)
    if beside["sched_tasks"].is_file():
        add_scheduling(found, beside["sched_tasks"])
    messages = found.path.with_name(found.path.name.replace("tasks", "comms"))
    if messages.is_file():
        add_messages(found, messages)


NO_HOMES: Final = "no data.rec: that all data are at home in the first memory is assumed"


def _add_homes(found: Records, path: Path) -> None:
    """Read where data are at home from ``data.rec``."""
    for _, fields in records(path):
        rank, home = _rank(fields), fields.get("HomeNode", "")
        if home.isdecimal():
            handle = fields.get("Handle", "")
            if rank:
                found.home_memory[f"{rank}_{handle}"] = node_memory(int(rank))
            else:
                found.home[handle] = int(home)


def _name_workers(found: Records) -> None:
    """Give names to workers that are numbers: by the memory that they work on.

    Those of a node have that before them, as on platforms of several; its memory is one.
    """
    if not any(worker.rpartition("/")[2].isdecimal() for worker in {*found.worker}):
        return
    found.note(
        "tasks.rec does not say what its workers are: those of memory node 0 are called cpu, those "
        "of others gpu"
    )
    names = {}
    for worker in {*found.worker} - {""}:
        rank, slash, number = worker.rpartition("/")
        kind = "cpu" if found.memory_of.get(worker, "0") == "0" else "gpu"
        names[worker] = f"{rank}{slash}{kind}{number}"
    found.worker = [names.get(worker, "") for worker in found.worker]
    found.node_of = {
        name: int(worker.partition("/")[0].removeprefix("node"))
        for worker, name in names.items()
        if "/" in worker
    }
    known = found.memory_of.items()
    found.memory_of = {names[worker]: node for worker, node in known if worker in names}
    if found.node_of:
        found.memory_of = {name: node_memory(node) for name, node in found.node_of.items()}


def _is_tasks_rec(path: Path, head: bytes) -> bool:
    if not head:
        return (path / FILE).is_file()
    text = head_text(head)
    fields = ("Name:", "Model:", "JobId:", "SubmitOrder:", "Control:", "File:")
    return text.lstrip().startswith(fields) and "JobId:" in text


def _read_run(path: Path) -> Run:
    return read_tasks_rec(path).run


def _read_trace(path: Path, skip_bad: bool) -> RecordedTrace:
    return read_tasks_rec(path, skip_bad=skip_bad)


def _write_run(run: Run, path: Path, force: bool) -> None:
    from tasksim.formats.traces.recutils_writer import write_tasks_rec

    write_tasks_rec(run, path, force)


TASKS_REC = Format(
    summary="StarPU's tasks.rec, with data.rec, sched_tasks.rec and comms.rec beside it.",
    suffixes=(".rec",),
    recognises=_is_tasks_rec,
    reads_run=_read_run,
    reads_trace=_read_trace,
    writes_run=_write_run,
)
