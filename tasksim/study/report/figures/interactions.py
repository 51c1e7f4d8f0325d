"""Heat maps of makespans over two interacting axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd
from matplotlib.colors import LogNorm, Normalize

from tasksim.study.report.axes import value_text
from tasksim.study.report.figures.look import plain_axes, shortened
from tasksim.study.report.figures.registry import Drawing, StudyFigure
from tasksim.study.report.names import file_name
from tasksim.view.style import TEXT, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tasksim.study.report.findings import Findings
    from tasksim.study.report.interactions import Interaction

__all__ = ["INTERACTIONS"]

MAX_MAPS: Final = 4
"""Most heat maps in a report: those of the strongest interactions; weaker ones show little."""
MAX_NUMBERED_FIELDS: Final = 120
"""Most fields of a map whose fields show their numbers."""
MIN_STRENGTH: Final = 1.005
"""Least strength of an interaction that is drawn: half a percent of the makespan."""
LOG_COLOUR_RATIO: Final = 10.0
"""Ratio of the longest to the shortest makespan from which the colour scale is logarithmic: on a
linear scale, all but the longest would look alike."""


def _draw(findings: Findings) -> list[Drawing]:
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
    axes.set_ylabel(shortened(first.label, 40), fontsize=TEXT["normal"])
    axes.set_xlabel(shortened(second.label, 60), fontsize=TEXT["normal"])
    bar = axes.figure.colorbar(drawn, ax=axes, pad=0.01, format="%g")
    bar.ax.tick_params(labelsize=TEXT["small"])
    bar.set_label("makespan / shortest", fontsize=TEXT["small"])
    if relative.size > MAX_NUMBERED_FIELDS:
        return
    for row, line in enumerate(relative):
        for column, value in enumerate(line):
            axes.text(
                column, row, f"{value:.3g}", ha="center", va="center", fontsize=TEXT["small"],
                color="white" if scale(value) > 0.6 else "black",
            )  # fmt: skip


def _slices_text(interaction: Interaction) -> str:
    if interaction.slices == interaction.all_slices:
        return ""
    return (
        f" The means are over those {interaction.slices} of {interaction.all_slices} combinations "
        "of the other axes that have all fields."
    )


INTERACTIONS = StudyFigure("Makespans over two axes, where they interact most.", _draw)
