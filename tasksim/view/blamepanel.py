"""Panel of blame, a bar per run with the parts of its makespan, by cause."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError
from tasksim.base.units import time_unit
from tasksim.formats.graphs import graph_if_any
from tasksim.scenario.recorded import blame_of, scenario_of
from tasksim.view.colours import IDLE_COLOURS, kernel_colours
from tasksim.view.names import listed_runs, run_names
from tasksim.view.registry import Panel
from tasksim.view.style import TEXT_POINTS, name_axes, new_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from tasksim.run.record import Run

__all__ = ["BLAME", "panel_blame"]

HEIGHT_INCHES: Final = 2.6
MIN_DRAWN_SHARE: Final = 2e-3
"""Smallest share of the longest makespan that is drawn: half a pixel of a figure."""
CAUSE_COLOURS: Final = {
    "area bound": "#8c96a0",
    "longer than modelled": "#6b4c9a",
    "idle at the start": "#e6f4fa",
    **dict(IDLE_COLOURS.values()),
    "idle for data or the runtime": IDLE_COLOURS["queue"][1],
    "idle at the end": "#ffffff",
    "workers without a task": "#e4e8ec",
}
"""Colours of the causes, those of idle time as in Gantt charts, which leave that at the end white;
kernels on dearer classes have the kernels' own, hatched."""


def panel_blame(
    runs: Run | Sequence[Run], ax: Axes | None = None, *, kernels: Sequence[str] = ()
) -> Axes:
    """Draw the area bound of each run and the causes above it, as parts of a bar.

    Colours of kernels are apart from those of other *kernels*, too.

    Raises :exc:`InputError` for a run that had several nodes, or whose graph or models are gone.
    """
    axes = new_axes(ax, HEIGHT_INCHES)
    listed = listed_runs(runs)
    blamed = [blame_of(run, Path(run.graph_name)).run for run in listed]
    longest_s = max((found.makespan_s for found in blamed), default=0.0)
    per_s, unit = time_unit(longest_s)
    seen: set[str] = set()
    colours = kernel_colours([*(name for found in blamed for name in found.placement_s), *kernels])
    for place, found in enumerate(blamed):
        left = 0.0
        placed = {f"{kernel} on a dearer class": kernel for kernel in found.placement_s}
        for name, seconds in found.rows():
            if seconds < MIN_DRAWN_SHARE * longest_s:  # nothing to see, or less than nothing
                left += max(0.0, seconds) * per_s
                continue
            kernel = placed.get(name)
            axes.barh(
                place,
                seconds * per_s,
                0.6,
                left,
                color=CAUSE_COLOURS[name] if kernel is None else colours[kernel],
                hatch="" if kernel is None else "////",
                edgecolor="#555555",
                linewidth=0.4,
                label=None if name in seen else name,
            )
            seen.add(name)
            left += seconds * per_s
    axes.set_yticks(range(len(listed)), run_names(listed), fontsize=TEXT_POINTS["small"])
    axes.set_ylim(len(listed) - 0.5, -0.5)
    name_axes(axes, x=f"makespan ({unit})")
    axes.legend(
        fontsize=TEXT_POINTS["small"],
        ncols=3,
        frameon=False,
        loc="lower left",
        bbox_to_anchor=(0, 1),
    )
    return axes


def _shows(run: Run) -> bool:
    """Return whether the run has one node, and says how to repeat it or has its graph."""
    if run.messages is not None:
        return False
    if run.kind != "simulated":
        return graph_if_any(run) is not None
    try:
        scenario_of(run, Path(run.graph_name))
    except InputError:
        return False
    return True


BLAME = Panel(
    summary="What each makespan lost against the area bound, by cause, a bar per run.",
    place="below",
    draw=lambda runs, axes, look: panel_blame(
        [run for run in runs if _shows(run)], axes, kernels=look.kernels
    ),
    height_inches=lambda _: HEIGHT_INCHES,
    shows=_shows,
    needs="a run on one node whose graph and models are known",
    wide=True,
)
