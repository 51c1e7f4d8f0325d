"""Sample files, ``<kernel>.samples.csv``: the raw measurements beside a coefficient file.

Columns: ``run`` (empty if unknown), ``architecture``, one per parameter, constant and
counter, ``duration_s``; and ``wall_s``, the wall-clock duration, if durations exclude
the time taken by other programs.
"""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.files import read_text, write_text
from tasksim.base.numerals import plain_float, whole_number
from tasksim.models.rows import plain_number
from tasksim.models.samples import UNKNOWN_RUN, Samples

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["append_samples", "read_samples", "write_samples"]

_Row = tuple[int, list[float], list[float]]
"""The run, the parameters, and the durations: ``duration_s``, optionally ``wall_s``."""
DURATION_COLUMNS: Final = ("duration_s", "wall_s")


def read_samples(path: Path) -> dict[str, Samples]:
    """Return the samples in the file at *path*, by architecture.

    Raises
    ------
    InputError
        ``file:line: what is wrong``; a last line without a newline is reported as cut off.
    """
    text = read_text(path)
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        names, durations = _header(next(lines, []), path)
        rows: dict[str, list[_Row]] = {}
        for fields in lines:
            where = f"{path}:{lines.line_num}"
            rows.setdefault(_architecture(fields, names, durations, where), []).append(
                _row(fields, names, durations, where)
            )
    except csv.Error as error:
        raise InputError(f"{path}:{lines.line_num}: {error}") from error
    if not text.endswith("\n"):
        raise InputError(
            f"{path}:{lines.line_num}: the last line is cut off: delete it, or restore the file"
        )
    return {
        architecture: _samples(names, found).with_counters_apart()
        for architecture, found in rows.items()
    }


def write_samples(path: Path, samples: Mapping[str, Samples]) -> None:
    """Write *samples*, by architecture, to *path* atomically; replace an existing file.

    Raises :exc:`InputError` if they have different parameters, :exc:`OutputError` if the
    operating system refuses to write.
    """
    samples = {architecture: _with_all_columns(some) for architecture, some in samples.items()}
    names = _common_names(samples)
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    durations = DURATION_COLUMNS[: 1 + any(some.wall_s is not None for some in samples.values())]
    writer.writerow(["run", "architecture", *names, *durations])
    for architecture, some in samples.items():
        table = some.parameters[:, [some.names.index(name) for name in names]].tolist()
        runs = [UNKNOWN_RUN] * len(some) if some.runs is None else some.runs.tolist()
        wall_s = some.durations_s if some.wall_s is None else some.wall_s
        times = zip(some.durations_s.tolist(), wall_s.tolist(), strict=True)
        for run, row, pair in zip(runs, table, times, strict=True):
            numbers = (*map(plain_number, row), *pair[: len(durations)])
            writer.writerow(["" if run < 0 else run, architecture, *numbers])
    write_text(path, out.getvalue())


def append_samples(path: Path, samples: Mapping[str, Samples]) -> None:
    """Append *samples*, by architecture, to the file at *path*; create it if it does not exist."""
    from tasksim.base.lockfile import locked

    with locked(path):
        merged = read_samples(path) if path.exists() else {}
        for architecture, some in samples.items():
            earlier = merged.get(architecture)
            merged[architecture] = some if earlier is None else Samples.concat([earlier, some])
        write_samples(path, merged)


def _with_all_columns(samples: Samples) -> Samples:
    """Return the samples with constants and counters as parameters, the columns of a file."""
    count = len(samples)
    further = {name: np.full(count, value) for name, value in (samples.constants or {}).items()}
    further |= {n: c for n, c in (samples.counters or {}).items() if n not in samples.names}
    table = np.column_stack([samples.parameters, *further.values()])
    return Samples(
        (*samples.names, *further), table, samples.durations_s, samples.runs, wall_s=samples.wall_s
    )


def _common_names(samples: Mapping[str, Samples]) -> tuple[str, ...]:
    names: tuple[str, ...] | None = None
    for architecture, some in samples.items():
        if names is not None and sorted(some.names) != sorted(names):
            raise InputError(
                f"the samples of architecture '{architecture}' have the parameters "
                f"({', '.join(some.names)}), others have ({', '.join(names)})"
            )
        names = names if names is not None else some.names
    return names or ()


def _header(fields: list[str], path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the parameters, and those of the durations."""
    durations = DURATION_COLUMNS if fields[-2:] == list(DURATION_COLUMNS) else DURATION_COLUMNS[:1]
    names = fields[2 : -len(durations)]
    if fields != ["run", "architecture", *names, *durations]:
        raise InputError(
            f"{path}:1: expected the header 'run,architecture,PARAMETER,...,duration_s', "
            f"got '{','.join(fields)[:80]}'"
        )
    return tuple(names), durations


def _architecture(
    fields: list[str], names: tuple[str, ...], durations: tuple[str, ...], where: str
) -> str:
    columns = ("run", "architecture", *names, *durations)
    if len(fields) != len(columns):
        raise InputError(
            f"{where}: expected {len(columns)} fields ({', '.join(columns)}), "
            f"got {len(fields)}: '{','.join(fields)[:80]}'"
        )
    if not fields[1]:
        raise InputError(f"{where}: architecture: expected a name, got nothing")
    return fields[1]


def _row(fields: list[str], names: tuple[str, ...], durations: tuple[str, ...], where: str) -> _Row:
    end = len(fields) - len(durations)
    parameters = [
        _number(text, name, where, least=0.0)
        for name, text in zip(names, fields[2:end], strict=True)
    ]
    taken = [
        _number(text, name, where, least=math.ulp(0.0))
        for name, text in zip(durations, fields[end:], strict=True)
    ]
    return _run(fields[0], where), parameters, taken


def _run(text: str, where: str) -> int:
    if not text:
        return UNKNOWN_RUN
    run = whole_number(text)
    if run is None or not 0 <= run < 2**63:
        raise InputError(f"{where}: run: expected a whole number or nothing, got '{text}'")
    return run


def _number(text: str, name: str, where: str, least: float) -> float:
    try:
        value = plain_float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= least):
        kind = "not negative" if least == 0 else "larger than 0"
        raise InputError(f"{where}: {name}: expected a finite number, {kind}, got '{text}'")
    return value


def _samples(names: tuple[str, ...], rows: list[_Row]) -> Samples:
    runs, parameters, taken = zip(*rows, strict=True)
    durations, *wall_s = zip(*taken, strict=True)
    known = any(run != UNKNOWN_RUN for run in runs)
    table = parameters if names else [[]] * len(rows)
    wall: Any = wall_s[0] if wall_s else None
    return Samples(names, table, durations, runs if known else None, wall_s=wall)  # type: ignore[arg-type]
