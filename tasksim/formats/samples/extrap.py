"""Measurements and text files of Extra-P.

A point is a value per parameter; a call path is a kernel; the values are repetitions. See the file
formats in Extra-P's documentation, https://github.com/extra-p/extrap/tree/master/docs. Its text
files::

    PARAMETER p
    PARAMETER n
    POINTS (4 64) (8 64) (8 128)
    REGION main->solve
    METRIC time
    DATA 1.1 1.2
    DATA 0.6 0.7
    DATA 1.3 1.2

have a ``DATA`` line per point, in their order; its values are repetitions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.base.errors import InputError, nearest, unknown
from tasksim.base.files import read_text
from tasksim.base.numerals import plain_float
from tasksim.formats.registry import Format, first_line
from tasksim.formats.samples.columns import (
    DURATION_UNITS,
    NOT_NAMED,
    chosen,
    find_duration,
    other_parts,
)
from tasksim.models.samples import Samples, Unused

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


__all__ = ["EXTRA_P", "NO_NAME", "Measurement", "read_extrap_text", "to_samples"]

NO_NAME: Final = "<default>"
"""Extra-P's placeholder for the name of a metric or call path."""


class Measurement(NamedTuple):
    """The *values* measured at one *point*; *where* is ``file:line`` for messages."""

    callpath: str
    metric: str
    point: tuple[float, ...]
    values: tuple[float, ...]
    where: str


def to_samples(
    path: Path,
    names: Sequence[str],
    measurements: Sequence[Measurement],
    duration: str | None,
    parameters: Sequence[str] | None,
    part: str | None,
) -> Samples:
    """Return the samples of one call path and metric.

    Parameters
    ----------
    path
        The file, for messages.
    names, measurements
        The names of the parameters, and the measurements.
    duration
        A metric, a metric and its unit (``time:ms``), or only the unit (``:ms``). By default the
        unit is the end of the metric's name, or else seconds, as in the profiles that Extra-P
        reads.
    parameters
        The parameters to take; by default all.
    part
        The call path; needed if there are several.

    Raises
    ------
    InputError
        If there is no such metric, parameter or call path, or several without a choice.
    """
    if not measurements:
        raise InputError(f"{path}: has no measurements")
    kept = names if parameters is None else parameters
    for name in kept:
        if name not in names:
            raise unknown("parameter", name, names, str(path))
    metric, per_second = _metric(measurements, duration, path)
    callpaths = _distinct(m.callpath for m in measurements if m.metric == metric)
    callpath = chosen(callpaths, "call path", part, path)
    mine = [m for m in measurements if (m.callpath, m.metric) == (callpath, metric)]
    for measurement in mine:
        _check(measurement, names)
    columns = [list(names).index(name) for name in kept]
    table = np.array([m.point for m in mine], dtype=np.float64).reshape(len(mine), len(names))
    counts = [len(m.values) for m in mine]
    durations = np.array([value for m in mine for value in m.values]) / per_second
    unused = [
        *(Unused(n, NOT_NAMED, chosen=True) for n in names if n not in kept),
        *other_parts(callpaths, "call path", callpath),
        *(
            Unused(f"metric {name}", f"'{metric}' is the duration", chosen=duration is not None)
            for name in _distinct(m.metric for m in measurements)
            if name != metric
        ),
    ]
    return Samples(
        tuple(kept), np.repeat(table[:, columns], counts, axis=0), durations, unused=tuple(unused)
    )


def _metric(
    measurements: Sequence[Measurement], duration: str | None, path: Path
) -> tuple[str, float]:
    """Return the metric of the duration, and its units per second."""
    metrics = _distinct(m.metric for m in measurements)
    if duration is not None and duration in metrics:
        return duration, _per_second(duration)
    name, colon, unit = (duration or "").rpartition(":")
    if colon and unit not in DURATION_UNITS:
        raise unknown("unit", unit, DURATION_UNITS, f"{path}: --duration {duration}")
    wanted = name if colon else duration
    if wanted:
        if wanted not in metrics:
            raise unknown("metric", wanted, metrics, str(path))
        return wanted, DURATION_UNITS[unit]
    if len(metrics) == 1:
        return metrics[0], DURATION_UNITS[unit] if colon else _per_second(metrics[0])
    for likely in ("time", "runtime", "duration"):
        if likely in metrics:
            return likely, DURATION_UNITS[unit] if colon else 1.0
    return find_duration(metrics, None, str(path))


def _per_second(metric: str) -> float:
    """Return the number of units per second for the unit in a *metric*'s name; 1 without one."""
    try:
        return find_duration([metric], None, "")[1]
    except InputError:
        return 1.0


def _check(measurement: Measurement, names: Sequence[str]) -> None:
    """Refuse a point that does not match *names*, and an illegal duration."""
    where = measurement.where
    if len(measurement.point) != len(names):
        raise InputError(
            f"{where}: got a point of {len(measurement.point)} value(s); legal: {len(names)}"
            f" ({', '.join(names)})"
        )
    for name, value in zip(names, measurement.point, strict=True):
        if not (np.isfinite(value) and value >= 0):
            raise InputError(
                f"{where}: {name}: got {value:g}; legal: a number that is not negative"
            )
    for value in measurement.values:
        if not (np.isfinite(value) and value > 0):
            raise InputError(
                f"{where}: {measurement.metric}: got {value:g}; legal: a duration larger than 0"
            )


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


_FIRST: Final = re.compile(r"(PARAMETER|POINTS|REGION|METRIC)\s")
KEYWORDS: Final = ("PARAMETER", "POINTS", "REGION", "METRIC", "DATA")


def read_extrap_text(
    path: Path,
    duration: str | None = None,
    parameters: Sequence[str] | None = None,
    part: str | None = None,
) -> Samples:
    """Return the samples in Extra-P's text file at *path*.

    *duration* and *part* are as in :func:`~tasksim.formats.samples.extrap.to_samples`.

    Raises
    ------
    InputError
        ``file:line:column: what was got, what is legal``.
    """
    reader = _Reader(path)
    for number, line in enumerate(read_text(path).split("\n"), 1):
        reader.read(line, number)
    reader.finish()
    return to_samples(path, reader.names, reader.found, duration, parameters, part)


class _Reader:
    """Reader of statements."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: list[str] = []
        self.points: list[tuple[float, ...]] = []
        self.found: list[Measurement] = []
        self._callpath = self._metric = NO_NAME
        self._data = self._line = 0

    def read(self, line: str, number: int) -> None:
        """Take a line."""
        before, self._line = self._line, number
        match = re.match(r"\s*([^\s#]+)\s*", line)
        if match is None:
            self._line = before
            return
        keyword, rest, offset = match[1], line.split("#")[0][match.end() :], match.end()
        if keyword == "PARAMETER":
            self.names += rest.split()
        elif keyword == "POINTS":
            self.points += self._points(rest, offset)
        elif keyword == "REGION":
            self.finish()
            self._callpath = rest.strip() or NO_NAME
        elif keyword == "METRIC":
            self.finish()
            self._metric = rest.strip() or NO_NAME
        elif keyword == "DATA":
            self._take(self._numbers(rest, offset))
        else:
            legal = f"legal: {', '.join(KEYWORDS)}{nearest(keyword, KEYWORDS)}"
            raise self._error(match.start(1), f"got '{keyword[:40]}'; {legal}")

    def finish(self) -> None:
        """Refuse points without data."""
        if self._data not in (0, len(self.points)):
            raise self._error(
                0,
                f"got {self._data} DATA line(s) for '{self._callpath}', {self._metric}; "
                f"legal: {len(self.points)}, one per point",
            )
        self._data = 0

    def _take(self, values: tuple[float, ...]) -> None:
        if not values:
            raise self._error(0, "got DATA without values; legal: a value per repetition")
        if self._data >= len(self.points):
            raise self._error(0, f"got more DATA lines than the {len(self.points)} point(s)")
        where = f"{self.path}:{self._line}"
        point = self.points[self._data]
        self.found.append(Measurement(self._callpath, self._metric, point, values, where))
        self._data += 1

    def _points(self, text: str, offset: int) -> list[tuple[float, ...]]:
        if "(" not in text:
            return [(value,) for value in self._numbers(text, offset)]
        outside = re.sub(r"\([^()]*\)", lambda m: " " * len(m[0]), text)
        if outside.strip():
            at = offset + len(outside) - len(outside.lstrip())
            raise self._error(at, f"got '{outside.strip()[:40]}'; legal: points, (4 1) (8 1)")
        return [
            self._numbers(m[1], offset + m.start(1)) for m in re.finditer(r"\(([^()]*)\)", text)
        ]

    def _numbers(self, text: str, offset: int) -> tuple[float, ...]:
        values = []
        for word in re.finditer(r"[^\s,]+", text):
            try:
                values.append(plain_float(word[0]))
            except ValueError:
                at = offset + word.start()
                raise self._error(at, f"got '{word[0][:40]}'; legal: a number") from None
        return tuple(values)

    def _error(self, column: int, message: str) -> InputError:
        return InputError(f"{self.path}:{self._line}:{column + 1}: {message}")


EXTRA_P = Format(
    summary="Samples in Extra-P's text: PARAMETER, POINTS, REGION, METRIC, DATA.",
    recognises=lambda path, head: bool(_FIRST.match(first_line(head))),  # noqa: ARG005
    reads_samples=read_extrap_text,
)
