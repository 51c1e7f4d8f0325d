"""Common colours, markers, panels, legends and ticks of the figures of studies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.shortnames import shortened
from tasksim.study.report.axes import value_text
from tasksim.study.report.curves import facets_of
from tasksim.view.style import TEXT_POINTS, WIDTH_INCHES, legend_columns, new_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tasksim.study.report.axes import StudyAxis
    from tasksim.study.report.table import StudyTable

__all__ = [
    "BOUND_COLOUR",
    "BOUND_LOOK",
    "MAX_PANELS",
    "Lines",
    "draw_points",
    "facet_panels",
    "facet_text",
    "legend_below",
    "line_looks",
    "lines_over",
    "of_how_many",
    "panels_over",
    "plain_axes",
    "ticks_of",
]

MAX_PANELS: Final = 6
"""Maximum number of panels of a figure: three rows of two fill a screen; its CSV file has all
data."""
BOUND_COLOUR: Final = "#777777"
BOUND_LOOK: Final[dict[str, Any]] = {"color": BOUND_COLOUR, "linestyle": "--", "linewidth": 1.2}
"""Look of what no scheduler can beat."""
_PANEL_INCHES: Final = 3.0
_COLOURS: Final = (
    # M. Okabe and K. Ito, "Color Universal Design" (2008), without yellow; the light ones last.
    "#0072b2", "#d55e00", "#009e73", "#222222", "#cc79a7", "#e69f00", "#56b4e9", "#997233",
)  # fmt: skip
_MARKS: Final = "osD^vP*X<>"


def line_looks(table: StudyTable) -> dict[str, dict[str, Any]]:
    """Return the colour and the marker of each scheduler, the same in all figures of a study."""
    return {name: _look(k) for k, name in enumerate(table.schedulers)}


def _look(number: int) -> dict[str, Any]:
    # Eight colours and ten markers: the first forty combinations differ.
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "marker": _MARKS[number % len(_MARKS)],
        "markersize": 4.5,
        "linewidth": 1.4,
    }


@dataclass(frozen=True)
class Lines:
    """Assignment of rows to the panels of a figure and to the lines of a panel.

    Attributes
    ----------
    column : str
        Column with one value per line: ``scheduler``, or an axis that counts workers or nodes.
    looks : mapping
        Name in the legend, colour and marker, by value of the column.
    panels : list of str
        Axes with one value per panel.
    """

    column: str
    looks: Mapping[Any, tuple[str, dict[str, Any]]]
    panels: list[str]

    @property
    def are_schedulers(self) -> bool:
        """Whether each line belongs to a scheduler."""
        return self.column == "scheduler"

    def of(self, part: pd.DataFrame) -> Iterator[tuple[str, dict[str, Any], pd.DataFrame]]:
        """Yield the name, the look and the rows of each line of a panel."""
        for value, line in part.groupby(self.column, sort=False):
            yield *self.looks[value], line


def lines_over(table: StudyTable, axis: StudyAxis) -> Lines:
    """Return the lines of figures over *axis*.

    A panel has one line per scheduler. If there is only one scheduler, readers compare numbers of
    threads or nodes, and a panel has one line for each number.
    """
    fixed = facets_of(table, axis)
    counts = [
        other
        for other in table.configuration
        if other.is_count and other.name in fixed and len(other) <= len(_COLOURS)
    ]
    if len(table.schedulers) > 1 or not counts:
        looks = {name: (name, look) for name, look in line_looks(table).items()}
        return Lines("scheduler", looks, fixed)
    told = max(counts, key=len)
    names = {value: facet_text({told.name: value}) for value in told.values}
    looks = {value: (names[value], _look(k)) for k, value in enumerate(told.values)}
    return Lines(told.name, looks, [name for name in fixed if name != told.name])


def panels_over(
    table: StudyTable,
    axis: StudyAxis,
    data: pd.DataFrame,
    draw: Callable[[Axes, pd.DataFrame, Lines], None],
) -> tuple[Figure, str]:
    """Return a figure of *data* over *axis*, and a note for its caption on panels left out.

    *draw* draws the lines of a panel from its rows.
    """
    lines = lines_over(table, axis)
    figure, panels, count = facet_panels(data, lines.panels)
    for axes, part, title in panels:
        draw(plain_axes(axes, title), part, lines)
        ticks_of(axes, axis)
    legend_below(figure, panels[0][0])
    return figure, of_how_many(len(panels), count)


def of_how_many(shown: int, count: int) -> str:
    """Return a note for the caption if not all panels are drawn; else ``""``."""
    return "" if shown == count else f" The first {shown} of {count} panels; the data have all."


def draw_points(
    axes: Axes, part: pd.DataFrame, table: StudyTable, columns: tuple[str, str], factor: float = 1.0
) -> None:
    """Draw a point per row of *part*, in the look of its scheduler; *factor* scales its x value."""
    looks = line_looks(table)
    for name, points in part.groupby("scheduler", sort=False):
        x, y = (points[column] for column in columns)
        look = looks[str(name)] | {"linestyle": "none"}
        axes.plot(factor * x, y, label=str(name), **look)


def plain_axes(axes: Axes, title: str = "") -> Axes:
    """Give *axes* small texts, a faint grid, and no frame above and to the right; return them."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color="#e3e7ea", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=TEXT_POINTS["small"])
    if title:
        axes.set_title(shortened(title, 62), fontsize=TEXT_POINTS["normal"], loc="left")
    return axes


def legend_below(figure: Figure, axes: Axes) -> None:
    """Put the legend of *axes* below all panels of *figure*."""
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    names = [shortened(label, 40) for label in labels]
    figure.legend(
        handles=handles,
        labels=names,
        loc="outside lower left",
        ncols=legend_columns(names, WIDTH_INCHES * 72.0),
        fontsize=TEXT_POINTS["small"],
        frameon=False,
    )


def facet_panels(
    curve: pd.DataFrame, fixed: Sequence[str]
) -> tuple[Figure, list[tuple[Axes, pd.DataFrame, str]], int]:
    """Return a figure, its panels, and the number of panels without the limit.

    There is one panel for each combination of values of the *fixed* axes, but at most
    :data:`MAX_PANELS`. A panel is a tuple of its axes, its rows and its title.
    """
    groups = list(curve.groupby(list(fixed), sort=False)) if fixed else [((), curve)]
    shown = groups[:MAX_PANELS]
    columns = min(2, len(shown))
    rows = math.ceil(len(shown) / columns)
    figure = new_figure(_PANEL_INCHES * rows + 0.5)
    panels = []
    for number, (values, part) in enumerate(shown, 1):
        axes = figure.add_subplot(rows, columns, number)
        panels.append((axes, part, facet_text(dict(zip(fixed, values, strict=True)))))
    return figure, panels, len(groups)


def facet_text(values: Mapping[str, Any]) -> str:
    """Return the values of axes in one line: ``cholesky, xeon-24c, tile_size=256``.

    >>> facet_text({"graph": "lu", "graph.tiles": 8.0})
    'lu, tiles=8'
    """
    parts = []
    for name, value in values.items():
        text = value_text(value)
        if name == "platform":  # without the folders of a platform file
            text = text.rpartition("/")[2]
        label = name.partition(".")[2] or name
        parts.append(text if name in ("graph", "platform", "scheduler") else f"{label}={text}")
    return ", ".join(parts)


def ticks_of(axes: Axes, axis: StudyAxis) -> None:
    """Set the ticks of the x axis to the values of *axis*; use a log scale for wide ranges."""
    both = zip(axis.numbers or (), axis.values, strict=True)
    pairs = [(number, value) for number, value in both if math.isfinite(number)]
    numbers = [number for number, _ in pairs]
    # Studies with ranges of a factor of four or more mostly have steps of a factor: 1, 2, 4.
    if min(numbers) > 0 and max(numbers) / min(numbers) >= 4:
        axes.set_xscale("log")
    kept = pairs if len(pairs) <= 9 else pairs[:: math.ceil(len(pairs) / 8)]
    axes.set_xticks(
        [number for number, _ in kept], [shortened(value_text(value), 14) for _, value in kept]
    )
    axes.set_xticks([], minor=True)
    axes.set_xlabel(shortened(axis.label, 60), fontsize=TEXT_POINTS["normal"])
