"""CSV of pj_dump: what PajeNG prints of a Paje trace, as StarPU and tasksim write them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.formats.registry import Format
from tasksim.formats.traces.records import Records
from tasksim.formats.traces.recutils import add_record, nanoseconds
from tasksim.formats.traces.textlines import csv_rows, head_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace
    from tasksim.run.record import Run

__all__ = ["EXTRA", "LINK_KEY", "PJ_DUMP", "add_states", "read_pj_dump"]

STATE: Final = (
    "Nature", "ResourceId", "Type", "Start", "End", "Duration", "Depth", "Value",
)  # fmt: skip
NEEDED: Final = ("ResourceId", "Type", "Start", "End", "Value")
EXTRA: Final = (
    "Size", "Params", "Footprint", "Tag", "JobId", "SubmitOrder", "Priority", "GFlop", "X", "Y",
    "Iteration", "Subiteration", "NumaNodes", "SubmitTime", "Scheduling",
)  # fmt: skip
"""Further fields of a task's state, in StarPU's order; the last two are tasksim's. pj_dump accepts
no more fields, so the last one holds several values."""
SCHEDULING: Final = ("ReadyTime", "PopTime", "DependsOn")
"""Values of the last field, separated by semicolons; plus signs separate ids, and -1 means none."""
NO_TASKS: Final = frozenset(
    (
        "Idle", "Overhead", "Scheduling", "Sleeping", "Progressing", "FetchingInput",
        "PushingOutput", "Callback", "Initializing", "Deinitializing", "Submitting task",
        "Fetching input", "Pushing output", "Unpartitioning", "Blocked", "Barrier",
    )
)  # fmt: skip
"""States of workers other than tasks, by StarPU's names."""
NATURES: Final = ("Container", "State", "Variable", "Link", "Event")
LINK_KEY: Final = re.compile(
    r"c\d+_h(\d{1,9})_b(\d{1,18})_t(-?\d{1,9})_q(\d{1,18})_r([0-3])_m(\d{1,4})_m(\d{1,4})"
)
"""The key of a copy's arrow, where tasksim wrote it: its datum, bytes, task, nanosecond of its
request, reason, memories."""
MISSING: Final = ("", "0", "-1", "X", "x", "NA")


def read_pj_dump(path: Path, *, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in the output of ``pj_dump``, times in milliseconds as StarPU writes them.

    Parameters
    ----------
    path : Path
        The CSV file, maybe compressed.
    skip_bad : bool, default False
        Whether rows that are wrong are passed over, and counted.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    found = Records(path, skip_bad=skip_bad)
    found.note("times of Paje are taken for milliseconds, as StarPU writes them")
    add_states(found, path)
    _add_links(found, path)
    return assembled(found)


def add_states(found: Records, path: Path) -> None:
    """Add the tasks among the states of workers: those with a JobId; if none has, all states."""
    for line, row in _states(found, path):
        if row.get("JobId", "0") not in MISSING or row.get("SubmitOrder", "0") not in MISSING:
            add_record(found, _fields(row), line, row["ResourceId"])
    if len(found):
        return
    found.note("no state has a JobId: every state that is none of StarPU's own counts as a task")
    for line, row in _states(found, path):
        if row["Value"] not in NO_TASKS and not row["Type"].startswith("Memory"):
            fields = {**_fields(row), "JobId": str(len(found))}
            add_record(found, fields, line, row["ResourceId"])


def _states(found: Records, path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows about states, by the names of their columns."""
    names: tuple[str, ...] = (*STATE, *EXTRA)
    for line, fields in csv_rows(path):
        if fields[0] == "Nature":
            names = tuple(fields)
            missing = [name for name in NEEDED if name not in names]
            if missing:
                raise InputError(f"{path}:{line}: no column '{missing[0]}' among the names")
        elif fields[0] == "State":
            if len(fields) < len(STATE):
                found.bad(f"a state of {len(fields)} fields; legal: {len(STATE)} or more", line)
                continue
            row = dict(zip(names, fields, strict=False))
            if all(name in row for name in NEEDED):
                yield line, row
            else:
                found.bad(f"a state of {len(fields)} fields, without {', '.join(NEEDED)}", line)
        elif fields[0] not in NATURES:
            legal = ", ".join(NATURES)
            found.bad(f"got '{fields[0][:40]}' at the beginning; legal: {legal}", line)


def _fields(row: dict[str, str]) -> dict[str, str]:
    """Return a state as the fields of a record of a task."""
    known = {
        "Name": row["Value"], "JobId": row.get("JobId", ""), "StartTime": row["Start"],
        "EndTime": row["End"],
    }  # fmt: skip
    for name in ("SubmitOrder", "Priority", "SubmitTime"):
        if row.get(name, "") not in ("", "NA"):
            known[name] = row[name]
    for name, value in zip(SCHEDULING, row.get("Scheduling", "").split(";"), strict=False):
        if value not in ("", "-1"):
            known[name] = value.replace("+", " ") if name == "DependsOn" else value
    for name in ("Footprint", "GFlop", "Iteration"):
        if row.get(name, "") not in MISSING:
            known[name] = row[name]
    return known


def _add_links(found: Records, path: Path) -> None:
    """Add the copies between memories, where tasksim wrote the trace."""
    from tasksim.run.recordtables import TransferTable

    rows: list[tuple[float, ...]] = []
    nodes: list[str] = []
    thread: dict[str, str] = {}
    place: dict[str, int] = {}
    for line, fields in csv_rows(path):
        if fields[0] == "Container" and len(fields) > 3:
            _container(found, fields, nodes, thread)
        key = LINK_KEY.fullmatch(fields[9]) if fields[0] == "Link" and len(fields) > 9 else None
        if key is not None:
            try:
                start, end = nanoseconds(float(fields[3])), nanoseconds(float(fields[4]))
            except ValueError:
                found.bad(f"a link from '{fields[3][:20]}' to '{fields[4][:20]}'", line)
                continue
            numbers = tuple(map(int, key.groups()))
            place |= {fields[7]: numbers[5], fields[8]: numbers[6]}
            rows.append((*numbers, start, end))
    if len(nodes) < 2:
        found.memory_of.clear()
        return
    found.memories = _in_order(nodes, place)
    columns = zip(*rows, strict=True) if rows else ((),) * 9
    handle, size, task, requested, reason, source, target, start_s, end_s = columns
    found.transfers = TransferTable(
        handle=np.array(handle, dtype=np.int32),
        source=np.array(source, dtype=np.int16),
        target=np.array(target, dtype=np.int16),
        size_bytes=np.array(size, dtype=np.int64),
        requested_s=np.array(requested, dtype=np.float64) / 1e9,
        start_s=np.array(start_s, dtype=np.float64),
        end_s=np.array(end_s, dtype=np.float64),
        reason=np.array(reason, dtype=np.int8),
        task=np.array(task, dtype=np.int32),
    )


def _container(found: Records, fields: list[str], nodes: list[str], thread: dict[str, str]) -> None:
    """Note a memory node, or which one a worker's thread works on."""
    kind, parent, name = fields[2:3], fields[1], fields[-1]
    if kind == ["Memory Node"]:
        nodes.append(name)
    elif kind == ["Thread"]:
        thread[name] = parent
        architecture, of, worker = name.partition(" thread of ")
        if of:
            found.architectures[worker] = architecture
    elif kind == ["Worker"]:
        found.memory_of[name] = thread.get(parent, parent)


def _in_order(nodes: list[str], place: dict[str, int]) -> tuple[str, ...]:
    """Return the memories by their numbers, as far as copies have these; pj_dump sorts them."""
    count = max(len(nodes), 1 + max(place.values(), default=0))
    taken = {number: name for name, number in place.items()}
    others = iter(name for name in nodes if name not in taken.values())
    return tuple(taken.get(at) or next(others, f"memory{at}") for at in range(count))


def _is_pj_dump(path: Path, head: bytes) -> bool:  # noqa: ARG001
    first = head_text(head).partition(",")[0].strip() if head else ""
    return first in (*NATURES, "Nature")


def _read_run(path: Path) -> Run:
    return read_pj_dump(path).run


def _read_trace(path: Path, skip_bad: bool) -> RecordedTrace:
    return read_pj_dump(path, skip_bad=skip_bad)


PJ_DUMP = Format(
    summary="What pj_dump prints of a Paje trace: rows of containers, states, variables, links.",
    recognises=_is_pj_dump,
    reads_run=_read_run,
    reads_trace=_read_trace,
)
