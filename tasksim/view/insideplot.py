"""Inside plot: which share of real runs is in intervals of one run, at every level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.ticker import PercentFormatter

from tasksim.base.errors import InputError
from tasksim.view.style import RUN_COLOURS, TEXT, new_axes, new_figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

__all__ = ["figure_inside", "panel_inside", "share_inside"]

LEVELS: Final = np.linspace(0.0, 1.0, 101)
STYLES: Final = ("-", "--", ":", "-.")
"""Besides colours: for those who see none, and printers that have none."""
INCHES: Final = 5.0
CHANCE: Final = 0.95
"""Probability of the grey band: as many independent runs lie in it if the intervals are right."""


def share_inside(positions: ArrayLike, level: float) -> float:
    """Return which share of runs is in their interval at a *level*.

    Parameters
    ----------
    positions : array_like
        Of each run in what was predicted of it, from 0, shorter than all, to 1, longer
        (:func:`tasksim.run.replicated.position`).
    level : float
        Of the interval, between 0 and 1; its two tails are alike.

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
    tasksim.figure_sure : of one prediction.

    Examples
    --------
    >>> drawn = figure_inside({"predicted": [0.1, 0.45, 0.6, 0.99]})
    >>> drawn.axes[0].get_ylabel()
    'runs inside'
    """
    made = new_figure(INCHES, INCHES)
    panel_inside(positions, made.add_subplot(), level)
    return made


def panel_inside(
    positions: Mapping[str, ArrayLike], ax: Axes | None = None, level: float = 0.95
) -> Axes:
    """Draw what :func:`figure_inside` does.

    On the diagonal the intervals are right; below it they are too narrow, or runs beside them;
    above it they are too wide. The grey band is chance.
    """
    named = {name: _checked(name, values) for name, values in positions.items()}
    if not named:
        raise InputError("positions: nothing to draw")
    axes = new_axes(ax, INCHES)
    fewest = min(map(len, named.values()))
    low, high = _chance(fewest)
    axes.fill_between(
        LEVELS, low, high, color="#e3e8ee", linewidth=0, label=f"chance, {fewest} runs"
    )
    axes.plot((0, 1), (0, 1), color="#9aa5b1", linewidth=1.0)
    axes.axvline(level, color="#9aa5b1", linewidth=0.8, linestyle=":")
    for number, (name, values) in enumerate(named.items()):
        shares = [share_inside(values, at) for at in LEVELS]
        said = f"{name}: {100 * share_inside(values, level):.0f} % at {100 * level:g} %"
        colour, style = RUN_COLOURS[1:][number % 4], STYLES[number % len(STYLES)]
        axes.plot(LEVELS, shares, color=colour, linestyle=style, linewidth=1.8, label=said)
    _finish(axes)
    return axes


def _checked(name: str, values: ArrayLike) -> NDArray[np.float64]:
    found = np.asarray(values, np.float64).ravel()
    if not len(found) or not ((found >= 0) & (found <= 1)).all():
        raise InputError(f"positions of {name}: legal: one or more numbers from 0 to 1")
    return found


def _chance(runs: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from scipy.stats import binom

    tails = ((1 - CHANCE) / 2, (1 + CHANCE) / 2)
    low, high = (binom.ppf(tail, runs, LEVELS) / runs for tail in tails)
    # Of a level of 0, nothing is inside, and of 1 all.
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def _finish(axes: Axes) -> None:
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.0)
    axes.set_aspect("equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    axes.set_xlabel("level of the interval of one run", fontsize=TEXT["normal"])
    axes.set_ylabel("runs inside", fontsize=TEXT["normal"])
    axes.set_title("Runs in their intervals", fontsize=TEXT["title"], loc="left")
    axes.tick_params(labelsize=TEXT["small"])
    axes.grid(color="#e8ecf0", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    # Left of the line at the usual level.
    axes.text(
        0.93, 0.06, "too narrow, or beside", ha="right", fontsize=TEXT["small"], color="#666666"
    )
    axes.legend(loc="upper left", fontsize=TEXT["small"], frameon=False)
