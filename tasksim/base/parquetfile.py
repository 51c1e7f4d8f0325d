"""Parquet files: their table, read once it is known how large it is, and checked to the end.

All is read on the caller's thread. What threads of Arrow read, they may still be letting go of when
the interpreter ends; memory that Python owns cannot be freed then, and the process is aborted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.base.files import reading

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import BinaryIO

    import pyarrow
    import pyarrow.parquet

__all__ = ["open_parquet", "read_on_this_thread", "read_parquet_table"]


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

    with reading(path) as file:
        try:
            given = open_parquet(file)
            refuse(given.metadata.num_rows, len(given.schema_arrow.names))
            table = read_on_this_thread(given)
            table.validate(full=True)
        except InputError:
            raise
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            raise InputError(f"{path}: cannot be read as Parquet: {error}") from None
    return table


def open_parquet(source: BinaryIO | Path) -> pyarrow.parquet.ParquetFile:
    """Return the Parquet file *source*, whose checksums are verified as it is read."""
    import pyarrow.parquet

    # Without pre_buffer=False threads read ahead, whatever the reader says.
    return pyarrow.parquet.ParquetFile(source, page_checksum_verification=True, pre_buffer=False)


def read_on_this_thread(
    given: pyarrow.parquet.ParquetFile, columns: list[str] | None = None
) -> pyarrow.Table:
    """Return the table of an open file, or these *columns* of it."""
    return given.read(columns, use_threads=False)
