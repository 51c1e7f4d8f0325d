"""Figures of the paper: what it reports, and the same from what was found here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from experiments.frame import Exhibit, Headline, Shown
from experiments.selective_execution.overhead import overheads
from experiments.selective_execution.panels import (
    draw_configurations,
    draw_errors,
    draw_overheads,
    draw_paths,
    draw_times,
    draw_tradeoffs,
)
from experiments.selective_execution.problems import PROBLEMS, problem
from experiments.selective_execution.tradeoffs import costs
from experiments.selective_execution.tunings import configurations, tunings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PAPER_EXHIBITS", "headline"]

BY_CONFIGURATION: Final = "online"
"""Policy of the panels with a line per tolerance, as in the paper."""
GOOD_LOSS: Final = 0.05
"""Loss of a choice up to which it counts as good: 5 %, as the paper has it."""
BUSY_PERCENT: Final = 5.0
"""Share of other programs from which the report tells of it."""
LIMITED_SPEEDUP: Final = 2.0
"""Speed-up up to which that of a shrinking trailing matrix counts as limited; 1.2 in the paper."""
SMALL_PERCENT: Final = 10.0
"""Overhead of profiling on one node up to which it counts as minimal."""
ACCURATE_ERROR: Final = 0.02
"""Mean error up to which predictions count as accurate: the paper's 98 %."""


class Panel(NamedTuple):
    """A panel of a figure: what is drawn of which problem."""

    letter: str
    problem: str
    kind: str
    column: str
    title: str


TUNING_TIME_PANEL: Final = ("times", "tuning (s)", "tuning time")
KERNEL_TIME_PANEL: Final = ("times", "longest kernel time (s)", "longest kernel time of a worker")
MEAN_ERROR_PANEL: Final = ("errors", "mean error (%)", "mean error of the execution time")
PATH_ERROR_PANEL: Final = (
    "errors",
    "error of path's kernel time (%)",
    "mean error of the path's kernel time",
)
CONFIGURATION_PANEL: Final = ("each", "error (%)", "error of each configuration")
EACH_PATH: Final = (
    "each",
    "error of path's kernel time (%)",
    "path's kernel time, each configuration",
)


def _panels(*given: tuple[str, tuple[str, str, str]]) -> list[Panel]:
    return [
        Panel(letter, name, kind, column, title)
        for letter, (name, (kind, column, title)) in zip("abcdefgh", given, strict=False)
    ]


FIGURES: Final = {
    "figure-4": _panels(
        ("recursive-cholesky", TUNING_TIME_PANEL),
        ("tiled-cholesky", TUNING_TIME_PANEL),
        ("tiled-cholesky", KERNEL_TIME_PANEL),
        ("tiled-cholesky", PATH_ERROR_PANEL),
        ("recursive-cholesky", MEAN_ERROR_PANEL),
        ("tiled-cholesky", MEAN_ERROR_PANEL),
        ("recursive-cholesky", CONFIGURATION_PANEL),
        ("tiled-cholesky", EACH_PATH),
    ),
    "figure-5": _panels(
        ("pipelined-qr", TUNING_TIME_PANEL),
        ("tiled-qr", TUNING_TIME_PANEL),
        ("pipelined-qr", KERNEL_TIME_PANEL),
        ("tiled-qr", PATH_ERROR_PANEL),
        ("pipelined-qr", MEAN_ERROR_PANEL),
        ("tiled-qr", MEAN_ERROR_PANEL),
        ("pipelined-qr", CONFIGURATION_PANEL),
        ("tiled-qr", EACH_PATH),
    ),
}


def _draw(name: str, found: Mapping[str, Any]) -> Figure:
    panels = FIGURES[name]
    per_row = 2
    rows = -(-len(panels) // per_row)
    figure = Figure(figsize=(11.0, 3.0 * rows), layout="constrained")
    grid = figure.subplots(rows, per_row, squeeze=False).ravel()
    means, each = tunings(found), configurations(found, BY_CONFIGURATION)
    handles: dict[str, Any] = {}
    for axes, panel in zip(grid, panels, strict=False):
        rows_of = each if panel.kind == "each" else means
        mine = rows_of[rows_of["problem"] == panel.problem]
        label = panel.column.replace("(s)", "in ms").replace("(%)", "in %")
        draw = {"times": draw_times, "errors": draw_errors, "each": draw_configurations}
        draw[panel.kind](axes, mine, panel.column, label)
        axes.set_title(
            f"({panel.letter}) {problem(panel.problem).label}: {panel.title}", fontsize=9
        )
        if panel.kind != "each":
            handles |= {
                label: line
                for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
                if label not in handles
            }
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    figure.legend(
        handles.values(), handles.keys(), loc="outside upper center", ncols=len(handles),
        fontsize=8, frameon=False,
    )  # fmt: skip
    return figure


def _tuned(name: str, found: Mapping[str, Any], problems: Sequence[str]) -> Shown:
    rows = tunings(found)
    mine = rows[rows["problem"].isin(problems)].reset_index(drop=True)
    sentences, verdicts = [], []
    for one in problems:
        said, agrees = _said(one, mine[mine["problem"] == one])
        sentences.append(f"{problem(one).label[0].upper()}{problem(one).label[1:]}: {said}")
        verdicts.append(agrees)
    return Shown(" ".join(sentences), all(verdicts), _draw(name, found), mine, shown_rows=60)


def _said(name: str, rows: pd.DataFrame) -> tuple[str, bool]:
    """Return a sentence on the tunings of one problem, and whether they agree with the paper."""
    all_rows = rows.to_dict("records")
    fastest = max(all_rows, key=lambda row: row["speed-up"])
    least = max(all_rows, key=_shortened)
    loose, tight = rows["tolerance"].max(), rows["tolerance"].min()
    path = [_mean_at(rows, at, "error of path's kernel time (%)") for at in (loose, tight)]
    whole = [_mean_at(rows, at, "mean error (%)") for at in (loose, tight)]
    near = 100.0 * float(rows["regret (%)"].le(100.0 * GOOD_LOSS).mean())
    said = (
        f"tuning is up to {fastest['speed-up']:.1f} times as fast as by full runs "
        f"({_way(fastest)}), the longest kernel time of a worker up to {_shortened(least):.1f} "
        f"times shorter ({_way(least)}). From a tolerance of {100 * loose:.2g} % to one of "
        f"{100 * tight:.2g} %, the mean error of the path's kernel time goes from {path[0]:.1f} to "
        f"{path[1]:.1f} %, that of the execution time from {whole[0]:.1f} to {whole[1]:.1f} % "
        f"(with their signs {rows['bias (%)'].mean():+.1f} % in the mean). {near:.0f} % of the "
        f"tunings choose a configuration that is within {100 * GOOD_LOSS:.0f} % of the best."
    )
    busy = rows["others (%)"].max()
    if busy > BUSY_PERCENT:
        said += (
            f" Other programs had the cores for up to {busy:.0f} % of the time. What they took of "
            "full runs is left out, but not that they slow caches and memory, which makes errors "
            "larger and choices worse than on nodes of one's own."
        )
    if name == "recursive-cholesky":
        eager = rows[rows["policy"] == "eager"]["speed-up"].max()
        others = rows[rows["policy"] != "eager"]["speed-up"].max()
        said += (
            f" Eager propagation is {eager / others:.1f} times as fast as the best other policy."
        )
        accurate = whole[0] <= 100.0 * ACCURATE_ERROR
        if accurate:
            said += (
                " Errors are as small at every tolerance: each is against full runs whose kernels "
                "take other durations, too, drawn anew."
            )
        return said, bool(eager > others) and (accurate or whole[1] < whole[0])
    if name == "pipelined-qr":
        careful = rows[rows["policy"] != "eager"]["speed-up"].max()
        within = (rows["mean error (%)"] <= 100.0 * rows["tolerance"]).mean()
        said += (
            f" Without eager propagation it is {careful:.1f} at most, as nearly each kernel has a "
            f"size of its own; {100 * within:.0f} % of the mean errors are within the tolerance."
        )
        return said, bool(careful < LIMITED_SPEEDUP)
    return said, fastest["speed-up"] > 1 and _shortened(least) > 2 and path[1] < path[0]


def _shortened(row: Mapping[Any, Any]) -> float:
    """Return how many times shorter the longest kernel time of a worker was than in full runs."""
    return float(row["full longest kernel time (s)"] / row["longest kernel time (s)"])


def _mean_at(rows: pd.DataFrame, tolerance: float, column: str) -> float:
    return float(rows[rows["tolerance"] == tolerance][column].mean())


def _way(row: Mapping[Any, Any]) -> str:
    return f"{row['policy']} at {100 * row['tolerance']:.2g} %"


def _figure_4(found: Mapping[str, Any], _: Mapping[str, Any]) -> Shown:
    return _tuned("figure-4", found, ["recursive-cholesky", "tiled-cholesky"])


def _figure_5(found: Mapping[str, Any], _: Mapping[str, Any]) -> Shown:
    return _tuned("figure-5", found, ["pipelined-qr", "tiled-qr"])


def _figure_1(found: Mapping[str, Any], _: Mapping[str, Any]) -> Shown:
    schedule = found["paths"]
    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    draw_paths(figure.subplots(2, 1, sharex=True), schedule)
    paths = {by: set(path["tasks"]) for by, path in schedule["paths"].items()}
    tasks = pd.DataFrame(schedule["tasks"])
    for by, on_path in paths.items():
        tasks[f"on the path by {by}"] = [task in on_path for task in range(len(tasks))]
    without = int((tasks["slack_s"] <= 1e-9 * schedule["makespan_s"]).sum())
    said = (
        f"Of the schedule of a Cholesky factorisation on three workers, the path with most "
        f"communication reads {schedule['paths']['words']['cost']:,.0f} words in "
        f"{len(paths['words'])} tasks, {len(paths['words'] & paths['time'])} of which are among "
        f"the {len(paths['time'])} of the path that takes longest; {without} of {len(tasks)} tasks "
        "have no slack."
    )
    return Shown(said, paths["words"] != paths["time"], figure, tasks, shown_rows=10)


def _figure_3(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Shown:
    rows = costs(found)
    figure = Figure(figsize=(12.0, 8.0), layout="constrained")
    draw_tradeoffs(figure.subplots(3, len(PROBLEMS), squeeze=False), rows)
    sentences, verdicts = [], []
    for one in PROBLEMS:
        mine = rows[rows["problem"] == one.name].to_dict("records")
        few = min(mine, key=lambda row: row["synchronisations"])
        little = min(mine, key=lambda row: row["flop"])
        fast = min(mine, key=lambda row: row["time_s"])
        verdicts.append(few["flop"] > little["flop"])
        sentences.append(
            f"{one.label[0].upper()}{one.label[1:]}: fewest synchronisations "
            f"({few['synchronisations']:.0f}) with {few['configuration']}, at "
            f"{few['flop'] / little['flop']:.2f} times the least operations along a path; "
            f"fastest {fast['configuration']}."
        )
    exact = [row for row in rows.to_dict("records") if row["problem"] == "recursive-cholesky"]
    off = max(
        abs(row[name] / row[f"closed_{name}"] - 1.0)
        for row in exact
        for name in ("synchronisations", "words", "flop")
    )
    sentences.append(
        f"The costs of the recursive Cholesky are off their closed formulas by at most "
        f"{100 * off:.2g} %; all on an emulated machine of {settings['side'] ** 3} ranks."
    )
    return Shown(" ".join(sentences), all(verdicts), figure, rows, shown_rows=60)


def _overhead(found: Mapping[str, Any], _: Mapping[str, Any]) -> Shown:
    rows = overheads(found)
    figure = Figure(figsize=(11.0, 3.4), layout="constrained")
    draw_overheads(figure.subplots(1, 1), rows)
    said = []
    for ranks, mine in rows.groupby("ranks"):
        where = "on one node" if ranks == 1 else f"over {ranks} ranks"
        middle, most = mine["overhead (%)"].median(), mine["overhead (%)"].max()
        each = mine["overhead per task (us)"].median()
        said.append(
            f"{where} a run that executes all its tasks takes {middle:+.0f} % longer than a full "
            f"one in the median ({most:+.0f} % at most), {each:.0f} us per task"
        )
    text = "; ".join(said)
    if (rows["ranks"] > 1).any():
        text += (
            ". Over ranks the account of all is rank 0's, where the paper's ranks have one each: "
            "it waits for reports of the others before every event"
        )
    alone = rows[rows["ranks"] == 1]["overhead (%)"].median()
    return Shown(
        f"{text[0].upper()}{text[1:]}.", bool(alone <= SMALL_PERCENT), figure, rows, shown_rows=60
    )


def headline(found: Mapping[str, Any], _: Mapping[str, Any]) -> Headline:
    """Return the largest speed-up of a tuning, and that among accurate ones."""
    rows = tunings(found).to_dict("records")
    best = max(rows, key=lambda row: row["speed-up"])
    here = f"up to {best['speed-up']:.1f}x, off by {best['mean error (%)']:.1f} % in the mean"
    most = 100.0 * ACCURATE_ERROR
    accurate = [row for row in rows if row["error of path's kernel time (%)"] <= most]
    if accurate:
        one = max(accurate, key=lambda row: row["speed-up"])
        here += (
            f"; {one['speed-up']:.1f}x where the path's kernel time is off by at most {most:.0f} % "
            f"({problem(one['problem']).label}, {_way(one)})"
        )
    return Headline("Speed-up of tuning", "up to 7.1x at 98 % accuracy", here)


PAPER_EXHIBITS: Final = (
    Exhibit(
        "figure-1",
        "A schedule on three processors and its critical paths",
        "An example of a schedule on three processors: the path with the largest cost of "
        "communication need not be the one with the longest execution time.",
        _figure_1,
    ),
    Exhibit(
        "figure-3",
        "Trade-offs among synchronisation, communication and computation; execution times",
        "For each of four factorisations, communication over synchronisation (a to d), computation "
        "over synchronisation (e to h), and the execution time of each configuration (i to l). "
        "Large blocks need fewer synchronisations and more computation along the critical path, so "
        "that the best block size and grid cannot be told in advance.",
        _figure_3,
    ),
    Exhibit(
        "figure-4",
        "Tuning Cholesky: time and error over the tolerance",
        "Capital's Cholesky, 15 configurations: tuning is up to 7.1 times as fast; eager "
        "propagation is 2.4 to 7.1 times as fast as conditional execution, local and online "
        "propagation up to 1.2 times, a-priori no faster. SLATE's Cholesky, 20 configurations: "
        "propagating counts makes tuning up to 1.8 times as fast as conditional execution, the "
        "longest kernel time of a processor falls by up to 75 times, the error of the critical "
        "path's kernel time falls steadily with the tolerance; the error of the execution time "
        "does not, since non-blocking messages overlap. The chosen configuration is within a few "
        "percent of the best.",
        _figure_4,
    ),
    Exhibit(
        "figure-5",
        "Tuning QR: time and error over the tolerance",
        "CANDMC's QR, 15 configurations: overall speed-up is limited to 1.2, since the trailing "
        "matrix shrinks and nearly each kernel is known by itself; the kernel time of the most "
        "loaded processor falls by 6.6 times, and by 3.3 times more with counts; the error keeps "
        "to the tolerance. SLATE's QR, 63 configurations: speed-ups as for its Cholesky; the mean "
        "error of the critical path's kernel time falls with the tolerance for all policies, "
        "conditional is the most accurate, and the best configuration is found at every tolerance.",
        _figure_5,
    ),
    Exhibit(
        "overhead",
        "Overhead of profiling",
        "Minimal, the paper says of messages that are profiled without blocking, though many are "
        "on the critical path; small tiles cost more, as much is profiled per operation. No "
        "numbers.",
        _overhead,
    ),
)
