"""A run on disk: a folder with ``run.json`` and ``tasks.parquet``, complete or absent."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError
from tasksim.base.files import new_folder
from tasksim.run.metrics import summary
from tasksim.run.record import Run, TaskTable, WorkerInfo

if TYPE_CHECKING:
    import pyarrow

__all__ = ["SCHEMA_VERSION", "load", "save"]

SCHEMA_VERSION = 1
"""Of ``run.json``; grows when a reader of the old ones would be misled."""

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
    path = Path(folder)
    kept = _foreign(path) if force else []
    header = _encode(run)
    with new_folder(path, force=force) as temporary:
        _write_tasks(run.tasks, temporary / TASKS)
        (temporary / RUN_JSON).write_text(header, encoding="utf-8")
        for other in kept:
            _copy(other, temporary)


def load(path: str | Path) -> Run:
    """Read the run in a folder; its ``run.json`` may be named instead.

    Raises :exc:`InputError` if there is no run, or not all of one.
    """
    folder = _folder(Path(path))
    header = _read_header(folder / RUN_JSON)
    tasks = _read_tasks(folder / TASKS)
    run = _decode(header, tasks, folder / RUN_JSON)
    if len(tasks) != header["tasks"]:
        raise InputError(
            f"{folder / TASKS} has {len(tasks)} tasks, {RUN_JSON} says {header['tasks']}: "
            "they are not of one run"
        )
    return run


def _foreign(path: Path) -> list[Path]:
    """Return what lies in a run folder besides the run; refuse to replace any other folder."""
    if not path.is_dir():
        return []
    foreign = sorted(p for p in path.iterdir() if p.name not in _FILES)
    if foreign and not (path / RUN_JSON).exists():
        raise InputError(
            f"{path} is not a run folder (it holds '{foreign[0].name}' and no {RUN_JSON}); "
            "it is not replaced, choose another name"
        )
    return foreign


def _copy(path: Path, folder: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.copytree(path, folder / path.name, symlinks=True)
    else:
        shutil.copy2(path, folder, follow_symlinks=False)


# run.json


def _encode(run: Run) -> str:
    header = {
        "schema_version": SCHEMA_VERSION,
        "kind": run.kind,
        "graph": {"name": run.graph_name, "arguments": run.graph_arguments},
        "platform": run.platform,
        "scheduler": run.scheduler,
        "seed": run.seed,
        "tasks": len(run),
        "makespan_s": run.makespan_s,
        "bounds": run.bounds,
        "metrics": summary(run),
        "wall_s": run.wall_s,
        "kernels": run.kernel_names,
        "workers": [
            {"name": w.name, "architecture": w.architecture, "node": w.node} for w in run.workers
        ],
        "config": run.config,
        "versions": run.versions,
    }
    try:
        return json.dumps(header, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    except (TypeError, ValueError) as error:
        raise InputError(f"the run cannot be written as JSON: {error}") from error


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


def _read_header(path: Path) -> dict[str, Any]:
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}:{error.colno}: {error.msg}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    version = header.get("schema_version") if isinstance(header, dict) else None
    if version is None:
        raise InputError(f"{path} was not written by tasksim: it has no schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{path} has schema version {version!r}, this tasksim reads {SCHEMA_VERSION}"
        )
    return dict(header)


def _decode(header: dict[str, Any], tasks: TaskTable, path: Path) -> Run:
    try:
        return Run(
            kind=header["kind"],
            graph_name=header["graph"]["name"],
            graph_arguments=dict(header["graph"]["arguments"]),
            kernel_names=tuple(header["kernels"]),
            workers=tuple(WorkerInfo(**worker) for worker in header["workers"]),
            platform=header["platform"],
            scheduler=header["scheduler"],
            seed=header["seed"],
            tasks=tasks,
            config=dict(header["config"]),
            versions=dict(header["versions"]),
            wall_s=float(header["wall_s"]),
            bounds=header["bounds"],
        )
    except KeyError as error:
        raise InputError(f"{path} lacks {error}") from error
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} is malformed: {error}") from error


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
