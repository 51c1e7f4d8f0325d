"""Scalability: makespan over lower bound, over each size of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.study.report.curves import makespan_curve, scalability
from tasksim.study.report.figures.curves import of_how_many
from tasksim.study.report.figures.look import (
    facet_panels,
    legend_below,
    lines_over,
    plain_axes,
    ticks_of,
)
from tasksim.study.report.figures.registry import Drawing, StudyFigure
from tasksim.study.report.names import file_name
from tasksim.view.style import TEXT

if TYPE_CHECKING:
    from tasksim.study.report.axes import Axis
    from tasksim.study.report.findings import Findings

__all__ = ["SCALABILITY"]


def _draw(findings: Findings) -> list[Drawing]:
    sizes = [axis for axis in findings.table.configuration if axis.is_size]
    found = [_over(findings, axis) for axis in sizes if len(findings.table.used)]
    return [drawing for drawing in found if drawing is not None]


def _over(findings: Findings, axis: Axis) -> Drawing | None:
    table = findings.table
    data = scalability(makespan_curve(table, axis))
    if not data["bound_ratio"].notna().any():
        return None
    lines = lines_over(table, axis)
    figure, panels, count = facet_panels(data, lines.panels)
    for axes, part, title in panels:
        plain_axes(axes, title)
        for name, look, line in lines.of(part):
            axes.plot(line["x"], line["bound_ratio"], label=name, **look)
        ticks_of(axes, axis)
        axes.set_ylim(bottom=min(1.0, float(part["bound_ratio"].min())))
        axes.set_ylabel("makespan / lower bound", fontsize=TEXT["normal"])
    legend_below(figure, panels[0][0])
    caption = (
        f"Ratio of the makespan to the lower bound as {axis.label} grows; no scheduler can be "
        f"below 1. Tasks per second are in the data.{of_how_many(len(panels), count)}"
    )
    title = f"Scalability with {axis.label}"
    return Drawing(f"scalability-{file_name(axis.name)}", title, caption, data, figure)


SCALABILITY = StudyFigure("Makespan over lower bound as graphs grow.", _draw)
