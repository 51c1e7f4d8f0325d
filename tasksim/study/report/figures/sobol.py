"""Sobol' indices: share of the variance that each axis explains, alone and with interactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tasksim.study.report.figures.look import plain_axes, shortened
from tasksim.study.report.figures.registry import Drawing, StudyFigure
from tasksim.view.style import TEXT, new_figure

if TYPE_CHECKING:
    from tasksim.study.report.findings import Findings

__all__ = ["SOBOL"]


def _draw(findings: Findings) -> list[Drawing]:
    found = findings.sobol
    if not found:
        return []
    figure = new_figure(1.2 + 0.4 * len(found))
    axes = plain_axes(figure.add_subplot())
    rows = range(len(found))
    for what, shift, colour in (("first", -0.19, "#0072b2"), ("total", 0.19, "#e69f00")):
        axes.barh(
            [row + shift for row in rows],
            [100.0 * getattr(index, what) for index in found],
            height=0.36,
            color=colour,
            label="alone" if what == "first" else "with interactions",
        )
    axes.set_yticks(rows, [shortened(index.axis, 40) for index in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlim(0.0, 100.0)
    axes.set_xlabel("variance of ln(makespan) (%)", fontsize=TEXT["normal"])
    axes.legend(fontsize=TEXT["small"], frameon=False)
    caption = (
        "Sobol' indices, exact for the grid of the study: the share of the variance of "
        "ln(makespan) that an axis explains alone, and with all its interactions."
    )
    data = pd.DataFrame([vars(index) for index in found])
    return [Drawing("sobol", "Sobol' indices", caption, data, figure)]


SOBOL = StudyFigure("Share of variance that each axis explains.", _draw)
