"""Reader of small CSV tables that people type: a header, rows, comments, empty lines."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.base.files import read_text
from tasksim.base.numerals import decimal_number
from tasksim.base.units import counted

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CsvRow", "CsvTable", "read_csv_table"]


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One line of a table; its fields have no spaces around them."""

    path: Path
    line: int
    fields: tuple[str, ...]

    def error(self, message: str) -> InputError:
        """Return an error whose message begins with the file and the line."""
        return InputError(f"{self.path}:{self.line}: {message}")

    def number(self, text: str, what: str, *, positive: bool = False) -> float:
        """Return *text* as a finite number from 0, or above 0 if *positive*.

        Raises :exc:`InputError` for any other text; its message names the value *what*.
        """
        value = decimal_number(text)
        if value is not None and (value > 0 if positive else value >= 0):
            return value
        legal = "a number larger than 0" if positive else "a number from 0"
        raise self.error(f"{what}: got '{text}'; legal: {legal}")


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A header and rows; each row has as many fields as the header."""

    header: CsvRow
    body: tuple[CsvRow, ...]


def read_csv_table(path: Path) -> CsvTable:
    """Return the table in the file at *path*.

    Empty lines and lines that begin with ``#`` are skipped.

    Raises
    ------
    InputError
        If there is no such file, if it has no header, or if a row has more or fewer fields than
        the header.
    """
    lines = csv.reader(io.StringIO(read_text(path), newline=""), strict=True, skipinitialspace=True)
    rows = []
    try:
        for fields in lines:
            stripped = tuple(field.strip() for field in fields)
            if any(stripped) and not stripped[0].startswith("#"):
                rows.append(CsvRow(path, lines.line_num, stripped))
    except csv.Error as error:
        raise InputError(f"{path}:{lines.line_num}: {error}") from None
    if not rows:
        raise InputError(f"{path}: is empty; expected a line with the names of the columns")
    header = rows[0]
    for row in rows[1:]:
        if len(row.fields) != len(header.fields):
            raise row.error(
                f"got {counted(len(row.fields), 'field')}, '{','.join(row.fields)[:60]}'; "
                f"legal: {len(header.fields)}, as in the header '{','.join(header.fields)[:60]}'"
            )
    return CsvTable(header, tuple(rows[1:]))
