"""Samples in CSV files, with a line of names and then a line per execution."""

from __future__ import annotations

import csv
import io
import math
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.files import read_text
from tasksim.base.numerals import is_plain, plain_float
from tasksim.formats.registry import Format
from tasksim.formats.samples.columns import (
    TEXT_ADVICE,
    choose_columns,
    chosen_rows,
    not_a_number,
    run_number,
    wrong_value,
)
from tasksim.models.samples import UNKNOWN_RUN, Samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["CSV", "read_csv"]

CHUNK: Final = 20_000
"""Number of rows that are converted at once: the cells of a long file, which take several times the
memory of their numbers, are never all in memory."""


def read_csv(
    path: Path,
    duration: str | None = None,
    parameters: Sequence[str] | None = None,
    part: str | None = None,
) -> Samples:
    """Return the samples in the CSV file at *path*.

    Fields are separated by commas, semicolons or tabs, whichever the header has. Empty lines and
    those that begin with ``#`` do not count. A column is numeric if its first cell is a number:
    a later cell that is not is an error, and not a reason to leave the column out.
    A column ``run`` says which run a sample is from; one ``architecture`` with several values
    needs *part* to choose one.

    Raises
    ------
    InputError
        ``file:line:column: what, what was got, what is legal``.
    """
    table = _Table(path, read_text(path))
    choice = choose_columns(table.header, table.texts(), duration, parameters, f"{path}:1")
    texts = [
        name for name in ("architecture",) if name in table.header and name not in choice.columns
    ]
    runs = ["run"] if "run" in table.header and "run" not in choice.columns else []
    columns = table.read(choice.columns, runs, texts)
    durations = columns.pop(choice.duration) / choice.per_second
    kinds = columns["architecture"] if texts else None
    rows, others = chosen_rows(kinds, "architecture", part, path)
    numbers = [columns[name] for name in choice.parameters]
    shape = np.column_stack(numbers) if numbers else np.empty((len(durations), 0))
    run = columns["run"][rows].astype(np.int64) if runs else None
    if run is not None and not np.any(run != UNKNOWN_RUN):
        run = None
    unused = (*choice.unused, *others)
    return Samples(choice.parameters, shape[rows], durations[rows], run, unused=unused)


class _Table:
    """The text of a CSV file, with the positions of its parts."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        first = re.search(r"^[^#\s].*", text, re.MULTILINE)
        self.delimiter = max(",;\t", key=first[0].count) if first else ","
        header = next((fields for _, fields in self._rows()), None)
        if header is None:
            raise InputError(f"{path}: is empty; expected a line with the names of the columns")
        self.header = tuple(name.strip() for name in header)
        self._check_header()

    def _check_header(self) -> None:
        for index, name in enumerate(self.header):
            if not name or name in self.header[:index]:
                got = f"'{name}' again" if name else "nothing"
                raise self.error(0, index, f"got {got}; legal: a name for each column, once")
            if _number(name) is not None:
                raise self.error(0, index, f"got '{name}'; legal: a first line with names")

    def texts(self) -> dict[str, str]:
        """Return the columns whose first cell is no number, and what that is."""
        first = next((fields for _, fields in islice(self._rows(), 1, None)), None)
        if first is None:
            raise InputError(f"{self.path}:2:1: got the end of the file; legal: samples")
        cells = zip(self.header, first, strict=False)
        return {n: not_a_number(text) for n, text in cells if _number(text) is None}

    def read(
        self, numbers: Sequence[str], runs: Sequence[str], texts: Sequence[str]
    ) -> dict[str, NDArray[Any]]:
        """Return columns by name: *numbers* and *texts* as such, *runs* maybe empty."""
        parts: dict[str, list[NDArray[Any]]] = {name: [] for name in (*numbers, *runs, *texts)}
        rows = islice(self._rows(), 1, None)
        begin = 1
        while chunk := [fields for _, fields in islice(rows, CHUNK)]:
            self._check_lengths(chunk, begin)
            cells = list(zip(*chunk, strict=True))
            for name in parts:
                column = cells[self.header.index(name)]
                parts[name].append(
                    np.array([text.strip() for text in column])
                    if name in texts
                    else self._floats(
                        name, column, begin, empty=name in runs, advise=name in numbers[:-1]
                    )
                )
            begin += len(chunk)
        self._check_values(numbers, parts)
        return {name: np.concatenate(found) for name, found in parts.items()}

    def _check_lengths(self, chunk: list[list[str]], begin: int) -> None:
        width = len(self.header)
        for index, fields in enumerate(chunk, begin):
            if len(fields) != width:
                place = min(len(fields), width) - 1
                raise self.error(index, place, f"got {len(fields)} fields; legal: {width}")

    def _floats(
        self, name: str, column: Sequence[str], begin: int, *, empty: bool, advise: bool
    ) -> NDArray[np.float64]:
        """Return the cells of a *column* as numbers; *begin* is the number of its first row.

        *empty* cells may be there; *advise* says what to do about text.
        """
        if empty:
            column = [text or str(UNKNOWN_RUN) for text in column]
        try:
            if not is_plain("".join(column)):
                raise ValueError
            return np.array(list(map(run_number if empty else float, column)), dtype=np.float64)
        except ValueError:
            wrong = next(i for i, text in enumerate(column) if not _reads(text, whole=empty))
            legal = "a number" if not empty else "a whole number or nothing"
            if advise and begin + wrong == 1 and column[wrong].strip():
                legal += f"; {TEXT_ADVICE}"
            raise self.wrong(begin + wrong, name, column[wrong], legal) from None

    def _check_values(self, numbers: Sequence[str], parts: dict[str, list[NDArray[Any]]]) -> None:
        """Refuse what is no parameter and no duration, where it is."""
        for name in numbers:
            values = np.concatenate(parts[name])
            found = wrong_value(values, duration=name == numbers[-1])
            if found is not None:
                raise self.wrong(found[0] + 1, name, f"{values[found[0]]:g}", found[1])

    def wrong(self, row: int, name: str, got: str, legal: str) -> InputError:
        """Return the error that a cell has *got* something else than what is *legal*."""
        shown = f"'{got.strip()[:40]}'" if got.strip() else "nothing"
        return self.error(row, self.header.index(name), f"{name}: got {shown}; legal: {legal}")

    def error(self, row: int, column: int, message: str) -> InputError:
        """Return the error that begins with where a cell is; row 0 is the header."""
        line = next(islice(self._rows(), row, None))[0]
        at = _position(re.split("\r\n|\r|\n", self.text)[line - 1], self.delimiter, column)
        return InputError(f"{self.path}:{line}:{at}: {message}")

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the lines that count, with their numbers from 1."""
        stream = io.StringIO(self.text, newline="")
        lines = csv.reader(stream, delimiter=self.delimiter, skipinitialspace=True)
        try:
            for fields in lines:
                if fields and not (fields[0].startswith("#") or fields == [""]):
                    yield lines.line_num, fields
        except csv.Error as error:
            raise InputError(f"{self.path}:{lines.line_num}: {error}") from None


def _number(text: str) -> float | None:
    try:
        value = plain_float(text)
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _reads(text: str, *, whole: bool) -> bool:
    try:
        run_number(text) if whole else float(text)
    except ValueError:
        return False
    return is_plain(text)


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
)
