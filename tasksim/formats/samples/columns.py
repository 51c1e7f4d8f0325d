"""Choice of the columns and rows of samples, such as duration, parameters, and set."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.models.samples import Unused, counters_among

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = [
    "BOOKKEEPING",
    "DURATION_UNITS",
    "TEXT_ADVICE",
    "ColumnChoice",
    "choose_columns",
    "chosen",
    "chosen_rows",
    "find_duration",
    "not_a_number",
    "other_parts",
    "wrong_value",
]

DURATION_UNITS: Final = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""Unit -> its number per second; a divisor, because division rounds to the nearest float."""
SPENT: Final = ("run", "architecture")
"""Columns that readers use for their meaning: the run of a sample, and its set."""
NO_PARAMETERS: Final = {
    "repetition": "counts repetitions",
    "wall_s": "the time by the clock on the wall",
}
"""Columns of numbers that are parameters only on request -> their meanings."""
BOOKKEEPING: Final = (*SPENT, *NO_PARAMETERS)
"""Columns with the origin of a sample; they are parameters only on request."""

LARGEST_RUN: Final = 2.0**53
"""Largest number of a run: numbers of runs are read as floats, which are exact up to this."""

_WORDS: Final = ("duration", "runtime", "time", "elapsed", "walltime", "seconds")
_UNIT: Final = re.compile(r"(?<=.)[ _.\[(](ns|us|\u00b5s|ms|s)[\])]?\Z")


@dataclass(frozen=True)
class ColumnChoice:
    """Chosen columns: duration, with units per second; parameters; counters.

    ``unused`` are the other columns, with the reasons.
    """

    duration: str
    per_second: float
    parameters: tuple[str, ...]
    unused: tuple[Unused, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them, the duration last."""
        return (*self.parameters, self.duration)


def choose_columns(
    header: Sequence[str],
    others: Mapping[str, str],
    duration: str | None,
    parameters: Sequence[str] | None,
    where: str,
) -> ColumnChoice:
    """Return which columns of *header* count.

    Parameters
    ----------
    header
        The names of all columns.
    others
        The columns that hold no numbers -> what they hold instead.
    duration
        The name of the column of durations, its unit at the end (``runtime_ms``) or after a
        colon (``runtime:ms``); by default the one whose name says so.
    parameters
        The names of parameters; by default all numeric columns but durations and
        :data:`BOOKKEEPING`. Numeric columns that are counters count besides.
    where
        What messages begin with.

    Raises
    ------
    InputError
        If a column is not there, not numeric, the unit is not known, or several columns could be
        the duration.
    """
    numeric = [column for column in header if column not in others]
    name, per_second = find_duration(header, duration, where)
    if parameters is None:
        why = {**others, **_not_parameters(header, name)}
        unused = [
            Unused(c, why[c], chosen=c in BOOKKEEPING)
            for c in header
            if c in why and c not in (name, *SPENT)
        ]
        kept = (c for c in numeric if c not in {name, *SPENT, *why})
        return ColumnChoice(name, per_second, tuple(kept), tuple(unused))
    for index, column in enumerate(parameters):
        if column not in header:
            raise unknown("column", column, header, where)
        if column == name:
            raise InputError(f"{where}: '{column}' is the duration; it is not a parameter as well")
        if column in parameters[:index]:
            raise InputError(f"{where}: parameter '{column}' is chosen twice")
    counted = [c for c in counters_among(numeric) if c != name and c not in parameters]
    used = {name, *parameters, *counted, *SPENT}
    unused = [Unused(c, "not among the parameters named", chosen=True) for c in header]
    return ColumnChoice(
        name,
        per_second,
        (*parameters, *counted),
        tuple(one for one in unused if one.name not in used),
    )


TEXT_ADVICE: Final = "give each name a number, 0, 1, 2, to use the column as a parameter"
"""Advice for a requested column that contains text."""


def not_a_number(cell: object) -> str:
    """Describe a column whose first *cell* is not a number.

    >>> not_a_number("dgz"), not_a_number(" ")
    ("text, such as 'dgz'", 'nothing in its first row')
    """
    text = str(cell).strip()
    return f"text, such as '{text[:20]}'" if text else "nothing in its first row"


def _not_parameters(header: Sequence[str], duration: str) -> dict[str, str]:
    """Return the numeric columns that are no parameters unless they are named, and why."""
    found = {name: "another duration" for name in _durations(header) if name != duration}
    return found | {name: why for name, why in NO_PARAMETERS.items() if name in header}


def find_duration(header: Sequence[str], wanted: str | None, where: str) -> tuple[str, float]:
    """Return the name of the column of durations, and how many of its units are a second.

    >>> find_duration(["m", "runtime_ms"], None, "gemm.csv")
    ('runtime_ms', 1000.0)
    >>> find_duration(["m", "t"], "t:us", "gemm.csv")
    ('t', 1000000.0)
    """
    if wanted is not None:
        return _given(header, wanted, where)
    found = _durations(header)
    if len(found) == 1:
        return found[0], _per_second(found[0])
    if found:
        raise InputError(
            f"{where}: which column is the duration? {', '.join(found)}: say --duration {found[0]}"
        )
    unitless = next((c for c in header if c.lower() in _WORDS), None)
    example = f"{unitless}:us" if unitless else "runtime_s"
    raise InputError(
        f"{where}: no column is a duration with its unit (columns: {', '.join(header)}); "
        f"say which one and its unit: --duration {example} (units: {', '.join(DURATION_UNITS)})"
    )


def run_number(value: str | float) -> int:
    """Return which run a sample is from; :exc:`ValueError` if that is no whole number.

    >>> run_number("3"), run_number(3.0)
    (3, 3)
    """
    number = float(value)
    if not (abs(number) <= LARGEST_RUN and number.is_integer()):
        raise ValueError
    return int(number)


def wrong_value(values: NDArray[np.float64], *, duration: bool) -> tuple[int, str] | None:
    """Return the first of *values* that is none of a parameter, or of a *duration*, and why.

    >>> import numpy as np
    >>> wrong_value(np.array([1.0, 0.0]), duration=True)
    (1, 'a finite number, larger than 0')
    """
    fine = np.isfinite(values) & (values > 0 if duration else values >= 0)
    if fine.all():
        return None
    legal = "larger than 0" if duration else "not negative"
    return int(np.argmin(fine)), f"a finite number, {legal}"


def _given(header: Sequence[str], wanted: str, where: str) -> tuple[str, float]:
    if wanted in header:
        unit = _unit(wanted)
        if unit is None:
            raise InputError(
                f"{where}: the unit of column '{wanted}' is not known: say --duration {wanted}:s "
                f"(units: {', '.join(DURATION_UNITS)})"
            )
        return wanted, DURATION_UNITS[unit]
    name, _, unit = wanted.rpartition(":")
    if name in header and unit not in DURATION_UNITS:
        raise unknown("unit", unit, DURATION_UNITS, f"{where}: --duration {wanted}")
    if name not in header:
        raise unknown("column", name or wanted, header, where)
    return name, DURATION_UNITS[unit]


def _durations(header: Sequence[str]) -> list[str]:
    """Return the columns that say that they are durations, and in which unit."""
    found = []
    for name in header:
        match = _UNIT.search(name)
        word = (name[: match.start()].rstrip(" _.") if match else name).lower()
        if word in _WORDS and _unit(name) is not None:
            found.append(name)
    return found


def _unit(name: str) -> str | None:
    if name.lower() == "seconds":
        return "s"
    match = _UNIT.search(name)
    return match[1].replace("\u00b5", "u") if match else None


def _per_second(name: str) -> float:
    unit = _unit(name)
    return DURATION_UNITS[unit] if unit else 1.0


def chosen(names: Sequence[str], what: str, part: str | None, path: Path) -> str:
    """Return which of *names*, each *what*, is meant: *part*, or the only one.

    Raises
    ------
    InputError
        If there is no such name, or several and none was asked for.
    """
    if part is not None:
        if part not in names:
            raise unknown(what, part, names, str(path))
        return part
    if len(names) != 1:
        raise InputError(
            f"{path}: has samples of {len(names)} of these: {what} {', '.join(names)}; "
            "say which one is meant: --part NAME"
        )
    return names[0]


def chosen_rows(
    column: NDArray[Any] | None, what: str, part: str | None, path: Path
) -> tuple[NDArray[np.bool_] | slice, tuple[Unused, ...]]:
    """Return which rows to take, by a *column* of names, and the sets that others are of.

    All rows if there is no such column.
    """
    if column is None:
        if part is not None:
            raise InputError(f"{path}: has no column '{what}' to find '{part}' in")
        return slice(None), ()
    names = np.unique(column).tolist()
    name = chosen(names, what, part, path)
    return column == name, other_parts(names, what, name)


def other_parts(names: Sequence[str], what: str, part: str) -> tuple[Unused, ...]:
    """Return the sets of samples that are not used, where *part* of *names* is."""
    return tuple(
        Unused(f"{what} {name}", f"'{part}' is read", chosen=True) for name in names if name != part
    )
