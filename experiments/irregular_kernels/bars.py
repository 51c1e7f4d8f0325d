"""Bars of makespans and of errors, in groups; those of the naive model are cut where they tower."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.ticker import MaxNLocator

from experiments.irregular_kernels.look import (
    COLOURS,
    DARK,
    NATIVE,
    SHADE,
    bare,
    plain,
    variants,
)
from experiments.irregular_kernels.results import NAIVE
from tasksim.view.style import TEXT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from experiments.irregular_kernels.results import Outcome

__all__ = [
    "DOWN",
    "cut_at",
    "error_bars",
    "error_limit",
    "grouped_bars",
    "makespan_bars",
    "makespans",
]

UP, DOWN = "↑", "↓"
"""Behind the values of bars that go on beyond the axis."""
CUT_FROM: Final = 1.6
"""Where the naive model is this many times above all others, its bars are cut."""
LEAST_ERROR_PERCENT: Final = 5.0
"""To which the axis of errors goes at least, so that small ones look small."""


def makespans(outcomes: Sequence[Outcome]) -> dict[str, list[float]]:
    """Return the makespans in seconds by name of model; natively, the medians."""
    heights = {NATIVE: [outcome.median_s for outcome in outcomes]}
    for name in variants(outcomes):
        heights[name] = [_makespan(outcome, name) for outcome in outcomes]
    return heights


def _makespan(outcome: Outcome, name: str) -> float:
    return outcome.simulated[name].makespan_s if name in outcome.simulated else np.nan


def makespan_bars(axes: Axes, outcomes: Sequence[Outcome], limit: float | None) -> None:
    """Draw the makespans of *outcomes*, cut at a *limit*; natively with the spread."""
    heights = makespans(outcomes)
    grouped_bars(axes, heights, limit)
    for place, outcome in enumerate(outcomes):
        taken = [run.makespan_s for run in outcome.native]
        at = place + _offset(0, len(heights))
        _whisker(axes, at, outcome.median_s, min(taken), max(taken))
    _mark_badly_chosen(axes, outcomes)
    axes.set_xticks(range(len(outcomes)), [""] * len(outcomes))
    bare(axes)


def error_bars(axes: Axes, outcomes: Sequence[Outcome], limit: float) -> None:
    """Draw the errors of the predictions of *outcomes*, in percent, cut at a *limit*."""
    heights = {
        name: [100.0 * _makespan(outcome, name) / outcome.median_s - 100.0 for outcome in outcomes]
        for name in variants(outcomes)
    }
    grouped_bars(axes, heights, limit, signed=True)
    axes.axhline(0.0, color=DARK, linewidth=0.8)
    for place, outcome in enumerate(outcomes):
        relative = [100.0 * run.makespan_s / outcome.median_s - 100.0 for run in outcome.native]
        axes.vlines(place - 0.46, min(relative), max(relative), color=COLOURS[NATIVE], linewidth=3)
    _mark_badly_chosen(axes, outcomes)
    labels = [outcome.input.text.split(" ", 1)[1].replace(" ", "\n") for outcome in outcomes]
    axes.set_xticks(range(len(outcomes)), labels, fontsize=TEXT["small"])
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
    bare(axes)


def grouped_bars(
    axes: Axes,
    heights: Mapping[str, Sequence[float]],
    limit: float | None,
    *,
    signed: bool = False,
) -> None:
    """Draw bars beside each other, a group per position, one of each name.

    Bars beyond *limit* (None: there is none) end there, with their values; *signed*: the axis
    goes as far below 0 as above.
    """
    for index, (name, row) in enumerate(heights.items()):
        places = np.arange(len(row)) + _offset(index, len(heights))
        values = np.asarray(row, dtype=np.float64)
        shown = values if limit is None else np.clip(values, -limit, limit)
        axes.bar(places, shown, 0.8 / len(heights), color=COLOURS[name], linewidth=0, label=name)
        for place, value, end in zip(places, values, shown, strict=True):
            if end != value and not np.isnan(value):
                _say_cut(axes, place, value, signed)
    axes.set_xlim(-0.6, len(next(iter(heights.values()))) - 0.4)
    if limit is not None:
        axes.set_ylim(-limit if signed else 0.0, limit)


def _offset(index: int, count: int) -> float:
    """Return where the bar of one name is, from the middle of its group."""
    return (index - (count - 1) / 2) * 0.8 / count


def _say_cut(axes: Axes, place: float, value: float, signed: bool) -> None:
    """Write the *value* of a bar that is cut beyond the end of the axis."""
    up = value > 0
    text = f"{value:+,.0f}".replace("-", "−") if signed else plain(value)
    axes.annotate(
        f"{text}{UP if up else DOWN}",
        (place, 1.0 if up else 0.0),
        (0.0, 2.0 if up else -2.0),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="center",
        va="bottom" if up else "top",
        fontsize=TEXT["small"],
        color=COLOURS[NAIVE],
        annotation_clip=False,
    )


def _whisker(axes: Axes, place: float, middle: float, low: float, high: float) -> None:
    errors = [[middle - low], [high - middle]]
    axes.errorbar(
        [place], [middle], errors, fmt="none", ecolor=DARK, elinewidth=1.0, capsize=2.0, zorder=3
    )


def _mark_badly_chosen(axes: Axes, outcomes: Sequence[Outcome]) -> None:
    for place, outcome in enumerate(outcomes):
        if outcome.input.badly_chosen:
            axes.axvspan(place - 0.5, place + 0.5, color=SHADE, linewidth=0, zorder=0)


def cut_at(heights: Mapping[str, Sequence[float]]) -> float | None:
    """Return where to cut the bars of the naive model; None: nowhere."""
    others = max(max(row) for name, row in heights.items() if name != NAIVE)
    if NAIVE not in heights or max(heights[NAIVE]) <= CUT_FROM * others:
        return None
    return 1.2 * others


def error_limit(outcomes: Sequence[Outcome]) -> float:
    """Return how far the axis of errors goes, in percent: the errors of all but the naive."""
    names = [name for name in variants(outcomes) if name != NAIVE] or [NAIVE]
    largest = max(
        abs(outcome.error(name)) for outcome in outcomes for name in names
        if name in outcome.simulated
    )  # fmt: skip
    spread = max(
        abs(run.makespan_s / outcome.median_s - 1) for outcome in outcomes for run in outcome.native
    )
    return max(LEAST_ERROR_PERCENT, 115.0 * max(largest, spread))
