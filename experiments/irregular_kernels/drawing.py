"""Figures as in the paper: makespans, totals and distributions by model, residuals."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from experiments.irregular_kernels.predicting import COMPARED_MODELS, GENERAL, NAIVE, SPECIFIC

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "draw_distributions",
    "draw_makespans",
    "draw_ratios",
    "draw_residuals",
    "draw_totals",
]

NATIVE: Final = "native"
COLOURS: Final = {NATIVE: "#7d8790", NAIVE: "#d55e00", SPECIFIC: "#56b4e9", GENERAL: "#0072b2"}
"""Colours of native runs and models, apart in lightness too (after Okabe and Ito)."""
DARK, SHADE = "#222222", "#eceff2"
CUT_FACTOR: Final = 1.6
"""Ratio of the naive models' highest bar to the others' from which their bars are cut."""
LEAST_ERROR_PERCENT: Final = 5.0
"""Least end of the axis of errors, so that small ones look small."""
TEXT_POINTS: Final = 8.0
"""Font size of ticks and legends."""
BIN_COUNT: Final = 30
"""Number of bins of a distribution: with some hundred tasks of a kernel, each has a few."""


def draw_makespans(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw measured and predicted makespans, and the errors below, a column per distribution."""
    columns: dict[str, list[Any]] = {}
    for row in rows:
        columns.setdefault(row["distribution"], []).append(row)
    names = [name for name in COMPARED_MODELS if any(name in row["predicted_s"] for row in rows)]
    figure = Figure(figsize=(11.0, 6.2), layout="constrained")
    widths = [len(members) for members in columns.values()]
    grid = figure.subplots(
        2, len(columns), squeeze=False, sharey="row", height_ratios=(3, 2), width_ratios=widths
    )
    heights = {NATIVE: [1e3 * row["median_s"] for row in rows]} | {
        name: [1e3 * row["predicted_s"].get(name, np.nan) for row in rows] for name in names
    }
    limit, percent = _cut_at(heights), _error_limit(rows, names)
    for column, (distribution, members) in enumerate(columns.items()):
        upper, lower = grid[0, column], grid[1, column]
        bars = {NATIVE: [1e3 * row["median_s"] for row in members]} | {
            name: [1e3 * row["predicted_s"].get(name, np.nan) for row in members] for name in names
        }
        _bars(upper, bars, limit)
        for place, row in enumerate(members):
            low, middle, high = (1e3 * s for s in (
                row["native_s"][0], row["median_s"], row["native_s"][-1]
            ))  # fmt: skip
            upper.errorbar([place + _offset(0, len(bars))], [middle],
                           [[middle - low], [high - middle]], fmt="none", ecolor=DARK,
                           elinewidth=1.0, capsize=2.0, zorder=3)  # fmt: skip
        errors = {
            name: [100 * (row["predicted_s"].get(name, np.nan) / row["median_s"] - 1)
                   for row in members]
            for name in names
        }  # fmt: skip
        _bars(lower, errors, percent, signed=True)
        lower.axhline(0.0, color=DARK, linewidth=0.8)
        for place, row in enumerate(members):
            ends = [100 * (row["native_s"][k] / row["median_s"] - 1) for k in (0, -1)]
            lower.vlines(place - 0.46, *ends, color=COLOURS[NATIVE], linewidth=3)
            if row["coarse"]:
                for axes in (upper, lower):
                    axes.axvspan(place - 0.5, place + 0.5, color=SHADE, linewidth=0, zorder=0)
        labels = [row["input"].removeprefix(f"{distribution}-").replace("-", "\n")
                  for row in members]  # fmt: skip
        lower.set_xticks(range(len(members)), labels, fontsize=TEXT_POINTS)
        upper.set_xticks([])
        lower.tick_params(axis="x", length=0, pad=12.0)
        upper.set_title(distribution, fontsize=10, loc="left", pad=14.0)
    grid[0, 0].set_ylabel("makespan (ms)")
    grid[1, 0].set_ylabel("error of the makespan (%)")
    extra = [Patch(color=SHADE, label="badly chosen group size")]
    _name(figure, [NATIVE, *names], extra * any(row["coarse"] for row in rows))
    return figure


def draw_totals(details: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the total time per kernel divided by the workers, a panel per input."""
    figure = Figure(figsize=(9.0, 2.6 * len(details) + 0.4), layout="constrained")
    panels = figure.subplots(len(details), 1, squeeze=False)[:, 0]
    for axes, detail in zip(panels, details, strict=True):
        kernels = list(detail["durations_s"][NATIVE])
        heights = {
            name: [1e3 * sum(of[kernel]) / detail["workers"] for kernel in kernels]
            for name, of in detail["durations_s"].items()
        }
        _bars(axes, heights, _cut_at(heights))
        axes.set_xticks(range(len(kernels)), kernels, fontsize=TEXT_POINTS)
        axes.set_ylabel(f"total time / {detail['workers']} workers (ms)", fontsize=TEXT_POINTS + 1)
        axes.set_title(detail["input"], fontsize=10, loc="left", pad=14.0)
    _name(figure, list(details[0]["durations_s"]))
    return figure


def draw_distributions(detail: Mapping[str, Any]) -> Figure:
    """Draw the shares of tasks by duration: native filled, general as a line, naive as a mark."""
    native, shifts = detail["durations_s"][NATIVE], detail["shifts"]
    rows = -(-len(native) // 4)
    figure = Figure(figsize=(11.0, 2.5 * rows + 0.4), layout="constrained")
    panels = figure.subplots(rows, 4, squeeze=False).ravel()
    for axes, (kernel, values) in zip(panels, native.items(), strict=False):
        found = {name: np.array(of[kernel]) for name, of in detail["durations_s"].items()}
        every = 1e6 * np.concatenate(list(found.values()))
        edges = np.geomspace(every.min() / 1.15, 1.15 * every.max(), BIN_COUNT + 1)
        axes.stairs(_shares(found[NATIVE], edges), edges, fill=True, color="#b9bfc6")
        if GENERAL in found:
            axes.stairs(_shares(found[GENERAL], edges), edges, color=COLOURS[GENERAL],
                        linewidth=1.5)  # fmt: skip
        if NAIVE in found:
            axes.axvline(1e6 * found[NAIVE].mean(), color=COLOURS[NAIVE], linewidth=1.5,
                         linestyle="--")  # fmt: skip
        axes.set_xscale("log")
        _plain_ticks(axes, float(edges[-1] / edges[0]))
        told = ", ".join(
            f"{name.removeprefix('MLR ')} {shifts[name][kernel]['duration_s']:.2f}"
            for name in (GENERAL, NAIVE) if name in shifts
        )  # fmt: skip
        axes.set_title(f"{kernel}, {len(values):,} tasks\ndistance: {told}", fontsize=TEXT_POINTS,
                       loc="left")  # fmt: skip
        axes.set_xlabel("duration (us)", fontsize=TEXT_POINTS)
        _bare(axes)
    for axes in panels[len(native) :]:
        axes.set_visible(False)
    for axes in panels[::4]:
        axes.set_ylabel("tasks (%)", fontsize=TEXT_POINTS)
    _name(figure, [NATIVE, *(n for n in (GENERAL, NAIVE) if n in detail["durations_s"])])
    return figure


def draw_residuals(predicted_s: Floats, measured_s: Floats) -> Figure:
    """Draw residuals over fitted values, and their quantiles over those of a normal law."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    residuals = 1e6 * (measured_s - predicted_s)
    left.plot(1e6 * predicted_s, residuals, ".", color=COLOURS[GENERAL], alpha=0.4, markersize=4)
    left.axhline(0.0, color=DARK, linewidth=0.8)
    left.set_xlabel("fitted duration (us)")
    left.set_ylabel("residual (us)")
    left.set_title("residuals", fontsize=10, loc="left")
    law, count = NormalDist(), len(residuals)
    expected = [law.inv_cdf((k + 0.5) / count) for k in range(count)]
    scaled = np.sort((residuals - residuals.mean()) / (residuals.std() or 1.0))
    right.plot(expected, scaled, ".", color=COLOURS[GENERAL], markersize=4)
    right.axline((0.0, 0.0), slope=1.0, color="#d03030", linewidth=0.9)
    right.set_xlabel("quantile of the normal law")
    right.set_ylabel("quantile of the residuals")
    right.set_title("Q-Q plot", fontsize=10, loc="left")
    for axes in (left, right):
        _bare(axes)
    return figure


def draw_ratios(pairs: Mapping[str, tuple[Floats, Floats]]) -> Figure:
    """Draw measured over predicted durations, a panel for each model."""
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    panels = figure.subplots(1, len(pairs), sharex=True, sharey=True, squeeze=False)[0]
    every = 1e6 * np.concatenate([part for pair in pairs.values() for part in pair])
    low, high = every.min() / 1.2, 1.2 * every.max()
    for axes, (title, (measured_s, predicted_s)) in zip(panels, pairs.items(), strict=True):
        axes.plot(1e6 * predicted_s, 1e6 * measured_s, ".", color=COLOURS[GENERAL], alpha=0.45,
                  markersize=4, markeredgewidth=0)  # fmt: skip
        axes.plot([low, high], [low, high], color=DARK, linewidth=0.9)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(low, high)
        axes.set_ylim(low, high)
        mlogq = float(np.abs(np.log(predicted_s / measured_s)).mean())
        axes.set_title(f"{title}: MLogQ {mlogq:.3f}", fontsize=10, loc="left")
        axes.set_xlabel("predicted duration (us)")
        _plain_ticks(axes, float(high / low), both=True)
        _bare(axes)
    panels[0].set_ylabel("measured duration (us)")
    return figure


def _bars(
    axes: Axes, heights: Mapping[str, Sequence[float]], limit: float | None, *, signed: bool = False
) -> None:
    """Draw bars beside each other, a group per position, one of each name.

    Bars beyond *limit* (None: there is none) end there, with their values; *signed*: the axis
    goes as far below 0 as above.
    """
    for index, (name, row) in enumerate(heights.items()):
        values = np.asarray(row, dtype=np.float64)
        places = np.arange(len(row)) + _offset(index, len(heights))
        shown = values if limit is None else np.clip(values, -limit, limit)
        axes.bar(places, shown, 0.8 / len(heights), color=COLOURS[name], linewidth=0)
        for place, value, end in zip(places, values, shown, strict=True):
            if end != value and not np.isnan(value):
                up = value > 0
                text = f"{value:+,.0f}" if signed else f"{value:,.0f}"
                axes.annotate(
                    f"{text}{'↑' if up else '↓'}", (place, 1.0 if up else 0.0),
                    (0.0, 2.0 if up else -2.0), xycoords=("data", "axes fraction"),
                    textcoords="offset points", ha="center", va="bottom" if up else "top",
                    fontsize=TEXT_POINTS - 1, color=COLOURS[NAIVE], annotation_clip=False,
                )  # fmt: skip
    axes.set_xlim(-0.6, len(next(iter(heights.values()))) - 0.4)
    if limit is not None:
        axes.set_ylim(-limit if signed else 0.0, limit)
    _bare(axes)


def _offset(index: int, count: int) -> float:
    """Return where the bar of one name is, from the middle of its group."""
    return (index - (count - 1) / 2) * 0.8 / count


def _cut_at(heights: Mapping[str, Sequence[float]]) -> float | None:
    """Return where to cut the bars of the naive models; None: nowhere."""
    others = max(float(np.nanmax(row)) for name, row in heights.items() if name != NAIVE)
    if NAIVE not in heights or np.nanmax(heights[NAIVE]) <= CUT_FACTOR * others:
        return None
    return 1.2 * others


def _error_limit(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> float:
    """Return the end of the axis of errors in percent: the errors of all but the naive models."""
    chosen = [name for name in names if name != NAIVE] or [NAIVE]
    errors = [
        row["predicted_s"][name] / row["median_s"] - 1
        for row in rows for name in chosen if name in row["predicted_s"]
    ]  # fmt: skip
    spreads = [row["native_s"][k] / row["median_s"] - 1 for row in rows for k in (0, -1)]
    largest: float = max(map(abs, [*errors, *spreads]))
    return max(LEAST_ERROR_PERCENT, 115.0 * largest)


def _shares(values_s: Floats, edges_us: Floats) -> Floats:
    """Return how many percent of the durations are between each two edges."""
    return 100.0 * np.histogram(1e6 * values_s, edges_us)[0] / len(values_s)


def _plain_ticks(axes: Axes, ratio: float, *, both: bool = False) -> None:
    """Label a logarithmic axis with few plain numbers."""
    subs = (1.0,) if ratio > 100 else (1.0, 3.0) if ratio > 10 else (1.0, 2.0, 5.0)
    for axis in (axes.xaxis, axes.yaxis) if both else (axes.xaxis,):
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
        axis.set_minor_locator(NullLocator())


def _name(figure: Figure, names: Sequence[str], extra: Sequence[Patch] = ()) -> None:
    """Say below a figure which colour is which model."""
    handles = [*(Patch(color=COLOURS[name], label=name) for name in names), *extra]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), frameon=False,
        fontsize=TEXT_POINTS,
    )  # fmt: skip


def _bare(axes: Axes) -> None:
    axes.tick_params(labelsize=TEXT_POINTS)
    axes.spines[["top", "right"]].set_visible(False)
