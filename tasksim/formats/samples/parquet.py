"""Samples in Parquet files, with a row per execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.parquetfile import read_parquet_table
from tasksim.formats.registry import Format
from tasksim.formats.samples.columns import TEXT_ADVICE, choose_columns, chosen_rows, wrong_value
from tasksim.models.samples import UNKNOWN_RUN, Samples

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow
    from numpy.typing import NDArray

__all__ = ["PARQUET", "read_parquet"]

MOST_VALUES: Final = 100_000_000
"""Maximum number of values: two gigabytes hold their 8 bytes each, and as much while they are read.
Even a small file may have more, as repeated values need hardly any space in it."""


def read_parquet(
    path: Path,
    duration: str | None = None,
    parameters: Sequence[str] | None = None,
    part: str | None = None,
) -> Samples:
    """Return the samples in the Parquet file at *path*.

    Which columns count is as in CSV files.

    Raises
    ------
    InputError
        ``file: column: row, what was got, what is legal``.
    """
    table = _read(path)
    names = table.column_names
    kinds = {name: table.schema.field(name).type for name in names}
    others = {name: f"a column of {kind}" for name, kind in kinds.items() if not _is_number(kind)}
    choice = choose_columns(names, others, duration, parameters, str(path))
    for name in choice.columns:
        if name in others:
            advice = f"; {TEXT_ADVICE}" if name != choice.duration else ""
            raise InputError(f"{path}: {name}: got {others[name]}; legal: numbers{advice}")
    columns = [_column(table, name) for name in choice.columns]
    _check(path, choice.columns, columns)
    rows, parts = chosen_rows(_architectures(table), "architecture", part, path)
    stacked = np.column_stack(columns)
    runs = None
    if "run" in names and "run" not in choice.columns:
        runs = _runs(table, path)[rows]
    durations_s = stacked[rows, -1] / choice.per_second
    unused = (*choice.unused, *parts)
    return Samples(choice.parameters, stacked[rows, :-1], durations_s, runs, unused=unused)


def _read(path: Path) -> pyarrow.Table:
    def refuse(rows: int, columns: int) -> None:
        if rows * columns > MOST_VALUES:
            raise InputError(
                f"{path}: has {rows} rows of {columns} columns; legal: at most "
                f"{MOST_VALUES // columns} rows of so many"
            )

    return read_parquet_table(path, refuse)


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _column(table: pyarrow.Table, name: str) -> NDArray[np.float64]:
    import pyarrow

    # Integers beyond 2**53 become the floats nearest to them, as they do in CSV files.
    floats = table.column(name).cast(pyarrow.float64(), safe=False)
    values: NDArray[np.float64] = floats.to_numpy().astype(np.float64)
    return values


def _runs(table: pyarrow.Table, path: Path) -> NDArray[np.int64]:
    import pyarrow

    try:
        column = table.column("run").cast(pyarrow.int64())
    except pyarrow.ArrowException as error:
        raise InputError(f"{path}: run: {error}; legal: whole numbers or nothing") from None
    runs: NDArray[np.int64] = column.fill_null(UNKNOWN_RUN).to_numpy()
    return runs


def _architectures(table: pyarrow.Table) -> NDArray[np.str_] | None:
    """Return the names in the column of architectures, if there is one; nothing is no name."""
    if "architecture" not in table.column_names:
        return None
    found = table.column("architecture").to_pylist()
    return np.array(["" if name is None else str(name) for name in found], dtype=np.str_)


def _check(path: Path, names: Sequence[str], columns: Sequence[NDArray[np.float64]]) -> None:
    for name, values in zip(names, columns, strict=True):
        found = wrong_value(values, duration=name == names[-1])
        if found is not None:
            row, legal = found
            raise InputError(f"{path}: {name}: row {row}: got {values[row]:g}; legal: {legal}")


PARQUET = Format(
    summary="Samples, a row per execution, in a Parquet file.",
    suffixes=(".parquet",),
    recognises=lambda path, head: head.startswith(b"PAR1"),  # noqa: ARG005
    reads_samples=read_parquet,
)
