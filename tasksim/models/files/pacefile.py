"""Files of the pace of a machine, in its folder: ``pace.csv`` and ``pace-levels.csv``.

The first has a line per run of a calibration: ``run``, as in the files of samples; ``pace_s``
before it; ``slow``, the logarithm of what its tasks took over what is expected; ``noise``, the
variance of that by the tasks' own noise. The second says what is expected: per ``kernel``, at
``expected_s``, what its model says, how many times as long tasks take, as a logarithm, ``level``.
"""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.files import read_text, write_text
from tasksim.base.numerals import plain_float, whole_number
from tasksim.models.uncertainty.pacelaw import Level, PaceLaw, Slowness

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["pace_law_in", "pace_path", "read_paces", "write_paces"]

RUNS: Final = ["run", "pace_s", "slow", "noise"]
LEVELS: Final = ["kernel", "expected_s", "level"]

Row = tuple[float, float, float]


def pace_path(folder: Path) -> Path:
    """Return the file of runs in a machine's *folder* of coefficient files."""
    return folder / "pace.csv"


def read_paces(path: Path) -> dict[int, Row]:
    """Return of each run pace, slowness and noise; nothing where there is no file.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    found: dict[int, Row] = {}
    for where, name, (pace_s, slow, noise) in _lines(path, RUNS):
        run = whole_number(name)
        if run is None or not pace_s > 0 or not noise >= 0:
            raise InputError(f"{where}: expected a run, a positive pace, a noise not below 0")
        found[run] = pace_s, slow, noise
    return found


def write_paces(folder: Path, rows: Mapping[int, Row], levels: Mapping[str, Level]) -> None:
    """Write what is known of the pace to a machine's *folder*."""
    of_levels = [
        (kernel, numbers)
        for kernel, level in levels.items()
        for numbers in zip(level.expected_s.tolist(), level.logs.tolist(), strict=True)
    ]
    _write(_levels_path(folder), LEVELS, of_levels)
    _write(pace_path(folder), RUNS, [(str(run), row) for run, row in sorted(rows.items())])


def pace_law_in(folder: Path) -> PaceLaw | None:
    """Return the law that the files of a *folder* say; None where there are too few runs."""
    rows = read_paces(pace_path(folder))
    columns = np.array([rows[run] for run in sorted(rows)]).reshape(-1, 3).T
    points: dict[str, list[tuple[float, float]]] = {}
    for where, kernel, (expected_s, level) in _lines(_levels_path(folder), LEVELS):
        mine = points.setdefault(kernel, [])
        if not expected_s > (mine[-1][0] if mine else 0.0):
            raise InputError(f"{where}: expected durations above 0 in ascending order")
        mine.append((expected_s, level))
    levels = {kernel: Level(*np.array(mine).T) for kernel, mine in points.items()}
    return PaceLaw.of(Slowness(*columns), levels)


def _levels_path(folder: Path) -> Path:
    return folder / "pace-levels.csv"


def _lines(path: Path, header: list[str]) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    """Yield of each line where it is, its first field, and the numbers after it."""
    if not path.is_file():
        return
    lines = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    if next(lines, []) != header:
        raise InputError(f"{path}:1: expected the columns {','.join(header)}")
    for fields in lines:
        where = f"{path}:{lines.line_num}"
        try:
            numbers = tuple(plain_float(field) for field in fields[1:])
        except ValueError:
            numbers = ()
        if len(numbers) != len(header) - 1 or not all(map(math.isfinite, numbers)):
            raise InputError(f"{where}: expected {','.join(header)}, all but the first numbers")
        yield where, fields[0], numbers


def _write(path: Path, header: list[str], rows: Sequence[tuple[str, tuple[float, ...]]]) -> None:
    lines = [",".join([name, *map(repr, map(float, numbers))]) for name, numbers in rows]
    write_text(path, "\n".join([",".join(header), *lines]) + "\n", force=True)
