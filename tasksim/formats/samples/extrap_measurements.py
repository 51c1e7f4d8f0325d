"""Measurements of Extra-P, in all of its formats: values per call path, metric and point.

A point is a value per parameter; a call path is a kernel; the values are repetitions. See the
file formats in Extra-P's documentation, https://github.com/extra-p/extrap/tree/master/docs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.formats.samples.columns import DURATION_UNITS, find_duration
from tasksim.formats.samples.part_choice import chosen, other_parts
from tasksim.models.samples import Samples, Unused

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["NO_NAME", "Measurement", "to_samples"]

NO_NAME: Final = "<default>"
"""Extra-P's name of a metric or call path without one."""


class Measurement(NamedTuple):
    """The *values* measured at one *point*; *where* says ``file:line`` for messages."""

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
        Of the parameters; and what was measured.
    duration
        A metric, a metric and its unit (``time:ms``), or only the unit (``:ms``). The unit is
        that at the end of the metric's name, else seconds, as in the profiles that Extra-P reads.
    parameters
        Which parameters to take; by default all.
    part
        The call path; it may be left out where there is only one.

    Raises
    ------
    InputError
        If there is no such metric, parameter or call path, or several and none was chosen.
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
        *(Unused(n, "not among the parameters named", chosen=True) for n in names if n not in kept),
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
    """Return which metric is the duration, and how many of its units are a second."""
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
    """Return how many of the units in a *metric*'s name are a second; 1 if there is none."""
    try:
        return find_duration([metric], None, "")[1]
    except InputError:
        return 1.0


def _check(measurement: Measurement, names: Sequence[str]) -> None:
    """Refuse what is no point of *names*, and no duration."""
    where = measurement.where
    if len(measurement.point) != len(names):
        raise InputError(
            f"{where}: got a point of {len(measurement.point)} value(s); "
            f"legal: {len(names)} ({', '.join(names)})"
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
