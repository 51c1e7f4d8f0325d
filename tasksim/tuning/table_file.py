"""CSV files of performance tables, with errors by file, line and column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tasksim.base.documents.csv_table import CsvRow, read_csv_table
from tasksim.base.errors import InputError, nearest
from tasksim.base.files import read_text
from tasksim.base.numerals import decimal_number
from tasksim.tuning.table import PerformanceTable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["read_performance"]


def read_performance(
    path: Path,
    features: Sequence[str],
    choices: Sequence[str],
    *,
    limit: str | None = None,
    higher: bool = True,
) -> PerformanceTable:
    """Return the performance table in a CSV file.

    Parameters
    ----------
    path : Path
        A line with names of columns, then a row per example.
    features : sequence of str
        Columns of features, known before the choice: numbers. Each text of a column without numbers
        becomes a feature ``COLUMN=TEXT``, which is 1 in its rows and 0 in others.
    choices : sequence of str
        Columns with the performance or the time of each choice, above 0.
    limit : str, optional
        A column with the largest choice that an example allows; choices are then numbers, and
        fields of larger ones may be empty.
    higher : bool, default True
        Whether larger is better, or the columns have times or other costs.

    Raises
    ------
    InputError
        If a column is missing or named twice, or a field is illegal.

    See Also
    --------
    PerformanceTable.of : Make a table of columns in memory.
    """
    reader = _Reader.of(path, features, choices, limit)
    if not reader.rows:
        raise InputError(f"{path}: has no rows below its header; give at least two examples")
    sign = 1 if higher else -1
    sizes = _sizes(choices) if limit is not None else None
    limits = None if limit is None else [reader.limit(row, limit, sizes) for row in reader.rows]
    return PerformanceTable.of(
        {name: column for given in features for name, column in reader.feature(given).items()},
        {
            name: [
                reader.performance(row, name, limits is None or float(name) <= limits[i]) ** sign
                for i, row in enumerate(reader.rows)
            ]
            for name in choices
        },
        limits,
        {name: reader.texts(name) for name in reader.header if name not in choices},
    )


def _sizes(choices: Sequence[str]) -> list[float]:
    """Return the choices as numbers, which a limit requires."""
    found = [decimal_number(choice) for choice in choices]
    for choice, size in zip(choices, found, strict=True):
        if size is None:
            raise InputError(
                f"--limit: choice '{choice}' is not a number; only numbers have a limit"
            )
    return [size for size in found if size is not None]


@dataclass(frozen=True)
class _Reader:
    """Table as read from the file."""

    path: Path
    header: dict[str, int]
    rows: tuple[CsvRow, ...]

    @classmethod
    def of(
        cls, path: Path, features: Sequence[str], choices: Sequence[str], limit: str | None
    ) -> _Reader:
        table = read_csv_table(path)
        names = table.header.fields
        for index, name in enumerate(names):
            if name in names[:index]:
                raise _error(table.header, index, f"column '{name}' occurs twice")
        wanted = [*features, *choices]
        for index, name in enumerate(wanted):
            if name in wanted[:index]:
                raise InputError(f"column '{name}' is named twice among features and choices")
        for name in [*wanted, *([] if limit is None else [limit])]:
            if name not in names:
                close, known = nearest(name, names), ", ".join(names)
                raise table.header.error(f"no column '{name}'{close} (columns: {known})")
        return cls(path, {name: index for index, name in enumerate(names)}, table.body)

    def texts(self, name: str) -> list[str]:
        return [row.fields[self.header[name]] for row in self.rows]

    def feature(self, name: str) -> dict[str, list[float]]:
        """Return a feature, or one for each text in alphabetical order."""
        texts = self.texts(name)
        if all(map(_is_text, texts)):
            return {
                f"{name}={known}": [float(text == known) for text in texts]
                for known in sorted(set(texts))
            }
        return {name: [self.number(row, name) for row in self.rows]}

    def number(self, row: CsvRow, name: str) -> float:
        """Return a number, of either sign."""
        return self._number(row, name, "a finite number", float("-inf"))

    def limit(self, row: CsvRow, name: str, sizes: Sequence[float] | None) -> float:
        """Return a limit that allows at least one of the choices."""
        assert sizes is not None
        least = min(sizes)
        return self._number(row, name, f"a number from {least:g}, the smallest choice", least)

    def performance(self, row: CsvRow, name: str, allowed: bool) -> float:
        """Return a performance; 1 for a choice that is neither allowed nor measured."""
        if not allowed and not row.fields[self.header[name]]:
            return 1.0
        return self._number(row, name, "a number larger than 0", 5e-324)

    def _number(self, row: CsvRow, name: str, legal: str, least: float) -> float:
        index = self.header[name]
        value = decimal_number(row.fields[index])
        if value is not None and value >= least:
            return value
        raise _error(row, index, f"{name}: got '{row.fields[index]}'; legal: {legal}")


def _is_text(field: str) -> bool:
    """Return whether a field is not like a number, not even ``nan``."""
    try:
        float(field)
    except ValueError:
        return bool(field)
    return False


def _error(row: CsvRow, index: int, message: str) -> InputError:
    """Return the error with file, line and column of a field."""
    column = _column(read_text(row.path).split("\n")[row.line - 1], index)
    return InputError(f"{row.path}:{row.line}:{column}: {message}")


def _column(line: str, index: int) -> int:
    """Return the column of *line*, from 1, at which the field of this *index* begins."""
    quoted, fields = False, 0
    for position, character in enumerate(line):
        if fields == index and not character.isspace():
            return position + 1
        quoted ^= character == '"'
        fields += character == "," and not quoted
    return len(line) + 1
