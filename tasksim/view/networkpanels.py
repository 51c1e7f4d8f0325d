"""Panels of runs on several nodes, with messages in flight, traffic per node and idle nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from tasksim.run.network import in_flight, node_idleness, node_rates
from tasksim.view.colours import PALETTE, RUN_COLOURS
from tasksim.view.names import run_names
from tasksim.view.registry import Panel
from tasksim.view.style import name_axes, name_runs, new_axes, time_axis
from tasksim.view.timeseries import thinned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from tasksim.run.record import Run

__all__ = [
    "MESSAGES",
    "NETWORK",
    "NODES",
    "has_messages",
    "panel_messages",
    "panel_network",
    "panel_nodes",
]

HEIGHT_INCHES: Final = 1.8
SLICES: Final = 300
"""Number of slices of time, three pixels each at the usual width: narrower ones look like noise."""
MAX_COLOURED_NODES: Final = 8
"""Maximum number of nodes with colours of their own; for more nodes, only the sum is drawn."""
BANDWIDTH_UNITS: Final = ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s"))


def has_messages(run: Run) -> bool:
    """Return whether nodes sent messages in *run*."""
    return run.messages is not None and len(run.messages) > 0


def panel_messages(
    runs: Sequence[Run],
    ax: Axes | None = None,
    *,
    until_s: float | None = None,
    legend: bool = True,
) -> Axes:
    """Draw how many messages move, over time, a curve per run; dotted: those that wait to be sent.

    A message waits from when its datum is there until its data begin to move.
    """
    axes, drawn = new_axes(ax, HEIGHT_INCHES), [run for run in runs if has_messages(run)]
    for number, (run, name) in enumerate(zip(drawn, run_names(drawn), strict=True)):
        look: Any = {
            "color": RUN_COLOURS[number % len(RUN_COLOURS)],
            "drawstyle": "steps-post",
            "linewidth": 1.0,
        }
        moving, waiting = in_flight(run)
        axes.plot(*thinned(*moving), label=name, **look)
        axes.plot(*thinned(*waiting), linestyle=":", **look)
    axes.set_ylim(bottom=0.0)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    name_axes(axes, y="messages")
    time_axis(axes, max(run.makespan_s for run in drawn) if until_s is None else until_s)
    lines = [
        Line2D([], [], color="#555555", linewidth=1.0, label="move"),
        Line2D([], [], color="#555555", linewidth=1.0, linestyle=":", label="wait to be sent"),
    ]
    name_runs(axes, [*(axes.lines[::2] if legend and len(drawn) > 1 else []), *lines])
    return axes


def panel_network(run: Run, ax: Axes | None = None, *, until_s: float | None = None) -> Axes:
    """Draw the bytes per second that go out of each node (up) and into it (down), over time.

    The nodes are stacked; of more than eight only the sum is drawn.
    """
    axes = new_axes(ax, HEIGHT_INCHES)
    until = run.makespan_s if until_s is None else until_s
    edges = np.linspace(0.0, max(until, 1e-12), SLICES + 1)
    out, into = node_rates(run, edges)
    names = [f"node {node}" for node in range(len(out))]
    if len(out) > MAX_COLOURED_NODES:
        out, into, names = out.sum(axis=0)[None], into.sum(axis=0)[None], ["all nodes"]
    top = 0.0
    for rates, sign in ((out, 1.0), (into, -1.0)):
        below = np.zeros(SLICES)
        for node, rate in enumerate(rates):
            colour = PALETTE[node % len(PALETTE)]
            heights = [sign * below, sign * (below + rate)]
            axes.stairs(heights[1], edges, baseline=heights[0], fill=True, color=colour)
            below = below + rate
        top = max(top, float(below.max(initial=0.0)))
    axes.axhline(0.0, color="#333333", linewidth=0.6)
    reach = 1.08 * max(top, 1.0)
    scale, unit = next((u for u in BANDWIDTH_UNITS if reach >= u[0]), BANDWIDTH_UNITS[-1])
    axes.set_ylim(-reach, reach)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, symmetric=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{abs(y) / scale:.3g}"))
    name_axes(axes, y=f"in | out ({unit})")
    time_axis(axes, until)
    patches = [Patch(color=PALETTE[n % len(PALETTE)], label=t) for n, t in enumerate(names)]
    name_runs(axes, patches)
    return axes


def panel_nodes(runs: Sequence[Run], ax: Axes | None = None, *, legend: bool = True) -> Axes:
    """Draw how much of the makespan each node's workers were idle: a bar per node and run."""
    axes, drawn = new_axes(ax, HEIGHT_INCHES), [run for run in runs if has_messages(run)]
    width = 0.8 / len(drawn)
    bars: list[Any] = []
    for number, (run, name) in enumerate(zip(drawn, run_names(drawn), strict=True)):
        idle = 100.0 * node_idleness(run)
        places = np.arange(len(idle)) - 0.4 + width * (number + 0.5)
        colour = RUN_COLOURS[number % len(RUN_COLOURS)] if len(drawn) > 1 else "#7f8fa9"
        bars.append(Patch(color=colour, label=name))
        axes.bar(places, idle, width=width, color=colour)
        axes.axhline(float(idle.mean()), color=colour, linewidth=0.8, linestyle="--")
    axes.set_ylim(0.0, 100.0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=16, integer=True))
    name_axes(axes, x="node (dashed: the mean)", y="idle %")
    if legend and len(drawn) > 1:
        name_runs(axes, bars)
    return axes


NEEDS: Final = "messages between nodes"

MESSAGES = Panel(
    summary="How many messages move between nodes, and how many wait to be sent, over time.",
    place="together",
    draw=lambda runs, axes, look: panel_messages(
        runs, axes, until_s=look.until_s, legend=look.legend
    ),
    height_inches=lambda _: HEIGHT_INCHES,
    shows=has_messages,
    needs=NEEDS,
    by_default=True,
)
NETWORK = Panel(
    summary="How many bytes per second go out of each node, and into it, over time.",
    place="per run",
    draw=lambda runs, axes, look: panel_network(runs[0], axes, until_s=look.until_s),
    height_inches=lambda _: HEIGHT_INCHES,
    shows=has_messages,
    needs=NEEDS,
    by_default=True,
)
NODES = Panel(
    summary="How much of the makespan the workers of each node were idle.",
    place="below",
    draw=lambda runs, axes, look: panel_nodes(runs, axes, legend=look.legend),
    height_inches=lambda _: HEIGHT_INCHES,
    shows=has_messages,
    needs=NEEDS,
)
