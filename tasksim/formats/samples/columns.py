"""Choice of the columns and rows of samples, such as duration, parameters, and set."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError, option, unknown
from tasksim.models.samples import ACCESSED_BYTES, Unused, counters_among

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = [
    "DURATION_UNITS",
    "NOT_NAMED",
    "ORIGIN_COLUMNS",
    "ColumnChoice",
    "choose_columns",
    "chosen",
    "duration_words",
    "find_duration",
    "has_unit",
    "name_and_unit",
    "name_parts",
    "other_parts",
    "run_number",
    "wrong_value",
]

DURATION_UNITS: Final = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""Unit -> its number per second: a divisor, because division rounds to the nearest float."""
INTERPRETED_COLUMNS: Final = ("run", "architecture")
"""Columns that readers use for their meaning: the run of a sample, and its set."""
NO_PARAMETERS: Final = {
    "repetition": "counts repetitions",
    "wall_s": "the wall-clock time",
    **dict.fromkeys(ACCESSED_BYTES, "the data of the task"),
}
"""Columns of numbers that are parameters only on request -> their meanings."""
ORIGIN_COLUMNS: Final = (*INTERPRETED_COLUMNS, *NO_PARAMETERS)
"""Columns about the origin of a sample, which are parameters only on request."""

NOT_NAMED: Final = "not among the parameters named"
"""Reason of columns that a choice of parameters leaves out."""
LARGEST_RUN: Final = 2.0**53
"""Largest number of a run: numbers of runs are read as floats, which are exact up to this."""

_DURATION_WORDS: Final = ("duration", "runtime", "time", "elapsed", "walltime", "seconds")
_LOOSE_WORDS: Final = (*_DURATION_WORDS, "latency", "wallclock", "exectime", "secs", "sec")
"""Last words of names of durations with several words: ``kernel_time``."""
_MEAN_WORDS: Final = ("t", "mean", "avg", "average")
"""Words that name a duration only with a unit: ``mean_ms``."""
_NO_DURATION: Final = (
    "start", "begin", "end", "stop", "stamp", "min", "max", "median", "std", "stddev", "stdev",
    "stderr", "sem", "sd", "variance",
)  # fmt: skip
"""Words in the names of moments and of other statistics of durations."""
_UNIT: Final = re.compile(
    r"(?<=.)[ _.\[(](ns|us|\u00b5s|ms|s|n(?:ano)?secs?|u(?:s)?ecs?|m(?:illi)?secs?|secs?"
    r"|(?:nano|micro|milli)?seconds)[\])]?\Z"
)
_LONG_UNITS: Final = {
    "sec": "s", "secs": "s", "seconds": "s", "msec": "ms", "msecs": "ms", "millisec": "ms",
    "millisecs": "ms", "milliseconds": "ms", "usec": "us", "usecs": "us", "microseconds": "us",
    "nsec": "ns", "nsecs": "ns", "nanosec": "ns", "nanosecs": "ns", "nanoseconds": "ns",
    "\u00b5s": "us",
}  # fmt: skip


@dataclass(frozen=True)
class ColumnChoice:
    """Chosen columns: duration, with units per second; parameters; counters.

    ``unused`` are the other columns, with the reasons; ``assumed`` tells whether the unit of the
    duration is an assumption.
    """

    duration: str
    per_second: float
    parameters: tuple[str, ...]
    unused: tuple[Unused, ...] = ()
    assumed: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them, the duration last."""
        return (*self.parameters, self.duration)


def choose_columns(
    header: Sequence[str],
    others: Mapping[str, Unused],
    duration: str | None,
    parameters: Sequence[str] | None,
    where: str,
) -> ColumnChoice:
    """Return the chosen columns of *header*.

    Parameters
    ----------
    header
        The names of all columns.
    others
        The columns that are parameters only if they are named, and why.
    duration
        The name of the column of durations, with its unit at the end (``runtime_ms``) or after a
        colon (``runtime:ms``); by default the column with such a name.
    parameters
        The names of parameters; by default all columns but durations, :data:`ORIGIN_COLUMNS` and
        *others*. Columns that are counters count besides.
    where
        Place at the beginning of messages.

    Raises
    ------
    InputError
        If a column is missing, the unit is unknown, or several columns could be the duration.
    """
    name, per_second = find_duration(header, duration, where)
    if parameters is None:
        durations = (each for each in duration_words(header) if each != name)
        left = {
            **others,
            **{each: Unused(each, "another duration") for each in durations},
            **{c: Unused(c, why, chosen=True) for c, why in NO_PARAMETERS.items() if c in header},
        }
        unused = [left[c] for c in header if c in left and c not in (name, *INTERPRETED_COLUMNS)]
        kept = (c for c in header if c not in {name, *INTERPRETED_COLUMNS, *left})
        return ColumnChoice(name, per_second, tuple(kept), tuple(unused), duration is None)
    for index, column in enumerate(parameters):
        if column not in header:
            raise unknown("column", column, header, where)
        if column == name:
            raise InputError(f"{where}: '{column}' is the duration, and cannot be a parameter, too")
        if column in parameters[:index]:
            raise InputError(f"{where}: parameter '{column}' is given twice")
    counted = [c for c in counters_among(header) if c != name and c not in {*parameters, *others}]
    used = {name, *parameters, *counted, *INTERPRETED_COLUMNS}
    unused = [Unused(c, NOT_NAMED, chosen=True) for c in header]
    return ColumnChoice(
        name,
        per_second,
        (*parameters, *counted),
        tuple(one for one in unused if one.name not in used),
        duration is None,
    )


def find_duration(header: Sequence[str], wanted: str | None, where: str) -> tuple[str, float]:
    """Return the name of the column of durations, and its units per second.

    >>> find_duration(["m", "runtime_ms"], None, "gemm.csv")
    ('runtime_ms', 1000.0)
    >>> find_duration(["m", "t"], "t:us", "gemm.csv")
    ('t', 1000000.0)
    >>> find_duration(["m", "kernel_time"], None, "gemm.csv")
    ('kernel_time', 1.0)
    """
    if wanted is not None:
        return _given(header, wanted, where)
    for found in _candidates(header):
        if len(found) == 1:
            return found[0], DURATION_UNITS[_unit(found[0]) or "s"]
        if found:
            raise InputError(
                f"{where}: several columns could be the duration: {', '.join(found)}; choose one,"
                f" {option('duration', found[0])}"
            )
    raise InputError(
        f"{where}: no column has the name of a duration (columns: {', '.join(header)}); name one"
        f" with its unit: {option('duration', f'{header[-1]}:us')} (units:"
        f" {', '.join(DURATION_UNITS)})"
    )


def name_and_unit(heading: str) -> tuple[str, str | None]:
    """Return the name in a *heading*, and the unit at its end; None if it has none.

    >>> name_and_unit("Start (ms)"), name_and_unit("end_us"), name_and_unit("start")
    (('Start', 'ms'), ('end', 'us'), ('start', None))
    """
    match = _UNIT.search(heading)
    name = heading[: match.start()] if match else heading
    return name.rstrip(" _.[("), _unit(heading)


def has_unit(name: str) -> bool:
    """Return whether the *name* of a duration says its unit.

    >>> has_unit("runtime_ms"), has_unit("runtime")
    (True, False)
    """
    return _unit(name) is not None


def name_parts(name: str) -> list[str]:
    """Return the words of the *name* of a column, in lower case, without a unit at its end.

    >>> name_parts("execTime_ms"), name_parts("start_time")
    (['exec', 'time'], ['start', 'time'])
    """
    match = _UNIT.search(name)
    text = name[: match.start()] if match else name
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower()
    return re.findall(r"[^\W_]+", text)


def run_number(value: str | float) -> int:
    """Return the run of a sample; raise :exc:`ValueError` if it is not a whole number.

    >>> run_number("3"), run_number(3.0)
    (3, 3)
    """
    number = float(value)
    if not (abs(number) <= LARGEST_RUN and number.is_integer()):
        raise ValueError
    return int(number)


def wrong_value(values: NDArray[np.float64], *, duration: bool) -> tuple[int, str] | None:
    """Return the first of *values* that no parameter, or *duration*, may have, and why.

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
                f"{where}: the unit of column '{wanted}' is unknown: give --duration {wanted}:s"
                f" (units: {', '.join(DURATION_UNITS)})"
            )
        return wanted, DURATION_UNITS[unit]
    name, _, unit = wanted.rpartition(":")
    if name in header and unit not in DURATION_UNITS:
        raise unknown("unit", unit, DURATION_UNITS, f"{where}: --duration {wanted}")
    if name not in header:
        raise unknown("column", name or wanted, header, where)
    return name, DURATION_UNITS[unit]


def duration_words(header: Sequence[str]) -> list[str]:
    """Return the columns that are durations by their names, in the order of *header*."""
    found = {name for names in _candidates(header) for name in names}
    return [name for name in header if name in found]


def _candidates(header: Sequence[str]) -> Iterator[list[str]]:
    """Yield the columns that could be the duration by their names, the clearest first."""
    exact = [name for name in header if _is_word(name)]
    loose = [name for name in header if name not in exact and _ends_in_word(name)]
    yield [name for name in exact if has_unit(name)]
    yield [name for name in loose if has_unit(name)]
    yield [name for name in exact if not has_unit(name)]
    yield [name for name in loose if not has_unit(name)]


def _is_word(name: str) -> bool:
    match = _UNIT.search(name)
    return (name[: match.start()].rstrip(" _.") if match else name).lower() in _DURATION_WORDS


def _ends_in_word(name: str) -> bool:
    parts = name_parts(name)
    if not parts or any(part in _NO_DURATION for part in parts):
        return False
    return parts[-1] in _LOOSE_WORDS or (has_unit(name) and parts[-1] in _MEAN_WORDS)


def _unit(name: str) -> str | None:
    if name.lower() in ("seconds", "secs", "sec"):
        return "s"
    match = _UNIT.search(name)
    return None if match is None else _LONG_UNITS.get(match[1], match[1])


def chosen(names: Sequence[str], what: str, part: str | None, path: Path) -> str:
    """Return *part*, or the only one of *names*, each a *what*.

    Raises
    ------
    InputError
        If there is no such name, or several without a *part*.
    """
    if part is not None:
        if part not in names:
            raise unknown(what, part, names, str(path))
        return part
    if len(names) != 1:
        raise InputError(
            f"{path}: has {len(names)} sets of samples: {what} {', '.join(names)}; choose one:"
            " --part NAME"
        )
    return names[0]


def other_parts(names: Sequence[str], what: str, part: str) -> tuple[Unused, ...]:
    """Return the unused sets of samples, if *part* of *names* is used."""
    return tuple(
        Unused(f"{what} {name}", f"'{part}' is read", chosen=True) for name in names if name != part
    )
