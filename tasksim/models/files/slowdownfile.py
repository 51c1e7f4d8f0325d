"""Slowdown file, ``slowdown.csv`` in a machine's folder: the slowdowns of calibration runs.

One line per run: ``run``, its number as in sample files; ``probe``, the slowdown of work on all
cores a second before the run, relative to an idle machine; ``restless``, the
ratio of the largest to the smallest of the last few probes; ``slowdown``, the slowdown of the
run itself.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError
from tasksim.base.files import read_text, write_text
from tasksim.base.numerals import plain_float, whole_number
from tasksim.models.uncertainty.slowdownlaw import SlowdownRow

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["read_slowdowns", "slowdown_path", "write_slowdowns"]

HEADER: Final = ["run", *SlowdownRow._fields]
MAX_SLOWDOWN: Final = 1e6
"""Largest slowdown accepted: nobody waits for a run that is slowed a million times."""


def slowdown_path(folder: Path) -> Path:
    """Return the slowdown file in a machine's *folder* of coefficient files."""
    return folder / "slowdown.csv"


def read_slowdowns(path: Path) -> dict[int, SlowdownRow]:
    """Return the row of each run; nothing if the file does not exist.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    if not path.is_file():
        return {}
    lines = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    if next(lines, []) != HEADER:
        raise InputError(f"{path}:1: expected the columns {','.join(HEADER)}")
    found: dict[int, SlowdownRow] = {}
    for fields in lines:
        try:
            number, *told = fields
            run, row = whole_number(number), SlowdownRow._make(map(plain_float, told))
        except (ValueError, TypeError):
            run, row = None, SlowdownRow(0.0, 0.0, 0.0)
        if run is None or not all(1 <= each <= MAX_SLOWDOWN for each in row):
            raise InputError(
                f"{path}:{lines.line_num}: expected a run and numbers of at least 1: "
                f"{', '.join(SlowdownRow._fields)}; got '{','.join(fields)[:80]}'"
            )
        found[run] = row
    return found


def write_slowdowns(folder: Path, rows: Mapping[int, SlowdownRow]) -> None:
    """Write *rows*, by run, to the slowdown file in a machine's *folder*."""
    lines = [",".join(map(repr, (run, *row))) for run, row in sorted(rows.items())]
    write_text(slowdown_path(folder), "\n".join([",".join(HEADER), *lines]) + "\n", force=True)
