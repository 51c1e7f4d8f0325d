"""Panels of the figures of tuning: time and error over the tolerance, a line per policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib import colormaps
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from experiments.selective_execution.problems import problem

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = [
    "STYLE_OF_POLICY",
    "draw_configurations",
    "draw_errors",
    "draw_overheads",
    "draw_paths",
    "draw_times",
    "draw_tradeoffs",
]

STYLE_OF_POLICY: Final = {
    "conditional": ("#0072b2", "o"),
    "local": ("#d55e00", "s"),
    "online": ("#009e73", "^"),
    "apriori": ("#cc79a7", "v"),
    "eager": ("#222222", "D"),
    "shares": ("#999933", "*"),
}
"""Colour and marker of each policy."""
FULL_RUN_STYLE: Final[dict[str, Any]] = {"color": "#c1272d", "linewidth": 1.4}
"""Look of what full runs give, red as in the paper."""
MAX_LABELLED_SPAN: Final = 20.0
"""Span of a logarithmic axis up to which the ticks between powers are labelled, too."""
LEAST_PERCENT: Final = 0.01
"""Smallest error that a logarithmic axis shows."""


def draw_times(axes: Axes, rows: pd.DataFrame, column: str, label: str) -> None:
    """Draw a time over the tolerance, and that of full runs as a red line."""
    for policy, mine in rows.groupby("policy", sort=False):
        _line(axes, str(policy), mine["tolerance"], mine[column])
    tolerance = rows["tolerance"].unique()
    full = rows.groupby("tolerance", sort=False)[f"full {column}"].median()
    axes.plot(tolerance, full.to_numpy(), label="full execution", **FULL_RUN_STYLE)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{1e3 * value:.4g}"))
    axes.tick_params(axis="y", labelsize=8)
    axes.set_ylabel(label)
    _over_tolerance(axes)


def draw_errors(axes: Axes, rows: pd.DataFrame, column: str, label: str) -> None:
    """Draw a mean error over the tolerance, and the error that equals it as a red line."""
    for policy, mine in rows.groupby("policy", sort=False):
        _line(axes, str(policy), mine["tolerance"], np.maximum(mine[column], LEAST_PERCENT))
    _ideal(axes, rows)
    axes.set_ylabel(label)


def draw_configurations(axes: Axes, rows: pd.DataFrame, column: str, label: str) -> None:
    """Draw the error over the configurations, a line per tolerance from loose to tight."""
    tolerances = sorted(rows["tolerance"].unique(), reverse=True)
    names = list(dict.fromkeys(rows["configuration"]))
    shades = colormaps["viridis"](np.linspace(0.0, 0.9, len(tolerances)))
    for tolerance, shade in zip(tolerances, shades, strict=True):
        mine = rows[rows["tolerance"] == tolerance].set_index("configuration").loc[names]
        error = np.maximum(mine[column].to_numpy(), LEAST_PERCENT)
        axes.plot(range(1, len(names) + 1), error, marker="o", markersize=3, linewidth=1,
                  color=shade, label=f"tolerance {_percent(tolerance)}")  # fmt: skip
    axes.set_yscale("log")
    _plain_numbers(axes)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("configuration, by number")
    axes.set_ylabel(label)
    axes.legend(fontsize=6, frameon=False, ncols=2)
    axes.grid(visible=True, which="major", linewidth=0.4, alpha=0.5)


def draw_tradeoffs(grid: Any, rows: pd.DataFrame) -> None:
    """Draw words and flop over synchronisations, and times, a column per problem."""
    letters = iter("abcdefghijkl")
    for row, (y, label) in enumerate(
        (("words", "words"), ("flop", "flop"), ("time_s", "time (s)"))
    ):
        for column, name in enumerate(dict.fromkeys(rows["problem"])):
            axes, mine = grid[row][column], rows[rows["problem"] == name]
            axes.set_title(f"({next(letters)}) {problem(name).label}", fontsize=8)
            if y == "time_s":
                axes.bar(range(1, len(mine) + 1), mine[y], color="#0072b2")
                axes.xaxis.set_major_locator(MaxNLocator(integer=True))
                axes.set_xlabel("configuration, by number", fontsize=8)
            else:
                shade = np.arange(len(mine))
                axes.scatter(mine["synchronisations"], mine[y], c=shade, cmap="viridis", s=22)
                for number, (_, one) in enumerate(mine.iterrows(), 1):
                    axes.annotate(str(number), (one["synchronisations"], one[y]), fontsize=6,
                                  xytext=(3, 3), textcoords="offset points")  # fmt: skip
                axes.set_xscale("log", base=2)
                axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
                axes.set_xlabel("synchronisations along a path", fontsize=8)
            if column == 0:
                axes.set_ylabel(label if y == "time_s" else f"{label} along a path", fontsize=8)
            axes.tick_params(labelsize=7, which="both")
            axes.yaxis.get_offset_text().set_fontsize(7)
            axes.grid(visible=True, which="major", linewidth=0.4, alpha=0.5)


def draw_overheads(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw the times of full and of profiled runs of each configuration, grouped by its ranks."""
    groups = [mine for _, mine in rows.groupby(["ranks", "problem"], sort=False)]
    first, ticks, labels = 0, [], []
    for mine in groups:
        places = first + np.arange(len(mine))
        for column, shift, colour in (
            ("full run (ms)", -0.2, FULL_RUN_STYLE["color"]), ("profiled run (ms)", 0.2, "#0072b2")
        ):  # fmt: skip
            label = column.removesuffix(" (ms)") if not first else None
            axes.bar(places + shift, mine[column], 0.4, color=colour, label=label)
        one = mine.iloc[0]
        where = "" if one["ranks"] == 1 else f", {one['ranks']} ranks"
        ticks.append(float(places.mean()))
        labels.append(f"{one['problem']}{where}")
        first += len(mine) + 1
    axes.set_xticks(ticks, labels, fontsize=8)
    axes.tick_params(axis="y", labelsize=8)
    axes.set_ylabel("time of a run in ms")
    axes.legend(fontsize=8, frameon=False, loc="upper left")


def draw_paths(grid: Any, schedule: dict[str, Any]) -> None:
    """Draw a schedule per path, the tasks of the path in red."""
    for axes, (by, path) in zip(grid, schedule["paths"].items(), strict=True):
        on_path = set(path["tasks"])
        for task, one in enumerate(schedule["tasks"]):
            mine = task in on_path
            axes.barh(
                one["worker"], 1e3 * (one["end_s"] - one["start_s"]), left=1e3 * one["start_s"],
                height=0.8, color="#c1272d" if mine else "#d7dde4", edgecolor="white",
                linewidth=0.5,
            )  # fmt: skip
            if mine:
                middle = 5e2 * (one["start_s"] + one["end_s"])
                axes.text(middle, one["worker"], one["kernel"], fontsize=5, color="white",
                          ha="center", va="center", clip_on=True)  # fmt: skip
        axes.set_title(f"critical path by {by}", fontsize=9)
        axes.set_yticks(range(3), [f"worker {worker}" for worker in range(3)], fontsize=8)
        axes.invert_yaxis()
    grid[-1].set_xlabel("time in ms")


def _line(axes: Axes, policy: str, x: Any, y: Any) -> None:
    colour, marker = STYLE_OF_POLICY[policy]
    axes.plot(x, y, color=colour, marker=marker, markersize=4, linewidth=1.2, label=policy)


def _ideal(axes: Axes, rows: pd.DataFrame) -> None:
    tolerance = np.array(sorted(rows["tolerance"].unique(), reverse=True))
    axes.plot(
        tolerance,
        100.0 * tolerance,
        "--",
        label="error as large as the tolerance",
        **FULL_RUN_STYLE,
    )
    axes.set_yscale("log")
    _plain_numbers(axes)
    _over_tolerance(axes)


def _over_tolerance(axes: Axes) -> None:
    axes.set_xscale("log", base=2)
    axes.invert_xaxis()  # from loose to tight, as in the paper
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _percent(value)))
    axes.set_xlabel("confidence tolerance")
    axes.grid(visible=True, which="major", linewidth=0.4, alpha=0.5)


def _plain_numbers(axes: Axes) -> None:
    """Label a logarithmic axis with numbers, at least where it spans less than a decade."""
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    low, high = axes.get_ylim()
    within = high / low < MAX_LABELLED_SPAN
    axes.yaxis.set_minor_formatter(
        FuncFormatter(lambda value, _: f"{value:.2g}") if within else NullFormatter()
    )
    axes.tick_params(axis="y", which="both", labelsize=8)


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g} %"
