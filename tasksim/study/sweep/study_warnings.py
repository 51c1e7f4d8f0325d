"""Warnings of a study's simulations, each once for all cells that have it.

Warnings that differ only in numbers, for example along an axis of sizes, are represented by the
first of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from tasksim.study.sweep.store import read_cells

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

__all__ = ["summary", "warnings_of_store"]

_NUMBER: Final = re.compile(r"(?<![\w.])\d[\d.e+-]*(?: to \d[\d.e+-]*)?(?: [kMGTP]?i?B\b)?")
"""A number that is not part of a name, with the other end of its range and the unit of a size."""


def summary(texts: Iterable[str | None], cells: int) -> list[str]:
    r"""Return the distinct warnings in the *texts* of a study of *cells* cells, in their order.

    >>> said = ["ram has 1 MiB", None, "ram has 1.5 GiB\ngemm on cpu: n 9"]
    >>> for line in summary(said, cells=8):
    ...     print(line)
    ram has 1 MiB, and 1 more like it (2 of 8 cells)
    gemm on cpu: n 9 (1 of 8 cells)
    """
    told: dict[str, dict[str, None]] = {}
    count: dict[str, int] = {}
    for text in filter(None, texts):
        lines = {line: _NUMBER.sub("#", line) for line in text.split("\n")}
        for line, alike in lines.items():
            told.setdefault(alike, {})[line] = None
        for alike in set(lines.values()):
            count[alike] = count.get(alike, 0) + 1
    found = []
    for alike, (first, *others) in told.items():
        more = f", and {len(others)} more like it" if others else ""
        found.append(f"{first}{more} ({count[alike]} of {cells} cells)")
    return found


def warnings_of_store(folder: Path, cells: Collection[str]) -> list[str]:
    """Return the warnings of those *cells* that are in the store in *folder*."""
    table = read_cells(folder, ["cell", "position", "warnings"])
    rows: list[dict[str, Any]] = table.sort_by("position").to_pylist()
    return summary((row["warnings"] for row in rows if row["cell"] in cells), len(cells))
