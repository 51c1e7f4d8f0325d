"""Store of a study, a folder that keeps the answers of cells even if a writer is killed.

::

    study/
        study.json      the study: the text of its file, and the versions that wrote it
        cells/          Parquet, one file per batch; a single file once the study is done

A file is written under a temporary name, synchronised to the disk, and renamed: it is complete or
absent. A lock ensures that only one process at a time adds to a store; any process may read it. A
cell that is in two files, because its writer was killed while it merged them, counts once.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.documents.json_document import read_json
from tasksim.base.errors import InputError, OutputError
from tasksim.base.extras import needed_for
from tasksim.base.files import writing
from tasksim.base.lockfile import locked
from tasksim.base.parquetfile import open_parquet, read_on_this_thread
from tasksim.base.versions import newer, version_of
from tasksim.study.sweep.columns import HIDDEN_COLUMNS, UNIQUE_COLUMNS, Answer, Columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    import pyarrow as pa

    from tasksim.study.sweep.plan import PlannedCell
    from tasksim.study.sweep.study import Study

__all__ = [
    "StudyHeader",
    "StudyStore",
    "axes_of",
    "read_cells",
    "read_column",
    "read_header",
    "read_table",
]


VERSION: Final = 1
"""Version of the store's format."""
FLUSH_INTERVAL_S: Final = 1.0
"""Longest time between two writes, in seconds: a killed process loses no more work than that;
writing a file takes 5 ms."""
MAX_PARTS: Final = 64
"""Number of files above which a running study merges them: reading a file takes 1 ms."""
MAX_READ_ATTEMPTS: Final = 5
"""Attempts of a reader to read all files while a writer merges them."""
_TEXT_TYPES: Final = {str, type(None)}


@dataclass(frozen=True)
class StudyHeader:
    """Description of the study in a store.

    Attributes
    ----------
    name : str
        Name of the study.
    file, digest : str
        Text of the study file, and its SHA-256.
    plan : str
        Digest of the identities of all cells.
    cells : int
        Number of cells.
    tasksim : str
        Version of tasksim.
    columns : dict
        Types of the settings' columns, by column.
    metrics : tuple of str
        Names of the metrics.
    folder : str
        Folder of the study file, from which the files that it names are found.
    version : int
        Version of the store's format.
    """

    name: str
    file: str
    digest: str
    plan: str
    cells: int
    tasksim: str
    columns: dict[str, str]
    metrics: tuple[str, ...]
    folder: str
    version: int = VERSION

    @classmethod
    def of(cls, study: Study, plan: list[PlannedCell]) -> StudyHeader:
        """Return the header for a *study*."""
        from hashlib import sha256

        columns = Columns.of(study)
        return cls(
            name=study.name,
            file=study.text,
            digest=study.digest,
            plan=sha256(" ".join(one.cell for one in plan).encode()).hexdigest(),
            cells=len(plan),
            tasksim=version_of("tasksim") or "unknown",
            columns=columns.settings,
            metrics=study.metrics,
            folder=str(study.path.absolute().parent),
        )

    def write(self, folder: Path) -> None:
        """Write the header to *folder*, all or nothing."""
        text = json.dumps(vars(self), indent=2) + "\n"
        with _durably(folder / "study.json") as temporary:
            temporary.write_text(text, encoding="utf-8")


def read_header(folder: Path) -> StudyHeader:
    """Return the header of the store in *folder*.

    Raises :exc:`InputError` if there is no store, or one of a newer version.
    """
    path = folder / "study.json"
    if not path.is_file():
        raise InputError(f"{folder}: is not a study's folder: it has no study.json")
    data = read_json(path)
    version = data.get("version") if isinstance(data, dict) else None
    if (why := newer(version, VERSION)) is not None:
        raise InputError(f"{path}: {why}")
    try:
        return StudyHeader(**{**data, "metrics": tuple(data["metrics"])})
    except (TypeError, KeyError):
        raise InputError(f"{path}: is not the header of a study that tasksim wrote") from None


@dataclass(eq=False)
class StudyStore:
    """Store of a study, to which this process adds answers.

    Parameters
    ----------
    folder : Path
    columns : Columns
    done : set of str
        Identities of the cells in the store.
    """

    folder: Path
    columns: Columns
    done: set[str] = field(default_factory=set)
    _waiting: list[tuple[PlannedCell, Answer]] = field(default_factory=list)
    _written: float = field(default_factory=monotonic)

    @classmethod
    @contextmanager
    def opened(cls, folder: Path, header: StudyHeader) -> Iterator[StudyStore]:
        """Open and lock the store in *folder* within the block; make it if it does not exist.

        Raises :exc:`InputError` if another process adds to it, or if the folder holds anything
        else.
        """
        try:
            (folder / "cells").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot write {folder}: {error.strerror or error}") from error
        with locked(folder / "cells", wait=False):
            if not (folder / "study.json").exists():
                _refuse_others(folder)
                header.write(folder)
            for path in (*folder.glob(".*.tmp*"), *folder.glob("cells/.*.tmp*")):
                with suppress(OSError):
                    path.unlink()  # incomplete: its process was killed
            store = cls(folder, Columns(header.columns, header.metrics))
            store.done = set(read_cells(folder, ["cell"]).column("cell").to_pylist())
            yield store

    def extend(self, answered: Iterable[tuple[PlannedCell, Answer]]) -> None:
        """Add the answers of some cells; a later call, or :meth:`flush`, writes them."""
        new = [one for one in answered if one[0].cell not in self.done]
        self.done.update([asked.cell for asked, _ in new])
        self._waiting += new
        if monotonic() - self._written > FLUSH_INTERVAL_S:
            self.flush()

    def flush(self) -> None:
        """Write the waiting answers; raise :exc:`OutputError` if that fails."""
        self._written = monotonic()
        if not self._waiting:
            return
        self._write(_answers_table(self._waiting, self.columns))
        # Only now: an interrupt before this line writes the answers twice, which does no harm.
        self._waiting = []
        if len(_parts(self.folder)) > MAX_PARTS:
            self.compact()

    def compact(self) -> None:
        """Merge all files into one, in the order of the cells."""
        parts = _parts(self.folder)
        if len(parts) > 1:
            self._replace(parts, read_cells(self.folder))

    def rewrite(self, rows: list[dict[str, Any]]) -> None:
        """Replace all cells by *rows*, with the columns of this study."""
        names = self.columns.schema().names
        values = {name: [row.get(name) for row in rows] for name in names}
        self._replace(_parts(self.folder), _typed(values, self.columns))
        self.done = {row["cell"] for row in rows}

    def _replace(self, parts: list[Path], table: pa.Table) -> None:
        self._write(table)  # before the old files go: a cell may be there twice, but never be lost
        for part in parts:
            with suppress(FileNotFoundError):
                part.unlink()

    def _write(self, table: pa.Table) -> None:
        import pyarrow.parquet as pq

        path = self.folder / "cells" / f"{os.urandom(8).hex()}.parquet"
        with _durably(path) as temporary:
            repeated = [name for name in table.column_names if name not in UNIQUE_COLUMNS]
            pq.write_table(
                table, temporary.absolute(), write_page_checksum=True, use_dictionary=repeated
            )


def read_cells(folder: Path, columns: list[str] | None = None) -> pa.Table:
    """Return the cells of a store, each once, in their order, with the hidden columns.

    Raises :exc:`InputError` if a file is damaged.
    """
    import pyarrow as pa

    for _ in range(MAX_READ_ATTEMPTS):
        with suppress(FileNotFoundError):  # a writer has merged the files in the meantime
            tables = [_read(path, columns) for path in _parts(folder)]
            break
    else:
        raise OutputError(f"{folder}: its files change faster than they can be read; try again")
    header = read_header(folder)
    schema = Columns(header.columns, header.metrics).schema()
    if columns is not None:
        schema = pa.schema([schema.field(name) for name in columns])
    fitting = [_fitted(table, schema) for table in tables]
    whole = pa.concat_tables(fitting) if fitting else schema.empty_table()
    cells = whole.column("cell").to_pylist()
    first = {cell: index for index, cell in reversed(list(enumerate(cells)))}
    if len(first) < len(cells):
        whole = whole.take(sorted(first.values()))
    return whole.sort_by("position") if columns is None else whole


def read_column(folder: Path, name: str) -> dict[str, Any]:
    """Return cell -> its value in the column *name*, of all cells of a store."""
    table = read_cells(folder, ["cell", name])
    cells, values = (table.column(column).to_pylist() for column in ("cell", name))
    return dict(zip(cells, values, strict=True))


def _fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return *table* with the columns of *schema*, which differ if the study was extended since."""
    import pyarrow as pa

    if table.schema.equals(schema):
        return table
    found = {
        name: table.column(name).cast(schema.field(name).type)
        if name in table.column_names
        else pa.nulls(len(table), schema.field(name).type)
        for name in schema.names
    }
    return pa.table(found, schema=schema)


def _read(path: Path, columns: list[str] | None) -> pa.Table:
    import pyarrow as pa

    try:
        # Absolute, because pyarrow would take a relative 'run:2' for an address.
        return read_on_this_thread(open_parquet(path.absolute()), columns)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise InputError(
            f"{path}: cannot be read: {str(error).splitlines()[0]}; remove it to have its cells"
            " computed again"
        ) from None


def _answers_table(found: list[tuple[PlannedCell, Answer]], columns: Columns) -> pa.Table:
    """Return the table of answers, built by columns: building it by rows takes twice as long."""
    asked, answers = zip(*found, strict=True)
    values: dict[str, Sequence[Any]] = dict(
        zip(Answer._fields, zip(*answers, strict=True), strict=True)
    )
    without = (None,) * len(columns.metrics)
    metrics = [answer.metrics or without for answer in answers]
    values |= zip(columns.metrics, zip(*metrics, strict=True), strict=False)
    rows = [(row, len(list(same))) for row, same in groupby(asked, attrgetter("row"))]
    for name in columns.types.keys() - values.keys():
        values[name] = [*chain.from_iterable([row.labels.get(name)] * n for row, n in rows)]
    values["seed"] = [one.seed for one in asked]
    values["draw_seed"] = [one.draw_seed for one in asked]
    values["position"] = [one.position for one in asked]
    values["scenario"] = [one.text for one in asked]
    return _typed(values, columns)


def _typed(values: Mapping[str, Sequence[Any]], columns: Columns) -> pa.Table:
    """Return the table of these *values*, each column with its type."""
    import numpy as np
    import pyarrow as pa

    schema = columns.schema()
    found = {}
    for name, kind in {**columns.types, **HIDDEN_COLUMNS}.items():
        # An array, because for a list pyarrow imports pandas, to check for one of its columns.
        column = np.empty(len(values[name]), dtype=object)
        column[:] = values[name]
        if kind == "string" and not set(map(type, values[name])) <= _TEXT_TYPES:
            column[:] = [None if value is None else str(value) for value in values[name]]
        found[name] = pa.array(column, schema.field(name).type)
    return pa.table(found, schema=schema)


def _parts(folder: Path) -> list[Path]:
    found = (folder / "cells").glob("*.parquet")
    return sorted(path for path in found if not path.name.startswith("."))


def _refuse_others(folder: Path) -> None:
    """Raise :exc:`InputError` if *folder*, which has no header, holds other files or cells."""
    others = [p.name for p in sorted(folder.iterdir()) if not p.name.startswith(".")]
    strange = [name for name in others if name != "cells"] or _parts(folder)
    if strange:
        raise InputError(
            f"{folder}: holds '{strange[0]}' and no study; choose another folder for this one"
        )


@contextmanager
def _durably(path: Path) -> Iterator[Path]:
    """Yield a temporary path that becomes *path* once its content is on the disk."""
    with writing(path) as temporary:
        yield temporary
        _synchronise(temporary)
    with suppress(OSError):  # not all file systems can synchronise a folder
        _synchronise(path.parent)


def _synchronise(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def read_table(folder: str | Path) -> pd.DataFrame:
    """Return the table of the study in *folder*: its computed cells, in their order.

    Parameters
    ----------
    folder : str or Path
        Output folder of ``tasksim study run``.

    Returns
    -------
    DataFrame
        Columns ``cell, graph, platform, scheduler, seed``, then one per setting, by its path, then
        ``status, error, makespan_s, lower_bound_s, critical_path_s, tasks, busy_share,
        moved_bytes, engine, seconds, draw_seed`` and the metrics. Columns of whole numbers with
        missing values have the type ``Int64``.

    Raises
    ------
    InputError
        If there is no study, or one of a newer version.

    See Also
    --------
    tasksim.study.sweep.studies.run_study : Run a study.
    """
    with needed_for("the table of a study"):
        import pandas as pd
    import pyarrow as pa

    found = read_cells(Path(folder)).drop_columns(list(HIDDEN_COLUMNS))
    table: pd.DataFrame = found.to_pandas(
        types_mapper={pa.int64(): pd.Int64Dtype()}.get, use_threads=False
    )
    for name in table.columns:
        if table[name].dtype == pd.Int64Dtype() and not table[name].isna().any():
            table[name] = table[name].astype("int64")
    return table


def axes_of(table: pd.DataFrame) -> list[str]:
    """Return the axes of a study's *table*: the columns of labels with several values."""
    names = list(table.columns)
    before = names[1 : names.index("status")]
    return [name for name in before if table[name].nunique(dropna=False) > 1]
