"""Reader of Parquet files, which checks the size of a table before and all values after reading.

Everything is read on the caller's thread. Threads of Arrow may still release their data while the
interpreter shuts down; memory that Python owns cannot be freed then, and the process aborts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError
from tasksim.base.files import reading

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import BinaryIO

    import pyarrow
    import pyarrow.parquet

__all__ = ["open_parquet", "read_on_this_thread", "read_parquet_table"]

MAX_TEXT_BYTES: Final = 2**30
"""Largest total size of the texts of a table, in bytes. A file holds a text that many rows repeat
only once: a file of a kilobyte can claim terabytes. The texts of ten million tasks, the names of
their kernels and workers, take a quarter."""


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
        If *refuse* raises it; if the file cannot be read, is damaged, or has invalid texts or
        more than :data:`MAX_TEXT_BYTES` of them.
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
    """Open the Parquet file *source*; reading it verifies its checksums.

    Texts are read as indices into the distinct ones; :func:`read_on_this_thread` decodes them.
    """
    from pyarrow.parquet import ParquetFile

    # Without pre_buffer=False, threads read ahead even if use_threads is false.
    given = ParquetFile(source, page_checksum_verification=True, pre_buffer=False)
    columns = (given.schema.column(number) for number in range(len(given.schema)))
    texts = [
        column.path
        for column in columns
        if column.physical_type == "BYTE_ARRAY" and column.converted_type != "DECIMAL"
    ]
    if not texts:
        return given
    return ParquetFile(
        source, metadata=given.metadata, read_dictionary=texts, page_checksum_verification=True,
        pre_buffer=False,
    )  # fmt: skip


def read_on_this_thread(
    given: pyarrow.parquet.ParquetFile, columns: list[str] | None = None
) -> pyarrow.Table:
    """Return the table of an open file, or only these *columns*, read on the caller's thread.

    Raises
    ------
    ValueError
        If its texts have more than :data:`MAX_TEXT_BYTES`.
    """
    import pyarrow

    table = given.read(columns, use_threads=False)
    left = MAX_TEXT_BYTES
    for number, field in enumerate(table.schema):
        if not pyarrow.types.is_dictionary(field.type):
            continue
        column = table.column(number)
        left -= _text_bytes(column)
        if left < 0:
            raise ValueError(f"its texts have more than {MAX_TEXT_BYTES >> 20} MiB")
        plain = column.cast(field.type.value_type)
        table = table.set_column(number, field.with_type(plain.type), plain)
    return table


def _text_bytes(column: pyarrow.ChunkedArray) -> int:
    """Return the size of the texts of a column that has indices into the distinct ones."""
    from pyarrow import compute, types

    if not (types.is_string(column.type.value_type) or types.is_binary(column.type.value_type)):
        return 0  # numbers: the indices take as much
    lengths = (
        compute.sum(compute.take(compute.binary_length(chunk.dictionary), chunk.indices)).as_py()
        for chunk in column.chunks
    )
    return sum(length or 0 for length in lengths)
