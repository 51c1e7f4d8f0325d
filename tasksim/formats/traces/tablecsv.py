"""Tables of tasks in CSV, with task, kernel, worker, start, end, and further columns.

Copies between memories are in a second table beside it.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError
from tasksim.base.files import refuse_existing, write_text
from tasksim.base.progress import FORMATTED_SHARE, watched
from tasksim.base.units import counted
from tasksim.formats.registry import Format
from tasksim.formats.samples.columns import DURATION_UNITS, name_and_unit
from tasksim.formats.traces.records import LARGEST_SIZE, REASON_OF_NAME, CopyRecords, Records
from tasksim.formats.traces.textlines import (
    FIELD_SEPARATORS,
    csv_rows,
    csv_table,
    head_text,
    separator_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = [
    "TASK_TABLE",
    "add_copies",
    "copies_beside",
    "read_task_table",
    "write_copies",
    "write_task_table",
]

TIME_COLUMNS: Final = ("start", "end", "submitted", "ready", "popped", "duration")
KNOWN_COLUMNS: Final = ("task", "kernel", "worker", "architecture", "priority", "depends", "memory")
WRITTEN_COLUMNS: Final = (
    "task", "kernel", "worker", "architecture", "memory", "priority", "submitted_s", "ready_s",
    "popped_s", "start_s", "end_s", "depends",
)  # fmt: skip
"""Columns that are written, followed by one per parameter."""
SLURM_COLUMNS: Final = {"jobid": "task", "jobname": "kernel", "submit": "submitted"}
"""Columns of Slurm's ``sacct -P``, in small letters -> columns here."""
NSYS_COLUMNS: Final = {"name": "kernel", "strm": "worker", "corrid": ""}
"""Columns of ``nsys stats --report cuda_gpu_trace`` -> columns here, or "" for one that is left
out: a correlation is no parameter, as it numbers launches."""
ROCPROF_COLUMNS: Final = {
    "kernel_name": "kernel", "queue_id": "worker", "start_timestamp": "start_ns",
    "end_timestamp": "end_ns", "correlation_id": "", "dispatch_id": "", "kernel_id": "",
    "thread_id": "",
}  # fmt: skip
"""Columns of the kernel trace of ``rocprofv3`` -> columns here, or ""."""
DIALECTS: Final = {
    "jobid": (SLURM_COLUMNS, ""),
    "strm": (NSYS_COLUMNS, "stream "),
    "kernel_name": (ROCPROF_COLUMNS, "queue "),
}
"""Column, in small letters, that only one tool writes -> the columns of its tables, and the
beginning of the names of its workers."""
DEVICE_COLUMNS: Final = ("Device", "Agent_Id")
"""Columns that name the device of a stream or queue."""
OVERLAP_SLACK_S: Final = 1.5e-9
"""Overlap of two kernels of a stream, in seconds, that may be rounding: times are nanoseconds."""
BRACKETED: Final = re.compile(r"(.+?)\s*[\[(](.*)[\])]")
"""Heading with brackets at its end, which hold a unit."""


def read_task_table(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in a table of tasks.

    Parameters
    ----------
    path : Path
        CSV with a header, separated by commas, semicolons, tabs or bars. ``start`` and ``end``, or
        ``duration`` instead of one of them, are required, in s, ms, us or ns as the name says
        (``start_ms``, ``Start [ms]``); the default is seconds, or ISO dates and times. All other
        columns are optional: ``task`` (a name or number), ``kernel``, ``worker``,
        ``architecture``, ``memory``, ``priority``, ``submitted``, ``ready``, ``popped``,
        ``depends`` (tasks separated by spaces). Any further numeric column is a parameter. Copies
        come from ``run.copies.csv`` beside ``run.csv``.
    skip_bad : bool, default False
        Whether malformed rows are skipped and counted.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    found = Records(path, skip_bad=skip_bad)
    header, rows = csv_table(path, FIELD_SEPARATORS)
    mark = _mark_of(header)
    prefix = DIALECTS[mark][1] if mark else ""
    header = _words(header)
    named = [name for name in header if name]
    if len(set(named)) < len(named):
        raise InputError(f"{path}:1: a column occurs twice: {', '.join(header)}")
    times = _Times(path, header)
    others = [name for name in header if name not in (*KNOWN_COLUMNS, *times.columns)]
    unnamed = [name for name in others if name and not name.isidentifier()]
    others = [name for name in others if name.isidentifier()]
    lost: Counter[str] = Counter()
    steps = 0
    for line, fields in rows:
        if len(fields) != len(header):
            found.bad(
                f"got {counted(len(fields), 'field')}; legal: {len(header)}, as in the header", line
            )
            continue
        row = dict(zip(header, fields, strict=True))
        if mark == "jobid" and "." in row["task"]:
            steps += 1
            continue
        if prefix:
            device = next((row[name] for name in DEVICE_COLUMNS if row.get(name)), "")
            row["worker"] = f"{device and device + '/'}{prefix}{row['worker'] or 'none'}"
        _add(found, row, times, others, line, lost)
    if steps:
        found.note(f"{counted(steps, 'step')} of jobs, such as 7.batch, counted with their jobs")
    if "worker" not in header:
        found.spread_over_workers()
    elif prefix:
        found.chain_by_worker("a stream or queue")
        found.spread_overlaps(OVERLAP_SLACK_S)
    if "kernel" not in header:
        found.note("the table has no kernel of each task: the same one for all is assumed")
    for name in unnamed:
        found.note(f"column '{name}' is not a parameter: its name is not of letters, digits and _")
    for name, count in lost.items():
        found.note(
            f"column {name} is not a parameter in {count} rows: it has no number from 0 there"
        )
    if copies_beside(path).is_file():
        add_copies(found, copies_beside(path))
    return assembled(found)


def _mark_of(header: list[str]) -> str | None:
    """Return the key of :data:`DIALECTS` that is a column of the table, if there is one."""
    names = {name.lower() for name in header}
    return next((mark for mark in DIALECTS if mark in names), None)


def _words(header: list[str]) -> list[str]:
    """Return a header with the names of columns here, of a table of this kind or of another tool.

    Columns that are left out have the name "".
    """
    mark = _mark_of(header)
    known = {name: name for name in KNOWN_COLUMNS} | (DIALECTS[mark][0] if mark else {})
    return [known.get(name.lower(), name) for name in header]


class _Times:
    """Times of a table: numbers in the units of their columns, or dates, but not both.

    Attributes
    ----------
    columns : dict
        Heading -> the time in its column, and the unit; None if the heading has none.

    Raises
    ------
    InputError
        If a column is missing or occurs twice, or its unit is unknown.
    """

    def __init__(self, path: Path, header: list[str]) -> None:
        self.columns = {each: time for each in header if (time := _time_of(each)) is not None}
        self._first: datetime | None = None
        self._are_numbers = False
        for heading, (_, unit) in self.columns.items():
            bracketed = BRACKETED.fullmatch(heading)
            if unit is None and bracketed is not None:
                raise InputError(
                    f"{path}:1: {heading}: got the unit '{bracketed[2]}'; legal: "
                    f"{', '.join(DURATION_UNITS)}"
                )
        names = [name for name, _ in self.columns.values()]
        if len(set(names)) < len(names):
            raise InputError(f"{path}:1: a time occurs in two units: {', '.join(self.columns)}")
        if len({"start", "end", "duration"} & set(names)) < 2:
            raise InputError(
                f"{path}:1: got columns {', '.join(header)}; legal: start and end (or duration), "
                "with a unit: start_s, start_ms, start_us, start_ns"
            )
        self._with_unit = [heading for heading, (_, unit) in self.columns.items() if unit]

    @property
    def are_dates(self) -> bool:
        """Whether the times are seconds since a date, before which others may be."""
        return self._first is not None

    def read(self, row: dict[str, str]) -> dict[str, float]:
        """Return the times of a row in seconds, NaN where a cell is empty.

        Raises
        ------
        ValueError
            If a cell is not a time, or it is not clear which one.
        """
        return {
            name: self._seconds(heading, row[heading]) if row[heading] else math.nan
            for heading, (name, _) in self.columns.items()
        }

    def _seconds(self, heading: str, text: str) -> float:
        name, unit = self.columns[heading]
        try:
            value = float(text) / DURATION_UNITS[unit or "s"]
        except ValueError:
            if unit is None and name != "duration":
                return self._since_first(heading, text)
            raise ValueError(f"{heading}: got '{text[:40]}'; legal: a number") from None
        if unit is None and self._with_unit:
            raise ValueError(
                f"{heading}: got '{text[:40]}' without a unit, but {self._with_unit[0]} has one; "
                f"legal: a unit in each heading, such as {heading}_s"
            )
        if name != "duration":
            self._are_numbers = True
            if self._first is not None:
                raise ValueError(f"{heading}: got '{text[:40]}'; legal: a date, as above")
        return value

    def _since_first(self, heading: str, text: str) -> float:
        """Return the seconds since the first date of the table, so that microseconds stay exact."""
        try:
            date = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(
                f"{heading}: got '{text[:40]}'; legal: a number, or a date such as "
                "2026-01-31T12:00:00.5"
            ) from None
        self._first = self._first or date
        if self._are_numbers:
            raise ValueError(f"{heading}: got '{text[:40]}'; legal: a number, as above")
        if (date.tzinfo is None) != (self._first.tzinfo is None):
            raise ValueError(f"{heading}: got '{text[:40]}'; legal: all dates with a zone, or none")
        return (date - self._first).total_seconds()


def _time_of(heading: str) -> tuple[str, str | None] | None:
    """Return the time that a *heading* names, and its unit if it has one; None if it names none."""
    name, unit = name_and_unit(heading)
    bracketed = BRACKETED.fullmatch(heading)
    if unit is None and bracketed is not None:
        name = bracketed[1]
    return (name.lower(), unit) if name.lower() in TIME_COLUMNS else None


def _add(
    found: Records,
    row: dict[str, str],
    times: _Times,
    others: list[str],
    line: int,
    lost: Counter[str],
) -> None:
    try:
        at = times.read(row)
    except ValueError as error:
        found.bad(str(error), line)
        return
    if "start" not in at:
        at["start"] = at["end"] - at["duration"]
    if "end" not in at:
        at["end"] = at["start"] + at["duration"]
    if not times.are_dates and any(time < 0 for time in at.values()):
        found.bad("a time is negative", line)
        return
    try:
        priority = int(row.get("priority") or 0)
    except ValueError:
        found.bad(f"priority: got '{row['priority'][:40]}'; legal: a whole number", line)
        return
    worker = row.get("worker", "worker")
    if worker and row.get("architecture"):
        found.architectures[worker] = row["architecture"]
    if worker and row.get("memory"):
        found.memory_of[worker] = row["memory"]
    parameters = _values(row, others)
    lost.update(name for name in others if row[name] and name not in parameters)
    found.add(
        row.get("task") or str(len(found)), row.get("kernel") or "task", worker, at["start"],
        at["end"], line=line, order=_whole(row.get("task", "")), priority=priority,
        submitted_s=at.get("submitted", math.nan), ready_s=at.get("ready", math.nan),
        popped_s=at.get("popped", math.nan), before=row.get("depends", ""),
        parameters=parameters,
    )  # fmt: skip


def _whole(text: str) -> float:
    """Return the number of a task, which it keeps; NaN for a name."""
    return float(text) if text.isdecimal() and len(text) < 16 else math.nan


def _values(row: dict[str, str], names: list[str]) -> dict[str, float | str]:
    """Return the columns that can be parameters: finite numbers from 0, or names."""
    found: dict[str, float | str] = {}
    for name in names:
        try:
            value = float(row[name])
        except ValueError:
            if row[name].strip():
                found[name] = row[name].strip()
            continue
        if math.isfinite(value) and value >= 0:
            found[name] = value
    return found


def write_task_table(run: Run, path: Path, force: bool = False) -> None:
    """Write the tasks of *run* to a CSV file, in task order, with dependencies if it has a graph.

    Copies between memories, if there are any, go to a second file, ``run.copies.csv``.

    Parameters
    ----------
    run : Run
    path : Path
        A ``.csv`` file.
    force : bool, default False
        Whether to replace an existing file.
    """
    from tasksim.formats.graphs import graph_if_any, predecessors

    refuse_existing(path, force=force)
    beside = copies_beside(path)
    refuse_existing(beside, force=force)
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    graph = graph_if_any(run)
    before = predecessors(graph)
    names = [] if graph is None else _parameters(graph)
    header = [name for name in WRITTEN_COLUMNS if graph is not None or name != "depends"]
    writer.writerow([*header, *names])
    memories = [memory.name for memory in run.memories] or [""]
    workers = [(it.name, it.architecture, memories[it.memory]) for it in run.workers]
    tasks, kernels = run.tasks, run.kernel_names
    columns = zip(
        tasks.task.tolist(), tasks.kernel.tolist(), tasks.worker.tolist(), tasks.priority.tolist(),
        tasks.submitted_s.tolist(), tasks.ready_s.tolist(), tasks.popped_s.tolist(),
        tasks.start_s.tolist(), tasks.end_s.tolist(), strict=True,
    )  # fmt: skip
    seen = watched(columns, "tasks", total=len(tasks), until=FORMATTED_SHARE)
    for task, kernel, worker, priority, *times in seen:
        row = [task, kernels[kernel], *workers[worker], priority]
        row += ["" if math.isnan(time) else time for time in times]
        if graph is not None:
            row.append(" ".join(map(str, before(task))))
        if graph is not None and names:
            known = graph.parameters_of(task)
            row += [known.get(name, "") for name in names]
        writer.writerow(row)
    write_text(path, out.getvalue(), force=force)
    if run.transfers is not None:
        write_copies(run, graph, beside, force=force)
    else:
        beside.unlink(missing_ok=True)  # left from another run


def _parameters(graph: TaskGraph) -> list[str]:
    """Return the names of all parameters without a column."""
    names = dict.fromkeys(name for these in graph.parameter_names for name in these)
    return [name for name in names if name.lower() not in KNOWN_COLUMNS and _time_of(name) is None]


COPY_COLUMNS: Final = (
    "datum", "home", "source", "target", "size_bytes", "requested_s", "start_s", "end_s", "reason",
    "task",
)  # fmt: skip
"""Columns of a copy; memories are names, and ``task`` is empty if no task needed the copy."""
COPIES_SUFFIX: Final = ".copies.csv"


def copies_beside(path: Path) -> Path:
    """Return the file of the copies beside *path*: ``run.copies.csv`` for ``run.csv.gz``."""
    name = path.name.removesuffix(".gz").removesuffix(".csv")
    return path.with_name(name + COPIES_SUFFIX)


def add_copies(found: Records, path: Path) -> None:
    """Add the copies in the file at *path* to *found*."""
    rows = csv_rows(path)
    header = next(rows, (1, []))[1]
    if tuple(header) != COPY_COLUMNS:
        raise InputError(
            f"{path}:1: got columns {', '.join(header)}; legal: {', '.join(COPY_COLUMNS)}"
        )
    found.copies = copies = CopyRecords()
    for line, fields in rows:
        if len(fields) != len(COPY_COLUMNS):
            found.bad(
                f"got {counted(len(fields), 'field')}; legal: {len(COPY_COLUMNS)}", line, path
            )
            continue
        wrong = _add_copy(found, copies, dict(zip(COPY_COLUMNS, fields, strict=True)))
        if wrong:
            found.bad(wrong, line, path)
    # The first memory is the default home of data.
    found.memories = tuple(dict.fromkeys(found.home_memory.values()))


def _add_copy(found: Records, copies: CopyRecords, row: dict[str, str]) -> str:
    """Add one copy; return a problem, if there is one."""
    try:
        size = int(row["size_bytes"])
        times = float(row["requested_s"]), float(row["start_s"]), float(row["end_s"])
    except ValueError:
        return "a size or a time is not a number; legal: bytes, seconds"
    if not all(math.isfinite(time) for time in times) or not 0 <= times[0] <= times[1] <= times[2]:
        return "requested, start and end are not times in this order"
    if not 0 <= size < LARGEST_SIZE:
        return f"size_bytes: got {size}; legal: bytes"
    if row["reason"] not in REASON_OF_NAME:
        return f"reason: got '{row['reason'][:40]}'; legal: {', '.join(REASON_OF_NAME)}"
    if row["source"] == row["target"]:
        return f"a copy from {row['source'][:40]} to itself"
    if row["task"] and row["task"] not in found.number:
        return f"task: got '{row['task'][:40]}', which is not there"
    found.home_memory.setdefault(row["datum"], row["home"])
    copies.add(
        row["datum"], (row["source"], row["target"]), size, times, REASON_OF_NAME[row["reason"]],
        row["task"],
    )  # fmt: skip
    return ""


def write_copies(run: Run, graph: TaskGraph | None, path: Path, *, force: bool) -> None:
    """Write the copies of *run*, named by *graph* if there is one, to a CSV file."""
    copies, names = run.transfers, [memory.name for memory in run.memories]
    assert copies is not None  # callers check that there are copies
    home = {} if graph is None else dict(enumerate(graph.handle_home.tolist()))
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COPY_COLUMNS)
    words = list(REASON_OF_NAME)
    for handle, source, target, size, requested, start, end, reason, task in zip(
        *(getattr(copies, column).tolist() for column in copies.dtypes), strict=True
    ):
        names_of = names[home.get(handle, 0)], names[source], names[target]
        made_for = task if task >= 0 else ""
        writer.writerow((handle, *names_of, size, requested, start, end, words[reason], made_for))
    write_text(path, out.getvalue(), force=force)


def _is_task_table(path: Path, head: bytes) -> bool:  # noqa: ARG001
    if not head:
        return False
    first = head_text(head).partition("\n")[0]
    header = _words([name.strip() for name in first.split(separator_of(first))])
    times = {time[0] for time in map(_time_of, header) if time is not None}
    names = {name.lower() for name in header}
    return bool({"start", "end"} & times) and bool({"task", "kernel", "worker"} & names)


TASK_TABLE = Format(
    summary="A table of tasks: kernel, worker, start, end, and further columns.",
    suffixes=(".csv",),
    recognises=_is_task_table,
    reads_trace=read_task_table,
    writes_run=write_task_table,
)
