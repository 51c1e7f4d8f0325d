"""Parquet files: their table, read once it is known how large it is, and checked to the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.base.files import reading

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow

__all__ = ["read_parquet_table"]


def read_parquet_table(path: Path, refuse: Callable[[int, int], None]) -> pyarrow.Table:
    """Return the table in the file at *path*.

    Parameters
    ----------
    path : Path
        A regular file.
    refuse : callable
        Is told the numbers of rows and columns before they are read, and raises
        :exc:`InputError` if they are too many. Repeated values take next to nothing in a file,
        so that its size says little.

    Raises
    ------
    InputError
        If *refuse* does; if the file cannot be read, was altered, or has texts that are none.
    """
    import pyarrow
    import pyarrow.parquet

    with reading(path) as file:
        try:
            given = pyarrow.parquet.ParquetFile(file, page_checksum_verification=True)
            refuse(given.metadata.num_rows, len(given.schema_arrow.names))
            table = given.read()
            table.validate(full=True)
        except InputError:
            raise
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            raise InputError(f"{path}: cannot be read as Parquet: {error}") from None
    return table
