"""Figures of one kernel model, with residuals, Q-Q plot, curves, influence and domain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from tasksim.base.errors import TasksimError
from tasksim.models.diagnosis.findings import normal_points
from tasksim.models.rows import describe_row, is_logarithmic
from tasksim.view.colours import PALETTE
from tasksim.view.style import TEXT_POINTS, in_unit_of_time, log_ticks, name_axes, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats
    from tasksim.models.diagnosis.diagnose import Diagnosis
    from tasksim.models.diagnosis.findings import Residuals
    from tasksim.models.kernelmodel import KernelModel

__all__ = [
    "along",
    "count_label",
    "decimated",
    "duration_axis",
    "finish",
    "panel_domain",
    "panel_influence",
    "panel_parameter",
    "panel_qq",
    "panel_residuals",
    "value_x",
]

MAX_POINTS: Final = 4000
"""Maximum number of points drawn; the figure says how many are left out."""
EXTREME_POINTS: Final = 100
"""Number of lowest and of highest points that are always drawn: readers look for outliers."""


def decimated(values: Floats, most: int = MAX_POINTS) -> NDArray[np.intp]:
    """Return which of *values* to draw: all, or every n-th and the extremes.

    The lowest and highest 100 are always among them, so that no outlier is hidden. Ascending,
    without repetitions, the same each time.
    """
    count = len(values)
    if count <= most:
        return np.arange(count)
    order = np.argsort(values, kind="stable")
    ends = np.concatenate((order[:EXTREME_POINTS], order[-EXTREME_POINTS:]))
    # Drawn at random: samples come in turns (configurations, runs), and every n-th of them
    # would be of the same turn.
    inner = order[EXTREME_POINTS:-EXTREME_POINTS]
    some = np.random.default_rng(0).choice(inner, most - len(ends), replace=False)
    return np.sort(np.concatenate((some, ends)))


def along(count: int) -> NDArray[np.intp]:
    """Return which of *count* ordered points to draw: all at the ends, every n-th between."""
    if count <= MAX_POINTS:
        return np.arange(count)
    inner = np.linspace(EXTREME_POINTS, count - EXTREME_POINTS - 1, MAX_POINTS - 2 * EXTREME_POINTS)
    ends = np.concatenate((np.arange(EXTREME_POINTS), np.arange(count - EXTREME_POINTS, count)))
    return np.unique(np.concatenate((ends, inner.astype(np.intp))))


def duration_axis(axes: Axes, on: Literal["x", "y"], values_s: Floats, what: str) -> None:
    """Make an axis one of durations in a fitting unit, called *what*."""
    low, high = float(values_s.min()), float(values_s.max())
    axis = axes.xaxis if on == "x" else axes.yaxis
    if is_logarithmic(low, high):
        axes.set(**{f"{on}scale": "log"})
        if on == "y":
            axes.set_ylim(low / 1.5, high * 1.5)
        axis.set_major_locator(log_ticks(low, high))
        axis.set_minor_formatter(NullFormatter())
    unit = in_unit_of_time(axis, float(np.sqrt(low * high)))
    axis.set_label_text(f"{what} ({unit})", fontsize=TEXT_POINTS["normal"])


def value_x(axes: Axes, values: Floats, name: str) -> None:
    """Make the x axis one of a parameter; few values are ticks themselves."""
    low, high = float(values.min()), float(values.max())
    distinct = np.unique(values)
    if is_logarithmic(low, high):
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    if len(distinct) <= 6 and not (low > 0 and high > 100 * low):
        axes.set_xticks(distinct.tolist())
    elif axes.get_xscale() == "log":
        axes.xaxis.set_major_locator(log_ticks(low, high))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.6g}"))
    unit = " (bytes)" if name == "size_bytes" else ""
    axes.set_xlabel(f"{name}{unit}", fontsize=TEXT_POINTS["normal"])


def count_label(drawn: int, count: int, what: str) -> str:
    """Return a label that says what is not drawn."""
    return f"{count:,} {what}" if drawn == count else f"{drawn:,} of {count:,} {what}"


def finish(axes: Axes, title: str) -> None:
    """Put title and legend above the axes, where they cover nothing."""
    axes.set_title(title, fontsize=TEXT_POINTS["title"], loc="left", wrap=True)
    name_axes(axes)
    axes.grid(color="#e8ecf0", linewidth=0.6)
    axes.set_axisbelow(True)
    labels = axes.get_legend_handles_labels()[1]
    if labels:
        columns = 1 if max(map(len, labels)) > 34 else 2
        axes.legend(loc="upper left", bbox_to_anchor=(0.0, -0.18), ncols=columns,
                    fontsize=TEXT_POINTS["small"], frameon=False)  # fmt: skip


MAX_MEANS: Final = 1000
"""Maximum number of configuration means drawn: their dots are large, and more would merge."""
CURVE_POINTS: Final = 100
"""Number of points of a curve over a parameter: four pixels apart, so that it looks smooth."""
BAND_PARTS: Final = 12
"""Number of parts by predicted duration, each of which has its own quantiles of errors."""
HEIGHT_INCHES: Final = 3.2
BLUE, ORANGE, GREY, DARK = PALETTE[0], "#d55e00", "#9aa5b1", "#222222"


def panel_residuals(res: Residuals, ax: Axes | None = None) -> Axes:
    """Draw the error of each sample over its predicted duration.

    The dark points are the means of configurations: at a fixed duration they should lie on the
    line at 0. The band has nine tenths of the samples. Noise alone looks like a horizontal cloud.
    """
    axes = new_axes(ax, HEIGHT_INCHES)
    _cloud(axes, res.predicted_s, 100 * res.relative, BLUE, "samples")
    _band(axes, res)
    _means(axes, res)
    axes.axhline(0.0, color=DARK, linewidth=0.8)
    duration_axis(axes, "x", res.predicted_s, "predicted duration")
    of = "mean duration" if res.absolute else "predicted"
    axes.set_ylabel(f"measured − predicted (% of {of})", fontsize=TEXT_POINTS["normal"])
    finish(axes, "Residuals over fitted durations")
    return axes


def panel_qq(res: Residuals, ax: Axes | None = None) -> Axes:
    """Draw the ordered errors over normal quantiles: on the line, they are normal."""
    axes = new_axes(ax, HEIGHT_INCHES)
    quantiles, values = normal_points(res.shape)
    chosen = along(len(values))
    axes.axline((0.0, 0.0), slope=1.0, color=GREY, linewidth=1.0)
    label = count_label(len(chosen), len(values), "samples")
    axes.plot(quantiles[chosen], values[chosen], ".", color=BLUE, markersize=4.0,
              markeredgewidth=0, label=label, rasterized=True)  # fmt: skip
    axes.set_xlabel("normal quantile (standard deviations)", fontsize=TEXT_POINTS["normal"])
    kind = "error" if res.absolute else "ln(measured / predicted)"
    axes.set_ylabel(f"{kind}, standardised", fontsize=TEXT_POINTS["normal"])
    finish(axes, "Normal Q-Q plot")
    return axes


def panel_parameter(diagnosis: Diagnosis, name: str, ax: Axes | None = None) -> Axes:
    """Draw durations over one parameter: samples, the model's curve, and the band of samples.

    The curve holds the other parameters at the values of the configuration in the middle, which
    the title says. Samples with those values are blue; the others, grey, are moved there by the
    model: predicted there times measured / predicted, so that what they are off shows (partial
    residuals). The band has 95 % of the samples by the residuals of all. A model that knows
    single configurations only is a point at each.
    """
    axes = new_axes(ax, HEIGHT_INCHES)
    model, res = diagnosis.model, diagnosis.residuals
    column = res.samples.names.index(name)
    middle = _middle(model, res)
    same = _at(model, res, middle, name)
    x, y, label = res.samples.parameters[:, column], res.samples.durations_s, "other samples"
    values, place = np.unique(x, return_inverse=True)
    there = _slice(model, name, middle, values)
    if there is not None:  # else the model refuses to say
        label += ", moved to these values"
        predicted = there[place]
        moved = predicted + y - res.predicted_s if res.absolute else predicted * y / res.predicted_s
        y = np.where(same, y, moved)
    _cloud(axes, x[~same], y[~same], GREY, label)
    _cloud(axes, x[same], y[same], BLUE, "samples at these values")
    _curve(axes, diagnosis, name, middle)
    categories = res.samples.categories.get(name)
    if categories is None:
        value_x(axes, x, name)
    else:
        axes.set_xticks(range(len(categories)), categories)
        axes.set_xlabel(name, fontsize=TEXT_POINTS["normal"])
    duration_axis(axes, "y", y[y > 0], "duration")
    others = [other for other in model.used_parameters() if other != name]
    at = np.array([middle[other] for other in others])
    held = describe_row(others, at, res.samples.categories)
    finish(axes, f"Duration over {name}" + (f", at {held}" if others else ""))
    return axes


def panel_influence(diagnosis: Diagnosis, ax: Axes | None = None) -> Axes:
    """Draw how far each configuration is off, over how much it decides its own prediction.

    The area of a point grows with Cook's distance; dashed: where that is 1. The three with the
    largest distance are named in the legend.
    """
    axes = new_axes(ax, HEIGHT_INCHES)
    inf, res = diagnosis.influence, diagnosis.residuals
    assert inf is not None
    h, t, cook = inf.group_leverage, inf.group_studentized, inf.group_cook
    area = 8.0 + 120.0 * np.minimum(cook, 1.0)
    axes.scatter(h, t, s=area, color=BLUE, alpha=0.5, linewidths=0, rasterized=True)
    for rank, index in enumerate(np.argsort(-cook)[:3].tolist()):
        label = f"{res.row_text(index)}: Cook's distance {cook[index]:.2g}"
        axes.scatter(
            h[index], t[index], s=area[index] + 20.0, facecolors="none",
            edgecolors=PALETTE[5 - 2 * rank], linewidths=1.4, label=label,
        )  # fmt: skip
    low, high = axes.get_ylim()
    leverage = np.linspace(1e-3, min(max(float(h.max()), 1e-3) * 1.05, 0.999), 200)
    edge = np.sqrt(len(diagnosis.coefficients) * (1 - leverage) / leverage)
    axes.plot(leverage, edge, "--", color=GREY, linewidth=1.0, label="Cook's distance 1")
    axes.plot(leverage, -edge, "--", color=GREY, linewidth=1.0)
    axes.set_ylim(min(low, -3.0), max(high, 3.0))
    axes.axhline(0.0, color=DARK, linewidth=0.8)
    axes.set_xlabel("leverage of the configuration", fontsize=TEXT_POINTS["normal"])
    axes.set_ylabel("studentised mean error", fontsize=TEXT_POINTS["normal"])
    finish(axes, "Influence of configurations")
    return axes


def panel_domain(
    diagnosis: Diagnosis, ax: Axes | None = None, *, asked: Floats | None = None
) -> Axes:
    """Draw, per parameter, which values were measured, and which are asked for beside them.

    Each row goes from the lowest measured value to the highest.
    """
    model, res = diagnosis.model, diagnosis.residuals
    names = model.names_
    axes = new_axes(ax, domain_height_inches(len(names)))
    for row, name in enumerate(names):
        low, high = model.domain_[name]
        values = np.unique(res.samples.parameters[:, res.samples.names.index(name)])
        axes.plot([0, 1], [row, row], color="#d5dde5", linewidth=7, solid_capstyle="butt")
        shown = values[np.linspace(0, len(values) - 1, min(len(values), 300)).astype(int)]
        label = "measured values" if row == 0 else None
        _ticks(axes, _placed(shown, low, high), row, BLUE, label)
        if asked is not None:
            places = np.unique(_placed(np.unique(asked[:, row]), low, high).clip(-0.25, 1.25))
            _ticks(axes, places[(places < 0) | (places > 1)], row, ORANGE, None)
        for place, text in ((0.0, f"{low:.6g}"), (1.0, f"{high:.6g}")):
            axes.annotate(text, (place, row), (0, 8), textcoords="offset points",
                          fontsize=TEXT_POINTS["small"], ha="center", va="bottom")  # fmt: skip
    axes.set_yticks(range(len(names)), names, fontsize=TEXT_POINTS["normal"])
    axes.set_ylim(len(names) - 0.4, -0.7)
    axes.set_xlim(-0.3, 1.3) if asked is not None else axes.set_xlim(-0.08, 1.08)
    axes.set_xticks([])
    axes.spines[:].set_visible(False)
    axes.tick_params(axis="y", length=0)
    beyond = "; orange: asked for outside it" if asked is not None else ""
    axes.set_title(f"Box of the domain{beyond}", fontsize=TEXT_POINTS["title"], loc="left")
    return axes


def domain_height_inches(parameters: int) -> float:
    """Return how high :func:`panel_domain` should be."""
    return 0.6 + 0.45 * max(parameters, 1)


def _ticks(axes: Axes, places: Floats, row: int, colour: str, label: str | None) -> None:
    axes.plot(
        places, np.full(len(places), row), "|", color=colour, markersize=9, alpha=0.8, label=label
    )


def _placed(values: Floats, low: float, high: float) -> Floats:
    """Return where *values* are between *low* (0) and *high* (1), in logarithms if they can."""
    if high <= low:
        return np.where(values == low, 0.5, np.where(values < low, -0.2, 1.2))
    if is_logarithmic(low, high):
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(values / low) / np.log(high / low))
    return np.asarray((values - low) / (high - low))


def _band(axes: Axes, res: Residuals) -> None:
    """Draw quantiles of the errors of all samples, by predicted duration."""
    edges = np.quantile(res.predicted_s, np.linspace(0, 1, BAND_PARTS + 1)[1:-1])
    part = np.searchsorted(edges, res.predicted_s, side="right")
    found = np.unique(part)
    if len(found) < 3 or len(part) < 20 * BAND_PARTS:
        return
    middle = [float(np.median(res.predicted_s[part == p])) for p in found]
    quantiles = np.array([np.quantile(res.relative[part == p], (0.05, 0.95)) for p in found])
    low, high = 100 * quantiles.T
    axes.fill_between(
        middle, low, high, color=BLUE, alpha=0.12, linewidth=0, label="90 % of the samples"
    )


def _means(axes: Axes, res: Residuals) -> None:
    count = np.bincount(res.group)
    if len(count) < 2 or count.max() == 1:
        return
    mean = np.bincount(res.group, res.relative) / count
    first = np.unique(res.group, return_index=True)[1]
    chosen = decimated(mean, MAX_MEANS)
    label = count_label(len(chosen), len(mean), "configurations, their means")
    axes.plot(res.predicted_s[first][chosen], 100 * mean[chosen], "o", color=DARK, markersize=3.0,
              markeredgewidth=0, label=label)  # fmt: skip


def _middle(model: KernelModel, res: Residuals) -> dict[str, float]:
    """Return the measured configuration nearest to the median of each parameter, by ranks."""
    rows = res.columns(model.names_)
    ranks = np.empty_like(rows)
    for column in range(rows.shape[1]):
        values, place = np.unique(rows[:, column], return_inverse=True)
        ranks[:, column] = place / max(len(values) - 1, 1)
    # Rounded, so that of two in the middle it is the first, whatever the last digits.
    nearest = int(np.argmin(((ranks - 0.5) ** 2).sum(axis=1).round(9)))
    return dict(zip(model.names_, rows[nearest].tolist(), strict=True))


def _at(
    model: KernelModel, res: Residuals, middle: dict[str, float], name: str
) -> NDArray[np.bool_]:
    """Return which samples have the values of the *middle*, but for parameter *name*."""
    same = np.ones(len(res.samples), dtype=bool)
    for other in model.used_parameters():
        if other != name:
            column = res.samples.parameters[:, res.samples.names.index(other)]
            same &= column == middle[other]
    return same


def _cloud(axes: Axes, x: Floats, y: Floats, colour: str, what: str) -> None:
    if len(x) == 0:
        return
    chosen = decimated(y)
    label = count_label(len(chosen), len(x), what)
    axes.plot(x[chosen], y[chosen], ".", color=colour, alpha=0.5, markersize=5.0,
              markeredgewidth=0, label=label, rasterized=True)  # fmt: skip


def _curve(axes: Axes, diagnosis: Diagnosis, name: str, middle: dict[str, float]) -> None:
    model, res = diagnosis.model, diagnosis.residuals
    low, high = model.domain_[name]
    even = np.geomspace if low > 0 else np.linspace
    values = even(low, high, CURVE_POINTS) if high > low else np.array([low])
    named = name in model.categories_
    found = None if named else _slice(model, name, middle, values)
    style = "-"
    if found is None:
        column = res.samples.parameters[_at(model, res, middle, name)]
        values = np.unique(column[:, res.samples.names.index(name)])
        found, style = _slice(model, name, middle, values), "o"
        if found is None or len(values) < 2:
            # Where parameters vary together only, there is no other way to see more than a point.
            first = np.unique(res.group, return_index=True)[1]
            chosen = first[decimated(res.predicted_s[first], MAX_MEANS)]
            values = res.samples.parameters[chosen, res.samples.names.index(name)]
            found = res.predicted_s[chosen]
    spread = np.quantile(res.shape, (0.025, 0.975))
    low_s, high_s = (
        found[None, :] + spread[:, None] * res.scale_s.mean()
        if res.absolute
        else found[None, :] * np.exp(spread)[:, None]
    )
    if style == "-" and len(values) > 1:
        axes.fill_between(
            values, low_s, high_s, color=DARK, alpha=0.13, linewidth=0, label="95 % of samples"
        )
        axes.plot(values, found, color=DARK, linewidth=1.4, label="model")
    else:
        error = np.maximum(np.vstack((found - low_s, high_s - found)), 0.0)
        axes.errorbar(values, found, error, fmt="o", color=DARK, markersize=4, linewidth=1,
                      label="model, 95 % of samples")  # fmt: skip


def _slice(
    model: KernelModel, name: str, middle: dict[str, float], values: Floats
) -> Floats | None:
    """Return the predictions at *values* of one parameter; None where the model refuses one."""
    table = np.tile([middle[n] for n in model.names_], (len(values), 1))
    table[:, model.names_.index(name)] = values
    try:
        return model.predict(table)
    except TasksimError:
        return None
