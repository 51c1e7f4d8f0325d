"""Rows of the table of chances: probabilities and differences of pairs of schedulers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tasksim.study.report.findings import Findings

__all__ = ["CHANCES_HEADER", "chance_rows"]

CHANCES_HEADER: Final = ("pair", "probability", "interval", "the other is longer by", "interval")
MOST_ROWS: Final = 30
"""Most rows of the table: eight schedulers have 28 pairs; the report's CSV files have all."""


def chance_rows(findings: Findings) -> list[list[str]]:
    """Return the rows of the table of chances, with the differences, as texts."""
    known = {frozenset((d.faster, d.slower)): d for d in findings.verdict.differences}
    rows = []
    for chance in findings.chances[:MOST_ROWS]:
        difference = known.get(frozenset((chance.first, chance.second)))
        sign = 1.0 if difference is None or difference.faster == chance.first else -1.0
        ends = () if difference is None else (difference.low, difference.high)
        low, high = sorted(100.0 * _turned(end, sign) for end in ends) if ends else (None, None)
        mean = None if difference is None else 100.0 * _turned(difference.relative, sign)
        rows.append(
            [
                f"{chance.first} beats {chance.second}",
                f"{100 * chance.probability:.1f} %",
                f"{100 * chance.low:.1f} to {100 * chance.high:.1f} %",
                "–" if mean is None else f"{mean:+.2f} %",
                "–" if low is None else f"{low:+.2f} to {high:+.2f} %",
            ]
        )
    return rows


def _turned(relative: float, sign: float) -> float:
    """Return a relative difference, seen from the other scheduler if *sign* is negative."""
    return relative if sign > 0 else 1.0 / (1.0 + relative) - 1.0
