"""Folders of runs, with ``run.json`` and tables, written completely or not at all."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from tasksim.base.errors import InputError, expect
from tasksim.base.files import MAX_FILE_BYTES, exists, is_file, new_folder
from tasksim.base.parquetfile import read_parquet_table
from tasksim.base.progress import reached
from tasksim.graph.graph_file import load as load_graph
from tasksim.graph.graph_file import save as save_graph
from tasksim.run.foldernames import (
    ALL_FILES,
    DECISIONS_FILE,
    GRAPH_FILE,
    MEMORY_FILE,
    MESSAGES_FILE,
    RUN_JSON,
    TASKS_FILE,
    TRANSFERS_FILE,
    refuse_run_folder,
)
from tasksim.run.header import encode, read_header
from tasksim.run.record import Run
from tasksim.run.recordtables import (
    MemoryTable,
    MessageTable,
    RecordTable,
    TaskTable,
    TransferTable,
    is_unknown,
)
from tasksim.run.tablechecks import check_references

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow
    from numpy.typing import NDArray

    from tasksim.base.progress import CountProgress

__all__ = [
    "files_of",
    "fill",
    "load",
    "save",
]

T = TypeVar("T", bound=RecordTable)

TABLES_SHARE: Final = 0.3
"""Share of the time of reading and checking a run after which its tables are read."""
ROWS_PER_GROUP: Final = 1 << 20
"""Rows of a row group, Arrow's default: half a second's work."""


def save(
    run: Run,
    folder: str | Path,
    force: bool = False,
    *,
    progress: CountProgress | None = None,
) -> None:
    """Write *run* to *folder*, completely or not at all.

    ``run.json`` holds the resolved configuration, seed, versions, makespan, bounds and a summary of
    the metrics; ``tasks.parquet`` the task records; with several memories, ``transfers.parquet``
    and ``memory.parquet`` the copies and the allocated memory; with several nodes,
    ``messages.parquet`` the messages; ``decisions.parquet`` the decisions of the scheduler and
    ``graph.npz`` the graph, if the run has them. Equal records give equal bytes.
    Other files in a replaced run folder, such as a figure, stay there. *progress* is called with
    the number of written rows of all tables and that of all rows.

    Raises
    ------
    InputError
        If *folder* exists and *force* is not given, or is not a run folder; if the configuration
        is not plain JSON data.
    OutputError
        If the operating system refuses, for lack of permission or space.
    """
    expect(run, Run, "run")
    path = Path(folder)
    refuse_run_folder(path, force=force)
    kept = sorted(p for p in path.iterdir() if p.name not in ALL_FILES) if path.is_dir() else []
    header = encode(run)
    with new_folder(path, force=force) as temporary:
        fill(run, temporary, header, progress)
        for other in kept:
            if other.is_dir() and not other.is_symlink():
                shutil.copytree(other, temporary / other.name, symlinks=True)
            else:
                shutil.copy2(other, temporary, follow_symlinks=False)


def fill(
    run: Run,
    folder: Path,
    header: str | None = None,
    progress: CountProgress | None = None,
) -> None:
    """Write *run* into an empty *folder*, which becomes a run folder with its last file.

    *header* is the text of ``run.json`` if it was made before. Raise the same errors as
    :func:`save`.
    """
    header = encode(run) if header is None else header
    tables = _tables(run)
    total, done = sum(map(len, tables.values())), 0

    def wrote(rows: int) -> None:
        nonlocal done
        done += rows
        if progress is not None:
            progress(done, total)

    for name, table in tables.items():
        _write(table, folder / name, wrote)
    if run.graph is not None:
        save_graph(run.graph, folder / GRAPH_FILE)
    (folder / RUN_JSON).write_text(header, encoding="utf-8")


def files_of(path: Path) -> list[Path]:
    """Return the files of the run in a folder; *path* may also be its ``run.json``."""
    folder = _folder(path)
    return [folder / name for name in sorted(ALL_FILES) if is_file(folder / name)]


def load(path: str | Path) -> Run:
    """Read the run in a folder; *path* may also be its ``run.json``.

    Raise :exc:`InputError` if there is no run, or an incomplete one.
    """
    folder = _folder(Path(path))
    run, rows = read_header(folder / RUN_JSON)
    total = sum(count or 0 for count in rows)
    tasks = _read(TaskTable, folder / TASKS_FILE, rows.tasks)
    reached(TABLES_SHARE * rows.tasks / max(1, total))
    run = replace(
        run,
        tasks=tasks,
        transfers=_read_if(TransferTable, folder / TRANSFERS_FILE, rows.transfers),
        memory=_read_if(MemoryTable, folder / MEMORY_FILE, rows.memory),
        messages=_read_if(MessageTable, folder / MESSAGES_FILE, rows.messages),
    )
    reached(TABLES_SHARE)
    if rows.decisions is not None:
        from tasksim.run.decisions import DecisionTable  # few runs have them

        decisions = _read(DecisionTable, folder / DECISIONS_FILE, rows.decisions)
        run = replace(run, decisions=decisions)
    if is_file(folder / GRAPH_FILE):
        run = replace(run, graph=load_graph(folder / GRAPH_FILE))
    check_references(run, {table.what: folder / name for name, table in _tables(run).items()})
    return run


def _tables(run: Run) -> dict[str, RecordTable]:
    """Return the tables of a run by file name."""
    tables = {
        TASKS_FILE: run.tasks,
        TRANSFERS_FILE: run.transfers,
        MEMORY_FILE: run.memory,
        MESSAGES_FILE: run.messages,
        DECISIONS_FILE: run.decisions,
    }
    return {name: table for name, table in tables.items() if table is not None}


_WRITERS: Final = "-o of 'tasksim simulate', 'run' or 'record' writes one"
"""Commands that write runs."""


def _folder(path: Path) -> Path:
    if path.name == RUN_JSON and is_file(path):
        return path.parent
    if not exists(path):
        raise InputError(f"{path}: no such run; {_WRITERS}")
    if not path.is_dir():
        raise InputError(f"{path} is neither a run folder nor its {RUN_JSON}; {_WRITERS}")
    if not (path / RUN_JSON).is_file():
        raise InputError(f"{path} is not a run folder: it has no {RUN_JSON}")
    return path


# Tables


def _write(table: RecordTable, path: Path, wrote: Callable[[int], object] = lambda _: None) -> None:
    """Write a table; *wrote* is called with the number of rows of each row group."""
    import pyarrow
    import pyarrow.parquet

    columns = dict(zip(table.dtypes, table.columns(), strict=True))
    known = {name: column for name, column in columns.items() if not is_unknown(table, name)}
    whole = pyarrow.Table.from_arrays([_arrow(column) for column in known.values()], list(known))
    # Through Python's file: its errors have the reason, such as a full disk.
    with (
        path.open("wb") as file,
        pyarrow.parquet.ParquetWriter(
            file,
            whole.schema,
            compression="zstd",
            store_schema=False,
            write_page_checksum=True,
        ) as writer,
    ):
        for begin in range(0, max(1, len(whole)), ROWS_PER_GROUP):
            part = whole.slice(begin, ROWS_PER_GROUP)
            writer.write_table(part, ROWS_PER_GROUP)
            wrote(len(part))


def _arrow(column: NDArray[Any]) -> pyarrow.Array:
    """Return a column as an Arrow array, without Arrow's import of pandas."""
    import pyarrow

    kind = pyarrow.from_numpy_dtype(column.dtype)
    return pyarrow.Array.from_buffers(kind, len(column), [None, pyarrow.py_buffer(column)])


def _read_if(kind: type[T], path: Path, rows: int | None) -> T | None:
    return None if rows is None else _read(kind, path, rows)


def _read(kind: type[T], path: Path, rows: int) -> T:
    if not path.is_file():
        raise InputError(f"the run in {path.parent} is not complete: it has no {path.name}")
    found = read_parquet_table(path, lambda got, _: _refuse_rows(kind, got, rows, path))
    missing = [name for name in kind.dtypes if name not in {*found.column_names, *kind.optional}]
    if missing:
        raise InputError(f"{path} lacks the column '{missing[0]}'")
    present = [name for name in kind.dtypes if name in found.column_names]
    table = kind(**{name: _numpy(found.column(name)) for name in present})
    _refuse_rows(kind, len(table), rows, path)
    return table


def _refuse_rows(kind: type[RecordTable], got: int, rows: int, path: Path) -> None:
    """Raise an error unless a file has as many *rows* as the run, and they fit into memory.

    Repeated values take hardly any space in a file, so its size is no measure.
    """
    if got != rows:
        raise InputError(
            f"{path} has {got} {kind.rows}, {RUN_JSON} says {rows}: they are not of one run"
        )
    most = MAX_FILE_BYTES // sum(dtype.itemsize for dtype in kind.dtypes.values())
    if got > most:
        raise InputError(f"{path} has {got} {kind.rows}; legal: at most {most}")


def _numpy(column: pyarrow.ChunkedArray) -> NDArray[Any]:
    """Return an Arrow column as an array; numbers directly, as Arrow would import pandas."""
    import pyarrow

    whole = column.combine_chunks()
    kind = whole.type
    is_plain = pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)
    if not is_plain or whole.null_count or kind.bit_width < 8:
        return np.asarray(column.to_numpy())
    if not len(whole):
        return np.zeros(0, kind.to_pandas_dtype())
    values = np.frombuffer(whole.buffers()[1], kind.to_pandas_dtype())
    return values[whole.offset : whole.offset + len(whole)]
