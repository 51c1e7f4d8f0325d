"""Samples from a table of cells: its parameters, categories, durations, and unused columns.

Readers of formats make :class:`Cells` with the place of each cell; :func:`samples_of` decides which
columns are parameters, which of these have categories, and which rows are left out. It reports
everything that it leaves out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError, option, unknown
from tasksim.formats.samples.columns import (
    ORIGIN_COLUMNS,
    choose_columns,
    chosen,
    has_unit,
    name_parts,
    other_parts,
    run_number,
    wrong_value,
)
from tasksim.models.categories import MAX_CATEGORIES, coded_column, text_of
from tasksim.models.samples import UNKNOWN_RUN, Samples, Unused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tasksim.base.arrays import Bools, Floats, Indices, Ints
    from tasksim.formats.samples.columns import ColumnChoice

__all__ = ["MISSING_TEXTS", "Cells", "Column", "samples_of"]

MISSING_TEXTS: Final = frozenset(
    ["", "nan", "NaN", "NAN", "NA", "N/A", "#N/A", "<NA>", "null", "NULL"]
)
"""Texts of a cell without a value. ``none`` is not one of them: it is the name of many options."""
MIN_NAMES_OF_IDENTIFIER: Final = 20
"""Number of names above which a column with a name per sample or two is an identifier."""
MIN_NUMBERED_ROWS: Final = 10
"""Number of rows from which values 0, 1, 2, ... are row numbers: sweeps over as many consecutive
values, in order and each once, are rarer."""
MIN_DIGITS: Final = 6
"""Number of digits from which equal durations of equal parameters are one measurement, written
twice: with fewer, a coarse clock makes them."""
FINEST_CLOCK_S: Final = 1e-9
"""Step of the finest clock in seconds: durations of fewer than 100,000 steps are coarse, too."""
MIN_REPEATED_SHARE: Final = 0.01
"""Share of the rows from which such repetitions are reported: fewer may be chance."""
_ROW_NAMES: Final = ("", "index", "idx", "id", "row", "rowid", "row_id", "unnamed: 0", "sample_id")
_SPREAD_WORDS: Final = {"std", "stddev", "stdev", "stderr", "sem", "sd", "variance"}
_STATISTIC_WORDS: Final = {"min", "max", "median"}
_MOMENT_WORDS: Final = {"timestamp", "date", "datetime"}
_DATE: Final = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
)
_COMMA: Final = re.compile(r"[-+]?\d+,\d+")


@dataclass(frozen=True, eq=False)
class Column:
    """The cells of a column.

    Attributes
    ----------
    values
        float64 [rows]: the numbers; NaN in other cells.
    texts
        Row -> the text of a cell that is not a number.
    """

    values: Floats
    texts: Mapping[int, str]

    @property
    def missing(self) -> Bools:
        """Which cells are without a value."""
        lacking = np.isnan(self.values)
        lacking[list(self.texts)] = False
        return lacking

    @property
    def is_text(self) -> bool:
        """Whether more cells hold texts than numbers; if equally many, whether the first does."""
        numbers = ~np.isnan(self.values)
        count = int(numbers.sum())
        if len(self.texts) != count:
            return len(self.texts) > count
        return bool(self.texts) and min(self.texts) < int(np.argmax(numbers))

    def names(self) -> list[str]:
        """Return the cells as names of categories; "" for missing values."""
        values = self.values.tolist()
        return [
            self.texts[row] if row in self.texts else "" if value != value else text_of(value)
            for row, value in enumerate(values)
        ]

    def select(self, kept: Bools) -> Column:
        """Return the cells of the rows *kept*."""
        place = np.cumsum(kept) - 1
        texts = {int(place[row]): text for row, text in self.texts.items() if kept[row]}
        return Column(self.values[kept], texts)


@dataclass(frozen=True, eq=False)
class Cells:
    """A table in a file.

    Attributes
    ----------
    path
        The file, for messages.
    header
        Place of its names, for messages: ``gemm.csv:1``.
    columns
        Name -> cells.
    place
        Function from row and column name to the place of a cell.
    unused
        Columns and rows that the reader left out.
    index
        Whether the first column has no name and numbers the rows.
    """

    path: Path
    header: str
    columns: Mapping[str, Column]
    place: Callable[[int, str], str]
    unused: tuple[Unused, ...] = ()
    index: bool = False

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())).values)

    def error(self, row: int, name: str, legal: str) -> InputError:
        """Return the error for a cell that is not *legal*."""
        column = self.columns[name]
        text = column.texts.get(row)
        value = column.values[row]
        got = f"'{text.strip()[:40]}'" if text is not None else f"'{value:g}'"
        if text is None and np.isnan(value):
            got = "nothing"
        return InputError(f"{self.place(row, name)}: {name}: got {got}; legal: {legal}")


def samples_of(
    cells: Cells,
    duration: str | None,
    parameters: Sequence[str] | None,
    part: str | None,
    categorical: Sequence[str] = (),
) -> Samples:
    """Return the samples in *cells*; see :func:`~tasksim.formats.samples.read_samples`.

    Raises
    ------
    InputError
        With the place, the value, and the legal values.
    """
    header = list(cells.columns)
    choice = choose_columns(header, {}, duration, parameters, cells.header)
    for name in categorical:
        if name not in header:
            raise unknown("column", name, header, f"{cells.header}: categorical")
        if name == choice.duration:
            raise InputError(f"{cells.header}: '{name}' is the duration, which has no categories")
    if parameters is None:
        others = _no_parameters(cells, choice.parameters, [*categorical, choice.duration])
        choice = choose_columns(header, others, duration, None, cells.header)
    named = _named(cells, choice, categorical)
    mine, others_of = _of_part(cells, part, parameters)
    complete, lacking = _complete(cells, choice, mine)
    kept = mine & complete
    if not kept.any():
        why = f"; {lacking[0].name} {lacking[0].why}" if lacking else ""
        raise InputError(
            f"{cells.path}: no row has values for all of {', '.join(choice.columns)}{why}"
        )
    for name in choice.columns:
        if name not in named:
            _check_numbers(cells, name, kept, duration=name == choice.duration)
    columns: dict[str, Floats] = {}
    categories = {}
    for name in choice.parameters:
        column = cells.columns[name].select(kept)
        if name in named:
            columns[name], categories[name] = coded_column(column.names())
        else:
            columns[name] = column.values
    table = np.column_stack(list(columns.values())) if columns else np.empty((int(kept.sum()), 0))
    durations_s = cells.columns[choice.duration].values[kept] / choice.per_second
    runs = _runs(cells, choice, kept)
    return Samples(
        choice.parameters,
        table,
        durations_s,
        runs,
        unused=(*choice.unused, *cells.unused, *others_of, *lacking),
        categories=categories,
        notes=(
            *_notes(cells, choice, named),
            *_repeated(cells, choice, np.flatnonzero(kept), table, durations_s, runs),
        ),
    )


def _named(cells: Cells, choice: ColumnChoice, categorical: Sequence[str]) -> list[str]:
    """Return the parameters with categories."""
    found = []
    for name in choice.parameters:
        column = cells.columns[name]
        if name not in categorical and not column.is_text:
            continue
        comma = next((row for row, text in column.texts.items() if _COMMA.fullmatch(text)), None)
        if comma is not None and all(map(_COMMA.fullmatch, column.texts.values())):
            raise cells.error(comma, name, "a decimal point, as in 1.5")
        count = len(set(column.names()) - {""})
        if count > MAX_CATEGORIES:
            raise InputError(
                f"{cells.header}: {name}: got {count} categories; legal: at most {MAX_CATEGORIES}; "
                "leave the column out, or give it as numbers if it is a quantity"
            )
        found.append(name)
    return found


def _of_part(
    cells: Cells, part: str | None, parameters: Sequence[str] | None
) -> tuple[Bools, tuple[Unused, ...]]:
    """Return which rows belong to *part*, and the sets of the others."""
    if "architecture" not in cells.columns or "architecture" in (parameters or ()):
        if part is not None:
            raise InputError(f"{cells.path}: has no column 'architecture' with '{part}'")
        return np.ones(len(cells), dtype=bool), ()
    column = np.array(cells.columns["architecture"].names())
    names = np.unique(column).tolist()
    name = chosen(names, "architecture", part, cells.path)
    return column == name, other_parts(names, "architecture", name)


def _complete(cells: Cells, choice: ColumnChoice, mine: Bools) -> tuple[Bools, list[Unused]]:
    """Return which rows are complete, and notes on the others."""
    complete = np.ones(len(cells), dtype=bool)
    first: tuple[int, str] | None = None
    for name in choice.columns:
        missing = cells.columns[name].missing & mine
        complete &= ~missing
        if missing.any() and (first is None or int(np.argmax(missing)) < first[0]):
            first = int(np.argmax(missing)), name
    if first is None:
        return complete, []
    count = int((mine & ~complete).sum())
    rows = "row" if count == 1 else "rows"
    row, name = first
    why = f"without a value, first of {name}: {cells.place(row, name)}"
    return complete, [Unused(f"{count} {rows}", why)]


def _check_numbers(cells: Cells, name: str, kept: Bools, *, duration: bool) -> None:
    """Refuse the first cell of a column that is not a number, or out of range."""
    column = cells.columns[name]
    for row in column.texts:
        if not kept[row]:
            continue
        if len(cells.columns) > 1 and all(row in of.texts for of in cells.columns.values()):
            raise InputError(
                f"{cells.place(row, next(iter(cells.columns)))}: got a line without numbers,"
                " perhaps the start of a second table; legal: one table per file"
            )
        legal = "a number"
        if not duration:
            legal += f"; {option('categorical', name)} reads the column as names"
        raise cells.error(row, name, legal)
    values = np.where(kept, column.values, 1.0)
    found = wrong_value(values, duration=duration)
    if found is not None:
        raise cells.error(found[0], name, found[1])


def _runs(cells: Cells, choice: ColumnChoice, kept: Bools) -> Ints | None:
    if "run" not in cells.columns or "run" in choice.columns:
        return None
    column = cells.columns["run"]
    runs = np.full(len(cells), UNKNOWN_RUN)
    missing = column.missing
    for row in np.flatnonzero(kept & ~missing).tolist():
        try:
            runs[row] = run_number(column.texts.get(row, float(column.values[row])))
        except ValueError:
            raise cells.error(row, "run", "a whole number or nothing") from None
    return runs[kept] if (runs[kept] != UNKNOWN_RUN).any() else None


def _no_parameters(
    cells: Cells, candidates: Sequence[str], asked: Sequence[str]
) -> dict[str, Unused]:
    """Return the columns whose contents are no parameters, and why."""
    found: dict[str, Unused] = {}
    for number, name in enumerate(cells.columns):
        if name in asked or name in ORIGIN_COLUMNS:
            continue
        column = cells.columns[name]
        if number == 0 and cells.index:
            found[name] = Unused(name or "column 1", "names of rows", chosen=True)
        elif why := _no_parameter(name, column):
            found[name] = Unused(name, why, takable=True)
    left = [name for name in candidates if name not in found]
    # If nothing else varies, 0, 1, 2, ... is an evenly varied parameter.
    numbered = [name for name in left if _counts_rows(name, cells.columns[name])]
    if any(_varies(cells.columns[name]) for name in left if name not in numbered):
        found |= {name: Unused(name, "row numbers", takable=True) for name in numbered}
    return found


def _no_parameter(name: str, column: Column) -> str:
    """Return why a column is no parameter; "" if it may be one."""
    rows = len(column.values)
    missing = int(column.missing.sum())
    if missing >= rows / 2:
        return f"empty in {missing} of {rows} rows"
    parts = set(name_parts(name))
    if column.is_text:
        names = set(column.names()) - {""}
        if all(_DATE.fullmatch(text) for text in names):
            return "dates"
        few = max(MIN_NAMES_OF_IDENTIFIER, (rows - missing) / 2)
        if len(names) > min(few, MAX_CATEGORIES):
            return f"an identifier: {len(names)} names in {rows - missing} rows"
        return ""
    if parts & _SPREAD_WORDS:
        return "the spread of durations"
    if parts & _STATISTIC_WORDS and (has_unit(name) or "time" in parts):
        return "another statistic of durations"
    if parts & _MOMENT_WORDS or (parts & {"start", "begin", "end", "stop"} and "time" in parts):
        return "moments"
    return ""


def _counts_rows(name: str, column: Column) -> bool:
    """Return whether a column numbers the rows."""
    values = column.values
    if column.texts or np.isnan(values).any() or len(values) < 2:
        return False
    if name.lower() in _ROW_NAMES:
        return bool((values == np.rint(values)).all() and len(np.unique(values)) == len(values))
    if len(values) < MIN_NUMBERED_ROWS or values[0] not in (0, 1):
        return False
    return bool((np.diff(values) == 1).all())


def _varies(column: Column) -> bool:
    if column.is_text:
        return len(set(column.texts.values())) > 1
    return len(np.unique(column.values[~np.isnan(column.values)])) > 1


def _notes(cells: Cells, choice: ColumnChoice, named: Sequence[str]) -> Iterator[str]:
    """Yield notes on the assumptions of the reader."""
    if not has_unit(choice.duration) and choice.assumed:
        yield (
            f"{choice.duration} has no unit: seconds are assumed;"
            f" {option('duration', f'{choice.duration}:ms')} sets another"
        )
    for name in named:
        column = cells.columns[name]
        numbers = np.flatnonzero(~np.isnan(column.values))
        if column.is_text and len(numbers):
            row = int(numbers[0])
            yield (
                f"{name}: {len(numbers)} of its names are numbers, first "
                f"{text_of(float(column.values[row]))} in {cells.place(row, name)}"
            )


def _repeated(
    cells: Cells,
    choice: ColumnChoice,
    places: Indices,
    table: Floats,
    durations_s: Floats,
    runs: Ints | None,
) -> Iterator[str]:
    """Yield a note if rows are repeated, durations included; *places* are their rows."""
    rows = np.column_stack([table, durations_s, *([] if runs is None else [runs])])
    half = len(rows) // 2
    if half > 1 and len(rows) == 2 * half and (rows[:half] == rows[half:]).all():
        yield f"the second {half} rows repeat the first {half}: they count as repetitions"
        return
    first = np.unique(rows, axis=0, return_index=True)[1]
    again = np.ones(len(rows), dtype=bool)
    again[first] = False
    short = [float(f"{value:.{MIN_DIGITS - 1}g}") for value in durations_s[again].tolist()]
    again[again] = ~np.isclose(durations_s[again], short, rtol=1e-12, atol=0)
    again &= durations_s >= FINEST_CLOCK_S * 10 ** (MIN_DIGITS - 1)
    if again.sum() >= max(2, MIN_REPEATED_SHARE * len(rows)):
        at = cells.place(int(places[np.argmax(again)]), choice.duration)
        yield (
            f"{again.sum()} of {len(rows)} rows equal an earlier one to the last digit of the"
            f" duration, first {at}: they count as repetitions"
        )
