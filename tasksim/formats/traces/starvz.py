"""StarVZ's folders: the CSV files of its first phase, compressed or not, and its Parquet tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError
from tasksim.formats.registry import Format
from tasksim.formats.traces.records import Records
from tasksim.formats.traces.recutils import add_record, job_id, rank_of
from tasksim.formats.traces.textlines import csv_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace
    from tasksim.run.record import Run

__all__ = ["STARVZ", "read_starvz"]

TASKS: Final = "rec.tasks.csv"
STATES: Final = "paje.worker_state.csv"
HANDLES: Final = "rec.data_handles.csv"
DAG: Final = "dag.csv"
MISSING: Final = ("", "NA", "nan")
"""Missing values, as R and Python write them."""


def read_starvz(path: Path, *, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in a folder of StarVZ.

    Parameters
    ----------
    path : Path
        With ``rec.tasks.csv``, ``paje.worker_state.csv`` or both, ``dag.csv`` and
        ``rec.data_handles.csv`` where they are there; or with ``application.parquet``.
    skip_bad : bool, default False
        Whether rows that are wrong are passed over, and counted.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    states = _find(path, STATES)
    tasks = _find(path, TASKS)
    found = Records(path if tasks is None else tasks, skip_bad=skip_bad)
    found.name = path.resolve().name
    named = {} if states is None else _workers(states)
    if tasks is not None:
        _read_tasks(found, tasks, named)
    elif states is not None:
        from tasksim.formats.traces.pjdump import add_states

        found.path = states
        add_states(found, states)
    else:
        from tasksim.formats.traces.starvz_parquet import add_tables

        add_tables(found, path)
    if not found.has_edges and (dag := _find(path, DAG)) is not None:
        _read_dag(found, dag)
    handles = _find(path, HANDLES)
    if handles is None and found.has_data:
        found.note(
            "no rec.data_handles.csv: that all data are at home in the first memory is assumed"
        )
    elif handles is not None:
        for _, row in _rows(handles):
            if row.get("HomeNode", "").isdigit():
                rank = rank_of(row)
                handle = row.get("Handle", "")
                found.home[f"{rank}_{handle}" if rank else handle] = int(row["HomeNode"])
    return assembled(found)


def _find(folder: Path, name: str) -> Path | None:
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def _rows(path: Path, needed: tuple[str, ...] = ()) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a table by the names of their columns, those that are missing left out."""
    rows = csv_rows(path)
    first = next(rows, None)
    if first is None:
        raise InputError(f"{path}: is empty; expected a line with the names of the columns")
    header = first[1]
    for name in needed:
        if name not in header:
            raise InputError(f"{path}:1: no column '{name}'; there are {', '.join(header)}")
    for line, fields in rows:
        if len(fields) > len(header):
            raise InputError(f"{path}:{line}: got {len(fields)} fields; legal: {len(header)}")
        yield line, {n: v for n, v in zip(header, fields, strict=False) if v not in MISSING}


def _workers(path: Path) -> dict[str, str]:
    """Return per task the name of its worker."""
    return {
        row["JobId"]: row["ResourceId"]
        for _, row in _rows(path, ("ResourceId",))
        if "JobId" in row and "ResourceId" in row
    }


def _read_tasks(found: Records, path: Path, named: dict[str, str]) -> None:
    for line, row in _rows(path, ("JobId", "WorkerId", "StartTime", "EndTime")):
        worker = ""
        if "WorkerId" in row:
            worker = named.get(row.get("JobId", ""), f"cpu{row['WorkerId']}")
        add_record(found, row, line, worker)
    if not named:
        found.note("names of workers are not in the trace: they are called cpu0, cpu1, ...")


def _read_dag(found: Records, path: Path) -> None:
    """Read which tasks depend on which; rows about tags and other things are none."""
    before: dict[str, list[str]] = {}
    other = 0
    for _, row in _rows(path, ("JobId", "Dependent")):
        one, task = job_id(row.get("Dependent", "")), job_id(row.get("JobId", ""))
        if one in found.number and task in found.number:
            before.setdefault(task, []).append(one)
        else:
            other += 1
    for task, ones in before.items():
        found.before[found.number[task]] = " ".join(ones)
    found.has_edges = bool(before)
    if other:
        found.note(f"{other} rows of {path.name} are about tags or tasks that are not there")


def _is_starvz(path: Path, head: bytes) -> bool:
    if head or (path / "run.json").exists():
        return False
    return _find(path, TASKS) is not None or any(
        (path / name).is_file() for name in ("application.parquet", STATES, f"{STATES}.gz")
    )


def _read_run(path: Path) -> Run:
    return read_starvz(path).run


def _read_trace(path: Path, skip_bad: bool) -> RecordedTrace:
    return read_starvz(path, skip_bad=skip_bad)


def _write_run(run: Run, path: Path, force: bool) -> None:
    from tasksim.formats.traces.starvz_parquet import write_starvz

    write_starvz(run, path, force)


STARVZ = Format(
    summary="A folder of StarVZ: the CSV files of its first phase, or its Parquet tables.",
    recognises=_is_starvz,
    reads_run=_read_run,
    reads_trace=_read_trace,
    writes_run=_write_run,
)
