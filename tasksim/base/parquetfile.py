"""Reader of Parquet files, which checks the size of a table before and all values after reading.

Everything is read on the caller's thread. Threads of Arrow may still release their data while the
interpreter shuts down; memory that Python owns cannot be freed then, and the process aborts.
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
        Called with the numbers of rows and columns before they are read; raises
        :exc:`InputError` if there are too many. The size of the file says little about them,
        because repeated values take almost no space.

    Raises
    ------
    InputError
        If *refuse* raises it; if the file cannot be read, is damaged, or has invalid texts.
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
    """Open the Parquet file *source*; reading it verifies its checksums."""
    import pyarrow.parquet

    # Without pre_buffer=False, threads read ahead even if use_threads is false.
    return pyarrow.parquet.ParquetFile(source, page_checksum_verification=True, pre_buffer=False)


def read_on_this_thread(
    given: pyarrow.parquet.ParquetFile, columns: list[str] | None = None
) -> pyarrow.Table:
    """Return the table of an open file, or only these *columns*, read on the caller's thread."""
    return given.read(columns, use_threads=False)
