"""Panel that compares the durations of tasks in two runs: measured against predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator

from tasksim.base.errors import InputError
from tasksim.base.units import time_unit
from tasksim.view.bands import MOST_VECTORS
from tasksim.view.registry import Look, Panel
from tasksim.view.style import TEXT, kernel_colours, new_axes, run_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tasksim.run.record import Run

    Float64 = NDArray[np.float64]

__all__ = ["SCATTER", "panel_scatter"]

_HEIGHT_INCHES = 3.6
_RATIOS: Final = ((1.0, "-"), (1.1, ":"), (1 / 1.1, ":"), (2.0, "--"), (0.5, "--"))
"""Lines of equal durations, of 10 % to both sides, of twice and half."""


def panel_scatter(runs: Sequence[Run], ax: Axes | None = None) -> Axes:
    """Draw what each task took in the second run over what it took in the first, both logarithmic.

    A point per task, a large one for the mean of each kernel. The lines say where both are equal,
    where one is 10 % longer, and twice as long.

    Parameters
    ----------
    runs :
        Two runs of the same tasks: the measured one first.
    ax :
        Where; default: a new figure.

    Raises
    ------
    InputError
        If there are not two runs, or they have not the same tasks.
    """
    measured, predicted = _two(runs)
    axes = new_axes(ax, _HEIGHT_INCHES)
    x, y = measured.tasks.duration_s, predicted.tasks.duration_s
    seen = (x > 0) & (y > 0)
    names = [measured.kernel_names[k] for k in np.unique(measured.tasks.kernel).tolist()]
    colours = kernel_colours(names)
    for kernel, name in enumerate(measured.kernel_names):
        tasks = seen & (measured.tasks.kernel == kernel)
        if tasks.any():
            _draw_kernel(axes, x[tasks], y[tasks], colours[name], name)
    _draw_ratios(axes)
    _name_axes(axes, [measured, predicted])
    return axes


def _two(runs: Sequence[Run]) -> tuple[Run, Run]:
    if len(runs) != 2:
        raise InputError(f"panel scatter compares two runs, here are {len(runs)}")
    a, b = runs
    in_a, in_b = (np.array(run.kernel_names, dtype=object)[run.tasks.kernel] for run in runs)
    if not np.array_equal(in_a, in_b):
        raise InputError(
            f"panel scatter compares runs of the same tasks, not {a.graph_label}"
            f" ({len(a)} tasks) and {b.graph_label} ({len(b)} tasks)"
        )
    return a, b


def _draw_kernel(axes: Axes, x: Float64, y: Float64, colour: str, name: str) -> None:
    look: Any = {"linestyle": "", "marker": "o", "color": colour}
    many = len(x) > MOST_VECTORS // 10
    axes.plot(x, y, markersize=2.2, alpha=0.25, markeredgewidth=0, rasterized=many, **look)
    axes.plot([x.mean()], [y.mean()], markersize=8, markeredgecolor="#111111", label=name, **look)


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
    axes.legend(loc="upper left", fontsize=TEXT["small"], frameon=False)


def _name_axes(axes: Axes, runs: Sequence[Run]) -> None:
    factor, unit = time_unit(axes.get_xlim()[1])
    text = FuncFormatter(lambda value, _: f"{value * factor:.3g}")
    for axis, name in zip((axes.xaxis, axes.yaxis), run_names(runs), strict=True):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(text)
        axis.set_minor_formatter(FuncFormatter(lambda *_: ""))
        axis.set_label_text(f"task in {name} ({unit})", fontsize=TEXT["normal"])
    axes.tick_params(labelsize=TEXT["small"])
    axes.spines[["top", "right"]].set_visible(False)


def _draw(runs: Sequence[Run], axes: Axes, look: Look) -> Axes:  # noqa: ARG001
    return panel_scatter(runs, axes)


SCATTER = Panel(
    summary="What each task took in the second of two runs, over what it took in the first.",
    place="below",
    draw=_draw,
    height_inches=lambda _: 4.2,
)
