"""Bus files of StarPU: what it measured between memories, in ``sampling/bus``, but for the XML.

All are text, one thing a line; lines that begin with ``#`` are comments. Numbers that are not
there (``nan``) stay so. See StarPU's ``src/core/perfmodel/perfmodel_bus.c``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.files import read_text
from tasksim.formats.starpu.problems import Problems
from tasksim.formats.starpu.words import Word

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = [
    "Affinity",
    "DeviceCounts",
    "read_affinity",
    "read_bandwidth",
    "read_config",
    "read_latency",
]

OLD: Final = ("CUDA", "OpenCL", "MIC")
NEW: Final = ("NUMA", "CUDA", "OpenCL")

_NUMBER = re.compile(r"[+-]?nan|\+?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")
_WHOLE = re.compile(r"[0-9]{1,9}")
_COMMENT = re.compile(r"Number of (\S+)")


@dataclass(frozen=True)
class DeviceCounts:
    """Numbers of devices of a machine, from its ``.config`` file."""

    cpus: int
    devices: dict[str, int]
    """Kind of memory node (``CUDA``, ``OpenCL``, ``NUMA``, ...) -> how many."""

    @property
    def numa_nodes(self) -> int:
        """The memory nodes that come before those of devices; 1 where the file has no count."""
        return max(1, self.devices.get("NUMA", 1))


@dataclass(frozen=True)
class Affinity:
    """Which processors a device is near to."""

    device: int
    nearest: tuple[int, ...]
    """NUMA nodes (older files: cores), the nearest first."""


def read_bandwidth(path: Path) -> NDArray[np.float64]:
    """Return the bandwidths between memory nodes, in bytes/s: ``[source, target]``, square.

    Nodes are in StarPU's order: NUMA nodes, CUDA devices, others. 0 on the diagonal, NaN for
    nodes that do not exist. The file has MB/s of 10**6 bytes.

    Raises
    ------
    InputError
        All that is wrong: ``file:line:column: expected ..., found ...``.
    """
    return _read_matrix(path, "a bandwidth in MB/s", 6)


def read_latency(path: Path) -> NDArray[np.float64]:
    """Return the latencies between memory nodes, in seconds; else like :func:`read_bandwidth`."""
    return _read_matrix(path, "a latency in us", -6)


def read_config(path: Path) -> DeviceCounts:
    """Return what a machine has: CPUs, and memory nodes by kind.

    Kinds are told by the comments, ``3 # Number of CUDA devices``. Without them they are by
    order: files of four numbers are of StarPU before 1.4 (CPUs, CUDA, OpenCL, MIC), longer ones
    are newer (CPUs, NUMA, CUDA, OpenCL, ...).
    """
    rows, problems = list(_rows(path)), _Problems(path)
    counts: list[int] = []
    names: list[str | None] = []
    for row in rows:
        values, comment = _split_comment(row)
        if len(values) != 1:
            problems.at(row[0], "one number", f"{len(values)}")
            continue
        counts.append(problems.whole(values[0], "a number of devices"))
        names.append(_kind(comment))
    if not rows:
        problems.at(Word("", 1, 1), "the number of CPUs", "nothing")
    problems.raise_any()
    return _counts(counts, names)


def _split_comment(row: list[Word]) -> tuple[list[Word], str]:
    """Return the words before a ``#``, and the text after it."""
    end = next((i for i, word in enumerate(row) if word.text.startswith("#")), len(row))
    return row[:end], " ".join(word.text for word in row[end:])


def _kind(comment: str) -> str | None:
    match = _COMMENT.search(comment)
    return None if match is None else match[1]


def _counts(counts: list[int], names: list[str | None]) -> DeviceCounts:
    order = ["CPUs", *(OLD if len(counts) <= 1 + len(OLD) else NEW)]
    order += [f"kind {i}" for i in range(len(order), len(counts))]
    kinds = [name or default for name, default in zip(names, order, strict=False)]
    return DeviceCounts(counts[0], dict(zip(kinds[1:], counts[1:], strict=True)))


def read_affinity(path: Path) -> tuple[Affinity, ...]:
    """Return the affinities of the devices, as in the file: CUDA devices, then others."""
    problems = _Problems(path)
    found = []
    for row in _rows(path):
        numbers = [problems.whole(word, "a number of a device or of a core") for word in row]
        if len(numbers) < 2:
            problems.at(row[0], "a device and what it is near to", f"'{row[0].text}' alone")
        found.append(Affinity(numbers[0], tuple(numbers[1:])))
    problems.raise_any()
    return tuple(found)


def _read_matrix(path: Path, what: str, exponent: int) -> NDArray[np.float64]:
    """Return the matrix, times ten to the *exponent*."""
    problems = _Problems(path)
    rows = list(_rows(path))
    size = len(rows[0]) if rows else 0
    # As large as the file only where it is square: a first line may have any length.
    values = np.full((size, size if len(rows) == size else 0), np.nan)
    for index, row in enumerate(rows):
        numbers = [problems.number(word, what, exponent) for word in row]
        if len(row) != size:
            problems.at(row[min(size, len(row) - 1)], f"{size} numbers", f"{len(row)}")
        elif len(rows) == size:
            values[index] = numbers
    if not rows or len(rows) != size:
        where = rows[-1][0] if rows else Word("", 1, 1)
        problems.at(where, f"as many lines as columns ({size or 'some'})", f"{len(rows)}")
    problems.raise_any()
    return values


def _rows(path: Path) -> Iterator[list[Word]]:
    """Yield the words of each line that is neither empty nor a comment."""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        words = [Word(m[0], number, m.start() + 1) for m in re.finditer(r"\S+", line)]
        if words and not words[0].text.startswith("#"):
            yield words


class _Problems(Problems):
    """Knows words and numbers."""

    def at(self, word: Word, expected: str, found: str) -> None:
        self.add(word.line, word.column, expected, found)

    def number(self, word: Word, what: str, exponent: int) -> float:
        """Return a number times ten to the *exponent*, or NaN where the file says so."""
        if not self._legal(word, _NUMBER, what) or "nan" in word.text:
            return math.nan
        # Exactly: 9.836008 us is to read 9.836008 us where it is written again.
        return float(Decimal(word.text).scaleb(exponent))

    def whole(self, word: Word, what: str) -> int:
        return int(word.text) if self._legal(word, _WHOLE, what) else 0

    def _legal(self, word: Word, pattern: re.Pattern[str], what: str) -> bool:
        legal = pattern.fullmatch(word.text) is not None
        if not legal:
            self.at(word, what, f"'{word.text[:40]}'")
        return legal
