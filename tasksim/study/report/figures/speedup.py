"""Speed-up and efficiency over each axis that counts workers or the like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.study.report.curves import makespan_curve, speedup
from tasksim.study.report.figures.curves import of_how_many
from tasksim.study.report.figures.look import (
    BOUND_COLOUR,
    MAX_PANELS,
    facet_text,
    legend_below,
    lines_over,
    plain_axes,
    ticks_of,
)
from tasksim.study.report.figures.registry import Drawing, StudyFigure
from tasksim.study.report.names import file_name
from tasksim.view.style import TEXT, new_figure

if TYPE_CHECKING:
    from tasksim.study.report.axes import Axis
    from tasksim.study.report.findings import Findings

__all__ = ["SPEEDUP"]


def _draw(findings: Findings) -> list[Drawing]:
    counts = [axis for axis in findings.table.configuration if axis.is_count]
    return [_over(findings, axis) for axis in counts if len(findings.table.used)]


def _over(findings: Findings, axis: Axis) -> Drawing:
    table = findings.table
    data = speedup(makespan_curve(table, axis), table, axis)
    lines = lines_over(table, axis)
    fixed = lines.panels
    groups = list(data.groupby(fixed, sort=False)) if fixed else [((), data)]
    shown = groups[: MAX_PANELS // 2]
    figure = new_figure(3.0 * len(shown) + 0.5)
    for row, (values, part) in enumerate(shown):
        title = facet_text(dict(zip(fixed, values, strict=True)))
        gain = plain_axes(figure.add_subplot(len(shown), 2, 2 * row + 1), title)
        share = plain_axes(figure.add_subplot(len(shown), 2, 2 * row + 2))
        for name, look, line in lines.of(part):
            gain.plot(line["x"], line["speedup"], label=name, **look)
            share.plot(line["x"], 100.0 * line["efficiency"], **look)
        counts = np.linspace(part["x"].min(), part["x"].max())
        ideal: dict[str, Any] = {"color": BOUND_COLOUR, "linestyle": "--", "linewidth": 1.2}
        gain.plot(counts, counts / counts[0], label="ideal", **ideal)
        share.axhline(100.0, **ideal)
        share.set_ylim(bottom=0.0)
        for axes, what in ((gain, "speed-up"), (share, "efficiency (%)")):
            ticks_of(axes, axis)
            axes.set_ylabel(what, fontsize=TEXT["normal"])
        if gain.get_xscale() == "log":  # with two log scales, the ideal is a straight line
            gain.set_yscale("log", base=2)
            gain.yaxis.set_major_formatter("{x:g}")
        else:
            gain.set_ylim(bottom=0.0)
    legend_below(figure, figure.axes[0])
    caption = (
        f"Speed-up relative to the smallest {axis.label} of each line, and efficiency: speed-up "
        f"divided by the ratio of {axis.label}.{of_how_many(len(shown), len(groups))}"
    )
    title = f"Speed-up over {axis.label}"
    return Drawing(f"speedup-{file_name(axis.name)}", title, caption, data, figure)


SPEEDUP = StudyFigure("Speed-up and efficiency over each axis of counts.", _draw)
