"""Logs of programs that run jobs: GNU parallel, ninja, Nextflow.

They say when each job began and ended, not on which core, nor what it waited for.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError
from tasksim.base.units import counted
from tasksim.formats.registry import Format
from tasksim.formats.traces.records import Records
from tasksim.formats.traces.textlines import head_text, lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace

__all__ = ["JOBLOG", "NEXTFLOW", "NINJA", "read_joblog", "read_nextflow", "read_ninja_log"]

JOBLOG_COLUMNS: Final = (
    "Seq", "Host", "Starttime", "JobRuntime", "Send", "Receive", "Exitval", "Signal", "Command",
)  # fmt: skip
JOBLOG_SLACK_S: Final = 0.0015
"""By so much a job may seem to begin before another ends: two starts and a runtime are rounded to
milliseconds."""
NINJA_FIELDS: Final = 5
"""Fields of a line of ninja's log: start, end, time of change, output, hash of the command."""
LARGEST_MS: Final = 1e15
"""Upper bound of times in ms, thirty thousand years."""
_NINJA: Final = re.compile(r"# ninja log v(\d+)\s*")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_SUFFIX: Final = re.compile(r"\.([A-Za-z]\w*)(?:[.\d]*)$")
_AMOUNT: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|d|h|m|s)")
_SECONDS: Final = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
NEXTFLOW_KEYS: Final = ("task_id", "name", "submit", "duration", "realtime")
"""Columns of a trace of Nextflow that make a run, unless it has ``start`` and ``complete``."""


def read_joblog(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in the log that GNU parallel writes with ``--joblog``.

    The kernel of a job is the program of its command. Jobs do not wait for each other.

    Parameters
    ----------
    path : Path
        A text file.
    skip_bad : bool, default False
        Whether malformed lines are skipped and counted.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    found = Records(path, skip_bad=skip_bad)
    failed = 0
    for line, fields in _rows(path, found, len(JOBLOG_COLUMNS)):
        if fields[0] == JOBLOG_COLUMNS[0]:  # of the first run, or of one that was appended
            continue
        start, took = _number(fields[2]), _number(fields[3])
        if math.isnan(start + took):
            found.bad(
                f"Starttime and JobRuntime: got '{fields[2]:.30}' and '{fields[3].strip():.30}'; "
                "legal: seconds",
                line,
            )
            continue
        failed += fields[6].strip() != "0"
        host = "cpu" if fields[1] == ":" else f"{fields[1]}-"
        found.add(
            _unused(found, fields[0]), _program(fields[8]), host, start, start + took,
            line=line,
        )  # fmt: skip
    if failed:
        found.note(f"{counted(failed, 'failed job')} (Exitval is not 0): tasks like others")
    found.spread_over_workers(JOBLOG_SLACK_S)
    return assembled(found)


def read_ninja_log(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in the log of a build by ninja, ``.ninja_log``: the last one of several.

    The kernel of a task is the suffix of its output. Outputs of one command are one task.

    Parameters
    ----------
    path : Path
        A text file.
    skip_bad : bool, default False
        Whether malformed lines are skipped and counted.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    found = Records(path, skip_bad=skip_bad)
    found.name = "ninja"
    builds, last = 1, 0.0
    rows: dict[tuple[float, float, str], tuple[int, str]] = {}
    for line, fields in _rows(path, found, NINJA_FIELDS):
        start, end = _number(fields[0]), _number(fields[1])
        if math.isnan(start + end):
            found.bad(
                f"start and end: got '{fields[0]:.30}' and '{fields[1]:.30}'; legal: ms", line
            )
            continue
        if end < last:  # times begin at 0 again: the log is appended to, build by build
            builds += 1
            rows.clear()
        last = end
        rows.setdefault((start, end, fields[4]), (line, fields[3]))
    for (start, end, _), (line, output) in rows.items():
        suffix = _SUFFIX.search(PurePosixPath(output).name)
        kernel = suffix[1] if suffix else "file"
        found.add(_unused(found, output), kernel, "cpu", start / 1e3, end / 1e3, line=line)
    if builds > 1:
        found.note(f"the log has {builds} builds: the last one counts")
    found.spread_over_workers()
    return assembled(found)


def read_nextflow(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in a trace that Nextflow writes with ``-with-trace``.

    The kernel of a task is its process. Tasks whose results were cached did not run.

    Parameters
    ----------
    path : Path
        A text file, separated by tabs.
    skip_bad : bool, default False
        Whether malformed lines are skipped and counted.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    found = Records(path, skip_bad=skip_bad)
    header = next((text.split("\t") for _, text in lines(path) if text.strip()), [])
    header = [name.strip() for name in header]
    needed = [name for name in NEXTFLOW_KEYS if name not in header]
    if needed and not ({"start", "complete"} <= set(header) and "name" in header):
        raise InputError(
            f"{path}:1: got columns {', '.join(header)}; legal: {', '.join(NEXTFLOW_KEYS)}, or "
            "start and complete in place of the last three"
        )
    cached = failed = 0
    for line, fields in _rows(path, found, len(header)):
        row = dict(zip(header, map(str.strip, fields), strict=True))
        if row["name"] == "name":
            continue
        status = row.get("status", "")
        if status == "CACHED":
            cached += 1
            continue
        submitted, start, end = _times_of(row)
        if math.isnan(start + end):
            found.bad(f"task {row['name']:.40}: its times are not known", line)
            continue
        failed += status not in ("", "COMPLETED")
        found.add(
            _unused(found, row.get("task_id") or row["name"]),
            row["name"].partition(" (")[0] or "task", "cpu", start, end,
            line=line, submitted_s=submitted,
        )  # fmt: skip
    if cached:
        found.note(f"{cached} tasks did not run, as their results were cached")
    if failed:
        found.note(f"{failed} tasks were not completed: they count as tasks")
    found.spread_over_workers()
    return assembled(found)


def _times_of(row: dict[str, str]) -> tuple[float, float, float]:
    """Return submission, start and end of a task of Nextflow in seconds; NaN if unknown."""
    submitted = _moment(row.get("submit", ""))
    start, end = _moment(row.get("start", "")), _moment(row.get("complete", ""))
    if math.isnan(start + end):
        # By default a trace has the time from submission to end, and how much of it a task ran.
        end = submitted + _span(row.get("duration", ""))
        start = max(submitted, end - _span(row.get("realtime", "")))
    return submitted, start, end


def _moment(text: str) -> float:
    """Return the seconds of a date, or of milliseconds, as raw traces have them; or NaN."""
    if text.isdecimal():
        return _number(text) / 1e3
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        return math.nan


def _span(text: str) -> float:
    """Return the seconds of ``1h 2m 3.5s``, or of milliseconds; NaN for others."""
    if text.isdecimal():
        return _number(text) / 1e3
    amounts = _AMOUNT.findall(text)
    if not amounts or _AMOUNT.sub("", text).strip():
        return math.nan
    return sum(_number(amount) * _SECONDS[unit] for amount, unit in amounts)


def _number(text: str) -> float:
    """Return a number from 0 below 30,000 years of ms; NaN for others."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if 0 <= value <= LARGEST_MS else math.nan


def _rows(path: Path, found: Records, count: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each line, which are separated by tabs; comments have none."""
    for line, text in lines(path):
        if not text.strip() or text.startswith("#"):
            continue
        fields = text.split("\t", count - 1)
        if len(fields) == count:
            yield line, fields
        else:
            found.bad(
                f"got {counted(len(fields), 'field')}; legal: {count}, separated by tabs", line
            )


def _unused(found: Records, name: str) -> str:
    """Return *name*, with a number if a job has it already: it was run again."""
    number, unused = 1, name
    while unused in found.number:
        number += 1
        unused = f"{name}.{number}"
    return unused


def _program(command: str) -> str:
    """Return the name of the program that a *command* runs."""
    words = (word for word in command.split() if not _ASSIGNMENT.match(word))
    return PurePosixPath(next(words, "job")).name or "job"


JOBLOG = Format(
    summary="The log of jobs of GNU parallel (--joblog).",
    recognises=lambda path, head: head_text(head).startswith("Seq\tHost\tStarttime\t"),  # noqa: ARG005
    reads_trace=read_joblog,
)
NINJA = Format(
    summary="The log of a build by ninja (.ninja_log).",
    recognises=lambda path, head: _NINJA.match(head_text(head)) is not None,  # noqa: ARG005
    reads_trace=read_ninja_log,
)


def _is_nextflow(path: Path, head: bytes) -> bool:  # noqa: ARG001
    names = {name.strip() for name in head_text(head).partition("\n")[0].split("\t")}
    return {"name", "status"} < names and bool({"realtime", "native_id", "hash"} & names)


NEXTFLOW = Format(
    summary="The trace of a workflow by Nextflow (-with-trace).",
    recognises=_is_nextflow,
    reads_trace=read_nextflow,
)
