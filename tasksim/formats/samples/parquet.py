"""Samples in Parquet files: a row per execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.formats.registry import Format
from tasksim.formats.samples.columns import choose_columns, wrong_value
from tasksim.formats.samples.part_choice import chosen_rows
from tasksim.models.samples import UNKNOWN_RUN, Samples

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["PARQUET", "read_parquet"]


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
    numeric = [name for name in names if _is_number(table.schema.field(name).type)]
    choice = choose_columns(names, numeric, duration, parameters, str(path))
    columns = [_column(table, name, path, numeric) for name in choice.columns]
    _check(path, choice.columns, columns)
    kinds = np.array(table.column("architecture").to_pylist()) if "architecture" in names else None
    rows = chosen_rows(kinds, "architecture", part, path)
    stacked = np.column_stack(columns)
    runs = None
    if "run" in numeric and "run" not in choice.columns:
        runs = _runs(table, path)[rows]
    return Samples(
        choice.parameters, stacked[rows, :-1], stacked[rows, -1] / choice.per_second, runs
    )


def _read(path: Path) -> Any:
    import pyarrow
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(path).read()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError, pyarrow.ArrowException) as error:
        raise InputError(f"{path}: cannot be read as Parquet: {error}") from None


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _column(table: Any, name: str, path: Path, numeric: Sequence[str]) -> NDArray[np.float64]:
    import pyarrow

    if name not in numeric:
        kind = table.schema.field(name).type
        raise InputError(f"{path}: {name}: got a column of {kind}; legal: numbers")
    values: NDArray[np.float64] = (
        table.column(name).cast(pyarrow.float64()).to_numpy().astype(np.float64)
    )
    return values


def _runs(table: Any, path: Path) -> NDArray[np.int64]:
    import pyarrow

    try:
        column = table.column("run").cast(pyarrow.int64())
    except pyarrow.ArrowException as error:
        raise InputError(f"{path}: run: {error}; legal: whole numbers or nothing") from None
    runs: NDArray[np.int64] = column.fill_null(UNKNOWN_RUN).to_numpy()
    return runs


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
