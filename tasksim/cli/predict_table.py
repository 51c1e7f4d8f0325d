"""Predictions for a file of configurations."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError, OutOfDomainError, nearest
from tasksim.formats.samples.csvfile import read_cells
from tasksim.models import CLOCK_PARAMETER
from tasksim.models.categories import UNSEEN_CATEGORY, category_table, code_of, unseen_message
from tasksim.models.fitted import highest_clock
from tasksim.models.rows import plain_number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tasksim.base.arrays import Bools, Floats
    from tasksim.formats.samples.cells import Cells
    from tasksim.models.kernelmodel import KernelModel

__all__ = ["PREDICTED_COLUMNS", "csv_text", "predicted_rows"]

PREDICTED_COLUMNS = ("predicted_s", "low_s", "high_s", "inside")
"""Columns of predictions, after those of the file."""


def predicted_rows(
    model: KernelModel,
    path: Path,
    given: Mapping[str, float | str],
    level: float,
    unseen: str,
) -> list[dict[str, Any]]:
    """Return the rows of the CSV file at *path* with their predictions.

    Parameters
    ----------
    given
        Parameters of all rows, which the file need not have.
    level
        The share of measurements in an interval.
    unseen
        As in :meth:`~tasksim.models.kernelmodel.KernelModel.predict`.

    Raises
    ------
    InputError
        ``file:line:column: what, what was got, what is legal``.
    """
    cells = read_cells(path)
    columns = {name: _column(model, cells, name, given, unseen) for name in model.names_}
    numbers = list(columns.values())
    table = np.column_stack(numbers) if numbers else np.empty((len(cells), 0))
    predicted = _predicted(model, cells, table, unseen)
    inside = model.inside(table) & _as_fixed(model, cells, given)
    low: list[Any] = [None] * len(table)
    high = low
    if model.uncertainty_ is not None:
        lows, highs = model.interval(table, level, unseen=unseen)
        low, high = lows.tolist(), highs.tolist()
    results = zip(predicted.tolist(), low, high, inside.tolist(), strict=True)
    return [
        {**row, **dict(zip(PREDICTED_COLUMNS, result, strict=True))}
        for row, result in zip(_rows(cells, given), results, strict=True)
    ]


def csv_text(rows: list[dict[str, Any]]) -> str:
    """Return *rows* as the text of a CSV file; unknown intervals are empty."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0])
    for row in rows:
        inside = "yes" if row["inside"] else "no"
        cells = (inside if name == "inside" else cell for name, cell in row.items())
        writer.writerow("" if cell is None else cell for cell in cells)
    return out.getvalue()


def _rows(cells: Cells, given: Mapping[str, float | str]) -> list[dict[str, Any]]:
    """Return the cells of each row, with the *given* parameters of all rows."""
    columns: dict[str, list[Any]] = {}
    for name, column in cells.columns.items():
        if name not in PREDICTED_COLUMNS and name not in given:
            values = column.values.tolist()
            columns[name] = [
                column.texts.get(row, None if value != value else plain_number(value))
                for row, value in enumerate(values)
            ]
    for name, value in given.items():
        columns[name] = [value if isinstance(value, str) else plain_number(value)] * len(cells)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _column(
    model: KernelModel, cells: Cells, name: str, given: Mapping[str, float | str], unseen: str
) -> Floats:
    """Return a parameter of *model* in all rows, as numbers."""
    if name in given:
        value: Any = [[given[name]]] * len(cells)
        known = {n: of for n, of in model.categories_.items() if n == name}
        return category_table(
            np.array(value, dtype=object), [name], known, keep_unseen=unseen != "refuse"
        )[:, 0]
    if name not in cells.columns:
        if name == CLOCK_PARAMETER:
            return np.full(len(cells), highest_clock(model))
        raise InputError(
            f"{cells.header}: no column '{name}', a parameter of the model"
            f"{nearest(name, cells.columns)} (columns: {', '.join(cells.columns)}); give "
            f"{name}=VALUE for all rows"
        )
    column = cells.columns[name]
    categories = model.categories_.get(name)
    missing = column.missing
    if missing.any():
        raise cells.error(int(np.argmax(missing)), name, "a category" if categories else "a number")
    if categories is None:
        if column.texts:
            raise cells.error(min(column.texts), name, "a number")
        wrong = ~(np.isfinite(column.values) & (column.values >= 0))
        if wrong.any():
            raise cells.error(int(np.argmax(wrong)), name, "a finite number, not negative")
        return column.values
    texts = column.names()
    codes = {text: code_of(text, categories) for text in dict.fromkeys(texts)}
    found = np.array([codes[text] for text in texts])
    lacking = model.unmeasured_.get(name, ())
    found[np.isin(found, [categories.index(of) for of in lacking])] = UNSEEN_CATEGORY
    if unseen == "refuse" and (found == UNSEEN_CATEGORY).any():
        row = int(np.argmax(found == UNSEEN_CATEGORY))
        measured = [category for category in categories if category not in lacking]
        raise OutOfDomainError(
            f"{cells.place(row, name)}: {unseen_message(name, texts[row], measured)}; --unseen "
            "pooled predicts from all of them"
        )
    return found


def _predicted(model: KernelModel, cells: Cells, table: Floats, unseen: str) -> Floats:
    """Return the predictions; an error names the line of the first row without one."""
    try:
        return model.predict(table, unseen=unseen)
    except OutOfDomainError:
        for row in range(len(table)):
            try:
                model.predict(table[row : row + 1], unseen=unseen)
            except OutOfDomainError as error:
                where = cells.place(row, next(iter(cells.columns)))
                raise OutOfDomainError(f"{where}: {error}") from None
        raise


def _as_fixed(model: KernelModel, cells: Cells, given: Mapping[str, float | str]) -> Bools:
    """Return which rows have the only measured value of each fixed parameter."""
    same = np.ones(len(cells), dtype=bool)
    for name, value in model.fixed_.items():
        categories = model.categories_.get(name)
        if name in given:
            known = given[name] if categories is None else code_of(given[name], categories)
            same &= known == value
        elif name in cells.columns:
            column = cells.columns[name]
            if categories is None:
                same &= column.values == value
            else:
                same &= np.array([code_of(t, categories) == value for t in column.names()])
    return same
