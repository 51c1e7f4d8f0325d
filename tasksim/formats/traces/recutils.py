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

__all__ = ["TASKS_REC", "add_record", "nanoseconds", "read_tasks_rec", "records"]

FILE: Final = "tasks.rec"


def records(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the records of a recutils file: the line where each begins, and its fields.

    A field that begins with ``+`` goes on with the value before; ``#`` begins a comment, ``%`` what
    describes the records.
    """
    found: dict[str, str] = {}
    first, last = 0, ""
    for number, line in lines(path):
        if not line.strip():
            if found:
                yield first, found
            found = {}
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
    from tasksim.formats.traces.recorded_trace import assembled

    path = path / FILE if path.is_dir() else path
    found = Records(path, skip_bad=skip_bad)
    found.name = path.resolve().parent.name if path.name == FILE else found.name
    named = _own_names(path)
    for line, fields in records(path):
        if "Control" not in fields:
            add_record(found, fields, line)
    _homes(found, path.with_name(path.name.replace("tasks", "data")))
    if named:
        _take_names(found, named)
    elif any(name.isdigit() for name in set(found.worker)):
        _name_workers(found)
    return assembled(found)


def add_record(found: Records, fields: dict[str, str], line: int, worker: str = "") -> None:
    """Add a task of such *fields*, times in milliseconds; *worker* is its name, if it is known."""
    task = fields.get("JobId", "")
    if not task:
        found.bad("a task without JobId", line)
        return
    try:
        times = [_time(fields, name) for name in ("StartTime", "EndTime", "SubmitTime")]
        order = float(fields.get("SubmitOrder") or "nan")
        priority = int(fields.get("Priority") or 0)
        parameters = _parameters(fields)
    except (ValueError, OverflowError) as error:
        found.bad(f"task {task}: {str(error)[:80]}", line)
        return
    start, end, submitted = times
    where = worker or fields.get("WorkerId", "")
    if where and fields.get("MemoryNode"):
        found.memory_of.setdefault(where, fields["MemoryNode"])
    kernel = fields.get("Name") or fields.get("Model") or "unnamed"
    if not found.add(
        task, kernel, where, start, end, line=line, submitted_s=submitted, order=order,
        priority=priority, before=fields.get("DependsOn", ""), parameters=parameters,
    ):  # fmt: skip
        return
    if fields.get("Handles") and where:
        wrong = found.accesses(
            fields["Handles"].split(), fields.get("Modes", "").split(),
            fields.get("Sizes", "").split(),
        )  # fmt: skip
        if wrong:
            found.bad(f"task {task}: {wrong}", line)


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


def _homes(found: Records, path: Path) -> None:
    """Read where data are at home from ``data.rec``, if it is there."""
    if not path.is_file() or path == found.path:
        found.note("no data.rec: that all data are at home in the first memory is assumed")
        return
    for _, fields in records(path):
        if fields.get("HomeNode", "").isdigit():
            found.home[fields.get("Handle", "")] = int(fields["HomeNode"])


def _own_names(path: Path) -> dict[str, tuple[str, str]]:
    """Return the names of the workers, by number, and their architectures, where tasksim wrote."""
    found = {}
    for _, line in lines(path):
        words = line.split(maxsplit=4)
        if words[:2] != ["#", "worker"] or len(words) < 5:
            break
        found[words[2]] = (words[4], words[3])
    return found


def _take_names(found: Records, named: dict[str, tuple[str, str]]) -> None:
    found.worker = [named.get(worker, (worker, ""))[0] for worker in found.worker]
    found.architectures = dict(named.values())
    found.memory_of = {
        named.get(worker, (worker, ""))[0]: memory for worker, memory in found.memory_of.items()
    }


def _name_workers(found: Records) -> None:
    """Give names to workers that are numbers: by the memory that they work on."""
    found.note(
        "tasks.rec does not say what its workers are: those of memory node 0 are called cpu, those "
        "of others gpu"
    )
    names = {
        worker: ("cpu" if found.memory_of.get(worker, "0") == "0" else "gpu") + worker
        for worker in {*found.worker} - {""}
    }
    found.worker = [names.get(worker, "") for worker in found.worker]
    known = found.memory_of.items()
    found.memory_of = {names[worker]: node for worker, node in known if worker in names}


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
    summary="Tasks as StarPU's trace tool writes them: tasks.rec, with data.rec beside it.",
    suffixes=(".rec",),
    recognises=_is_tasks_rec,
    reads_run=_read_run,
    reads_trace=_read_trace,
    writes_run=_write_run,
)
