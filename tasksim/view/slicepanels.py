"""Panels of slices of time: how busy workers were, where ready tasks lacked, GFlop/s."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.ticker import MaxNLocator

from tasksim.graph.flop import task_flop
from tasksim.run.record import Run
from tasksim.run.slices import flop_rate, lack_of_ready, utilisation
from tasksim.view.registry import Look, Panel
from tasksim.view.rungraph import graph_of_run
from tasksim.view.style import (
    RUN_COLOURS,
    TEXT,
    name_runs,
    new_axes,
    run_names,
    time_axis,
    worker_label,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from numpy.typing import NDArray

__all__ = [
    "GFLOPS",
    "LACK_OF_READY",
    "UTILISATION",
    "has_flop",
    "panel_gflops",
    "panel_lack_of_ready",
    "panel_utilisation",
]

_HEIGHT_INCHES = 2.6
_SLICES: Final = 400  # two or three pixels each at the usual width: narrower ones look like noise
_STRIP_INCHES: Final = 0.45


def panel_utilisation(run: Run, ax: Axes | None = None, *, until_s: float | None = None) -> Axes:
    """Draw which share of the time each worker ran tasks, as a heat map over 400 slices of time.

    Parameters
    ----------
    run :
        What to draw: a row per worker, the first on top; the darker, the busier.
    ax :
        Where; default: a new figure.
    until_s :
        The end of the time axis; default: the makespan.
    """
    axes = new_axes(ax, _HEIGHT_INCHES)
    shares = utilisation(run, _edges(run)) if run.makespan_s else np.zeros((len(run.workers), 1))
    image = _strip(axes, run, shares, "Blues", 1.0)
    rows = len(run.workers)
    step = max(1, -(-rows // 12))
    axes.set_yticks(range(0, rows, step), [worker_label(run, row) for row in range(0, rows, step)])
    axes.tick_params(labelsize=TEXT["small"])
    axes.set_ylabel("busy", fontsize=TEXT["normal"])
    scale = axes.inset_axes((0.88, 1.02, 0.12, 0.05))
    bar = axes.figure.colorbar(image, cax=scale, orientation="horizontal", ticks=[0, 1])
    bar.ax.xaxis.set_ticks_position("top")
    bar.set_ticks([0, 1], labels=["0 %", "100 %"], fontsize=TEXT["small"])
    time_axis(axes, run.makespan_s if until_s is None else until_s)
    return axes


def panel_lack_of_ready(run: Run, ax: Axes | None = None, *, until_s: float | None = None) -> Axes:
    """Draw where nodes had fewer ready tasks than workers: a strip from white, none, to red, all.

    Means over 400 slices of the run; of the threshold, see
    :func:`tasksim.run.slices.lack_of_ready`.
    """
    axes = new_axes(ax, _STRIP_INCHES + 0.6)
    nodes = len({worker.node for worker in run.workers})
    lack = lack_of_ready(run, _edges(run)) if run.makespan_s else np.zeros(1)
    _strip(axes, run, lack[None, :], "Reds", float(max(nodes, 1)))
    axes.set_yticks([])
    axes.set_ylabel("lack of\nready", fontsize=TEXT["small"])
    time_axis(axes, run.makespan_s if until_s is None else until_s)
    return axes


def panel_gflops(
    runs: Run | Sequence[Run],
    ax: Axes | None = None,
    *,
    until_s: float | None = None,
    legend: bool = True,
) -> Axes:
    """Draw how many GFlop/s the tasks did whose kernels know their flop, over time.

    Means over 400 slices of each run, those of a task evenly over its time. A curve per run; with
    several, *legend* says which is which.
    """
    axes = new_axes(ax, _HEIGHT_INCHES)
    drawn = [runs] if isinstance(runs, Run) else list(runs)
    for number, (run, name) in enumerate(zip(drawn, run_names(drawn), strict=True)):
        graph = graph_of_run(run)
        if graph is None or not run.makespan_s:
            continue
        rate = flop_rate(run, task_flop(graph)[run.tasks.task], _edges(run))
        colour = RUN_COLOURS[number % len(RUN_COLOURS)]
        axes.plot(_edges(run)[:-1], rate / 1e9, drawstyle="steps-post", color=colour, label=name)
    for line in axes.lines:
        line.set_linewidth(1.0)
    longest = max((run.makespan_s for run in drawn), default=0.0)
    time_axis(axes, longest if until_s is None else until_s)
    axes.set_ylim(0.0, max(axes.get_ylim()[1], 1e-12))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.tick_params(labelsize=TEXT["small"])
    axes.set_ylabel("GFlop/s", fontsize=TEXT["normal"])
    axes.spines[["top", "right"]].set_visible(False)
    if legend and len(drawn) > 1:
        name_runs(axes, axes.lines)
    return axes


def has_flop(run: Run) -> bool:
    """Return whether the flop of some task of *run* is known."""
    graph = graph_of_run(run)
    return graph is not None and bool(np.isfinite(task_flop(graph)).any())


def _edges(run: Run) -> NDArray[np.float64]:
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


def _draw_utilisation(runs: Sequence[Run], axes: Axes, look: Look) -> Axes:
    return panel_utilisation(runs[0], axes, until_s=look.until_s)


def _draw_lack(runs: Sequence[Run], axes: Axes, look: Look) -> Axes:
    return panel_lack_of_ready(runs[0], axes, until_s=look.until_s)


def _draw_gflops(runs: Sequence[Run], axes: Axes, look: Look) -> Axes:
    return panel_gflops(runs, axes, until_s=look.until_s, legend=look.legend)


def _utilisation_inches(run: Run) -> float:
    return min(max(0.5 + 0.12 * len(run.workers), 0.9), 4.0)


UTILISATION = Panel(
    summary="How busy each worker was, as a heat map over time.",
    place="per run",
    draw=_draw_utilisation,
    height_inches=_utilisation_inches,
)
LACK_OF_READY = Panel(
    summary="Where nodes had fewer ready tasks than workers, a strip over time.",
    place="per run",
    draw=_draw_lack,
    height_inches=lambda _: _STRIP_INCHES,
)
GFLOPS = Panel(
    summary="How many GFlop/s were done, where kernels know their flop, over time.",
    place="together",
    draw=_draw_gflops,
    height_inches=lambda _: 1.4,
    shows=has_flop,
    needs="tasks whose flop is known",
)
