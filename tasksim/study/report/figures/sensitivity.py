"""Sensitivity of the makespan to each axis, as bars of its swing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tasksim.study.report.figures.look import BOUND_COLOUR, plain_axes, shortened
from tasksim.study.report.figures.registry import Drawing, StudyFigure
from tasksim.view.style import TEXT, new_figure

if TYPE_CHECKING:
    from tasksim.study.report.findings import Findings

__all__ = ["SENSITIVITY"]


def _draw(findings: Findings) -> list[Drawing]:
    found = findings.sensitivities
    if not found:
        return []
    figure = new_figure(0.9 + 0.32 * len(found))
    axes = plain_axes(figure.add_subplot())
    rows = range(len(found))
    axes.barh(
        rows,
        [s.swing - 1.0 for s in found],
        left=1.0,
        height=0.6,
        color=[BOUND_COLOUR if s.axis == "seed" else "#0072b2" for s in found],
    )
    axes.plot(
        [s.largest_swing for s in found], rows, linestyle="none", marker="|", markersize=12,
        color="#222222",
    )  # fmt: skip
    # A log scale for wide ranges, else short bars could not be told apart.
    if max(s.largest_swing for s in found) > 10:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlim(left=1.0)
    axes.set_yticks(rows, [shortened(s.axis, 40) for s in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlabel("longest / shortest makespan", fontsize=TEXT["normal"])
    caption = (
        "Ratio of the longest to the shortest makespan along each axis of the study, all else "
        "equal: geometric means, with a stroke at the largest. 'seed' is the effect of chance."
    )
    data = pd.DataFrame([vars(sensitivity) for sensitivity in found])
    return [Drawing("sensitivity", "Sensitivity", caption, data, figure)]


SENSITIVITY = StudyFigure("By what factor each axis moves the makespan.", _draw)
