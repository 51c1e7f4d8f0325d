"""Axes of the figures of kernel models: which points are drawn, scales, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from tasksim.base.units import time_unit
from tasksim.view.style import TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = [
    "LOG_FROM",
    "along",
    "count_label",
    "decimated",
    "duration_x",
    "duration_y",
    "finish",
    "value_x",
]

POINTS: Final = 4000
"""Maximum number of points drawn; the figure says how many are left out."""
EXTREMES: Final = 100
"""Number of lowest and of highest points that are always drawn: readers look for outliers."""
LOG_FROM: Final = 8.0
"""Ratio of the largest to the least value from which an axis is logarithmic: below, the least is
more than an eighth of the way along a linear one."""


def decimated(values: NDArray[np.float64], most: int = POINTS) -> NDArray[np.intp]:
    """Return which of *values* to draw: all, or every n-th and the extremes.

    The lowest and highest 100 are always among them, so that no outlier is hidden. Ascending,
    without repetitions, the same each time.
    """
    count = len(values)
    if count <= most:
        return np.arange(count)
    order = np.argsort(values, kind="stable")
    ends = np.concatenate((order[:EXTREMES], order[-EXTREMES:]))
    # Drawn at random: samples come in turns (configurations, runs), and every n-th of them
    # would be of the same turn.
    inner = order[EXTREMES:-EXTREMES]
    some = np.random.default_rng(0).choice(inner, most - len(ends), replace=False)
    return np.sort(np.concatenate((some, ends)))


def along(count: int) -> NDArray[np.intp]:
    """Return which of *count* ordered points to draw: all at the ends, every n-th between."""
    if count <= POINTS:
        return np.arange(count)
    inner = np.linspace(EXTREMES, count - EXTREMES - 1, POINTS - 2 * EXTREMES)
    ends = np.concatenate((np.arange(EXTREMES), np.arange(count - EXTREMES, count)))
    return np.unique(np.concatenate((ends, inner.astype(np.intp))))


def duration_x(axes: Axes, values_s: NDArray[np.float64]) -> None:
    """Make the x axis one of predicted durations, in a fitting unit."""
    low, high = float(values_s.min()), float(values_s.max())
    factor, unit = time_unit(float(np.sqrt(low * high)))
    if low > 0 and high > LOG_FROM * low:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(
            LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,))
        )
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x * factor:.6g}"))
    axes.set_xlabel(f"predicted duration ({unit})", fontsize=TEXT["normal"])


def duration_y(axes: Axes, values_s: NDArray[np.float64]) -> None:
    """Make the y axis one of durations, in a fitting unit."""
    low, high = float(values_s.min()), float(values_s.max())
    factor, unit = time_unit(float(np.sqrt(low * high)))
    if high > LOG_FROM * low:
        axes.set_yscale("log")
        axes.set_ylim(low / 1.5, high * 1.5)
        axes.yaxis.set_major_locator(
            LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,))
        )
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y * factor:.6g}"))
    axes.set_ylabel(f"duration ({unit})", fontsize=TEXT["normal"])


def value_x(axes: Axes, values: NDArray[np.float64], name: str) -> None:
    """Make the x axis one of a parameter; few values are ticks themselves."""
    low, high = float(values.min()), float(values.max())
    distinct = np.unique(values)
    if low > 0 and high > LOG_FROM * low:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    if len(distinct) <= 6 and not (low > 0 and high > 100 * low):
        axes.set_xticks(distinct.tolist())
    elif axes.get_xscale() == "log":
        axes.xaxis.set_major_locator(
            LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,))
        )
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.6g}"))
    unit = " (bytes)" if name == "size_bytes" else ""
    axes.set_xlabel(f"{name}{unit}", fontsize=TEXT["normal"])


def count_label(drawn: int, count: int, what: str) -> str:
    """Return a label that says what is not drawn."""
    return f"{count:,} {what}" if drawn == count else f"{drawn:,} of {count:,} {what}"


def finish(axes: Axes, title: str) -> None:
    """Put title and legend above the axes, where they cover nothing."""
    axes.set_title(title, fontsize=TEXT["title"], loc="left", wrap=True)
    axes.tick_params(labelsize=TEXT["small"])
    axes.grid(color="#e8ecf0", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        axes.legend(
            handles,
            labels,
            loc="upper left",
            bbox_to_anchor=(0.0, -0.18),
            ncols=1 if max(map(len, labels)) > 34 else 2,
            fontsize=TEXT["small"],
            frameon=False,
        )
