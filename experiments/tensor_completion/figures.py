"""Figures of the experiment: a panel per application, logarithms as in the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

__all__ = [
    "COLOURS",
    "MARKERS",
    "MAX_SHOWN_ERROR",
    "error_axis",
    "panels",
    "powers_axis",
    "size_text",
]

PANEL_INCHES: Final = (3.6, 3.0)
"""Width and height of a panel: three fit a page."""
MAX_SHOWN_ERROR: Final = 3.0
"""Error at which figures are cut off: twenty times too long or short is wrong anyway."""
PANELS_PER_ROW: Final = 3
MAX_LABELLED_RANGE: Final = 200.0
"""Largest ratio of the ends of an axis up to which twos and fives are labelled, too."""
LEAST_PARTED_RANGE: Final = 3.0
"""Ratio of the ends of an axis up to which it may have neither a two nor a five."""
COLOURS: Final = {
    "cp": "#1954dc", "hybrid": "#238c38", "learned": "#673f7f", "MARS": "#f1b014",
    "SGR": "#c0392b", "KNN": "#7f7f7f", "GP": "#8c564b", "ET": "#17a2b8", "NN": "#e377c2",
}  # fmt: skip
MARKERS: Final = {
    "cp": "o", "hybrid": "s", "learned": "D", "MARS": "v", "SGR": "^", "KNN": "x", "GP": "+",
    "ET": "<", "NN": ">",
}  # fmt: skip
"""Colour and marker of each kind of model: told apart in grey, too."""


def panels(
    names: Sequence[str], draw: Callable[[Axes, str], None], title: Callable[[str], str] = str
) -> Figure:
    """Return a figure with a panel for each of *names*; one legend below has what all have."""
    columns = min(PANELS_PER_ROW, len(names))
    rows = -(-len(names) // columns)
    figure = Figure(
        figsize=(PANEL_INCHES[0] * columns, PANEL_INCHES[1] * rows + 0.6), layout="constrained"
    )
    known: dict[str, Any] = {}
    for place, name in enumerate(names):
        axes = figure.add_subplot(rows, columns, place + 1)
        draw(axes, name)
        axes.set_title(title(name), fontsize=10)
        axes.tick_params(labelsize=8)
        axes.grid(visible=True, which="major", linewidth=0.4, alpha=0.5)
        handles, labels = axes.get_legend_handles_labels()
        known |= {label: handle for handle, label in zip(handles, labels, strict=True)
                  if label not in known}  # fmt: skip
    if known:
        figure.legend(
            list(known.values()), list(known), loc="outside lower center",
            ncols=min(len(known), 3 * columns), fontsize=8, frameon=False,
        )  # fmt: skip
    return figure


def error_axis(axes: Axes, top: float | None = None) -> None:
    """Make the vertical axis that of errors, a logarithm; errors above *top* are cut off."""
    axes.set_yscale("log")
    axes.set_ylabel("MLogQ", fontsize=8)
    if top is not None and axes.get_ylim()[1] > top:
        axes.set_ylim(top=top)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    # Labels between decades help where a panel spans less than one, and crowd others.
    low, high = axes.get_ylim()
    few = high / low < MAX_LABELLED_RANGE
    labelled = "25" if high / low > LEAST_PARTED_RANGE else "123456789"
    axes.yaxis.set_minor_formatter(
        FuncFormatter(lambda value, _: f"{value:.3g}" if f"{value:e}"[0] in labelled else "")
        if few
        else NullFormatter()
    )
    axes.tick_params(axis="y", which="minor", labelsize=8)


def powers_axis(axes: Axes, values: Sequence[float], label: str, base: int = 2) -> None:
    """Make the horizontal axis a logarithm with *values* as ticks."""
    axes.set_xscale("log", base=base)
    if values:
        axes.set_xticks(list(values), [size_text(value) for value in values])
        axes.minorticks_off()
    axes.set_xlabel(label, fontsize=8)


def size_text(value: float) -> str:
    """Return a size as a text.

    >>> size_text(64), size_text(4096), size_text(2**20), size_text(2**25)
    ('64', '4096', '1024 Ki', '32 Mi')
    """
    for size, unit in ((2**20, " Mi"), (2**10, " Ki")):
        if value >= 10 * size and value % size == 0:
            return f"{value / size:g}{unit}"
    return f"{value:g}"
