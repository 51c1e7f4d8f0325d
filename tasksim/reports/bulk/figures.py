"""Figures of a scaling prediction: parts of the time, counters over work, messages over ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.reports.bulk.prediction import PARTS
from tasksim.view.style import PALETTE, new_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["counters_figure", "messages_figure", "parts_figure"]

PANEL_INCHES: Final = 2.8
"""Height of a row of panels, in inches."""
MAX_COLUMNS: Final = 3
"""Most panels side by side: with more, labels of logarithmic axes overlap."""
GRID: Final = {"color": "#e6e6e6", "linewidth": 0.6}


def parts_figure(table: pd.DataFrame) -> Figure:
    """Draw the parts of each predicted time as a bar, with a cross at the measured time."""
    figure = new_figure(3.6)
    axes = figure.add_subplot()
    places, bottom = np.arange(len(table)), np.zeros(len(table))
    for colour, (name, meaning) in zip(PALETTE, PARTS.items(), strict=False):
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
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        ranks = sorted(set(table["ranks"]))
        axes.set_xticks(ranks, [f"{each:g}" for each in ranks])
        axes.set_xlabel("ranks")
        axes.set_ylabel(label)
        _plain(axes)
    figure.legend(*volume.get_legend_handles_labels(), loc="outside right upper", fontsize=7,
                  frameon=False)  # fmt: skip
    return figure


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    columns = min(count, MAX_COLUMNS)
    rows = -(-count // columns)
    figure = new_figure(PANEL_INCHES * rows)
    return figure, [figure.add_subplot(rows, columns, number + 1) for number in range(count)]


def _plain(axes: Any) -> None:
    axes.grid(**GRID)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
