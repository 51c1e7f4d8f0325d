"""Panels of slices of time, with busy workers, missing ready tasks and power."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.run.energy import power_curve
from tasksim.run.slices import lack_of_ready, utilisation
from tasksim.view.registry import Panel
from tasksim.view.style import TEXT_POINTS, name_axes, new_axes, time_axis, worker_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from numpy.typing import NDArray

    from tasksim.run.record import Run

__all__ = [
    "LACK_OF_READY",
    "POWER",
    "UTILISATION",
    "panel_lack_of_ready",
    "panel_power",
    "panel_utilisation",
    "slice_edges",
]

_HEIGHT_INCHES = 2.6
_SLICES: Final = 400  # two or three pixels each at the usual width: narrower ones look like noise
_STRIP_INCHES: Final = 0.45
_POWER_INCHES: Final = 2.2
_POWER_COLOURS: Final = {
    "static": "#b8c0cc",
    "idle": "#dfe4ea",
    "tasks": "#4c566a",
    "copies": "#e8871e",
}


def panel_utilisation(run: Run, ax: Axes | None = None, *, until_s: float | None = None) -> Axes:
    """Draw which share of the time each worker ran tasks, as a heat map over 400 slices of time.

    Parameters
    ----------
    run :
        The run: a row per worker, the first on top; the darker, the busier.
    ax :
        Axes to draw on; default: those of a new figure.
    until_s :
        The end of the time axis; default: the makespan.
    """
    axes = new_axes(ax, _HEIGHT_INCHES)
    shares = (
        utilisation(run, slice_edges(run)) if run.makespan_s else np.zeros((len(run.workers), 1))
    )
    image = _strip(axes, run, shares, "Blues", 1.0)
    rows = len(run.workers)
    step = max(1, -(-rows // 12))
    axes.set_yticks(range(0, rows, step), [worker_label(run, row) for row in range(0, rows, step)])
    axes.tick_params(labelsize=TEXT_POINTS["small"])
    axes.set_ylabel("busy", fontsize=TEXT_POINTS["normal"])
    scale = axes.inset_axes((0.88, 1.02, 0.12, 0.05))
    bar = axes.figure.colorbar(image, cax=scale, orientation="horizontal", ticks=[0, 1])
    bar.ax.xaxis.set_ticks_position("top")
    bar.set_ticks([0, 1], labels=["0 %", "100 %"], fontsize=TEXT_POINTS["small"])
    time_axis(axes, run.makespan_s if until_s is None else until_s)
    return axes


def panel_lack_of_ready(run: Run, ax: Axes | None = None, *, until_s: float | None = None) -> Axes:
    """Draw where nodes had fewer ready tasks than workers: a strip from white, none, to red, all.

    Means over 400 slices of the run; of the threshold, see
    :func:`tasksim.run.slices.lack_of_ready`.
    """
    axes = new_axes(ax, _STRIP_INCHES + 0.6)
    nodes = len({worker.node for worker in run.workers})
    lack = lack_of_ready(run, slice_edges(run)) if run.makespan_s else np.zeros(1)
    _strip(axes, run, lack[None, :], "Reds", float(max(nodes, 1)))
    axes.set_yticks([])
    axes.set_ylabel("lack of\nready", fontsize=TEXT_POINTS["small"])
    time_axis(axes, run.makespan_s if until_s is None else until_s)
    return axes


def panel_power(run: Run, ax: Axes | None = None, *, until_s: float | None = None) -> Axes:
    """Draw the power of *run* in watts, its parts on top of each other, as means over 400 slices.

    Parameters
    ----------
    run : Run
        Run on a platform with a section ``power:``.
    ax : Axes, optional
        Axes to draw on; default: those of a new figure.
    until_s : float, optional
        The end of the time axis; default: the makespan.

    Raises
    ------
    InputError
        If nobody knows what its machine draws.
    """
    axes = new_axes(ax, _POWER_INCHES)
    edges = np.linspace(0.0, run.makespan_s or 1.0, _SLICES + 1)
    curve = power_curve(run, edges)
    parts = {name: watts for name, watts in curve.items() if watts.any()}
    below = np.zeros(_SLICES)
    for name, watts in parts.items():
        above = below + watts
        axes.stairs(above, edges, baseline=below, fill=True, color=_POWER_COLOURS[name], label=name)
        below = above
    axes.set_ylim(0.0, max(1.05 * float(below.max()), 1e-12))
    name_axes(axes, y="power (W)")
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=len(parts) or 1,
        fontsize=TEXT_POINTS["small"],
        frameon=False,
        handlelength=1.0,
    )
    time_axis(axes, run.makespan_s if until_s is None else until_s)
    return axes


def slice_edges(run: Run) -> NDArray[np.float64]:
    """Return the edges of the slices of time of *run*."""
    return np.linspace(0.0, run.makespan_s, _SLICES + 1)


def _strip(
    axes: Axes, run: Run, values: NDArray[np.generic], colours: str, most: float
) -> AxesImage:
    """Draw rows of slices in shades of a colour."""
    extent = (0.0, run.makespan_s or 1.0, len(values) - 0.5, -0.5)
    return axes.imshow(
        values,
        aspect="auto",
        interpolation="nearest",
        extent=extent,
        cmap=colours,
        vmin=0.0,
        vmax=most,
    )


UTILISATION = Panel(
    summary="How busy each worker was, as a heat map over time.",
    place="per run",
    draw=lambda runs, axes, look: panel_utilisation(runs[0], axes, until_s=look.until_s),
    height_inches=lambda run: min(max(0.5 + 0.12 * len(run.workers), 0.9), 4.0),
)
LACK_OF_READY = Panel(
    summary="Where nodes had fewer ready tasks than workers, a strip over time.",
    place="per run",
    draw=lambda runs, axes, look: panel_lack_of_ready(runs[0], axes, until_s=look.until_s),
    height_inches=lambda _: _STRIP_INCHES,
)
POWER = Panel(
    summary="What the machine draws over time, in watts: static, idle workers, tasks, copies.",
    place="per run",
    draw=lambda runs, axes, look: panel_power(runs[0], axes, until_s=look.until_s),
    height_inches=lambda _: 1.5,
    shows=lambda run: run.power is not None,
    needs="a platform with a section `power:`",
)
