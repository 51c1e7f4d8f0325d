"""Energy against makespan, with the Pareto front.

The front has the choices that no other choice beats in both.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.text import Text

from tasksim.base.shortnames import shortened
from tasksim.base.units import time_unit
from tasksim.study.report.axes import value_text
from tasksim.study.report.figures.look import (
    BOUND_LOOK,
    draw_points,
    facet_panels,
    legend_below,
    of_how_many,
    plain_axes,
)
from tasksim.study.report.figures.registry import Drawing, StudyFigure
from tasksim.view.style import TEXT_POINTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox
    from numpy.typing import NDArray

    from tasksim.study.report.axes import StudyAxis
    from tasksim.study.report.findings import Findings
    from tasksim.study.report.table import StudyTable

__all__ = ["PARETO", "unbeaten"]


DISTANCES_POINTS: Final = (5.0, 13.0, 23.0, 35.0, 50.0, 68.0, 89.0, 113.0, 140.0)
"""Distances from a point to its label that are tried, in typographic points: the first is beside
the point, the others need a line."""
LABEL_SIDES: Final = ((-1, -1), (1, 1), (-1, 0), (1, 0), (0, -1), (0, 1), (1, -1), (-1, 1))
"""Directions that are tried, as (across, up): below to the left first, because no point lies below
a Pareto front."""
MARKER_MARGIN_POINTS: Final = 4.0
"""Free space around a marker, in typographic points."""


def label_points(
    axes: Axes, points: NDArray[np.float64], texts: Sequence[str], avoided: NDArray[np.float64]
) -> int:
    """Write the *texts* beside *points*; return the number of texts without room.

    Parameters
    ----------
    axes : Axes
        Axes of a figure whose layout is done (``figure.draw_without_rendering()``).
    points : array of shape (n, 2)
    texts : sequence of str
        One per point.
    avoided : array of shape (m, 2)
        Points that no label may cover.
    """
    marks = axes.transData.transform(avoided)
    taken: list[Bbox] = []
    for point, text in zip(points, texts, strict=True):
        for label in _tried(axes, point, text):
            label.get_window_extent()  # places the text; its own box would include the line
            box = Text.get_window_extent(label)
            if _is_free(axes, box, marks, taken):
                taken.append(box)
                break
            label.remove()
    return len(texts) - len(taken)


def _tried(axes: Axes, point: NDArray[np.float64], text: str) -> Iterator[Annotation]:
    """Yield the label at each place in turn; the caller removes it or keeps it and stops."""
    for distance, (across, up) in product(DISTANCES_POINTS, LABEL_SIDES):
        yield axes.annotate(
            text, (float(point[0]), float(point[1])), (across * distance, up * distance),
            textcoords="offset points", fontsize=TEXT_POINTS["small"], in_layout=False,
            ha=("center", "left", "right")[across], va=("center", "bottom", "top")[up],
            arrowprops=None if distance == DISTANCES_POINTS[0] else
            {"arrowstyle": "-", "color": "#999999", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3},
        )  # fmt: skip


def _is_free(axes: Axes, box: Bbox, marks: NDArray[np.float64], taken: Sequence[Bbox]) -> bool:
    margin = MARKER_MARGIN_POINTS * axes.figure.dpi / 72.0
    inside = axes.bbox.x0 <= box.x0 and box.x1 <= axes.bbox.x1
    inside = inside and axes.bbox.y0 <= box.y0 and box.y1 <= axes.bbox.y1
    across = (box.x0 - margin < marks[:, 0]) & (marks[:, 0] < box.x1 + margin)
    up = (box.y0 - margin < marks[:, 1]) & (marks[:, 1] < box.y1 + margin)
    return bool(inside and not (across & up).any() and not any(map(box.overlaps, taken)))


ENERGY_COLUMN: Final = "energy_j"
"""Column of the energy, an optional metric of studies."""


def unbeaten(makespan_s: NDArray[np.float64], energy_j: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether each choice is on the Pareto front of makespan and energy.

    >>> unbeaten(np.array([1.0, 2.0, 2.0, 3.0]), np.array([9.0, 4.0, 5.0, 4.0])).tolist()
    [True, True, False, False]
    """
    order = np.lexsort((energy_j, makespan_s))
    best_before = np.minimum.accumulate(np.concatenate(([np.inf], energy_j[order][:-1])))
    kept = np.zeros(len(order), dtype=bool)
    kept[order] = energy_j[order] < best_before
    # The scan above keeps one of several equal choices, but all of them are on the front.
    pairs = set(zip(makespan_s[kept].tolist(), energy_j[kept].tolist(), strict=True))
    both = zip(makespan_s.tolist(), energy_j.tolist(), strict=True)
    return np.array([pair in pairs for pair in both], dtype=bool)


def _draw(findings: Findings) -> list[Drawing]:
    used = findings.table.used
    if ENERGY_COLUMN not in used or not used[ENERGY_COLUMN].notna().any():
        return []
    data, graphs = _means(findings)
    figure, panels, count = facet_panels(data, graphs)
    for axes, part, title in panels:
        _points(plain_axes(axes, title), part, findings.table)
    legend_below(figure, panels[0][0])
    varied = [
        axis for axis in findings.table.configuration
        if axis.name not in graphs and data[axis.name].nunique() > 1
    ]  # fmt: skip
    figure.draw_without_rendering()  # label_points needs the final layout
    labels = ""
    if varied:
        left_out = sum(_label(axes, part, varied) for axes, part, _ in panels)
        lacking = f"; {left_out} had no room, the data have all" if left_out else ""
        labels = f" The labels are values of {', '.join(axis.label for axis in varied)}{lacking}."
    caption = (
        "Energy against makespan: each point is the mean of a choice over seeds. The line joins "
        f"the choices that no other beats in both.{labels}{of_how_many(len(panels), count)}"
    )
    return [Drawing("pareto", "Energy against makespan", caption, data, figure)]


def _means(findings: Findings) -> tuple[pd.DataFrame, list[str]]:
    """Return the means of each choice over seeds, and the axes of the graph."""
    names = [axis.name for axis in findings.table.configuration]
    graphs = [name for name in names if name == "graph" or name.startswith("graph.")]
    by = list(dict.fromkeys([*graphs, "scheduler", *names]))
    groups = findings.table.used.groupby(by, sort=False, dropna=False)
    data = groups[["makespan_s", ENERGY_COLUMN]].mean().reset_index()
    data["unbeaten"] = False
    for _, part in data.groupby(graphs, sort=False) if graphs else [((), data)]:
        kept = unbeaten(part["makespan_s"].to_numpy(), part[ENERGY_COLUMN].to_numpy())
        data.loc[part.index, "unbeaten"] = kept
    return data, graphs


def _points(axes: Axes, part: pd.DataFrame, table: StudyTable) -> None:
    factor, unit = time_unit(float(part["makespan_s"].max()))
    front = part[part["unbeaten"]].sort_values("makespan_s")
    axes.plot(
        factor * front["makespan_s"], front[ENERGY_COLUMN], **BOUND_LOOK,
        drawstyle="steps-post", label="no other beats",
    )  # fmt: skip
    draw_points(axes, part, table, ("makespan_s", ENERGY_COLUMN), factor)
    axes.set_xlabel(f"makespan ({unit})", fontsize=TEXT_POINTS["normal"])
    axes.set_ylabel("energy (J)", fontsize=TEXT_POINTS["normal"])


def _label(axes: Axes, part: pd.DataFrame, varied: Sequence[StudyAxis]) -> int:
    """Label the points of the front with their choices; return the number without room."""
    factor, _ = time_unit(float(part["makespan_s"].max()))
    places = np.column_stack([factor * part["makespan_s"], part[ENERGY_COLUMN]])
    front = part["unbeaten"].to_numpy()
    texts = [
        ", ".join(shortened(value_text(row[axis.name]), 20) for axis in varied)
        for _, row in part[front].iterrows()
    ]
    return label_points(axes, places[front], texts, np.vstack([places, _steps(places[front])]))


def _steps(front: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return closely spaced points on the line that joins the points of a *front*."""
    corners = front[np.argsort(front[:, 0], kind="stable")].repeat(2, axis=0)
    line = np.column_stack([corners[1:, 0], corners[:-1, 1]])
    parts = np.linspace(0.0, 1.0, 40)[:, None]
    return np.vstack([a + parts * (b - a) for a, b in pairwise(line)] or [line])


PARETO = StudyFigure("Energy against makespan, if the study has the metric energy_j.", _draw)
