"""Figures of a fit: kinds of models compared, the learning curve, partial dependence."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator

from tasksim.view.colours import PALETTE
from tasksim.view.modelplots import duration_axis, finish, value_x
from tasksim.view.style import TEXT_POINTS, new_axes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from tasksim.base.arrays import Floats
    from tasksim.models.candidate import Candidate
    from tasksim.models.diagnosis.dependence import PartialDependence
    from tasksim.models.validation.learningcurve import LearningCurve

__all__ = ["kinds_height_inches", "panel_curve", "panel_dependence", "panel_kinds", "panel_over"]

BLUE, GREY, DARK = PALETTE[0], "#9aa5b1", "#222222"
MAX_SHOWN_FACTOR: Final = 8.0
"""Error, relative to the least, up to which bars are drawn whole: beyond, others would be too short
to distinguish, and the number is there."""


def kinds_height_inches(kinds: int) -> float:
    """Return how high :func:`panel_kinds` should be."""
    return 1.0 + 0.32 * kinds


def panel_kinds(table: Sequence[Candidate], chosen: str, ax: Axes | None = None) -> Axes:
    """Draw the error of each kind that was judged, with a standard error to each side.

    The chosen kind is blue. Bars far beyond the others are cut off; numbers are beside them.
    """
    judged = [row for row in table if row.mlogq_cv is not None]
    axes = new_axes(ax, kinds_height_inches(len(judged)))
    errors = np.array([row.judged for row in judged])
    spread = np.array([row.mlogq_se or 0.0 for row in judged])
    # An exact fit has no error to compare with.
    least = errors[errors > 0].min(initial=np.inf)
    edge = min(float((errors + spread).max()), MAX_SHOWN_FACTOR * float(least))
    edge = 1.08 * edge if np.isfinite(edge) and edge > 0 else 1.0
    places = np.arange(len(judged))
    colours = [BLUE if row.kind == chosen else GREY for row in judged]
    axes.barh(places, np.minimum(errors, edge), 0.6, color=colours)
    inside = errors + spread <= edge
    axes.errorbar(
        errors[inside], places[inside], xerr=spread[inside], fmt="none", ecolor=DARK,
        elinewidth=1.0, capsize=3.0,
    )  # fmt: skip
    for place, row in enumerate(judged):
        either_side = "" if row.mlogq_se is None else f" ± {row.mlogq_se:.2g}"
        end = min(row.judged + (row.mlogq_se or 0.0), edge), place
        axes.annotate(f"{row.judged:.3g}{either_side}", end, (6, 0), textcoords="offset points",
                      fontsize=TEXT_POINTS["small"], va="center")  # fmt: skip
    axes.set_xlim(0.0, 1.3 * edge)
    axes.set_ylim(len(judged) - 0.4, -0.6)
    axes.set_yticks(
        places, [_kind_text(row, judged) for row in judged], fontsize=TEXT_POINTS["normal"]
    )
    axes.set_xlabel("mean error on what was left out (MLogQ)", fontsize=TEXT_POINTS["normal"])
    finish(axes, "Errors of kinds, ± a standard error")
    return axes


def _kind_text(row: Candidate, judged: Sequence[Candidate]) -> str:
    """Return the kind; with its number of configurations where these differ, or repetitions."""
    if row.exact:
        return f"{row.kind} (repetitions)"
    if len({other.configurations for other in judged if not other.exact}) > 1:
        return f"{row.kind} ({row.configurations:,})"
    return row.kind


def panel_over(
    rows: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    error: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw an error over the first of the options *names*, a line for each value of the others."""
    axes = new_axes(ax, 3.4)
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row[error] is not None:
            label = ", ".join(f"{name} {row[name]:g}" for name in names[1:])
            lines.setdefault(label, []).append((row[names[0]], row[error]))
    for (label, points), marker in zip(lines.items(), cycle("osD^v<>"), strict=False):
        values, errors = zip(*sorted(points), strict=True)
        axes.plot(values, errors, marker=marker, markersize=5, linewidth=1.4, label=label)
    axes.set_xscale("log", base=10 if names[0] == "regularization" else 2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for formatter in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        formatter(FuncFormatter(lambda value, _: f"{value:.2g}"))
    axes.yaxis.set_tick_params(which="minor", labelsize=TEXT_POINTS["small"])
    axes.set_xlabel(names[0], fontsize=TEXT_POINTS["normal"])
    where = "the test" if error == "mlogq_test" else "what was left out"
    axes.set_ylabel("MLogQ", fontsize=TEXT_POINTS["normal"])
    if len(lines) > 1:
        axes.legend(fontsize=TEXT_POINTS["small"], frameon=False)
    finish(axes, f"Mean error on {where}")
    return axes


def panel_curve(curve: LearningCurve, ax: Axes | None = None) -> Axes:
    """Draw the error over the number of configurations fitted, with a standard error each way."""
    axes = new_axes(ax, 3.0)
    percent = 100 * np.expm1(curve.mlogq)
    spread = 100 * np.exp(curve.mlogq) * np.nan_to_num(curve.standard_errors)
    numbers = np.array(curve.configurations)
    axes.errorbar(
        numbers, percent, spread, fmt="o-", color=BLUE, markersize=5, linewidth=1.4, capsize=3.0
    )
    axes.set_xscale("log")
    axes.set_xlim(numbers[0] / 1.3, numbers[-1] * 1.3)
    axes.set_xticks(numbers.tolist())
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.set_ylim(0.0, 1.08 * float((percent + spread).max()) or 1.0)
    axes.set_xlabel("configurations fitted", fontsize=TEXT_POINTS["normal"])
    axes.set_ylabel("typical error on those left out (%)", fontsize=TEXT_POINTS["normal"])
    finish(axes, f"Learning curve, {curve.errors.shape[1]:,} configurations left out")
    return axes


def panel_dependence(
    found: PartialDependence,
    ax: Axes | None = None,
    *,
    durations_s: Floats | None = None,
) -> Axes:
    """Draw the median prediction over a parameter, and the quartiles over configurations.

    Categories are a point each. The axis of durations is that of *durations_s*, by default of the
    quartiles: axes beside each other are compared if they have the same.
    """
    axes = new_axes(ax, 2.4)
    known = np.isfinite(found.median_s)
    x, median = found.values[known], found.median_s[known]
    low, high = found.low_s[known], found.high_s[known]
    if found.categories:
        axes.errorbar(
            x, median, np.vstack((median - low, high - median)), fmt="o", color=BLUE,
            markersize=5, linewidth=1.0,
        )  # fmt: skip
        texts = [found.categories[int(index)] for index in x]
        axes.set_xticks(x.tolist(), texts)
        axes.set_xlim(-0.5, len(found.categories) - 0.5)
        if sum(len(text) + 2 for text in texts) > MAX_TICK_LETTERS:
            axes.tick_params(axis="x", labelrotation=60)
        axes.set_xlabel(found.parameter, fontsize=TEXT_POINTS["normal"])
    else:
        axes.fill_between(x, low, high, color=BLUE, alpha=0.15, linewidth=0)
        axes.plot(x, median, color=BLUE, linewidth=1.6)
        value_x(axes, x, found.parameter)
    shown_s = np.concatenate((low, high)) if durations_s is None else durations_s
    duration_axis(axes, "y", shown_s, "duration")
    if axes.get_yscale() != "log":
        axes.set_ylim(0.0, 1.08 * float(shown_s.max()))
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
        axes.yaxis.set_minor_formatter(NullFormatter())
    finish(axes, found.parameter)
    return axes


MAX_TICK_LETTERS: Final = 36
"""Number of letters of the names of categories that fit under a small axis side by side."""
