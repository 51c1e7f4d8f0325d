"""Output of ``likwid-perfctr``: its tables, or with ``-O`` the same separated by commas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tasksim.formats.counters.events import Counted, counted_number

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["is_likwid", "read_likwid"]

RUNTIME: Final = re.compile(r"^Runtime(?: \(RDTSC\))? \[s\]( STAT)?$")
COUNTER: Final = re.compile(r"^(?:FIXC|PMC|CBOX|MBOX|UPMC|CPMC|PWR)\d*\w*$")
"""The registers in the second column: what tells a row of an event from the others."""


def is_likwid(text: str) -> bool:
    """Return whether *text* is what likwid-perfctr writes."""
    return any(COUNTER.match(cells[1]) for _, cells in _rows(text))


def read_likwid(text: str, path: Path) -> Counted:
    """Return what likwid-perfctr has counted, the sum over the cores it has measured.

    Raises
    ------
    InputError
        ``file:line``: of a count that is no number, or negative.
    """
    events: dict[str, float] = {}
    duration_s: float | None = None
    for number, (name, *cells) in _rows(text):
        where = f"{path}:{number}"
        if COUNTER.match(cells[0]):
            values = [counted_number(cell, name, where) for cell in cells[1:] if cell]
            if not name.endswith(" STAT"):
                events[name] = sum(values)
        elif (match := RUNTIME.match(name)) and not match[1]:
            values = [counted_number(cell, name, where) for cell in cells if cell]
            duration_s = max(values, default=0.0) or duration_s
    return Counted(events, duration_s)


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of tables, each with its line."""
    for number, line in enumerate(text.splitlines(), 1):
        cells = [
            cell.strip() for cell in line.strip().strip("|").split("|" if "|" in line else ",")
        ]
        if len(cells) > 1 and cells[0]:
            yield number, cells
