"""Figures of a scaling prediction: times and their parts, counters, messages."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.reports.bulk.prediction import TIME_PARTS
from tasksim.reports.bulk.tables import SCALING_METHODS
from tasksim.view.colours import PALETTE
from tasksim.view.style import new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tasksim.reports.bulk.profile import Profile

__all__ = ["counters_figure", "messages_figure", "parts_figure", "scaling_figure"]

PANEL_INCHES: Final = 2.8
"""Height of a row of panels, in inches."""
MAX_COLUMNS: Final = 3
"""Most panels side by side: with more, labels of logarithmic axes overlap."""
GRID_STYLE: Final = {"color": "#e6e6e6", "linewidth": 0.6}
SERIES_LOOKS: Final[tuple[dict[str, Any], ...]] = (
    {"linestyle": "-", "marker": "o", "markersize": 4},
    {"linestyle": "--", "marker": "s", "markersize": 4},
    {"linestyle": ":", "marker": "^", "markersize": 4},
    {"linestyle": "-.", "marker": "D", "markersize": 4},
)
"""Line styles and marks of rows with the same settings; methods have the colours."""


def scaling_figure(fitted: Sequence[Profile], table: pd.DataFrame) -> Figure:
    """Draw the times over ranks, measured and by each method."""
    figure = new_figure(3.6)
    axes = figure.add_subplot()
    table = table.sort_values("ranks")
    known = [p for p in fitted if np.isfinite(p.seconds)]
    ranks = [p.ranks for p in known]
    axes.plot(ranks, [p.seconds for p in known], "ko", label="measured, learned from")
    if table["measured_s"].notna().any():
        axes.plot(table["ranks"], table["measured_s"], "kx", label="measured")
    for look, (settings, part) in zip(cycle(SERIES_LOOKS), _series(table), strict=False):
        for colour, name in zip(PALETTE, SCALING_METHODS, strict=False):
            if np.isfinite(part[f"{name}_s"]).any():
                axes.plot(part["ranks"], part[f"{name}_s"], **look, color=colour)
        low, high = part["counters_low_s"], part["counters_high_s"]
        axes.fill_between(part["ranks"], low, high, color=PALETTE[0], alpha=0.15, linewidth=0)
        if settings:
            axes.plot([], [], **look, color="#777777", label=settings)
    for colour, (name, meaning) in zip(PALETTE, SCALING_METHODS.items(), strict=False):
        if np.isfinite(table[f"{name}_s"]).any():
            axes.plot([], [], ".-", color=colour, label=meaning)
    _over_ranks(axes, {*ranks, *table["ranks"]}, "time (s)")
    axes.set_xticks([], minor=True)
    figure.legend(loc="outside right upper", fontsize=7, frameon=False)
    return figure


def _series(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the rows that a line joins, with their settings in words.

    A problem that grows with the ranks has other settings for each, and is one line. If several
    rows have the same ranks, each setting has its line.
    """
    if not table["ranks"].duplicated().any():
        return [("", table)]
    groups = table.groupby("settings", sort=False)
    return [(str(settings) or "as recorded", part) for settings, part in groups]


def parts_figure(table: pd.DataFrame) -> Figure:
    """Draw the parts of each predicted time as a bar, with a cross at the measured time."""
    figure = new_figure(3.6)
    axes = figure.add_subplot()
    places, bottom = np.arange(len(table)), np.zeros(len(table))
    for colour, (name, meaning) in zip(PALETTE, TIME_PARTS.items(), strict=False):
        height = table[f"counters_{name}_s"].to_numpy(float)
        axes.bar(places, height, 0.7, bottom, color=colour, label=meaning)
        bottom += height
    if table["measured_s"].notna().any():
        axes.plot(places, table["measured_s"], "kx", label="measured")
    names = [
        f"{ranks:g}\n{settings.replace(' ', chr(10))}".strip()
        for ranks, settings in zip(table["ranks"], table["settings"], strict=True)
    ]
    axes.set_xticks(places, names, fontsize=7)
    axes.set_xlabel("ranks")
    axes.set_ylabel("predicted time (s)")
    _plain(axes)
    figure.legend(loc="outside right upper", fontsize=7, frameon=False)
    return figure


def counters_figure(table: pd.DataFrame) -> Figure:
    """Draw the counters of each kernel over the work per rank, counted and modelled."""
    kernels = list(dict.fromkeys(table["kernel"]))
    figure, panels = _panels(len(kernels))
    for axes, kernel in zip(panels, kernels, strict=True):
        part = table[table["kernel"] == kernel]
        counters = list(dict.fromkeys(part["counter"]))
        for colour, counter in zip(PALETTE, counters, strict=False):
            rows = part[part["counter"] == counter].sort_values("work_per_rank")
            about = rows.iloc[0]
            label = f"{counter}: {about.family}, R² {about.r2:.3f}"
            axes.plot(rows["work_per_rank"], rows["modelled"], color=colour, label=label)
            for known, mark in ((True, "o"), (False, "x")):
                some = rows[rows["fitted"] == known]
                axes.plot(some["work_per_rank"], some["counted"], mark, color=colour, markersize=4)
        axes.set_title(kernel)
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=1.0)
        axes.set_xlabel("work per rank")
        axes.set_ylabel("count on the busiest rank")
        axes.legend(fontsize=6, frameon=False)
        _plain(axes)
    return figure


def messages_figure(table: pd.DataFrame) -> Figure:
    """Draw the bytes and the time of all messages over the ranks, measured and modelled."""
    figure, (volume, time) = _panels(2)
    names = list(dict.fromkeys(table["data"]))
    for colour, name in zip(PALETTE, names, strict=False):
        rows = table[table["data"] == name].sort_values("ranks")
        for axes, measured in ((volume, "bytes"), (time, "measured_s")):
            modelled = "modelled_bytes" if measured == "bytes" else "modelled_s"
            axes.plot(rows["ranks"], rows[modelled], color=colour, label=name)
            for known, mark in ((True, "o"), (False, "x")):
                some = rows[rows["fitted"] == known]
                axes.plot(some["ranks"], some[measured], mark, color=colour, markersize=4)
    for axes, label in ((volume, "bytes of all messages"), (time, "time of all messages (s)")):
        _over_ranks(axes, set(table["ranks"]), label)
    figure.legend(*volume.get_legend_handles_labels(), loc="outside right upper", fontsize=7,
                  frameon=False)  # fmt: skip
    return figure


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    columns = min(count, MAX_COLUMNS)
    rows = -(-count // columns)
    figure = new_figure(PANEL_INCHES * rows)
    return figure, [figure.add_subplot(rows, columns, number + 1) for number in range(count)]


def _over_ranks(axes: Axes, ranks: set[float], label: str) -> None:
    """Make both axes logarithmic, with ticks at the numbers of *ranks*."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sorted(ranks), [f"{each:g}" for each in sorted(ranks)])
    axes.set_xlabel("ranks")
    axes.set_ylabel(label)
    _plain(axes)


def _plain(axes: Any) -> None:
    axes.grid(**GRID_STYLE)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
