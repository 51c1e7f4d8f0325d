"""Results of the benchmark of autotuning, as a table and as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tasksim.view.texttables import table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

STYLE_OF_WAY: Final = {
    "conditional": ("#0072b2", "o"),
    "local": ("#d55e00", "s"),
    "online": ("#009e73", "^"),
    "apriori": ("#cc79a7", "v"),
    "eager": ("#222222", "D"),
    "shares": ("#999933", "*"),
    "online, reuse": ("#e69f00", "P"),
    "online, model": ("#56b4e9", "X"),
    "online, any": ("#e69f00", "<"),
}
"""The colour and marker of each way."""


def text_of(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table."""
    cells = [
        [
            row["problem"],
            row["way"],
            "" if row["tolerance"] is None else f"{100 * row['tolerance']:.3g} %",
            f"{row['tuning_s']:.3f} s",
            f"{row['speedup']:.2f}",
            "" if row["cpu_speedup"] is None else f"{row['cpu_speedup']:.2f}",
            f"{100 * row['executed']:.0f} %",
            f"{100 * row['mean_error']:.2f} %",
            f"{100 * row['error_beside']:.2f} %" if "error_beside" in row else "",
            f"{100 * row['regret']:.2f} %",
        ]
        for row in rows
    ]
    header = [
        "",
        "way",
        "tolerance",
        "tuning",
        "faster",
        "CPU",
        "executed",
        "error",
        "beside",
        "regret",
    ]
    return table(header, cells, left=2)


def draw(rows: list[dict[str, Any]], path: Path, tolerances: Sequence[float]) -> None:
    """Draw time of tuning and mean error against the tolerance, a column per problem."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row["problem"] for row in rows))
    figure = Figure(figsize=(5.5 * len(names), 7.0), layout="constrained")
    axes = figure.subplots(2, len(names), sharex=True, squeeze=False)
    for column, name in enumerate(names):
        mine = [row for row in rows if row["problem"] == name]
        for axis, key, scale in ((axes[0][column], "tuning_s", 1.0),
                                 (axes[1][column], "mean_error", 100.0)):  # fmt: skip
            _lines(axis, mine, key, scale)
        axes[0][column].set_title(name)
        axes[1][column].set_xlabel("tolerance")
        axes[1][column].plot(
            tolerances, [100 * t for t in tolerances], ":", color="#999999", lw=1,
            label="error as large as the tolerance",
        )  # fmt: skip
        axes[1][column].legend(fontsize=8, frameon=False, loc="upper right", handles=[
            line for line in axes[1][column].lines if "tolerance" in str(line.get_label())
        ])  # fmt: skip
        axes[1][column].set_xscale("log", base=2)
        axes[1][column].xaxis.set_major_formatter(lambda t, _: f"{100 * t:.3g} %")
        axes[1][column].set_xlim(0.65, 0.006)  # from loose to tight
    axes[0][0].set_ylabel("time of tuning (s)")
    axes[1][0].set_ylabel("mean error of predictions (%)")
    axes[0][-1].legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=130)


def _lines(axis: Any, rows: list[dict[str, Any]], key: str, scale: float) -> None:
    axis.set_yscale("log")
    for way, (colour, marker) in STYLE_OF_WAY.items():
        mine = [row for row in rows if row["way"] == way]
        if not mine:
            continue
        values = [scale * row[key] for row in mine]
        axis.plot([row["tolerance"] for row in mine], values, color=colour, marker=marker,
                  markersize=4, linewidth=1.2, label=way)  # fmt: skip
    for way, style in (("full", "-"), ("simulation", "--")):
        value = next(scale * row[key] for row in rows if row["way"] == way)
        if value > 0:
            axis.axhline(value, color="#888888", linestyle=style, linewidth=1.2, label=way)
    axis.grid(visible=True, which="major", linewidth=0.4, alpha=0.5)
