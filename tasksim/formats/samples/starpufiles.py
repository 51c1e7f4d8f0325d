"""Samples in StarPU's files of multiple regressions and histories of codelets.

``sampling/codelets/tmp/SYMBOL.out`` has a line of names, ``Duration, M, N, K``, then a line per
execution: its duration in microseconds, and its parameters. The file does not name the
architecture. See StarPU's ``src/core/perfmodel/multiple_regression.c``.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError, unknown
from tasksim.base.files import read_text
from tasksim.formats.registry import Format, first_line
from tasksim.formats.samples.columns import NOT_NAMED, chosen, other_parts
from tasksim.formats.starpu.codelet_file import VERSIONS, read_codelet
from tasksim.models.samples import Samples, Unused

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.formats.starpu.codelet_file import Combination

__all__ = ["CODELET", "SAMPLES", "read_codelet_samples", "read_starpu_out"]

SIZE_COLUMN: Final = "size_bytes"
DURATION_COLUMN: Final = "Duration"
US_PER_S: Final = 1e6
ZERO_DURATION_REASON: Final = "0 us, below the resolution of the clock"
_NUMBER: Final = re.compile(
    r"[ \t]*\+?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?[ \t\r]*"
)


def read_starpu_out(
    path: Path,
    duration: str | None = None,
    parameters: Sequence[str] | None = None,
    part: str | None = None,
) -> Samples:
    """Return the samples in StarPU's ``.out`` file at *path*, durations in seconds.

    Executions of 0 us, below the resolution of the clock, are left out, and listed as unused.

    Raises
    ------
    InputError
        ``file:line:column: what was expected, what was found``.
    """
    _refuse(path, duration, DURATION_COLUMN)
    if part is not None:
        raise InputError(
            f"{path}: does not name its architecture, so that --part {part} cannot be found"
        )
    lines = read_text(path).split("\n")
    head, *names = (name.strip() for name in lines[0].split(","))
    if head != DURATION_COLUMN or not names or not all(names):
        got = lines[0].strip()[:60]
        raise InputError(f"{path}:1:1: expected 'Duration, NAME, NAME, ...', found {got!r}")
    rows = [
        _row(line, len(names) + 1, f"{path}:{number}")
        for number, line in enumerate(lines[1:], 2)
        if line.strip()
    ]
    kept = [row for row in rows if row[0] > 0]
    if not kept:
        raise InputError(f"{path}:{len(lines)}:1: expected samples, found none")
    left_out = len(rows) - len(kept)
    text = f"{left_out} execution{'s' * (left_out > 1)}"
    unused = (Unused(text, ZERO_DURATION_REASON),) if left_out else ()
    durations_s: Any = [row[0] / US_PER_S for row in kept]
    table: Any = [row[1:] for row in kept]
    try:
        samples = Samples(tuple(names), table, durations_s, unused=unused)
    except InputError as error:  # such as a repeated name
        raise InputError(f"{path}: {error}") from None
    if parameters is None:
        return samples
    for name in parameters:
        if name not in names:
            raise unknown("parameter", name, samples.names, str(path))
    others = (Unused(n, NOT_NAMED, chosen=True) for n in names if n not in parameters)
    return replace(
        samples,
        names=tuple(parameters),
        parameters=samples.parameters[:, [names.index(name) for name in parameters]],
        unused=(*samples.unused, *others),
    )


def read_codelet_samples(
    path: Path,
    duration: str | None = None,
    parameters: Sequence[str] | None = None,
    part: str | None = None,
) -> Samples:
    """Return the history in StarPU's codelet file at *path*, by ``size_bytes``.

    The file has means, not executions: each measured entry is one sample, its mean; of several
    implementations, the fastest counts. *part* is the combination of devices, ``cuda0``.
    """
    _refuse(path, duration, "mean")
    for name in parameters or ():
        if name != SIZE_COLUMN:
            raise unknown("parameter", name, [SIZE_COLUMN], str(path))
    measured = {c.name: found for c in read_codelet(path).combinations if (found := _means(c))}
    if not measured:
        raise InputError(f"{path}: has no history entries with samples")
    combination = chosen(list(measured), "combination", part, path)
    means = measured[combination]
    fastest: dict[tuple[int, int], float] = {}
    for size, footprint, mean_us in means:
        key = size, footprint
        fastest[key] = min(mean_us, fastest.get(key, math.inf))
    slower = len(means) - len(fastest)
    unused = [
        *other_parts(list(measured), "combination", combination),
        *([Unused(f"{slower} means", "of slower implementations")] if slower else []),
    ]
    entries = sorted((float(size), mean / US_PER_S) for (size, _), mean in fastest.items())
    table: Any = [[size] for size, _ in entries]
    durations_s: Any = [mean for _, mean in entries]
    return Samples((SIZE_COLUMN,), table, durations_s, unused=tuple(unused))


def _means(combination: Combination) -> list[tuple[int, int, float]]:
    """Return size, footprint and mean in us of each measured entry of all implementations."""
    return [
        (entry.size_bytes, entry.hash, entry.mean_us)
        for implementation in combination.implementations
        for entry in implementation.entries
        if entry.n > 0 and entry.mean_us > 0
    ]


def _refuse(path: Path, duration: str | None, column: str) -> None:
    if duration is not None and duration not in (column, f"{column}:us"):
        raise InputError(
            f"{path}: --duration {duration}: durations in a file of StarPU are its {column}, in"
            " microseconds; leave the option out"
        )


def _is_codelet(path: Path, head: bytes) -> bool:
    lines = [line.strip() for line in head.decode("utf-8-sig", errors="replace").splitlines()]
    in_folder = path.parent.name == first_line(head) and path.parent.name in map(str, VERSIONS)
    return "# Performance Model Version" in lines or in_folder


def _is_out(path: Path, head: bytes) -> bool:
    return path.suffix == ".out" and re.match(r"Duration\s*,", first_line(head)) is not None


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


CODELET = Format(
    summary="The history in a codelet file of StarPU.",
    recognises=_is_codelet,
    reads_samples=read_codelet_samples,
)


SAMPLES = Format(
    summary="Samples of StarPU for a multiple linear regression.",
    recognises=_is_out,
    reads_samples=read_starpu_out,
)
