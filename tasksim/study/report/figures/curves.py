"""Curves of makespans over each numeric axis, with the lower bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.units import time_unit
from tasksim.study.report.curves import makespan_curve
from tasksim.study.report.figures.look import (
    BOUND_COLOUR,
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
    from typing import Any

    import pandas as pd
    from matplotlib.axes import Axes

    from tasksim.study.report.axes import Axis
    from tasksim.study.report.figures.look import Lines
    from tasksim.study.report.findings import Findings

__all__ = ["CURVES", "of_how_many"]


def _draw(findings: Findings) -> list[Drawing]:
    numeric = [axis for axis in findings.table.configuration if axis.is_numeric]
    return [_over(findings, axis) for axis in numeric if len(findings.table.used)]


def _over(findings: Findings, axis: Axis) -> Drawing:
    table = findings.table
    curve = makespan_curve(table, axis)
    lines = lines_over(table, axis)
    figure, panels, count = facet_panels(curve, lines.panels)
    for axes, part, title in panels:
        plain_axes(axes, title)
        _lines(axes, part, lines)
        ticks_of(axes, axis)
    legend_below(figure, panels[0][0])
    caption = (
        f"Makespan over {axis.label}, all else equal: geometric means over seeds, shaded from the "
        "shortest to the longest. Dashed: the lower bound, which no scheduler can beat."
        f"{of_how_many(len(panels), count)}"
    )
    return Drawing(
        f"curve-{file_name(axis.name)}", f"Makespan over {axis.label}", caption, curve, figure
    )


def _lines(axes: Axes, part: pd.DataFrame, lines: Lines) -> None:
    factor, unit = time_unit(float(part["high_s"].max()))
    for name, look, line in lines.of(part):
        axes.fill_between(
            line["x"], factor * line["low_s"], factor * line["high_s"],
            color=look["color"], alpha=0.15, linewidth=0.0,
        )  # fmt: skip
        axes.plot(line["x"], factor * line["makespan_s"], label=name, **look)
    _bounds(axes, part, lines, factor)
    low, high = float(part["low_s"].min()), float(part["high_s"].max())
    # Beyond two powers of ten, the short makespans would be invisible on a linear axis.
    if high / low > 100:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0.0)
    axes.set_ylabel(f"makespan ({unit})", fontsize=TEXT["normal"])


def _bounds(axes: Axes, part: pd.DataFrame, lines: Lines, factor: float) -> None:
    """Draw the lower bound: one line for all schedulers, or one per line of the panel."""
    if not part["bound_s"].notna().any():
        return
    look: dict[str, Any] = {"color": BOUND_COLOUR, "linestyle": "--", "linewidth": 1.2}
    if lines.are_schedulers:
        bound = part.drop_duplicates("x").sort_values("x")
        axes.plot(bound["x"], factor * bound["bound_s"], **look, label="lower bound")
        return
    for _, own, line in lines.of(part):
        axes.plot(line["x"], factor * line["bound_s"], **look | {"color": own["color"]})
    axes.plot([], [], **look, label="lower bound")


def of_how_many(shown: int, count: int) -> str:
    """Return a note for the caption if not all panels are drawn; else ``""``."""
    return "" if shown == count else f" The first {shown} of {count} panels; the data have all."


CURVES = StudyFigure("Makespan over each numeric axis, and the lower bound.", _draw)
