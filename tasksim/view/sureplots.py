"""Figures of the uncertainty of a makespan.

They are a fan of replications, a tornado of kernels, and the share of runs inside their intervals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter
from matplotlib.transforms import ScaledTranslation

from tasksim.base.errors import InputError
from tasksim.base.units import duration_text
from tasksim.scenario.prediction import Prediction
from tasksim.view.colours import RUN_COLOURS, kernel_colours
from tasksim.view.style import TEXT_POINTS, in_unit_of_time, name_axes, new_axes, new_figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    Predictions = Prediction | Mapping[str, Prediction]

__all__ = [
    "figure_inside",
    "figure_sure",
    "panel_fan",
    "panel_inside",
    "panel_tornado",
    "share_inside",
]

INNER_LEVELS: Final = (0.5, 0.8)
"""Inner bands, within that of the confidence level: half of the runs, and four out of five."""
BAND_COLOURS: Final = ("#0b5394", "#4a90c8", "#a9cdea", "#e3e8ee")
"""Colours of the bands from the inside, then of the outside; they differ only in lightness."""
TAIL_QUANTILES: Final = (0.05, 0.95)
"""Quantiles that show the tails: a few far-off replications do not move them."""
DARK, ORANGE = "#222222", "#d55e00"
MAX_BINS: Final = 60
"""Maximum number of bins of a histogram: some ten pixels each, so that a step looks like one."""
MAX_FILLED_SHARE: Final = 0.62
"""Share of a row's height for the highest bin; the interval of the mean is below it."""
MAX_KERNELS: Final = 12
"""Maximum number of rows of a tornado: beyond that many, the other kernels hardly matter."""
ROW_INCHES: Final = 0.85
BAR_INCHES: Final = 0.36
AROUND_INCHES: Final = 1.5
"""Height of titles, axis and legend, in inches."""
LABELS_INCHES: Final = 0.45
"""Height of the labels below an axis, in inches."""
LEAST_INCHES: Final = 3.0
MAX_DISTANCE: Final = 3.0
"""Maximum distance from the median, in intervals of one run: a kernel that sometimes loses its core
has a few runs far beyond it, which would squeeze all others."""


def figure_sure(predictions: Predictions) -> Figure:
    """Draw how sure a makespan is: a fan of its replications, a tornado of what it comes from.

    Parameters
    ----------
    predictions : Prediction or mapping of str to Prediction
        Result of :func:`how_sure`; or several by name, schedulers say, whose fans are one below
        another. The tornado is that of the first.

    Returns
    -------
    matplotlib.figure.Figure
        A notebook shows it.

    Raises
    ------
    InputError
        If there is none.

    See Also
    --------
    how_sure : Make such predictions.
    save_figure : Write the figure to a file.

    Examples
    --------
    >>> import tasksim
    >>> scenario = tasksim.Scenario("cholesky tiles=6", platform="xeon-2c")
    >>> sure = tasksim.how_sure(scenario, replications=60)
    >>> fan, tornado = tasksim.figure_sure(sure).axes
    >>> tornado.get_xlabel()
    'change of the makespan (us)'
    """
    named = _named(predictions)
    first = next(iter(named.values()))
    bars = min(len(first.kernels), MAX_KERNELS)
    needed = AROUND_INCHES + max(ROW_INCHES * len(named), BAR_INCHES * bars)
    made = new_figure(max(LEAST_INCHES, needed))
    grid = made.add_gridspec(1, 2, width_ratios=(1.2, 1.0))
    panel_fan(named, made.add_subplot(grid[0]))
    panel_tornado(first, made.add_subplot(grid[1]), next(iter(named)) if len(named) > 1 else "")
    made.suptitle(first.label, fontsize=TEXT_POINTS["title"] + 1, fontweight="bold", wrap=True)
    return made


def panel_fan(predictions: Predictions, ax: Axes | None = None) -> Axes:
    """Draw how long replications take: of each prediction a histogram, shaded by how many are in.

    Darkest is the half of the runs in the middle; one run is in all of the blue at the level. The
    line with a dot below is where the mean of many runs is, the dashed one the makespan of a plain
    simulation, in which each task takes its mean.
    """
    named = _named(predictions)
    axes = new_axes(ax, AROUND_INCHES + ROW_INCHES * len(named))
    for row, sure in enumerate(named.values()):
        _fan(axes, sure, len(named) - 1 - row)
    several = len(named) > 1
    names = [f"{name}\n{duration_text(sure.mean_s)}" for name, sure in named.items()]
    places = [len(named) - 1 - row + 0.35 for row in range(len(named))] if several else []
    axes.set_yticks(places, names if several else [], fontsize=TEXT_POINTS["small"])
    axes.set_ylim(-0.3, len(named) - 0.15)
    hidden = _range(axes, list(named.values()))
    unit = _seconds(axes, axes.get_xlim()[1])
    beyond = f"; {hidden} replications beyond" if hidden else ""
    axes.set_xlabel(f"makespan ({unit}{beyond})", fontsize=TEXT_POINTS["normal"])
    first = next(iter(named.values()))
    count = f"{first.replications:,} replications{', interrupted' if first.interrupted else ''}"
    between = f"{duration_text(first.run_low_s)} to {duration_text(first.run_high_s)}"
    alone = f"One run: {between} ({100 * first.level:g} %); {count}"
    title = f"Same luck, {count} each" if several else alone
    axes.set_title(title, fontsize=TEXT_POINTS["title"], loc="left")
    _look(axes)
    _legend(axes, _fan_key(first))
    return axes


def panel_tornado(prediction: Prediction, ax: Axes | None = None, name: str = "") -> Axes:
    """Draw the effect of each kernel's duration on the makespan, the largest on top.

    The duration varies by one standard deviation of the mean of a run, which stands beside the
    kernel's name; those of other kernels stay. The number beside the bar is the kernel's share of
    the variance.
    """
    kernels = sorted(prediction.kernels, key=lambda kernel: -abs(kernel.swing_s))
    drawn = [kernel for kernel in kernels if kernel.swing_s][:MAX_KERNELS]
    axes = new_axes(ax, AROUND_INCHES + BAR_INCHES * max(1, len(drawn)))
    left = f", {len(drawn)} of {len(kernels)}" if 0 < len(drawn) < len(kernels) else ""
    of = f" under {name}" if name else ""
    title = f"Kernels and their share of the variance{of}{left}"
    axes.set_title(title, fontsize=TEXT_POINTS["title"], loc="left")
    if not drawn:
        why = f"{prediction.replications} replications are too few\nto tell kernels apart"
        if np.ptp(prediction.found.makespans_s) == 0:
            why = "all replications take as long:\nno kernel matters more than another"
        axes.text(0.5, 0.5, why, ha="center", va="center", fontsize=TEXT_POINTS["small"])
        axes.set_axis_off()
        return axes
    colours = kernel_colours(kernel.kernel for kernel in drawn)
    furthest = max(abs(kernel.swing_s) for kernel in drawn)
    for row, kernel in enumerate(drawn):
        colour, swing = colours[kernel.kernel], kernel.swing_s
        axes.barh(row, swing, 0.7, color=colour, edgecolor=DARK, linewidth=0.5)
        axes.barh(row, -swing, 0.7, color=colour, edgecolor=DARK, linewidth=0.5, alpha=0.35)
        share = f"{100 * kernel.share:.0f} %"
        axes.text(
            abs(swing) + 0.04 * furthest, row, share, va="center", fontsize=TEXT_POINTS["small"]
        )
    axes.axvline(0.0, color=DARK, linewidth=1.0)
    names = [f"{k.kernel} on {k.architecture}\n± {100 * k.deviation:.2g} %" for k in drawn]
    axes.set_yticks(range(len(drawn)), names, fontsize=TEXT_POINTS["small"])
    axes.set_ylim(max(len(drawn), 2) - 0.5, -0.5)
    axes.set_xlim(-1.15 * furthest, 1.4 * furthest)  # the right has the shares
    unit = _seconds(axes, furthest)
    axes.set_xlabel(f"change of the makespan ({unit})", fontsize=TEXT_POINTS["normal"])
    _look(axes)
    key = (("one standard deviation longer", 1.0), ("shorter", 0.35))
    _legend(axes, [Patch(facecolor="#666666", edgecolor=DARK, alpha=a, label=t) for t, a in key])
    return axes


def _named(predictions: Predictions) -> Mapping[str, Prediction]:
    named = {"": predictions} if isinstance(predictions, Prediction) else predictions
    if not isinstance(named, Mapping) or not named:
        raise InputError("predictions: legal: what how_sure returns, or several of these by name")
    return named


def _range(axes: Axes, several: Sequence[Prediction]) -> int:
    """Show all replications but those that are far off, and return how many these are."""
    low, high = axes.get_xlim()
    reach = np.array([MAX_DISTANCE / 2 * (sure.run_high_s - sure.run_low_s) for sure in several])
    if reach.all():
        medians = np.array([sure.median_s for sure in several])
        low = max(low, float((medians - reach).min()))
        high = min(high, float((medians + reach).max()))
    axes.set_xlim(low, high)
    spans = np.concatenate([sure.found.makespans_s.ravel() for sure in several])
    return int(((spans < low) | (spans > high)).sum())


def _fan(axes: Axes, sure: Prediction, base: float) -> None:
    """Draw the fan of one prediction, on a line at the height *base*."""
    spans = sure.found.makespans_s.ravel()
    if spans.min() == spans.max():
        axes.vlines(spans[0], base, base + MAX_FILLED_SHARE, color=BAND_COLOURS[0], linewidth=4)
    else:
        edges = _edges(spans)
        heights = np.histogram(spans, edges)[0].astype(np.float64)
        heights *= MAX_FILLED_SHARE / heights.max()
        for low_s, high_s, colour in _bands(sure, spans):
            # The part of the histogram that is in the band.
            inner = edges[(edges > low_s) & (edges < high_s)]
            ends = np.concatenate(([low_s], inner, [high_s]))
            if ends[-1] > ends[0]:
                bins = np.searchsorted(edges, (ends[:-1] + ends[1:]) / 2, side="right") - 1
                tops = base + heights[np.clip(bins, 0, len(heights) - 1)]
                axes.stairs(tops, ends, baseline=base, fill=True, color=colour, linewidth=0)
    axes.vlines(
        sure.means_s,
        base,
        base + MAX_FILLED_SHARE + 0.12,
        color=ORANGE,
        linestyle="--",
        linewidth=1.4,
    )
    low, high = sure.mean_low_s, sure.mean_high_s
    axes.plot([low, high], [base - 0.1] * 2, color=DARK, linewidth=2.2, solid_capstyle="butt")
    axes.plot(sure.mean_s, base - 0.1, "o", color=DARK, markersize=5)


def _edges(spans: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the edges of bins; those of few far-off replications do not make them wider."""
    near = spans[
        np.abs(spans - np.median(spans))
        <= MAX_DISTANCE * np.ptp(np.quantile(spans, TAIL_QUANTILES))
    ]
    found = np.histogram_bin_edges(near, "fd")
    if len(found) > MAX_BINS:
        found = np.linspace(near.min(), near.max(), MAX_BINS + 1)
    return np.unique(np.concatenate(([spans.min()], found, [spans.max()])))


def _bands(sure: Prediction, spans: NDArray[np.float64]) -> Iterator[tuple[float, float, str]]:
    """Return the ends and colour of each band, from the left: those in the middle are darker."""
    levels = _levels(sure)
    shares = [(1 - level) / 2 for level in reversed(levels)] + [(1 + level) / 2 for level in levels]
    inner = np.quantile(spans, shares, method="weibull").tolist()
    ends = [float(spans.min()), *inner, float(spans.max())]
    shades = [*BAND_COLOURS[: len(levels)], BAND_COLOURS[-1]]
    return zip(ends, ends[1:], [*reversed(shades), *shades[1:]], strict=False)


def _levels(sure: Prediction) -> list[float]:
    """Return the shares of runs in the bands, from the inside."""
    return [*(level for level in INNER_LEVELS if level < sure.level), sure.level]


def _fan_key(first: Prediction) -> list[Artist]:
    key: list[Artist] = [
        Patch(facecolor=shade, label=f"{100 * level:g} % of runs")
        for shade, level in zip(BAND_COLOURS, _levels(first), strict=False)
    ]
    mean = f"the mean run ({100 * first.level:g} %)"
    key.append(Line2D([], [], color=DARK, linewidth=2.2, marker="o", markersize=5, label=mean))
    plain = "plain simulation, of mean times"
    key.append(Line2D([], [], color=ORANGE, linestyle="--", linewidth=1.4, label=plain))
    return key


def _seconds(axes: Axes, furthest_s: float) -> str:
    """Give the x axis the unit of its largest value, and return the unit."""
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
    return in_unit_of_time(axes.xaxis, furthest_s)


def _look(axes: Axes) -> None:
    axes.tick_params(labelsize=TEXT_POINTS["small"])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#e8ecf0", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _legend(axes: Axes, handles: Sequence[Artist]) -> None:
    """Say below the axis, where it covers nothing, what is what."""
    drawn = axes.get_figure(root=True)
    assert drawn is not None  # axes of a figure
    below = ScaledTranslation(0.0, -LABELS_INCHES, drawn.dpi_scale_trans)
    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=axes.transAxes + below,
        ncols=2,
        fontsize=TEXT_POINTS["small"],
        frameon=False,
    )


CURVE_LEVELS: Final = np.linspace(0.0, 1.0, 101)
LINE_STYLES: Final = ("-", "--", ":", "-.")
"""Line styles, besides colours, for colour-blind readers and black-and-white printers."""
WIDTH_INCHES: Final = 5.0
BAND_PROBABILITY: Final = 0.95
"""Probability of the grey band: as many independent runs lie in it if the intervals are right."""


def share_inside(positions: ArrayLike, level: float) -> float:
    """Return which share of runs is in their interval at a *level*.

    Parameters
    ----------
    positions : array_like
        Position of each run in its prediction, from 0, shorter than all, to 1, longer
        (:func:`tasksim.run.replicated.position`).
    level : float
        Level of the interval, between 0 and 1; its two tails are alike.

    Examples
    --------
    >>> share_inside([0.4, 0.5, 0.02, 0.99], 0.9)
    0.5
    """
    off = np.abs(2 * np.asarray(positions, np.float64) - 1)
    # Of a position that was computed the last digit is chance.
    return float((off <= level + 1e-12).mean())


def figure_inside(positions: Mapping[str, ArrayLike], level: float = 0.95) -> Figure:
    """Draw which share of runs is inside at every level, a curve per sort of prediction.

    Parameters
    ----------
    positions : mapping of str to array_like
        By what made the predictions, the position of each run in what was predicted of it, from 0,
        shorter than all replications, to 1, longer (:func:`tasksim.run.replicated.position`).
    level : float, default 0.95
        At which the shares are said in words.

    Returns
    -------
    matplotlib.figure.Figure
        A notebook shows it.

    Raises
    ------
    InputError
        If there is no run, or a position is not from 0 to 1.

    See Also
    --------
    tasksim.figure_sure : Figure of one prediction.

    Examples
    --------
    >>> drawn = figure_inside({"predicted": [0.1, 0.45, 0.6, 0.99]})
    >>> drawn.axes[0].get_ylabel()
    'runs inside'
    """
    made = new_figure(WIDTH_INCHES, WIDTH_INCHES)
    panel_inside(positions, made.add_subplot(), level)
    return made


def panel_inside(
    positions: Mapping[str, ArrayLike], ax: Axes | None = None, level: float = 0.95
) -> Axes:
    """Draw what :func:`figure_inside` does.

    On the diagonal the intervals are right; below it they are too narrow, or runs beside them;
    above it they are too wide. The grey band is chance.
    """
    if not positions:
        raise InputError("positions: nothing to draw")
    named = {name: np.asarray(values, np.float64).ravel() for name, values in positions.items()}
    for name, found in named.items():
        if not len(found) or not ((found >= 0) & (found <= 1)).all():
            raise InputError(f"positions of {name}: legal: one or more numbers from 0 to 1")
    axes = new_axes(ax, WIDTH_INCHES)
    fewest = min(map(len, named.values()))
    low, high = _chance(fewest)
    axes.fill_between(
        CURVE_LEVELS, low, high, color="#e3e8ee", linewidth=0, label=f"chance, {fewest} runs"
    )
    axes.plot((0, 1), (0, 1), color="#9aa5b1", linewidth=1.0)
    axes.axvline(level, color="#9aa5b1", linewidth=0.8, linestyle=":")
    for number, (name, values) in enumerate(named.items()):
        shares = [share_inside(values, at) for at in CURVE_LEVELS]
        said = f"{name}: {100 * share_inside(values, level):.0f} % at {100 * level:g} %"
        colour, style = RUN_COLOURS[1:][number % 4], LINE_STYLES[number % len(LINE_STYLES)]
        axes.plot(CURVE_LEVELS, shares, color=colour, linestyle=style, linewidth=1.8, label=said)
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.0)
    axes.set_aspect("equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    axes.set_title("Runs in their intervals", fontsize=TEXT_POINTS["title"], loc="left")
    name_axes(axes, x="level of the interval of one run", y="runs inside")
    axes.grid(color="#e8ecf0", linewidth=0.6)
    axes.set_axisbelow(True)
    # Left of the line at the usual level.
    axes.text(
        0.93,
        0.06,
        "too narrow, or beside",
        ha="right",
        fontsize=TEXT_POINTS["small"],
        color="#666666",
    )
    axes.legend(loc="upper left", fontsize=TEXT_POINTS["small"], frameon=False)
    return axes


def _chance(runs: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from scipy.stats import binom

    tails = ((1 - BAND_PROBABILITY) / 2, (1 + BAND_PROBABILITY) / 2)
    low, high = (binom.ppf(tail, runs, CURVE_LEVELS) / runs for tail in tails)
    # At level 0 no run is inside; at level 1 every run is.
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
