"""Samples of multiple regressions: StarPU's files ``sampling/codelets/tmp/SYMBOL.out``.

A line of names, ``Duration, M, N, K``, then a line per execution: its duration in microseconds,
and its parameters. The file does not say on which architecture. See StarPU's
``src/core/perfmodel/multiple_regression.c``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError
from tasksim.base.files import read_text
from tasksim.models.samples import Samples, Unused

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_samples"]

DURATION: Final = "Duration"
US_PER_S: Final = 1e6
ZERO: Final = "0 us, which is shorter than the clock tells"
_NUMBER: Final = re.compile(
    r"[ \t]*\+?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?[ \t\r]*"
)


def read_samples(path: Path) -> Samples:
    """Return the samples in the ``.out`` file at *path*, durations in seconds.

    Executions of 0 us, which the clock could not tell, are left out, and are among its unused.

    Raises
    ------
    InputError
        ``file:line:column: what was expected, what was found``.
    """
    lines = read_text(path).split("\n")
    names = _names(lines[0], path)
    rows = [
        _row(line, len(names) + 1, f"{path}:{number}")
        for number, line in enumerate(lines[1:], 2)
        if line.strip()
    ]
    kept = [row for row in rows if row[0] > 0]
    if not kept:
        raise InputError(f"{path}:{len(lines)}:1: expected samples, found none")
    left_out = len(rows) - len(kept)
    unused = (Unused(f"{left_out} execution{'s' * (left_out > 1)}", ZERO),) if left_out else ()
    try:
        durations = [row[0] / US_PER_S for row in kept]
        table = [row[1:] for row in kept]
        return Samples(tuple(names), table, durations, unused=unused)  # type: ignore[arg-type]
    except InputError as error:  # such as a name that is given twice
        raise InputError(f"{path}: {error}") from None


def _names(line: str, path: Path) -> list[str]:
    head, *names = (name.strip() for name in line.split(","))
    if head != DURATION or not names or not all(names):
        got = line.strip()[:60]
        raise InputError(f"{path}:1:1: expected 'Duration, NAME, NAME, ...', found {got!r}")
    return names


def _row(line: str, length: int, where: str) -> list[float]:
    fields = line.split(",")
    column = 1
    if len(fields) != length:
        raise InputError(f"{where}:1: expected {length} numbers, found {len(fields)}")
    for field in fields:
        if not _NUMBER.fullmatch(field):
            raise InputError(f"{where}:{column}: expected a number, found {field.strip()[:40]!r}")
        column += len(field) + 1
    return [float(field) for field in fields]
