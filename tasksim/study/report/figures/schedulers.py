"""Figures that compare schedulers: performance profile, differences, average ranks.

A curve of the profile shows the share of groups within a factor of the best. Differences are those
to the scheduler with the lowest mean, with intervals. Ranks stand on a line, with bars over
schedulers that cannot be told apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from tasksim.base.shortnames import shortened
from tasksim.study.report.evidence import CONFIDENCE_LEVEL
from tasksim.study.report.figures.look import legend_below, line_looks, plain_axes
from tasksim.study.report.figures.registry import Drawing, StudyFigure
from tasksim.study.report.tournament import performance_profile
from tasksim.view.style import TEXT_POINTS, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tasksim.study.report.findings import Findings
    from tasksim.study.report.ranks import RankTest

__all__ = ["DIFFERENCES", "PROFILE", "RANKS"]

MAX_DRAWN_FACTOR: Final = 10.0
"""Largest ratio to the best that is drawn: a scheduler beyond it is as good as lost."""


def _draw_profile(findings: Findings) -> list[Drawing]:
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
                np.append(factor, max(until, factor[-1])), np.append(share, share[-1]),
                where="post", label=name, markevery=0.11, **look,
            )  # fmt: skip
    axes.set_xlim(1.0, until)
    axes.set_ylim(0.0, 103.0)
    axes.set_xlabel("makespan over that of the best of the group", fontsize=TEXT_POINTS["normal"])
    axes.set_ylabel("groups (%)", fontsize=TEXT_POINTS["normal"])
    legend_below(figure, axes)
    caption = (
        f"Share of the {len(pairs.ratios_with_failures):,} groups of the same graph, platform, "
        "settings and seed in which a scheduler is within a factor of the best one. At 1: the "
        "groups that it wins or in which it ties with the best. The gap between the end of a curve "
        "and 100 % is the share of groups in which the scheduler failed or is further off."
    )
    return [Drawing("profile", "Performance profile", caption, profile, figure)]


PROFILE = StudyFigure("Share of groups within a factor of the best scheduler.", _draw_profile)


def _draw_differences(findings: Findings) -> list[Drawing]:
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
    axes.set_xlabel(f"longer than {shortened(first, 40)} (%)", fontsize=TEXT_POINTS["normal"])
    caption = (
        f"Excess of the makespans over those of {first}, which has the lowest mean, with "
        f"{100 * CONFIDENCE_LEVEL:.0f} % intervals, each by itself, over "
        f"{findings.evidence.scope}. If an interval contains 0, the difference may be chance. "
        "The data have all pairs."
    )
    data = pd.DataFrame([vars(difference) | {"sure": difference.is_sure} for difference in found])
    return [Drawing("differences", "Differences", caption, data, figure)]


DIFFERENCES = StudyFigure("Each scheduler against the one with the lowest mean.", _draw_differences)


def _draw_ranks(findings: Findings) -> list[Drawing]:
    ranks = findings.ranks
    if ranks is None or ranks.p_value is None:
        return []
    figure = new_figure(1.5 + 0.24 * (len(ranks.schedulers) / 2 + len(ranks.alike)))
    axes = figure.add_subplot()
    _names(axes, ranks, {n: look["color"] for n, look in line_looks(findings.table).items()})
    average = dict(zip(ranks.schedulers, ranks.ranks, strict=True))
    for row, names in enumerate(ranks.alike):
        ends = [average[names[0]] - 0.02, average[names[-1]] + 0.02]
        axes.plot(ends, [-0.45 - 0.6 * row] * 2, color="#222222", linewidth=3.5)
    caption = (
        f"Average ranks over {findings.evidence.scope}, 1 is best. Schedulers under one bar are "
        f"within the critical difference of Nemenyi's test at {100 * CONFIDENCE_LEVEL:.0f} %, "
        f"{ranks.critical_difference:.3g}: their ranks may differ by chance, all comparisons taken "
        "together. Ranks do not show the size of differences, so the test tells fewer schedulers "
        "apart than intervals do."
    )
    data = pd.DataFrame({"scheduler": ranks.schedulers, "average_rank": ranks.ranks})
    data["blocks"] = ranks.blocks
    data["critical_difference"] = ranks.critical_difference
    return [Drawing("ranks", "Average ranks", caption, data, figure)]


def _names(axes: Axes, ranks: RankTest, colours: dict[str, str]) -> None:
    """Draw the line of ranks, with the names of the better half left and of the others right."""
    k = len(ranks.schedulers)
    half = (k + 1) // 2
    axes.plot([1, k], [0, 0], color="#222222", linewidth=1.2)
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [0, 0.25], color="#222222", linewidth=1.0)
        axes.text(tick, 0.4, str(tick), ha="center", va="bottom", fontsize=TEXT_POINTS["small"])
    top = -0.6 - 0.6 * len(ranks.alike)
    for place, (name, rank) in enumerate(zip(ranks.schedulers, ranks.ranks, strict=True)):
        left = place < half
        y = top - 0.75 * (place if left else k - 1 - place)
        end = 1 - 0.05 * k if left else k + 0.05 * k
        axes.plot([rank, rank, end], [0, y, y], color=colours[name], linewidth=1.2)
        text = shortened(name, 30)
        axes.text(
            end, y, f"{text} {rank:.2f} " if left else f" {rank:.2f} {text}",
            ha="right" if left else "left", va="center", fontsize=TEXT_POINTS["small"],
        )  # fmt: skip
    axes.set_xlim(1 - 0.3 * k, k + 0.3 * k)
    axes.set_ylim(top - 0.75 * half, 1.2)
    axes.axis("off")


RANKS = StudyFigure("Average ranks, and the schedulers that do not differ.", _draw_ranks)
