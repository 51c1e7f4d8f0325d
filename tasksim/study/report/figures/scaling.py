"""Makespans over nodes, with predictions of two empirical laws fitted to few nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator, NullFormatter

from tasksim.base.units import time_unit
from tasksim.reports.scaling_laws import MAX_FITTED_NODES, WORLEY_NODES, nan_law, scaling_strong
from tasksim.study.report.curves import facets_of, makespan_curve
from tasksim.study.report.figures.look import BOUND_COLOUR, panels_over
from tasksim.study.report.figures.registry import Drawing, StudyFigure
from tasksim.view.style import TEXT_POINTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tasksim.study.report.axes import StudyAxis
    from tasksim.study.report.figures.look import Lines
    from tasksim.study.report.findings import Findings
    from tasksim.study.report.table import StudyTable

__all__ = ["SCALING", "scaling_rows"]

NODES_AXIS: Final = "nodes"
"""Name of the axis of nodes in study files."""

LAWS: Final = {"worley_s": ("--", "a/P + b P^c + d"), "nan_s": (":", "a size/P + b")}
"""Line style and formula of each law, by the column of its predictions."""


def scaling_rows(table: StudyTable, axis: StudyAxis) -> pd.DataFrame:
    """Return the makespans of a study over nodes, with the predictions of two empirical laws.

    Worley's law, ``a / P + b P^c + d``, is fitted to each line of one problem. Nan's law, ``a size
    / P + b``, is fitted to all sizes together if there are several; the size is the number of
    tasks. So it can predict problems that grow with the number of nodes.

    Returns
    -------
    pandas.DataFrame
        The lines of :func:`~tasksim.study.report.curves.makespan_curve` with at least two numbers
        of nodes up to 8, with the columns ``speed_up, efficiency, worley_s,
        worley_error_percent, nan_s, nan_error_percent``.
    """
    curve = makespan_curve(table, axis)
    fixed = facets_of(table, axis)
    lines = [
        _strong(line)
        for _, line in curve.groupby([*fixed, "scheduler"], sort=False)
        if (line["x"] <= MAX_FITTED_NODES).sum() > 1
    ]
    if not lines:
        return curve.iloc[:0]
    rows = pd.concat(lines)
    sizes = [name for name in fixed if name == "graph" or name.startswith("graph.")]
    others = [name for name in fixed if name not in sizes]
    groups = [part for _, part in rows.groupby([*others, "scheduler"], sort=False)]
    return pd.concat([_over_sizes(part) for part in groups]).sort_index()


def _strong(line: pd.DataFrame) -> pd.DataFrame:
    found = scaling_strong(line["x"].to_list(), line["makespan_s"].to_list())
    added = found.drop(columns=["nodes", "seconds"])
    return line.assign(**{str(name): added[name].to_numpy() for name in added})


def _over_sizes(part: pd.DataFrame) -> pd.DataFrame:
    """Return *part* with the predictions of Nan's law; NaN if there is only one size."""
    few = part[part["x"] <= MAX_FITTED_NODES]
    told = np.full(len(part), np.nan)
    if few["tasks"].nunique() > 1:
        columns = (few[name].to_list() for name in ("x", "tasks", "makespan_s"))
        told = nan_law(*columns).seconds(part["x"], part["tasks"])
    return part.assign(nan_s=told, nan_error_percent=100.0 * (told / part["makespan_s"] - 1.0))


def _draw(findings: Findings) -> list[Drawing]:
    table = findings.table
    nodes = [axis for axis in table.configuration if axis.name == NODES_AXIS and axis.is_numeric]
    if not nodes or not len(table.used):
        return []
    (axis,) = nodes
    rows = scaling_rows(table, axis)
    if not len(rows):
        return []
    figure, left_out = panels_over(table, axis, rows, _lines)
    return [Drawing("scaling", "Scaling over nodes", _caption(rows) + left_out, rows, figure)]


def _caption(rows: pd.DataFrame) -> str:
    many = rows[rows["x"] > MAX_FITTED_NODES]
    # Only nodes that the fits have not seen show the error of a prediction.
    found = [
        f"{law}, {errors.median():.0f} %"
        for column, (_, law) in LAWS.items()
        if (errors := many[f"{column.removesuffix('_s')}_error_percent"].abs()).notna().any()
    ]
    said = f" Median errors on more nodes: {'; '.join(found)}." if found else ""
    if not rows["worley_s"].notna().all():
        needed = f"{WORLEY_NODES} numbers of nodes up to {MAX_FITTED_NODES}"
        said += (
            f" The law a/P + b P^c + d has {WORLEY_NODES} coefficients: its lines need {needed}."
        )
    return (
        "Makespan over nodes. Dashed: the law a/P + b P^c + d, fitted to at most 8 nodes; dotted: "
        f"a size/P + b, fitted to all sizes on as many.{said}"
    )


def _lines(axes: Axes, part: pd.DataFrame, lines: Lines) -> None:
    factor, unit = time_unit(float(part["makespan_s"].max()))
    for name, look, line in lines.of(part):
        thin: dict[str, Any] = {"color": look["color"], "linewidth": 0.9, "alpha": 0.8}
        for column, (style, _) in LAWS.items():
            axes.plot(line["x"], factor * line[column], linestyle=style, **thin)
        marks = look | {"linestyle": "none"}
        axes.plot(line["x"], factor * line["makespan_s"], label=name, **marks)
    for column, (style, law) in LAWS.items():
        if part[column].notna().any():
            axes.plot([], [], linestyle=style, color=BOUND_COLOUR, linewidth=0.9, label=law)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel(f"makespan ({unit})", fontsize=TEXT_POINTS["normal"])


SCALING = StudyFigure("Makespans over nodes, beside two empirical laws.", _draw)
