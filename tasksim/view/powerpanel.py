"""Power panel: what a run's machine draws over time, by what draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.run.energy import power_curve
from tasksim.view.registry import Look, Panel
from tasksim.view.style import TEXT, new_axes, time_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from tasksim.run.record import Run

__all__ = ["POWER", "panel_power"]

_HEIGHT_INCHES: Final = 2.2
_SLICES: Final = 400  # two or three pixels each at the usual width: narrower ones look like noise
_COLOURS: Final = {
    "static": "#b8c0cc",
    "idle": "#dfe4ea",
    "tasks": "#4c566a",
    "copies": "#e8871e",
}


def panel_power(run: Run, ax: Axes | None = None, *, until_s: float | None = None) -> Axes:
    """Draw the power of *run* in watts, its parts on top of each other, as means over 400 slices.

    Parameters
    ----------
    run : Run
        Of a platform with a section ``power:``.
    ax : Axes, optional
        Where; default: a new figure.
    until_s : float, optional
        The end of the time axis; default: the makespan.

    Raises
    ------
    InputError
        If nobody knows what its machine draws.
    """
    axes = new_axes(ax, _HEIGHT_INCHES)
    edges = np.linspace(0.0, run.makespan_s or 1.0, _SLICES + 1)
    curve = power_curve(run, edges)
    parts = {name: watts for name, watts in curve.items() if watts.any()}
    below = np.zeros(_SLICES)
    for name, watts in parts.items():
        above = below + watts
        axes.stairs(above, edges, baseline=below, fill=True, color=_COLOURS[name], label=name)
        below = above
    axes.set_ylim(0.0, max(1.05 * float(below.max()), 1e-12))
    axes.set_ylabel("power (W)", fontsize=TEXT["normal"])
    axes.tick_params(labelsize=TEXT["small"])
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=len(parts) or 1,
        fontsize=TEXT["small"],
        frameon=False,
        handlelength=1.0,
    )
    time_axis(axes, run.makespan_s if until_s is None else until_s)
    return axes


def _draw(runs: Sequence[Run], axes: Axes, look: Look) -> Axes:
    return panel_power(runs[0], axes, until_s=look.until_s)


POWER = Panel(
    summary="What the machine draws over time, in watts: static, idle workers, tasks, copies.",
    place="per run",
    draw=_draw,
    height_inches=lambda _: 1.5,
    shows=lambda run: run.power is not None,
    needs="a platform with a section `power:`",
)
