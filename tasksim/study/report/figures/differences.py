"""Differences between each scheduler and the one with the lowest mean, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tasksim.study.report.evidence import CONFIDENCE
from tasksim.study.report.figures.look import line_looks, plain_axes, shortened
from tasksim.study.report.figures.registry import Drawing, StudyFigure
from tasksim.view.style import TEXT, new_figure

if TYPE_CHECKING:
    from tasksim.study.report.findings import Findings

__all__ = ["DIFFERENCES"]


def _draw(findings: Findings) -> list[Drawing]:
    found = findings.verdict.differences
    if not found:
        return []
    first = found[0].faster
    shown = [difference for difference in found if difference.faster == first]
    looks = line_looks(findings.table)
    figure = new_figure(0.9 + 0.32 * len(shown))
    axes = plain_axes(figure.add_subplot())
    for row, difference in enumerate(shown):
        values = [100.0 * v for v in (difference.relative, difference.low, difference.high)]
        look = looks[difference.slower]
        axes.plot(values[1:], [row, row], color=look["color"], linewidth=2.0)
        axes.plot(values[:1], [row], marker=look["marker"], color=look["color"])
    axes.axvline(0.0, color="#222222", linewidth=0.9)
    axes.set_yticks(range(len(shown)), [shortened(d.slower, 40) for d in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlabel(f"longer than {shortened(first, 40)} (%)", fontsize=TEXT["normal"])
    caption = (
        f"Excess of the makespans over those of {first}, which has the lowest mean, with "
        f"{100 * CONFIDENCE:.0f} % intervals, each by itself, over {findings.evidence.scope}. "
        "If an interval contains 0, the difference may be chance. The data have all pairs."
    )
    data = pd.DataFrame([vars(difference) | {"sure": difference.is_sure} for difference in found])
    return [Drawing("differences", "Differences", caption, data, figure)]


DIFFERENCES = StudyFigure("Each scheduler against the one with the lowest mean.", _draw)
