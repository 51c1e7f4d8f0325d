"""Rows of the table of sampled Sobol' indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tasksim.study.report.findings import Findings

__all__ = ["DRAWN_HEADER", "drawn_rows"]

DRAWN_HEADER: Final = (
    "axis, drawn", "variance, alone", "interval", "with interactions", "interval",
)  # fmt: skip


def drawn_rows(findings: Findings) -> list[list[str]]:
    """Return the rows of the table as texts, in percent; none if the indices were not requested."""
    return [
        [
            index.axis,
            f"{100 * index.first:.1f} %",
            f"{100 * index.first_low:.1f} to {100 * index.first_high:.1f} %",
            f"{100 * index.total:.1f} %",
            f"{100 * index.total_low:.1f} to {100 * index.total_high:.1f} %",
        ]
        for index in findings.sobol_drawn or ()
    ]
