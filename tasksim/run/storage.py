"""A run on disk: a folder with ``run.json`` and ``tasks.parquet``, complete or absent."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError, expect
from tasksim.base.files import new_folder, refuse_folder
from tasksim.run.header import SCHEMA_VERSION, encode, read_header
from tasksim.run.record import Run, TaskTable

if TYPE_CHECKING:
    import pyarrow
    from numpy.typing import NDArray

__all__ = ["SCHEMA_VERSION", "load", "refuse_run_folder", "save"]

RUN_JSON = "run.json"
TASKS = "tasks.parquet"
_FILES = {RUN_JSON, TASKS}


def save(run: Run, folder: str | Path, force: bool = False) -> None:
    """Write *run* to *folder*, all or nothing.

    ``run.json`` holds the resolved configuration, seed, versions, makespan, bounds and a
    summary of the metrics; ``tasks.parquet`` the task records, the same bytes for the same
    records. What else lies in a run folder that is replaced, such as a figure, stays there.

    Raises
    ------
    InputError
        If *folder* exists and *force* is not given, or is not a run folder; if the
        configuration is not plain JSON data.
    OutputError
        If the operating system refuses: no permission, no space.
    """
    expect(run, Run, "run")
    path = Path(folder)
    refuse_run_folder(path, force=force)
    kept = sorted(p for p in path.iterdir() if p.name not in _FILES) if path.is_dir() else []
    header = encode(run)
    with new_folder(path, force=force) as temporary:
        _write_tasks(run.tasks, temporary / TASKS)
        (temporary / RUN_JSON).write_text(header, encoding="utf-8")
        for other in kept:
            _copy(other, temporary)


def refuse_run_folder(path: Path, *, force: bool) -> None:
    """Raise, before the work is done, what :func:`save` would raise of an existing *path*."""
    refuse_folder(path, force=force, what="a run folder", mark=RUN_JSON)


def load(path: str | Path) -> Run:
    """Read the run in a folder; its ``run.json`` may be named instead.

    Raises :exc:`InputError` if there is no run, or not all of one.
    """
    folder = _folder(Path(path))
    run, count = read_header(folder / RUN_JSON)
    tasks = _read_tasks(folder / TASKS)
    if len(tasks) != count:
        raise InputError(
            f"{folder / TASKS} has {len(tasks)} tasks, {RUN_JSON} says {count}: "
            "they are not of one run"
        )
    run = replace(run, tasks=tasks)
    _check_references(run, folder / TASKS)
    return run


def _check_references(run: Run, path: Path) -> None:
    """Raise unless workers, kernels and tasks that the records name exist, and times are times."""
    tasks = run.tasks
    limits = (
        ("kernel", 0, len(run.kernel_names)),
        ("worker", 0, len(run.workers)),
        ("released_by", -1, len(run)),
    )
    for name, low, high in limits:
        column = getattr(tasks, name)
        _refuse((column < low) | (column >= high), column, name, path, f"{low} to {high - 1}")
    for name in ("submitted_s", "ready_s", "start_s", "end_s"):
        column = getattr(tasks, name)
        _refuse(~np.isfinite(column), column, name, path, "finite times")


def _refuse(
    wrong: NDArray[np.bool_], column: NDArray[Any], name: str, path: Path, legal: str
) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(f"{path}: row {row}: {name} is {column[row]}; legal: {legal}")


def _copy(path: Path, folder: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.copytree(path, folder / path.name, symlinks=True)
    else:
        shutil.copy2(path, folder, follow_symlinks=False)


def _folder(path: Path) -> Path:
    if path.name == RUN_JSON and path.is_file():
        return path.parent
    if not path.exists():
        raise InputError(f"{path}: no such run")
    if not path.is_dir():
        raise InputError(f"{path} is neither a run folder nor its {RUN_JSON}")
    if not (path / RUN_JSON).is_file():
        raise InputError(f"{path} is not a run folder: it has no {RUN_JSON}")
    return path


# tasks.parquet


def _write_tasks(tasks: TaskTable, path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table(dict(zip(tasks.dtypes, tasks.columns(), strict=True)))
    # Through Python's file: its errors carry the reason, such as a full disk.
    with path.open("wb") as file:
        pyarrow.parquet.write_table(
            table, file, compression="zstd", store_schema=False, write_page_checksum=True
        )


def _read_tasks(path: Path) -> TaskTable:
    import pyarrow
    import pyarrow.parquet

    if not path.is_file():
        raise InputError(f"the run in {path.parent} is not complete: it has no {path.name}")
    try:
        table = pyarrow.parquet.read_table(path, page_checksum_verification=True)
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"cannot read {path}, is it truncated? {error}") from error
    return TaskTable(**_columns(table, path))


def _columns(table: pyarrow.Table, path: Path) -> dict[str, Any]:
    missing = [name for name in TaskTable.dtypes if name not in table.column_names]
    if missing:
        raise InputError(f"{path} lacks the column '{missing[0]}'")
    return {name: table.column(name).to_numpy() for name in TaskTable.dtypes}
