"""Samples in JSON, as a line per sample or in Extra-P's JSON files.

Lines of either shape, one in a file::

    {"m": 64, "n": 128, "duration_s": 1.2e-4}
    {"params": {"p": 4, "n": 64}, "callpath": "solve", "metric": "time", "value": [0.1, 0.12]}

and Extra-P's ``{"parameters": ["p"], "measurements": {CALLPATH: {METRIC: [{"point": [4],
"values": [0.1, 0.12]}]}}}``.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.documents.json_document import parse_json
from tasksim.base.errors import InputError
from tasksim.base.files import read_text
from tasksim.formats.registry import Format, first_line
from tasksim.formats.samples.cells import MISSING_TEXTS, Cells, Column, samples_of
from tasksim.formats.samples.extrap import NO_NAME, Measurement, to_samples
from tasksim.models.samples import Unused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tasksim.models.samples import Samples

__all__ = ["JSON", "read_json"]

RECORD_KEYS: Final = ("params", "callpath", "metric", "value")
"""Keys of a line of Extra-P's shape."""

_Line = tuple[str, dict[str, Any]]


def read_json(
    path: Path,
    duration: str | None = None,
    parameters: Sequence[str] | None = None,
    part: str | None = None,
    categorical: Sequence[str] = (),
) -> Samples:
    """Return the samples in the JSON file, or the file of JSON lines, at *path*.

    Raises
    ------
    InputError
        ``file:line:column: what was got, what is legal``.
    """
    text = read_text(path)
    whole = _whole(path, text)
    if whole is not None:
        names, found = _names(path, whole), list(_measurements(path, whole))
        samples = to_samples(path, names, found, duration, parameters, part)
        samples = samples.with_categories(categorical)
        return _with_unused(samples, [whole], ("parameters", "measurements"))
    lines = list(_lines(path, text))
    if not lines:
        raise InputError(f"{path}: is empty; expected a JSON object per line")
    if "params" in lines[0][1]:
        samples = _records(path, lines, duration, parameters, part)
        return samples.with_categories(categorical)
    return _flat(path, lines, duration, parameters, part, categorical)


def _whole(path: Path, text: str) -> dict[str, Any] | None:
    """Return the only object of the file, if it is Extra-P's."""
    if '"measurements"' not in text:
        return None
    try:
        found = parse_json(text)
    except json.JSONDecodeError as error:
        if _is_json(text.lstrip().partition("\n")[0]):  # a line per sample
            return None
        where = f"{path}:{error.lineno}:{error.colno}"
        raise InputError(f"{where}: not JSON: {error.msg}") from None
    return found if isinstance(found, dict) and "measurements" in found else None


def _is_json(text: str) -> bool:
    try:
        parse_json(text)
    except json.JSONDecodeError:
        return False
    return True


def _names(path: Path, whole: dict[str, Any]) -> list[str]:
    names = whole.get("parameters")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{path}: parameters: got {_short(names)}; legal: a list of names")
    return names


def _measurements(path: Path, whole: dict[str, Any]) -> Iterator[Measurement]:
    callpaths = _object(whole["measurements"], f"{path}: measurements")
    for callpath, metrics in callpaths.items():
        for metric, points in _object(metrics, f"{path}: {callpath}").items():
            where = f"{path}: {callpath}, {metric}"
            if not isinstance(points, list):
                raise InputError(f"{where}: got {_short(points)}; legal: a list of points")
            for index, given in enumerate(points):
                place = f"{where}, point {index}"
                entry = _object(given, place)
                point = _numbers(entry.get("point"), f"{place}: point")
                values = _numbers(entry.get("values"), f"{place}: values")
                yield Measurement(callpath, metric, point, values, place)


def _lines(path: Path, text: str) -> Iterator[_Line]:
    """Yield the place and the object of each line that is not empty."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = parse_json(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}:{number}:{error.colno}: not JSON: {error.msg}") from None
        yield f"{path}:{number}", _object(found, f"{path}:{number}")


def _records(
    path: Path,
    lines: Sequence[_Line],
    duration: str | None,
    parameters: Sequence[str] | None,
    part: str | None,
) -> Samples:
    """Return the samples in lines of Extra-P's form."""
    names = list(_object(lines[0][1]["params"], f"{lines[0][0]}: params"))
    found = []
    for where, line in lines:
        point = _object(line.get("params"), f"{where}: params")
        if set(point) != set(names):
            raise InputError(
                f"{where}: params: got {', '.join(point) or 'none'}; legal: {', '.join(names)}, as"
                " in the first line"
            )
        values = line.get("value")
        found.append(
            Measurement(
                str(line.get("callpath", NO_NAME)),
                str(line.get("metric", NO_NAME)),
                tuple(_number(point[name], f"{where}: {name}") for name in names),
                _numbers(values if isinstance(values, list) else [values], f"{where}: value"),
                where,
            )
        )
    samples = to_samples(path, names, found, duration, parameters, part)
    return _with_unused(samples, [line for _, line in lines], RECORD_KEYS)


def _with_unused(
    samples: Samples, objects: Sequence[dict[str, Any]], known: Sequence[str]
) -> Samples:
    """Return the *samples* with the keys of *objects* that are not *known* as unused."""
    keys = dict.fromkeys(key for one in objects for key in one if key not in known)
    further = tuple(Unused(key, "neither point, metric nor value") for key in keys)
    return replace(samples, unused=(*samples.unused, *further))


def _flat(
    path: Path,
    lines: Sequence[_Line],
    duration: str | None,
    parameters: Sequence[str] | None,
    part: str | None,
    categorical: Sequence[str],
) -> Samples:
    """Return the samples in lines with a key per column."""
    first = lines[0][1]
    columns, unused = {}, []
    for name in first:
        column = _column(path, lines, name)
        if column is None:
            unused.append(Unused(name, f"no number, {_short(first[name])}"))
        else:
            columns[name] = column
    if not columns:
        raise InputError(f"{lines[0][0]}: got {_short(first)}; legal: numbers or texts by name")
    later = dict.fromkeys(name for _, line in lines for name in line if name not in first)
    unused += [Unused(name, "not in the first line") for name in later]
    cells = Cells(path, lines[0][0], columns, lambda row, name: lines[row][0], tuple(unused))  # noqa: ARG005
    return samples_of(cells, duration, parameters, part, categorical)


def _column(path: Path, lines: Sequence[_Line], name: str) -> Column | None:
    """Return the values of a key in all lines; None if one is an object or a list."""
    values, texts = np.full(len(lines), np.nan), {}
    for row, (_, line) in enumerate(lines):
        value = line.get(name)
        if isinstance(value, dict | list):
            return None
        if isinstance(value, bool):
            texts[row] = json.dumps(value)
        elif isinstance(value, str):
            if value.strip() not in MISSING_TEXTS:
                texts[row] = value.strip()
        elif value is not None:
            try:
                values[row] = value
            except OverflowError:
                raise InputError(
                    f"{path}: has a number beyond 1.8e308; legal: finite numbers"
                ) from None
    return Column(values, texts)


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where}: got {_short(value)}; legal: an object with names")
    return value


def _numbers(value: object, where: str) -> tuple[float, ...]:
    if not isinstance(value, list) or not value:
        raise InputError(f"{where}: got {_short(value)}; legal: a list of numbers")
    return tuple(_number(item, where) for item in value)


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{where}: got {_short(value)}; legal: a number")
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"{where}: got {_short(value)}...; legal: a finite number") from None


def _short(value: object) -> str:
    return "nothing" if value is None else json.dumps(value)[:40]


JSON = Format(
    summary="Samples as JSON lines, or in Extra-P's JSON.",
    suffixes=(".json", ".jsonl"),
    recognises=lambda path, head: first_line(head).startswith("{"),  # noqa: ARG005
    reads_samples=read_json,
    takes_categorical=True,
)
