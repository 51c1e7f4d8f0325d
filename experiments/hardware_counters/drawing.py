"""Drawing of the experiment's figures: panels, colours, axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["COLOURS", "panels", "plain", "rank_axis"]

COLOURS: Final = ("#0072b2", "#e69f00", "#20603a", "#d55e9f", "#99ddff", "#997233", "#4b3fae",
                  "#53c683", "#602045", "#7f7f7f")  # fmt: skip
"""Colours of series, which are told apart under protanopia, deuteranopia and tritanopia."""
PANEL_INCHES: Final = (3.6, 2.9)
"""Width and height of a panel, in inches."""
MAX_COLUMNS: Final = 3
"""Most panels side by side on a page."""


def panels(
    count: int, width: float = PANEL_INCHES[0], height: float = PANEL_INCHES[1]
) -> tuple[Figure, list[Axes]]:
    """Return a figure with *count* panels, in rows of three."""
    columns = max(1, min(count, MAX_COLUMNS))
    rows = -(-max(count, 1) // columns)
    figure = Figure(figsize=(columns * width, rows * height), layout="constrained")
    return figure, [figure.add_subplot(rows, columns, number + 1) for number in range(count)]


def plain(axes: Any) -> None:
    """Remove what does not show data, and add a light grid."""
    axes.grid(color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def rank_axis(axes: Any, ranks: Sequence[float]) -> None:
    """Make the horizontal axis logarithmic, with a tick at each number of ranks."""
    each = sorted(set(ranks))
    axes.set_xscale("log", base=2)
    axes.set_xticks(each, [f"{P:g}" for P in each])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("ranks P")
