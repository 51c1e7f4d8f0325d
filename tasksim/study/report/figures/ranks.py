"""Average ranks on a line, with bars over schedulers that cannot be told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tasksim.study.report.evidence import CONFIDENCE
from tasksim.study.report.figures.look import line_looks, shortened
from tasksim.study.report.figures.registry import Drawing, StudyFigure
from tasksim.view.style import TEXT, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tasksim.study.report.findings import Findings
    from tasksim.study.report.ranks import RankTest

__all__ = ["RANKS"]


def _draw(findings: Findings) -> list[Drawing]:
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
        f"within the critical difference of Nemenyi's test at {100 * CONFIDENCE:.0f} %, "
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
        axes.text(tick, 0.4, str(tick), ha="center", va="bottom", fontsize=TEXT["small"])
    top = -0.6 - 0.6 * len(ranks.alike)
    for place, (name, rank) in enumerate(zip(ranks.schedulers, ranks.ranks, strict=True)):
        left = place < half
        y = top - 0.75 * (place if left else k - 1 - place)
        end = 1 - 0.05 * k if left else k + 0.05 * k
        axes.plot([rank, rank, end], [0, y, y], color=colours[name], linewidth=1.2)
        text = shortened(name, 30)
        axes.text(
            end, y, f"{text} {rank:.2f} " if left else f" {rank:.2f} {text}",
            ha="right" if left else "left", va="center", fontsize=TEXT["small"],
        )  # fmt: skip
    axes.set_xlim(1 - 0.3 * k, k + 0.3 * k)
    axes.set_ylim(top - 0.75 * half, 1.2)
    axes.axis("off")


RANKS = StudyFigure("Average ranks, and the schedulers that do not differ.", _draw)
