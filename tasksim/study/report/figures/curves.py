"""Makespans with the lower bound, speed-up and scalability over numeric axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.units import time_unit
from tasksim.study.report.curves import makespan_curve, scalability, speedup
from tasksim.study.report.figures.look import (
    BOUND_LOOK,
    MAX_PANELS,
    facet_text,
    legend_below,
    lines_over,
    of_how_many,
    panels_over,
    plain_axes,
    ticks_of,
)
from tasksim.study.report.figures.registry import Drawing, StudyFigure, file_name
from tasksim.view.style import TEXT_POINTS, new_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from tasksim.study.report.axes import StudyAxis
    from tasksim.study.report.figures.look import Lines
    from tasksim.study.report.findings import Findings

__all__ = ["CURVES", "SCALABILITY", "SPEEDUP"]


def _draw_curves(findings: Findings) -> list[Drawing]:
    numeric = [axis for axis in findings.table.configuration if axis.is_numeric]
    return [_over(findings, axis) for axis in numeric if len(findings.table.used)]


def _over(findings: Findings, axis: StudyAxis) -> Drawing:
    curve = makespan_curve(findings.table, axis)
    figure, left_out = panels_over(findings.table, axis, curve, _lines)
    caption = (
        f"Makespan over {axis.label}, all else equal: geometric means over seeds, shaded from the "
        "shortest to the longest. Dashed: the lower bound, which no scheduler can beat."
        f"{left_out}"
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
    axes.set_ylabel(f"makespan ({unit})", fontsize=TEXT_POINTS["normal"])


def _bounds(axes: Axes, part: pd.DataFrame, lines: Lines, factor: float) -> None:
    """Draw the lower bound: one line for all schedulers, or one per line of the panel."""
    if not part["bound_s"].notna().any():
        return
    if lines.are_schedulers:
        bound = part.drop_duplicates("x").sort_values("x")
        axes.plot(bound["x"], factor * bound["bound_s"], **BOUND_LOOK, label="lower bound")
        return
    for _, own, line in lines.of(part):
        axes.plot(line["x"], factor * line["bound_s"], **BOUND_LOOK | {"color": own["color"]})
    axes.plot([], [], **BOUND_LOOK, label="lower bound")


CURVES = StudyFigure("Makespan over each numeric axis, and the lower bound.", _draw_curves)


def _draw_speedup(findings: Findings) -> list[Drawing]:
    counts = [axis for axis in findings.table.configuration if axis.is_count]
    return [_speedup_over(findings, axis) for axis in counts if len(findings.table.used)]


def _speedup_over(findings: Findings, axis: StudyAxis) -> Drawing:
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
        gain.plot(counts, counts / counts[0], label="ideal", **BOUND_LOOK)
        share.axhline(100.0, **BOUND_LOOK)
        share.set_ylim(bottom=0.0)
        for axes, what in ((gain, "speed-up"), (share, "efficiency (%)")):
            ticks_of(axes, axis)
            axes.set_ylabel(what, fontsize=TEXT_POINTS["normal"])
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


SPEEDUP = StudyFigure("Speed-up and efficiency over each axis of counts.", _draw_speedup)


def _draw_scalability(findings: Findings) -> list[Drawing]:
    sizes = [axis for axis in findings.table.configuration if axis.is_size]
    found = [_scalability_over(findings, axis) for axis in sizes if len(findings.table.used)]
    return [drawing for drawing in found if drawing is not None]


def _scalability_over(findings: Findings, axis: StudyAxis) -> Drawing | None:
    data = scalability(makespan_curve(findings.table, axis))
    if not data["bound_ratio"].notna().any():
        return None

    def draw(axes: Axes, part: pd.DataFrame, lines: Lines) -> None:
        for name, look, line in lines.of(part):
            axes.plot(line["x"], line["bound_ratio"], label=name, **look)
        axes.set_ylim(bottom=min(1.0, float(part["bound_ratio"].min())))
        axes.set_ylabel("makespan / lower bound", fontsize=TEXT_POINTS["normal"])

    figure, left_out = panels_over(findings.table, axis, data, draw)
    caption = (
        f"Ratio of the makespan to the lower bound as {axis.label} grows; no scheduler can be "
        f"below 1. Tasks per second are in the data.{left_out}"
    )
    title = f"Scalability with {axis.label}"
    return Drawing(f"scalability-{file_name(axis.name)}", title, caption, data, figure)


SCALABILITY = StudyFigure("Makespan over lower bound as graphs grow.", _draw_scalability)
