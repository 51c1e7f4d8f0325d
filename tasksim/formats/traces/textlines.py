"""Numbered lines of a text file, compressed or not, read one by one."""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from tasksim.base.errors import InputError
from tasksim.base.files import reading
from tasksim.base.progress import follow_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "FIELD_SEPARATORS",
    "GZIP_MAGIC",
    "READ_SHARE",
    "csv_rows",
    "csv_table",
    "head_text",
    "lines",
    "separator_of",
]

GZIP_MAGIC: Final = b"\x1f\x8b"
"""First bytes of a compressed file."""

FIELD_SEPARATORS: Final = ",;\t|"
"""Characters between the fields of tables, the usual one first; the last one is of Slurm."""
READ_SHARE: Final = 0.7
"""Share of the time of an import after which the text is read (measured: a million tasks)."""
MAX_LINE_BYTES: Final = 2**20
"""Longest line in bytes: lines of known tools have some thousands, and a file without line ends
must not fill the memory."""


def lines(path: Path, longest: int = MAX_LINE_BYTES) -> Iterator[tuple[int, str]]:
    """Yield the lines of the text file at *path* with their numbers, from 1, without line ends.

    Raises
    ------
    InputError
        With the line, if the file is cut short or not UTF-8, or a line has *longest* bytes or more.
    """
    number = 0
    with _binary(path) as file:
        try:
            while line := file.readline(longest):
                number += 1
                if len(line) == longest:
                    raise InputError(f"{path}:{number}: a line of {longest} bytes or more")
                yield number, line.decode("utf-8" if number > 1 else "utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError:
            raise InputError(f"{path}:{number}: is not UTF-8 text") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{path}:{number + 1}: the file is cut short: {error}") from None


def separator_of(line: str, separators: str = FIELD_SEPARATORS) -> str:
    """Return the one of *separators* that a line has most often, the first one in a tie."""
    return max(separators, key=line.count)


def csv_rows(path: Path, separators: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of the CSV file at *path*, spaces around fields left out, with their lines.

    The first row determines which of *separators* is used. Empty lines are skipped. Raises as
    :func:`lines` does.
    """
    separator = ""
    # A field with a line break would shift the numbers of lines, but no trace has one.
    for number, line in lines(path):
        if not line:
            continue
        separator = separator or separator_of(line, separators)
        if '"' in line:
            try:
                fields = next(csv.reader([line], strict=True, delimiter=separator))
            except csv.Error as error:
                raise InputError(f"{path}:{number}: {error}") from None
        else:
            fields = line.split(separator)
        yield number, [field.strip() for field in fields]


def csv_table(
    path: Path, separators: str = ","
) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the names of the columns of the CSV file at *path*, and its rows as :func:`csv_rows`.

    Raises :exc:`InputError` for an empty file.
    """
    rows = csv_rows(path, separators)
    first = next(rows, None)
    if first is None:
        raise InputError(f"{path}: is empty; legal: a first line with the names of the columns")
    return first[1], rows


def head_text(head: bytes) -> str:
    """Return the beginning of a file, compressed or not, as text."""
    if head.startswith(GZIP_MAGIC):
        try:
            head = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, 2**16)
        except zlib.error:
            return ""
    return head.decode("utf-8-sig", errors="replace")


@contextmanager
def _binary(path: Path) -> Iterator[BinaryIO]:
    with reading(path) as file:
        follow_text(file.tell, os.fstat(file.fileno()).st_size, until=READ_SHARE)
        compressed = file.read(2) == GZIP_MAGIC
        file.seek(0)
        if compressed:
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", unpacked), 2**16))
        else:
            yield file
