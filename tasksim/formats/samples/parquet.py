"""Samples in Parquet files, with a row per execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.parquetfile import read_parquet_table
from tasksim.formats.registry import Format
from tasksim.formats.samples.cells import MISSING_TEXTS, Cells, Column, samples_of
from tasksim.models.samples import Unused

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow
    from numpy.typing import NDArray

    from tasksim.models.samples import Samples

__all__ = ["PARQUET", "read_parquet"]

MAX_VALUES: Final = 100_000_000
"""Maximum number of values: with 8 bytes each, and as much again while they are read, they take two
gigabytes. Even a small file may claim more, as repeated values need hardly any space."""
INDEX_NAMES: Final = ("__index_level_0__",)
"""Names that pandas gives to a nameless index."""


def read_parquet(
    path: Path,
    duration: str | None = None,
    parameters: Sequence[str] | None = None,
    part: str | None = None,
    categorical: Sequence[str] = (),
) -> Samples:
    """Return the samples in the Parquet file at *path*.

    Columns are chosen as in CSV files.

    Raises
    ------
    InputError
        ``file: row: column: what was got, what is legal``.
    """
    table = _read(path)
    kinds = {name: table.schema.field(name).type for name in table.column_names}
    columns, unused = {}, []
    for name, kind in kinds.items():
        if _is_number(kind):
            columns[name] = Column(_column(table, name), {})
        elif _is_text(kind):
            columns[name] = _texts(table, name)
        elif name in (parameters or ()) or name == (duration or "").partition(":")[0]:
            raise InputError(
                f"{path}: {name}: got a column of {kind}; legal: numbers, texts or truth values"
            )
        else:
            unused.append(Unused(name, f"a column of {kind}"))
    if not columns or not len(table):
        raise InputError(f"{path}: has no rows of numbers; legal: samples")
    cells = Cells(
        path,
        str(path),
        columns,
        lambda row, name: f"{path}: row {row}",  # noqa: ARG005
        tuple(unused),
        next(iter(columns)) in INDEX_NAMES,
    )
    return samples_of(cells, duration, parameters, part, categorical)


def _read(path: Path) -> pyarrow.Table:
    def refuse(rows: int, columns: int) -> None:
        if rows * columns > MAX_VALUES:
            raise InputError(
                f"{path}: has {rows} rows of {columns} columns; legal: at most"
                f" {MAX_VALUES // columns} rows of {columns} columns"
            )

    return read_parquet_table(path, refuse)


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _column(table: pyarrow.Table, name: str) -> NDArray[np.float64]:
    import pyarrow

    # Integers beyond 2**53 become the nearest floats, as in CSV files.
    floats = table.column(name).cast(pyarrow.float64(), safe=False)
    values: NDArray[np.float64] = floats.to_numpy().astype(np.float64)
    return values


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind))


def _texts(table: pyarrow.Table, name: str) -> Column:
    """Return a column of texts or truth values; null is a missing value."""
    texts = {
        row: (str(value) if isinstance(value, str) else str(value).lower()).strip()
        for row, value in enumerate(table.column(name).to_pylist())
        if value is not None
    }
    found = {row: text for row, text in texts.items() if text not in MISSING_TEXTS}
    return Column(np.full(len(table), np.nan), found)


PARQUET = Format(
    summary="Samples, a row per execution, in a Parquet file.",
    suffixes=(".parquet",),
    recognises=lambda path, head: head.startswith(b"PAR1"),  # noqa: ARG005
    reads_samples=read_parquet,
    takes_categorical=True,
)
