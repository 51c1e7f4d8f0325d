"""Trade-offs in the bulk-synchronous model: words and flop over synchronisations along a path.

Choices that need fewer synchronisations mostly move more or compute more; which is fastest depends
on the machine. The costs of closed formulas stand beside those of the schedules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.base.units import format_time
from tasksim.study.report.figures.look import (
    BOUND_COLOUR,
    draw_points,
    facet_panels,
    legend_below,
    of_how_many,
    plain_axes,
)
from tasksim.study.report.figures.registry import Drawing, StudyFigure
from tasksim.view.style import TEXT_POINTS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from tasksim.study.report.findings import Findings

__all__ = ["TRADEOFFS"]

ABSCISSA: Final = "path_synchronisations"
COST_LABELS: Final = {"path_words": "words along a path", "path_flop": "flop along a path"}
"""Costs that are drawn over the synchronisations, with the labels of their axes."""
CLOSED_PREFIX: Final = "closed"
"""Start of the names of closed costs, in the place of ``path``."""


def _draw(findings: Findings) -> list[Drawing]:
    used = findings.table.used
    drawn = [cost for cost in COST_LABELS if all(_known(used, name) for name in (ABSCISSA, cost))]
    return [_drawing(findings, cost) for cost in drawn]


def _known(used: pd.DataFrame, name: str) -> bool:
    return name in used and bool(used[name].notna().any())


def _drawing(findings: Findings, cost: str) -> Drawing:
    used = findings.table.used
    names = [axis.name for axis in findings.table.configuration]
    closed = [f"{CLOSED_PREFIX}_{name.partition('_')[2]}" for name in (ABSCISSA, cost)]
    has_closed = all(_known(used, name) for name in closed)
    by = list(dict.fromkeys([*names, "scheduler"]))
    columns = [ABSCISSA, cost, *(closed if has_closed else []), "makespan_s"]
    data = used.groupby(by, sort=False, dropna=False)[columns].mean().reset_index()
    figure, panels, count = facet_panels(data, ["graph"] if "graph" in data else [])
    for axes, part, title in panels:
        draw_points(plain_axes(axes, title), part, findings.table, (ABSCISSA, cost))
        _finish(axes, part, cost)
        if has_closed:
            axes.plot(
                part[closed[0]], part[closed[1]], linestyle="none", marker="o", markersize=9,
                markerfacecolor="none", color=BOUND_COLOUR, label="closed formula",
            )  # fmt: skip
    legend_below(figure, panels[0][0])
    label = COST_LABELS[cost]
    caption = (
        f"{label[0].upper()}{label[1:]} over synchronisations along a path: each point is a choice"
        f"{', the circle around it what its closed formula says' if has_closed else ''}. A choice "
        "to the lower left of another costs less of both. The fastest of each panel has its "
        f"makespan.{of_how_many(len(panels), count)}"
    )
    name = cost.removeprefix("path_")
    return Drawing(f"tradeoffs-{name}", f"Trade-off of {name}", caption, data, figure)


def _finish(axes: Axes, part: pd.DataFrame, cost: str) -> None:
    """Mark the fastest choice, and make both axes logarithmic."""
    fastest = part.iloc[int(part["makespan_s"].argmin())]
    axes.annotate(
        f"fastest: {format_time(float(fastest['makespan_s']))}", (fastest[ABSCISSA], fastest[cost]),
        (0, 8), textcoords="offset points", fontsize=TEXT_POINTS["small"], ha="center",
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.tick_params(which="both", labelsize=TEXT_POINTS["small"])
    axes.set_xlabel("synchronisations along a path", fontsize=TEXT_POINTS["normal"])
    axes.set_ylabel(COST_LABELS[cost], fontsize=TEXT_POINTS["normal"])


TRADEOFFS = StudyFigure(
    "Words and flop over synchronisations along a path, if the study has these metrics.", _draw
)
