"""Panels of the use of memories, and of the rates of copies between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from tasksim.base.units import format_size
from tasksim.run.recordtables import MemoryTable, TransferReason
from tasksim.view.bands import MAX_VECTOR_BOXES
from tasksim.view.colours import memory_colours
from tasksim.view.registry import Panel
from tasksim.view.style import name_axes, name_runs, new_axes, time_axis
from tasksim.view.timeseries import arrival_rates, thinned, used_curve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from tasksim.run.record import Run

    Artists = list[Artist]
    Units = tuple[tuple[float, str], ...]

__all__ = [
    "BANDWIDTH",
    "MEMORY",
    "has_bandwidth",
    "has_memory",
    "panel_bandwidth",
    "panel_memory",
]

_HEIGHT_INCHES = 2.6
_SLICES = 400  # two or three pixels each at the usual width: narrower ones look like noise
_MIN_SIZE_SHARE = (
    0.3  # of a memory's size: used less, a line at its size would press the curves down
)
_SIZE_UNITS = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))
_BANDWIDTH_UNITS = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s"))


def has_memory(run: Run) -> bool:
    """Return whether *run* says how full its memories were."""
    return run.memory is not None and len(run.memory) > 0


def has_bandwidth(run: Run) -> bool:
    """Return whether data were copied between memories in *run*."""
    return run.transfers is not None and len(run.transfers) > 0


def panel_memory(run: Run, ax: Axes | None = None, *, until_s: float | None = None) -> Axes:
    """Draw how much of each limited memory is used, over time, and the sizes of the memories.

    Sizes are dashed lines where memories were used well; otherwise, off the axis, they are said
    behind the names of the memories. The ticks at the top say when data were written back to
    make room, a row per memory.

    Parameters
    ----------
    run :
        The run; the panel is empty if the run has no record of the use of its memories.
    ax :
        Axes to draw on; default: those of a new figure.
    until_s :
        The end of the time axis; default: the makespan.
    """
    axes = new_axes(ax, _HEIGHT_INCHES)
    table = MemoryTable.empty() if run.memory is None else run.memory
    known: list[int] = np.unique(table.memory).tolist()
    shown = [m for m in known if run.memories[m].size_bytes is not None] or known
    colours = _colours(run)
    curves = {memory: thinned(*used_curve(table, memory, run.makespan_s)) for memory in shown}
    peak = max((float(used.max()) for _, used in curves.values()), default=0.0)
    entries: Artists = []
    near: set[float] = set()  # sizes of memories that have a line
    for memory, (times, used) in curves.items():
        label, size = run.memories[memory].name, run.memories[memory].size_bytes
        if size is not None and peak >= _MIN_SIZE_SHARE * size:
            near.add(size)
        elif size is not None:
            label = f"{label} (of {format_size(size)})"
        line: Any = {"color": colours[memory], "label": label}
        entries += axes.plot(times, used, drawstyle="steps-post", linewidth=1.1, **line)
    time_axis(axes, run.makespan_s if until_s is None else until_s)
    look: Any = {"color": "#555555", "linestyle": "--", "linewidth": 1.0}
    for size in sorted(near):
        axes.axhline(size, **look)
        entries.append(Line2D([], [], label=f"size {format_size(size)}", **look))
    top = max([1.15 * peak, 1.0, *(1.03 * size for size in near)])
    evicts = run.transfers is not None and TransferReason.EVICTION in run.transfers.reason
    room = min(0.06, 0.2 / len(shown)) if shown and evicts else 0.0
    entries += _draw_evictions(axes, run, shown, room)
    _amount_axis(axes, top / (1.0 - room * len(shown)), _SIZE_UNITS, "used")
    name_runs(axes, entries)
    return axes


def panel_bandwidth(run: Run, ax: Axes | None = None, *, until_s: float | None = None) -> Axes:
    """Draw how many bytes per second arrive in each memory, over time, one upon another.

    Means over 400 slices of the time axis.
    """
    axes = new_axes(ax, _HEIGHT_INCHES)
    until = run.makespan_s if until_s is None else until_s
    time_axis(axes, until)
    entries: Artists = []
    below = np.zeros(_SLICES)
    if run.transfers is not None and until > 0:
        edges = np.linspace(0.0, until, _SLICES + 1)
        rates = arrival_rates(run.transfers, len(run.memories), edges)
        for memory in np.flatnonzero(rates.any(axis=1)).tolist():
            colour, above = _colours(run)[memory], below + rates[memory]
            axes.stairs(above, edges, baseline=below, fill=True, color=colour, linewidth=0)
            entries.append(Patch(color=colour, label=f"to {run.memories[memory].name}"))
            below = above
    _amount_axis(axes, max(float(below.max()), 1.0) * 1.05, _BANDWIDTH_UNITS, "copied")
    name_runs(axes, entries)
    return axes


def _colours(run: Run) -> list[str]:
    return memory_colours(memory.size_bytes for memory in run.memories)


def _draw_evictions(axes: Axes, run: Run, shown: Sequence[int], room: float) -> Artists:
    """Draw a tick per datum written back to make room, a row per memory from the top."""
    transfers = run.transfers
    if transfers is None:
        return []
    evicted = transfers.reason == TransferReason.EVICTION
    colours, across = _colours(run), axes.get_xaxis_transform()
    for row, memory in enumerate(shown):
        times = transfers.start_s[evicted & (transfers.source == memory)]
        low, high = 1.0 - room * (row + 0.85), 1.0 - room * (row + 0.15)
        look: Any = {"colors": colours[memory], "linewidths": 0.7, "transform": across}
        axes.vlines(times, low, high, rasterized=len(times) > MAX_VECTOR_BOXES, **look)
    marker: Any = {"marker": "|", "markersize": 7.0, "linestyle": "", "color": "#333333"}
    return [Line2D([], [], label="made room", **marker)] if evicted.any() else []


def _amount_axis(axes: Axes, top: float, units: Units, label: str) -> None:
    """Make the y axis one of amounts from 0 to *top* in the largest unit that is not above it."""
    scale, unit = next((u for u in units if top >= u[0]), units[-1])
    axes.set_ylim(0.0, top)
    steps = MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]).tick_values(0.0, top / scale)
    axes.set_yticks([step * scale for step in steps if step * scale <= top])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y / scale:.6g}"))
    name_axes(axes, y=f"{label} ({unit})")


# In a figure: low, since they stand below a Gantt chart whose time axis they share.
_ROW_INCHES = 1.6


MEMORY = Panel(
    summary="How much of each limited memory is used, over time.",
    place="per run",
    draw=lambda runs, axes, look: panel_memory(runs[0], axes, until_s=look.until_s),
    height_inches=lambda _: _ROW_INCHES,
    shows=has_memory,
    needs="data in several memories",
    by_default=True,
)
BANDWIDTH = Panel(
    summary="How many bytes per second arrive in each memory, over time.",
    place="per run",
    draw=lambda runs, axes, look: panel_bandwidth(runs[0], axes, until_s=look.until_s),
    height_inches=lambda _: _ROW_INCHES,
    shows=has_bandwidth,
    needs="data in several memories",
    by_default=True,
)
