"""Figures of the experiment, as in the paper: makespans, Gantt charts, kernels, fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from experiments.irregular_kernels.bars import (
    DOWN,
    cut_at,
    error_bars,
    error_limit,
    grouped_bars,
    makespan_bars,
    makespans,
)
from experiments.irregular_kernels.durations import (
    duration_distances,
    durations,
    totals_s,
)
from experiments.irregular_kernels.look import (
    COLOURS,
    DARK,
    NATIVE,
    WIDTH_INCHES,
    bare,
    by_distribution,
    legend,
    name_variants,
    plain,
    short,
    simulated,
    variants,
)
from experiments.irregular_kernels.results import (
    GENERAL,
    KERNELS,
    NAIVE,
)
from tasksim.base.units import time_unit
from tasksim.models.validation.metrics import log_ratio
from tasksim.view.gantt import colour_legend, gantt_height_inches, panel_gantt
from tasksim.view.modelplots import decimated
from tasksim.view.style import TEXT, kernel_colours, new_figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from experiments.irregular_kernels.results import Outcome

__all__ = [
    "NATIVE",
    "by_distribution",
    "distributions_figure",
    "gantt_figure",
    "m2l_figure",
    "makespans_figure",
    "totals_figure",
    "variants",
]

BINS: Final = 30
"""Of a distribution: with some hundred tasks of a kernel each bin has a few, so shapes show."""


def makespans_figure(outcomes: Sequence[Outcome]) -> Figure:
    """Draw measured and predicted makespans, and the errors below them (figures 7 and 11).

    A column per distribution. The whiskers of native bars, and the grey ticks on the line at 0 of
    the errors, reach from the shortest to the longest repetition. Bars of the naive model that
    would make the others small are cut, with their values above them.
    """
    columns = by_distribution(outcomes)
    made = new_figure(5.6, WIDTH_INCHES)
    grid = made.subplots(2, len(columns), squeeze=False, sharey="row", height_ratios=(3, 2))
    limit = cut_at(makespans(outcomes))
    percent = error_limit(outcomes)
    for column, (distribution, members) in enumerate(columns.items()):
        upper, lower = grid[0, column], grid[1, column]
        makespan_bars(upper, members, limit)
        error_bars(lower, members, percent)
        upper.set_title(distribution, fontsize=TEXT["title"], loc="left", pad=14.0)
    if any(DOWN in text.get_text() for axes in grid[1] for text in axes.texts):
        # The names of the inputs are below the values of cut bars, in all columns alike.
        for axes in grid[1]:
            axes.tick_params(axis="x", pad=14.0)
    grid[0, 0].set_ylabel("makespan (s)", fontsize=TEXT["normal"])
    grid[1, 0].set_ylabel("error of the makespan (%)", fontsize=TEXT["normal"])
    name_variants(made, variants(outcomes), bad=any(o.input.badly_chosen for o in outcomes))
    return made


def gantt_figure(outcome: Outcome) -> Figure:
    """Draw the median native run and the simulated ones on one time axis (figure 8)."""
    runs = {NATIVE: outcome.median_run} | simulated(outcome)
    height = gantt_height_inches(outcome.median_run)
    made = new_figure(height * len(runs) + 0.5, WIDTH_INCHES)
    until_s = max(run.makespan_s for run in runs.values())
    drawn: list[Axes] = []
    for row, (name, run) in enumerate(runs.items()):
        axes = made.add_subplot(len(runs), 1, row + 1, sharex=drawn[0] if drawn else None)
        title = f"{name}, the median run of {len(outcome.native)}" if run.kind == NATIVE else name
        look: Any = {"title": title, "legend": False, "bounds": {}}
        drawn.append(panel_gantt(run, axes, until_s=until_s, **look))
    for axes in drawn[:-1]:
        axes.set_xlabel("")
        axes.tick_params(axis="x", labelbottom=False)
    names = {str(handle.get_label()): handle for handle in colour_legend(list(runs.values()))}
    legend(made, [names.pop(kernel) for kernel in KERNELS if kernel in names] + [*names.values()])
    return made


def totals_figure(outcomes: Sequence[Outcome]) -> Figure:
    """Draw the total time per kernel divided by the workers, a panel per outcome (figure 9)."""
    made = new_figure(2.5 * len(outcomes) + 0.3, WIDTH_INCHES)
    panels = made.subplots(len(outcomes), 1, squeeze=False)[:, 0]
    for axes, outcome in zip(panels, outcomes, strict=True):
        workers = len(outcome.median_run.workers)
        runs = {NATIVE: outcome.median_run} | simulated(outcome)
        totals = {name: totals_s(run) for name, run in runs.items()}
        kernels = list(totals[NATIVE])
        heights = {
            name: [found.get(k, 0.0) / workers for k in kernels] for name, found in totals.items()
        }
        factor, unit = time_unit(max(heights[NATIVE]))
        scaled = {name: [factor * value for value in row] for name, row in heights.items()}
        grouped_bars(axes, scaled, cut_at(scaled))
        axes.set_xticks(range(len(kernels)), kernels, fontsize=TEXT["small"])
        axes.set_ylabel(f"total time / {workers} workers ({unit})", fontsize=TEXT["normal"])
        axes.set_title(outcome.input.text, fontsize=TEXT["title"], loc="left", pad=14.0)
        bare(axes)
    name_variants(made, variants(outcomes))
    return made


def distributions_figure(outcome: Outcome) -> Figure:
    """Draw how long the tasks of each kernel took, and were predicted to take (figure 10).

    Per kernel the shares of tasks by duration on a logarithmic axis: natively filled, by the
    general model as a line; the naive model predicts the same for all. The titles have the
    Kolmogorov-Smirnov distances to the native run.
    """
    native, runs = outcome.median_run, simulated(outcome)
    measured = durations(native)
    colours = kernel_colours(measured)
    predicted = {name: durations(run) for name, run in runs.items()}
    distances = {name: duration_distances(native, run) for name, run in runs.items()}
    rows = -(-len(measured) // 4)
    made = new_figure(2.3 * rows + 0.3, WIDTH_INCHES)
    panels = made.subplots(rows, 4, squeeze=False).ravel()
    for axes, (kernel, values) in zip(panels, measured.items(), strict=False):
        shown = {n: found[kernel] for n, found in predicted.items() if kernel in found}
        _distribution(axes, values, shown, colours[kernel])
        said = [f"{short(n)} {distances[n][kernel]:.2f}" for n in (GENERAL, NAIVE) if n in shown]
        title = f"{kernel}, {len(values):,} tasks\nKS: {', '.join(said)}"
        axes.set_title(title, fontsize=TEXT["small"], loc="left")
    for axes in panels[len(measured) :]:
        axes.set_visible(False)
    for axes in panels[::4]:
        axes.set_ylabel("tasks (%)", fontsize=TEXT["normal"])
    handles = [
        Patch(facecolor="#b9bfc6", label=NATIVE),
        Line2D([], [], color=COLOURS[GENERAL], linewidth=1.5, label=GENERAL),
        Line2D([], [], color=COLOURS[NAIVE], linewidth=1.5, linestyle="--", label=NAIVE),
    ]
    legend(made, handles)
    return made


def m2l_figure(
    measured_s: NDArray[np.float64], with_s: NDArray[np.float64], without_s: NDArray[np.float64]
) -> Figure:
    """Draw measured over predicted durations of M2L_in: why its indirect parameter matters.

    Parameters
    ----------
    measured_s, with_s, without_s
        float64 [tasks], in seconds, positive: measured; predicted with ``NbInteractions``;
        predicted with the direct parameters only.
    """
    made = new_figure(4.2, WIDTH_INCHES)
    panels = made.subplots(1, 2, sharex=True, sharey=True)
    titles = ("direct parameters only", "with NbInteractions")
    everything = np.concatenate((measured_s, with_s, without_s))
    low, high = float(everything.min()) / 1.2, 1.2 * float(everything.max())
    for axes, title, predicted_s in zip(panels, titles, (without_s, with_s), strict=True):
        _scatter(axes, predicted_s, measured_s)
        _log_times(axes, low, high, "predicted duration")
        _log_times(axes, low, high, "measured duration", vertical=True)
        mlogq = float(np.abs(log_ratio(predicted_s, measured_s)).mean())
        axes.set_title(f"{title}: MLogQ {mlogq:.3f}", fontsize=TEXT["title"], loc="left")
        axes.grid(color="#e8ecf0", linewidth=0.6)
        axes.set_axisbelow(True)
        bare(axes)
    panels[1].set_ylabel("")
    legend(made, panels[0].get_legend_handles_labels()[0])
    return made


# Distributions


def _distribution(
    axes: Axes,
    measured: NDArray[np.float64],
    predicted: Mapping[str, NDArray[np.float64]],
    colour: str,
) -> None:
    drawn = [measured, *(predicted[name] for name in (NAIVE, GENERAL) if name in predicted)]
    low = min(float(values.min()) for values in drawn) / 1.15
    high = 1.15 * max(float(values.max()) for values in drawn)
    edges = np.geomspace(low, high, BINS + 1)
    axes.stairs(_shares(measured, edges), edges, fill=True, color=colour, alpha=0.55)
    if GENERAL in predicted:
        shares = _shares(predicted[GENERAL], edges)
        axes.stairs(shares, edges, color=COLOURS[GENERAL], linewidth=1.5)
    if NAIVE in predicted:
        at = float(predicted[NAIVE].mean())
        axes.axvline(at, color=COLOURS[NAIVE], linewidth=1.5, linestyle="--")
    _log_times(axes, low, high, "duration")
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    bare(axes)


def _shares(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many percent of *values* are between each two *edges*."""
    return 100.0 * np.histogram(values, edges)[0] / len(values)


def _scatter(axes: Axes, predicted_s: NDArray[np.float64], measured_s: NDArray[np.float64]) -> None:
    chosen = decimated(measured_s / predicted_s)
    axes.plot(
        predicted_s[chosen],
        measured_s[chosen],
        ".",
        color=kernel_colours(["M2L_in"])["M2L_in"],
        alpha=0.45,
        markersize=4.0,
        markeredgewidth=0,
        label="tasks of M2L_in",
        rasterized=True,
    )
    axes.axline((1.0, 1.0), (10.0, 10.0), color=DARK, linewidth=0.9, label="measured = predicted")


def _log_times(axes: Axes, low: float, high: float, label: str, *, vertical: bool = False) -> None:
    """Make an axis one of durations from *low* to *high* seconds, logarithmic, few ticks."""
    axis = axes.yaxis if vertical else axes.xaxis
    factor, unit = time_unit(float(np.sqrt(low * high)))
    if vertical:
        axes.set_yscale("log")
        axes.set_ylim(low, high)
    else:
        axes.set_xscale("log")
        axes.set_xlim(low, high)
    decades = np.log10(high / low)
    subs = (1.0,) if decades > 2 else (1.0, 3.0) if decades > 1 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda x, _: plain(x * factor)))
    axis.set_label_text(f"{label} ({unit})", fontsize=TEXT["normal"])
