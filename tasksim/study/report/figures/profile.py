"""Performance profile, with one curve per scheduler.

A curve shows the share of groups within a factor of the best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.study.report.figures.look import legend_below, line_looks, plain_axes
from tasksim.study.report.figures.registry import Drawing, StudyFigure
from tasksim.study.report.tournament import performance_profile
from tasksim.view.style import TEXT, new_figure

if TYPE_CHECKING:
    from tasksim.study.report.findings import Findings

__all__ = ["PROFILE"]

MAX_DRAWN_FACTOR: Final = 10.0
"""Largest ratio to the best that is drawn: a scheduler beyond it is as good as lost."""


def _draw(findings: Findings) -> list[Drawing]:
    pairs = findings.pairs
    if len(pairs.schedulers) < 2 or not len(pairs.ratios_with_failures):
        return []
    profile = performance_profile(pairs)
    factor = profile["factor"].to_numpy()
    until = min(max(float(factor[-1]) * 1.02, 1.02), MAX_DRAWN_FACTOR)
    figure = new_figure(3.6)
    axes = plain_axes(figure.add_subplot())
    for name, look in line_looks(findings.table).items():
        if name in profile:
            share = 100.0 * profile[name].to_numpy()
            axes.step(
                np.append(factor, max(until, factor[-1])),
                np.append(share, share[-1]),
                where="post",
                label=name,
                color=look["color"],
                marker=look["marker"],
                markevery=0.11,
                markersize=4.5,
                linewidth=1.4,
            )
    axes.set_xlim(1.0, until)
    axes.set_ylim(0.0, 103.0)
    axes.set_xlabel("makespan over that of the best of the group", fontsize=TEXT["normal"])
    axes.set_ylabel("groups (%)", fontsize=TEXT["normal"])
    legend_below(figure, axes)
    caption = (
        f"Share of the {len(pairs.ratios_with_failures):,} groups of the same graph, platform, "
        "settings and seed in which a scheduler is within a factor of the best one. At 1: the "
        "groups that it wins or in which it ties with the best. The gap between the end of a curve "
        "and 100 % is the share of groups in which the scheduler failed or is further off."
    )
    return [Drawing("profile", "Performance profile", caption, profile, figure)]


PROFILE = StudyFigure("Share of groups within a factor of the best scheduler.", _draw)
