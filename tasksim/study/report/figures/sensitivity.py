"""Figures of swings along axes, Sobol' indices and interactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd
from matplotlib.colors import LogNorm, Normalize

from tasksim.base.shortnames import shortened
from tasksim.study.report.axes import value_text
from tasksim.study.report.figures.look import BOUND_COLOUR, plain_axes
from tasksim.study.report.figures.registry import Drawing, StudyFigure, file_name
from tasksim.view.style import TEXT_POINTS, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tasksim.study.report.findings import Findings
    from tasksim.study.report.sensitivity import Interaction

__all__ = ["INTERACTIONS", "SENSITIVITY", "SOBOL"]


def _draw_sensitivity(findings: Findings) -> list[Drawing]:
    found = findings.sensitivities
    if not found:
        return []
    figure = new_figure(0.9 + 0.32 * len(found))
    axes = plain_axes(figure.add_subplot())
    rows = range(len(found))
    colours = [BOUND_COLOUR if s.axis == "seed" else "#0072b2" for s in found]
    axes.barh(rows, [s.swing - 1.0 for s in found], left=1.0, height=0.6, color=colours)
    axes.plot(
        [s.largest_swing for s in found], rows, linestyle="none", marker="|", markersize=12,
        color="#222222",
    )  # fmt: skip
    # A log scale for wide ranges, else short bars could not be told apart.
    if max(s.largest_swing for s in found) > 10:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlim(left=1.0)
    axes.set_yticks(rows, [shortened(s.axis, 40) for s in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlabel("longest / shortest makespan", fontsize=TEXT_POINTS["normal"])
    caption = (
        "Ratio of the longest to the shortest makespan along each axis of the study, all else "
        "equal: geometric means, with a stroke at the largest. 'seed' is the effect of chance."
    )
    data = pd.DataFrame([vars(sensitivity) for sensitivity in found])
    return [Drawing("sensitivity", "Sensitivity", caption, data, figure)]


SENSITIVITY = StudyFigure("Factor by which each axis moves the makespan.", _draw_sensitivity)


def _draw_sobol(findings: Findings) -> list[Drawing]:
    found = findings.sobol
    if not found:
        return []
    figure = new_figure(1.2 + 0.4 * len(found))
    axes = plain_axes(figure.add_subplot())
    rows = range(len(found))
    for what, shift, colour in (("first", -0.19, "#0072b2"), ("total", 0.19, "#e69f00")):
        axes.barh(
            [row + shift for row in rows],
            [100.0 * getattr(index, what) for index in found],
            height=0.36,
            color=colour,
            label="alone" if what == "first" else "with interactions",
        )
    axes.set_yticks(rows, [shortened(index.axis, 40) for index in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlim(0.0, 100.0)
    axes.set_xlabel("variance of ln(makespan) (%)", fontsize=TEXT_POINTS["normal"])
    axes.legend(fontsize=TEXT_POINTS["small"], frameon=False)
    caption = (
        "Sobol' indices, exact for the grid of the study: the share of the variance of "
        "ln(makespan) that an axis explains alone, and with all its interactions."
    )
    data = pd.DataFrame([vars(index) for index in found])
    return [Drawing("sobol", "Sobol' indices", caption, data, figure)]


SOBOL = StudyFigure("Share of variance that each axis explains.", _draw_sobol)


MAX_MAPS: Final = 4
"""Maximum number of heat maps in a report: those of the strongest interactions; weaker ones show
little."""
MAX_NUMBERED_FIELDS: Final = 120
"""Maximum number of fields of a map whose fields show their numbers."""
MIN_STRENGTH: Final = 1.005
"""Minimum strength of an interaction that is drawn: half a percent of the makespan."""
LOG_COLOUR_RATIO: Final = 10.0
"""Ratio of the longest to the shortest makespan from which the colour scale is logarithmic: on a
linear scale, all but the longest would look alike."""


def _draw_interactions(findings: Findings) -> list[Drawing]:
    worth = [i for i in findings.interactions if i.strength >= MIN_STRENGTH]
    return [_map(interaction) for interaction in worth[:MAX_MAPS]]


def _map(interaction: Interaction) -> Drawing:
    first, second = interaction.first, interaction.second
    figure = new_figure(1.3 + 0.33 * max(len(first), 3))
    _heat(plain_axes(figure.add_subplot()), interaction)
    title = f"{first.label} and {second.label}"
    caption = (
        "Geometric means of makespans over the shortest. The effect of one axis depends on the "
        "other: predictions from each axis by itself are typically off by "
        f"{100 * (interaction.strength - 1):.2g} %.{_slices_text(interaction)}"
    )
    data = pd.DataFrame(
        [
            {first.name: a, second.name: b, "relative": interaction.relative[row, column]}
            for row, a in enumerate(first.values)
            for column, b in enumerate(second.values)
        ]
    )
    name = f"heat-{file_name(first.name)}-{file_name(second.name)}"
    return Drawing(name, title, caption, data, figure)


def _heat(axes: Axes, interaction: Interaction) -> None:
    first, second, relative = interaction.first, interaction.second, interaction.relative
    most = max(float(relative.max()), 1.0 + 1e-9)
    scale = LogNorm(1.0, most) if most > LOG_COLOUR_RATIO else Normalize(1.0, most)
    drawn = axes.imshow(relative, cmap="Blues", aspect="auto", norm=scale)
    axes.grid(False)
    axes.set_yticks(range(len(first)), [shortened(value_text(v), 30) for v in first.values])
    axes.set_xticks(range(len(second)), [shortened(value_text(v), 30) for v in second.values])
    if sum(len(value_text(v)) for v in second.values) > 90:
        axes.tick_params(axis="x", rotation=30)
    axes.set_ylabel(shortened(first.label, 40), fontsize=TEXT_POINTS["normal"])
    axes.set_xlabel(shortened(second.label, 60), fontsize=TEXT_POINTS["normal"])
    bar = axes.figure.colorbar(drawn, ax=axes, pad=0.01, format="%g")
    bar.ax.tick_params(labelsize=TEXT_POINTS["small"])
    bar.set_label("makespan / shortest", fontsize=TEXT_POINTS["small"])
    if relative.size > MAX_NUMBERED_FIELDS:
        return
    for row, line in enumerate(relative):
        for column, value in enumerate(line):
            axes.text(
                column, row, f"{value:.3g}", ha="center", va="center",
                fontsize=TEXT_POINTS["small"], color="white" if scale(value) > 0.6 else "black",
            )  # fmt: skip


def _slices_text(interaction: Interaction) -> str:
    if interaction.slices == interaction.all_slices:
        return ""
    return (
        f" The means are over those {interaction.slices} of {interaction.all_slices} combinations "
        "of the other axes that have all fields."
    )


INTERACTIONS = StudyFigure("Makespans over two axes, where they interact most.", _draw_interactions)
