"""Tables of copies in CSV, beside the tables of tasks that they belong to."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError
from tasksim.base.files import write_text
from tasksim.formats.traces.records import LARGEST_SIZE, REASONS, CopyRecords
from tasksim.formats.traces.textlines import csv_rows

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.traces.records import Records
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["add_copies", "copies_beside", "write_copies"]

COLUMNS: Final = (
    "datum", "home", "source", "target", "size_bytes", "requested_s", "start_s", "end_s", "reason",
    "task",
)  # fmt: skip
"""Columns of a copy; memories are names, and ``task`` is empty if no task needed the copy."""
SUFFIX: Final = ".copies.csv"


def copies_beside(path: Path) -> Path:
    """Return where the copies are of the tasks in *path*: ``run.copies.csv`` of ``run.csv.gz``."""
    name = path.name.removesuffix(".gz").removesuffix(".csv")
    return path.with_name(name + SUFFIX)


def add_copies(found: Records, path: Path) -> None:
    """Add the copies in the file at *path* to *found*."""
    rows = csv_rows(path)
    header = next(rows, (1, []))[1]
    if tuple(header) != COLUMNS:
        raise InputError(f"{path}:1: got columns {', '.join(header)}; legal: {', '.join(COLUMNS)}")
    found.copies = copies = CopyRecords()
    for line, fields in rows:
        if len(fields) != len(COLUMNS):
            found.bad(f"got {len(fields)} fields; legal: {len(COLUMNS)}", line, path)
            continue
        wrong = _add(found, copies, dict(zip(COLUMNS, fields, strict=True)))
        if wrong:
            found.bad(wrong, line, path)
    # The first memory is where data are at home.
    found.memories = tuple(dict.fromkeys(found.home_memory.values()))


def _add(found: Records, copies: CopyRecords, row: dict[str, str]) -> str:
    """Add one copy; return what is wrong with it, if anything."""
    try:
        size = int(row["size_bytes"])
        times = float(row["requested_s"]), float(row["start_s"]), float(row["end_s"])
    except ValueError:
        return "a size or a time is no number; legal: bytes, seconds"
    if not all(math.isfinite(time) for time in times) or not 0 <= times[0] <= times[1] <= times[2]:
        return "requested, start and end are no times in this order"
    if not 0 <= size < LARGEST_SIZE:
        return f"size_bytes: got {size}; legal: bytes"
    if row["reason"] not in REASONS:
        return f"reason: got '{row['reason'][:40]}'; legal: {', '.join(REASONS)}"
    if row["source"] == row["target"]:
        return f"a copy from {row['source'][:40]} to itself"
    if row["task"] and row["task"] not in found.number:
        return f"task: got '{row['task'][:40]}', which is not there"
    found.home_memory.setdefault(row["datum"], row["home"])
    copies.add(
        row["datum"], (row["source"], row["target"]), size, times, REASONS[row["reason"]],
        row["task"],
    )  # fmt: skip
    return ""


def write_copies(run: Run, graph: TaskGraph | None, path: Path, *, force: bool) -> None:
    """Write the copies of *run*, of *graph* if that is there, to a CSV file."""
    copies, names = run.transfers, [memory.name for memory in run.memories]
    assert copies is not None  # who asks has looked
    home = {} if graph is None else dict(enumerate(graph.handle_home.tolist()))
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    words = list(REASONS)
    for handle, source, target, size, requested, start, end, reason, task in zip(
        *(getattr(copies, column).tolist() for column in copies.dtypes), strict=True
    ):
        writer.writerow(
            (
                handle, names[home.get(handle, 0)], names[source], names[target], size,
                repr(requested), repr(start), repr(end), words[reason], task if task >= 0 else "",
            )
        )  # fmt: skip
    write_text(path, out.getvalue(), force=force)
