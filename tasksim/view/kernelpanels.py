"""Panels of kernels, with total times, distributions of durations and durations in two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from tasksim.base.errors import InputError
from tasksim.base.shortnames import shortened
from tasksim.base.units import time_unit
from tasksim.run.metrics import KernelStatistics, kernel_statistics
from tasksim.view.bands import MAX_VECTOR_BOXES
from tasksim.view.colours import kernel_colours
from tasksim.view.names import listed_runs, run_names
from tasksim.view.registry import Panel
from tasksim.view.style import (
    TEXT_POINTS,
    fits,
    in_unit_of_time,
    log_ticks,
    name_axes,
    name_runs,
    new_axes,
    write_note,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tasksim.run.record import Run

    Float64 = NDArray[np.float64]

__all__ = [
    "DISTRIBUTIONS",
    "KERNELS",
    "SCATTER",
    "panel_kernel_distributions",
    "panel_kernel_totals",
    "panel_scatter",
]

_HEIGHT_INCHES = 2.6
_LOG_FROM = 30.0
"""Ratio of the longest to the shortest duration from which the axis is logarithmic: on a linear
one, the boxes of short kernels would be lower than a thirtieth of it, a line."""
_TICK_LETTERS: Final = 24
"""Maximum length of a kernel's name below its bar: an upright name leaves room to the bar."""
_HATCHES = ("", "////", "....", "xxxx", "----")
_POINTS: dict[str, Any] = {
    "linestyle": "",
    "marker": "o",
    "markersize": 4.0,
    "markeredgecolor": "#333333",
    "markeredgewidth": 0.6,
    "zorder": 3,
}
_SHADES = (1.0, 0.55, 0.35, 0.75, 0.45)


def panel_kernel_totals(runs: Run | Sequence[Run], ax: Axes | None = None) -> Axes:
    """Draw the total time of each kernel, a bar per run."""
    axes = new_axes(ax, _HEIGHT_INCHES)
    table, colours = _by_kernel(listed_runs(runs))
    for kernel, run, place, width in _places(table):
        statistics = table[kernel][run]
        if statistics is not None:
            axes.bar(place, statistics.total_s, width, **_look(colours[kernel], run))
    _kernel_axis(axes, table, listed_runs(runs))
    _duration_axis(axes, "total time", table)
    return axes


def panel_kernel_distributions(runs: Run | Sequence[Run], ax: Axes | None = None) -> Axes:
    """Draw how the durations of each kernel are distributed, a box per run.

    The box has the quartiles and the median, the whiskers reach from the 5 % to the 95 %
    quantile, the points are the shortest and the longest task. The axis is logarithmic
    where the longest duration is 30 times the shortest or more.
    """
    axes = new_axes(ax, _HEIGHT_INCHES)
    table, colours = _by_kernel(listed_runs(runs))
    dark = {"color": "#333333", "linewidth": 0.8}
    lines: Any = {"medianprops": dark | {"linewidth": 1.4}, "whiskerprops": dark, "capprops": dark}
    for kernel, run, place, width in _places(table):
        s = table[kernel][run]
        if s is not None:
            low, q1, median, q3, high = s.quantiles_s
            box = {"med": median, "q1": q1, "q3": q3, "whislo": low, "whishi": high, "fliers": []}
            axes.bxp([box], positions=[place], widths=[0.8 * width], patch_artist=True,
                     showfliers=False, manage_ticks=False,
                     boxprops=_look(colours[kernel], run), **lines)  # fmt: skip
            axes.plot([place, place], [s.min_s, s.max_s], color=colours[kernel], **_POINTS)
    present = [s for row in table.values() for s in row if s is not None]
    shortest = min((s.min_s for s in present), default=0.0)
    if shortest > 0 and max(s.max_s for s in present) >= _LOG_FROM * shortest:
        axes.set_yscale("log")
    _kernel_axis(axes, table, listed_runs(runs))
    _duration_axis(axes, "duration", table)
    return axes


ByKernel = dict[str, list[KernelStatistics | None]]


def _by_kernel(runs: Sequence[Run]) -> tuple[ByKernel, dict[str, str]]:
    """Return per kernel its statistics in each run (None: it did not run), and its colour."""
    found = [{s.kernel: s for s in kernel_statistics(run)} for run in runs]
    kernels = dict.fromkeys(kernel for statistics in found for kernel in statistics)
    return {k: [s.get(k) for s in found] for k in kernels}, kernel_colours(kernels)


def _places(table: ByKernel) -> list[tuple[str, int, float, float]]:
    """Return (kernel, run, x, width) of every bar or box; runs without a kernel take no room."""
    places = []
    for x, (kernel, row) in enumerate(table.items()):
        here = [run for run, statistics in enumerate(row) if statistics is not None]
        width = 0.8 / max(2 if len(row) > 1 else 1, len(here))
        left = x - (len(here) - 1) / 2 * width
        places += [(kernel, run, left + place * width, width) for place, run in enumerate(here)]
    return places


def _look(colour: str, run: int) -> dict[str, Any]:
    """Return how a bar looks: the colour tells the kernel, shade and hatch tell the run."""
    shade = _SHADES[run % len(_SHADES)]
    mixed = [1 - shade * (1 - int(colour[i : i + 2], 16) / 255) for i in (1, 3, 5)]
    hatch = _HATCHES[run % len(_HATCHES)]
    return {"facecolor": mixed, "edgecolor": "#333333", "hatch": hatch, "linewidth": 0.6}


def _kernel_axis(axes: Axes, table: ByKernel, runs: Sequence[Run]) -> None:
    """Name the kernels and how many tasks they have; with several runs, say which is which."""
    labels = []
    for kernel, row in table.items():
        counts = dict.fromkeys(0 if s is None else s.count for s in row)
        labels.append(f"{shortened(kernel, _TICK_LETTERS)}\n×{' / '.join(map(str, counts))}")
    axes.set_xticks(range(len(labels)), labels, fontsize=TEXT_POINTS["small"])
    widest = max((max(label.split("\n"), key=len) for label in labels), key=len, default="")
    if not fits(axes, [widest] * len(labels), extra_points=4.0):
        axes.tick_params(axis="x", labelrotation=90.0)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.spines[["top", "right"]].set_visible(False)
    if len(runs) > 1:
        handles = [
            Patch(label=name, **_look("#888888", run)) for run, name in enumerate(run_names(runs))
        ]
        name_runs(axes, handles)


def _duration_axis(axes: Axes, label: str, table: ByKernel) -> None:
    if not any(s.max_s > 0 for row in table.values() for s in row if s is not None):
        axes.set_ylim(0.0, 1.0)  # not a length that Matplotlib makes up around 0
        write_note(axes, "all tasks took no time")
    low, high = axes.get_ylim()
    if axes.get_yscale() == "log":
        axes.yaxis.set_major_locator(log_ticks(low, high))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(0.0, high * 1.05)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=6))
    unit = in_unit_of_time(axes.yaxis, high)
    axes.tick_params(axis="y", labelsize=TEXT_POINTS["small"])
    axes.set_ylabel(f"{label} ({unit})", fontsize=TEXT_POINTS["normal"])


KERNELS = Panel(
    summary="The total time of each kernel, a bar per run.",
    place="below",
    draw=lambda runs, axes, _: panel_kernel_totals(runs, axes),
    height_inches=lambda _: 3.0,
)
DISTRIBUTIONS = Panel(
    summary="How the durations of each kernel are distributed, a box per run.",
    place="below",
    draw=lambda runs, axes, _: panel_kernel_distributions(runs, axes),
    height_inches=lambda _: 3.0,
)


_SCATTER_INCHES = 3.6
_RATIOS: Final = ((1.0, "-"), (1.1, ":"), (1 / 1.1, ":"), (2.0, "--"), (0.5, "--"))
"""Lines of equal durations, of 10 % to both sides, and of twice and half the duration."""


def panel_scatter(runs: Sequence[Run], ax: Axes | None = None) -> Axes:
    """Draw what each task took in the second run over what it took in the first, both logarithmic.

    A point per task, a large one for the mean of each kernel. The lines say where both are equal,
    where one is 10 % longer, and twice as long.

    Parameters
    ----------
    runs :
        Two runs of the same tasks: the measured one first.
    ax :
        Axes to draw on; default: those of a new figure.

    Raises
    ------
    InputError
        If there are not two runs, or they have not the same tasks.
    """
    if len(runs) != 2:
        raise InputError(f"panel scatter compares two runs, here are {len(runs)}")
    measured, predicted = runs
    first, second = (np.array(run.kernel_names, object)[run.tasks.kernel] for run in runs)
    if not np.array_equal(first, second):
        raise InputError(
            f"panel scatter compares runs of the same tasks, not {measured.graph_label}"
            f" ({len(measured)} tasks) and {predicted.graph_label} ({len(predicted)} tasks)"
        )
    axes = new_axes(ax, _SCATTER_INCHES)
    x, y = measured.tasks.duration_s, predicted.tasks.duration_s
    seen = (x > 0) & (y > 0)
    names = [measured.kernel_names[k] for k in np.unique(measured.tasks.kernel).tolist()]
    colours = kernel_colours(names)
    for kernel, name in enumerate(measured.kernel_names):
        tasks = seen & (measured.tasks.kernel == kernel)
        if not tasks.any():
            continue
        look: Any = {"linestyle": "", "marker": "o", "color": colours[name]}
        many = int(tasks.sum()) > MAX_VECTOR_BOXES // 10
        small: Any = look | {"markersize": 2.2, "alpha": 0.25, "markeredgewidth": 0}
        axes.plot(x[tasks], y[tasks], rasterized=many, **small)
        mean = [x[tasks].mean()], [y[tasks].mean()]
        axes.plot(*mean, markersize=8, markeredgecolor="#111111", label=shortened(name), **look)
    _draw_ratios(axes)
    factor, unit = time_unit(axes.get_xlim()[1])
    text = FuncFormatter(lambda value, _: f"{value * factor:.3g}")
    for axis, name in zip((axes.xaxis, axes.yaxis), run_names(runs), strict=True):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(text)
        axis.set_minor_formatter(NullFormatter())
        axis.set_label_text(f"task in {name} ({unit})", fontsize=TEXT_POINTS["normal"])
    name_axes(axes)
    return axes


def _draw_ratios(axes: Axes) -> None:
    """Draw the lines of equal ratios over a square that has all points in it."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    low = min(axes.get_xlim()[0], axes.get_ylim()[0])
    high = max(axes.get_xlim()[1], axes.get_ylim()[1])
    for ratio, style in _RATIOS:
        axes.plot(
            [low, high], [low * ratio, high * ratio], color="#777777", linestyle=style,
            linewidth=0.8, zorder=0,
        )  # fmt: skip
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    axes.legend(loc="upper left", fontsize=TEXT_POINTS["small"], frameon=False)


SCATTER = Panel(
    summary="What each task took in the second of two runs, over what it took in the first.",
    place="below",
    draw=lambda runs, axes, _: panel_scatter(runs, axes),
    height_inches=lambda _: 4.2,
)
