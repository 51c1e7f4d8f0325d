"""Samples in CSV files, with a line of names and then a line per execution."""

from __future__ import annotations

import csv
import io
import math
import re
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.files import read_text
from tasksim.base.numerals import is_plain, plain_float
from tasksim.base.units import counted
from tasksim.formats.registry import Format
from tasksim.formats.samples.cells import MISSING_TEXTS, Cells, Column, samples_of
from tasksim.models.samples import Unused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tasksim.models.samples import Samples

__all__ = ["CSV", "read_cells", "read_csv"]

CHUNK_ROWS: Final = 20_000
"""Number of rows that are converted at once: cells take several times the memory of their numbers,
so those of a long file are never all in memory."""


def read_csv(
    path: Path,
    duration: str | None = None,
    parameters: Sequence[str] | None = None,
    part: str | None = None,
    categorical: Sequence[str] = (),
) -> Samples:
    """Return the samples in the CSV file at *path*.

    Fields are separated by commas, semicolons or tabs, as in the header. Empty lines, lines that
    begin with ``#``, and repeated headers do not count. A column is numeric if it has more numbers
    than texts; a text is then an error. Rows with an empty cell are left out. A first column
    without a name numbers the rows. A column ``run`` has the run of each sample; a column
    ``architecture`` with several values needs *part*.

    Raises
    ------
    InputError
        ``file:line:column: what, what was got, what is legal``.
    """
    return samples_of(read_cells(path), duration, parameters, part, categorical)


def read_cells(path: Path) -> Cells:
    """Return the cells of the CSV file at *path*."""
    return _Table(path, read_text(path)).cells()


class _Table:
    """The text of a CSV file, with the positions of its parts."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        first = re.search(r"^[^#\s].*", text, re.MULTILINE)
        self.delimiter = max(",;\t", key=first[0].count) if first else ","
        header = next((fields for _, fields in self._rows()), None)
        if header is None:
            raise InputError(f"{path}: is empty; legal: a first line with the names of the columns")
        self.header = tuple(name.strip() for name in header)
        self.index = self.header[0] == "" or self._lacks_a_name()
        if self.index and self.header[0] != "":
            self.header = ("", *self.header)
        for index, name in enumerate(self.header):
            if (not name and index > 0) or name in self.header[:index]:
                got = f"'{name}' again" if name else "nothing"
                raise self.error(0, index, f"got {got}; legal: a name for each column, once")
            if _number(name) is not None:
                raise self.error(0, index, f"got '{name}'; legal: a first line with names")

    def cells(self) -> Cells:
        """Return the cells of the file, without its header."""
        columns = self._read()
        again = f"{self.repeated} line" if self.repeated == 1 else f"{self.repeated} lines"
        unused = (Unused(again, "the header again"),) if self.repeated else ()
        return Cells(self.path, f"{self.path}:1", columns, self._place, unused, self.index)

    def _lacks_a_name(self) -> bool:
        """Return whether the rows have one more field than the header, a name of the row."""
        names = []
        for _, fields in islice(self._rows(), 1, None):
            if len(fields) != len(self.header) + 1:
                return False
            names.append(fields[0].strip())
        if len(names) < 2 or len(set(names)) != len(names):
            return False
        numbers = [_number(name) for name in names]
        if any(number is None for number in numbers):
            return True
        return numbers in (
            [float(row) for row in range(len(names))],
            [float(row) for row in range(1, len(names) + 1)],
        )

    def _read(self) -> dict[str, Column]:
        values: dict[str, list[NDArray[np.float64]]] = {name: [] for name in self.header}
        texts: dict[str, dict[int, str]] = {name: {} for name in self.header}
        rows = islice(self._rows(), 1, None)
        begin = 0
        while chunk := [fields for _, fields in islice(rows, CHUNK_ROWS)]:
            self._check_lengths(chunk, begin)
            for name, column in zip(self.header, zip(*chunk, strict=True), strict=True):
                values[name].append(_numbers(column, begin, texts[name]))
            begin += len(chunk)
        if not begin:
            raise InputError(f"{self.path}:2:1: got the end of the file; legal: samples")
        return {name: Column(np.concatenate(values[name]), texts[name]) for name in self.header}

    def _check_lengths(self, chunk: list[list[str]], begin: int) -> None:
        width = len(self.header)
        for index, fields in enumerate(chunk, begin):
            if len(fields) != width:
                place = min(len(fields), width) - 1
                hint = ""
                if all(_number(field) is None and field.strip() for field in fields):
                    hint = ", perhaps the start of a second table; legal: one per file"
                message = f"got {counted(len(fields), 'field')}; legal: {width}{hint}"
                raise self.error(index + 1, place, message)

    def _place(self, row: int, name: str) -> str:
        """Return the place of the cell of a *row*, from 0, and a column."""
        return self._at(row + 1, self.header.index(name))

    def error(self, row: int, column: int, message: str) -> InputError:
        """Return the error with the place of a cell; row 0 is the header."""
        return InputError(f"{self._at(row, column)}: {message}")

    def _at(self, row: int, column: int) -> str:
        line = next(islice(self._rows(), row, None))[0]
        text = re.split("\r\n|\r|\n", self.text)[line - 1]
        return f"{self.path}:{line}:{_position(text, self.delimiter, column)}"

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the lines with their numbers from 1, without repeated headers."""
        header: list[str] | None = None
        self.repeated = 0
        for number, fields in self._lines():
            if fields == header:
                self.repeated += 1
                continue
            header = fields if header is None else header
            yield number, fields

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the lines that are neither empty nor comments, with their numbers from 1."""
        stream = io.StringIO(self.text, newline="")
        lines = csv.reader(stream, delimiter=self.delimiter, skipinitialspace=True)
        try:
            for fields in lines:
                if fields and not (fields[0].startswith("#") or fields == [""]):
                    yield lines.line_num, fields
        except csv.Error as error:
            raise InputError(f"{self.path}:{lines.line_num}: {error}") from None


def _numbers(column: Sequence[str], begin: int, texts: dict[int, str]) -> NDArray[np.float64]:
    """Return the cells of a *column* as numbers, NaN for texts, which go to *texts*.

    *begin* is the number of its first row.
    """
    try:
        if is_plain("".join(column)):
            return np.array(list(map(float, column)), dtype=np.float64)
    except ValueError:
        pass
    values = np.full(len(column), np.nan)
    for row, cell in enumerate(column):
        text = cell.strip()
        if text in MISSING_TEXTS:
            continue
        number = _number(text)
        if number is None:
            texts[begin + row] = text
        else:
            values[row] = number
    return values


def _number(text: str) -> float | None:
    try:
        value = plain_float(text)
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _position(line: str, delimiter: str, index: int) -> int:
    """Return the column, from 1, at which field *index* of a *line* begins."""
    quoted = False
    for position, character in enumerate(line):
        if index == 0:
            return position + 1 + len(line[position:]) - len(line[position:].lstrip())
        quoted ^= character == '"'
        index -= character == delimiter and not quoted
    return len(line) + 1 if index == 0 and line else max(1, len(line))


CSV = Format(
    summary="Samples, a line per execution, with a line of names: separated by , ; or tabs.",
    suffixes=(".csv", ".tsv", ".txt"),
    reads_samples=read_csv,
    takes_categorical=True,
)
