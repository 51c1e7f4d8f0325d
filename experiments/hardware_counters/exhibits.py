"""Figures and tables of the paper, drawn from what the steps found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from experiments.frame import Exhibit, Headline, Shown
from experiments.hardware_counters.drawing import COLOURS, panels, plain, rank_axis
from experiments.hardware_counters.measuring import METHODS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

__all__ = ["PAPER_EXHIBITS", "headline"]

GOOD_R2: Final = 0.9
"""R² that the paper calls good for its counters."""
RARE_SHARE: Final = 1e-2
"""Share of the instructions below which a counter hardly matters for the time."""
LEAST_CPI: Final = 1e-2
"""Least cycles per instruction that are drawn: a processor does some five per cycle, and what is
below is time that the model gives to memory."""
SMALL_DEVIATION: Final = 1e-2
"""Largest deviation of cycles per instruction that the paper saw, Eq. 4: a variance."""
GOOD_ERROR_PERCENT: Final = 15.0
"""Mean error of the paper's predictions, in percent."""
LONGEST_BAR_PERCENT: Final = 200.0
"""Error in percent above which bars have a logarithmic axis: shorter ones would not be seen."""
HEADROOM_FACTOR: Final = 1.08
"""Height of a panel, as a multiple of its highest bar or mark."""
POINT_TO_POINT: Final = "point to point"
"""Name of messages of no collective operation."""
SMALL_DISTANCE: Final = 1e-2
"""Distance of shares that still counts as the paper's good match, which was 0.0001."""
MAX_FUNCTIONS: Final = 8
"""Most functions in a figure of two profilers."""
NOISE_PERCENT: Final = 2.0
"""Difference of errors that timings on a busy machine may cause, in percent."""
PARTS: Final = {
    "computing": "computing", "memory": "memory, not hidden", "messages": "messages, not hidden",
    "others": "rest",
}  # fmt: skip


def _table(found: Mapping[str, Any], program: str, by: str, table: str) -> pd.DataFrame:
    # A column that JSON has no number for is of objects.
    rows = pd.DataFrame(found["predict"][program][by][table])
    numbers: pd.DataFrame = rows.fillna(np.nan).infer_objects()
    return numbers


def _small(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the problem that was learned from, without those of the larger one."""
    small: pd.DataFrame = rows[rows["size"] == rows["size"].min()]
    return small


def _large(rows: pd.DataFrame) -> pd.DataFrame:
    large: pd.DataFrame = rows[rows["size"] == rows["size"].max()]
    return large


def _programs(found: Mapping[str, Any]) -> list[str]:
    return list(found["predict"])


def show_critical(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Shown:
    """Draw the share of each kernel over the ranks, and which kernels are critical."""
    del settings
    names = _programs(found)
    figure, axes_of = panels(len(names))
    rows = []
    for axes, program in zip(axes_of, names, strict=True):
        critical = found["predict"][program]["critical"]
        ranks, bottom = critical["workers"], np.zeros(len(critical["workers"]))
        for number, kernel in enumerate(critical["kernels"]):
            shares = 100.0 * np.array(kernel["shares"])
            mark = "" if kernel["reason"] else " (rest)"
            axes.bar(
                [str(P) for P in ranks], shares, 0.75, bottom,
                color=COLOURS[number % len(COLOURS)], label=kernel["name"] + mark,
                hatch="" if kernel["reason"] else "///", edgecolor="white", linewidth=0.3,
            )  # fmt: skip
            bottom += shares
            rows.append({
                "program": program, "kernel": kernel["name"],
                **{f"share on {P} (%)": s for P, s in zip(ranks, shares, strict=True)},
                "exponent over P": kernel["exponent"], "critical": kernel["reason"] or "no: rest",
            })  # fmt: skip
        axes.set_title(program, fontsize=9)
        axes.set_xlabel("ranks P")
        axes.set_ylabel("share of kernels' time (%)")
        axes.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        plain(axes)
    table = pd.DataFrame(rows)
    count = int((~table["critical"].str.startswith("no")).sum())
    covered = min(found["predict"][name]["critical"]["covered"] for name in names)
    return Shown(
        f"{count} of {len(table)} kernels of {len(names)} programs are critical: they have more "
        f"than 5 % of the time in a run, or do not get faster with more ranks. They cover "
        f"{100 * covered:.1f} % of the kernels' time or more.",
        covered > 0.9, figure, table,
    )  # fmt: skip


def _counters(axes: Axes, rows: pd.DataFrame, title: str) -> None:
    """Draw counters over the work per rank: dots counted, lines modelled."""
    for colour, (counter, part) in zip(COLOURS, rows.groupby("counter", sort=False), strict=False):
        part = part.sort_values("work_per_rank")
        label = f"{counter}: {part['family'].iloc[0]}, R² {part['r2'].iloc[0]:.3f}"
        axes.plot(part["work_per_rank"], part["modelled"], color=colour, label=label)
        for known, mark in ((True, "o"), (False, "x")):
            some = part[part["fitted"] == known]
            axes.plot(some["work_per_rank"], some["counted"], mark, color=colour, markersize=4)
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=10.0)
    axes.set_title(title, fontsize=9)
    axes.set_xlabel("work per rank (points)")
    axes.set_ylabel("counts on the busiest rank")
    top = axes.get_ylim()[1]
    axes.set_ylim(0, top * 300)  # room for the legend
    axes.legend(fontsize=6, frameon=False, loc="upper left")
    plain(axes)


def _shown_counters(found: Mapping[str, Any], program: str, kernels: int) -> Shown:
    every = _small(_table(found, program, "r2", "counters"))
    work = every[every["counter"] == "instructions"].groupby("kernel")["counted"].max()
    names = list(work.sort_values(ascending=False).index[:kernels])
    figure, axes_of = panels(len(names), 5.2, 3.6)
    for axes, kernel in zip(axes_of, names, strict=True):
        _counters(axes, every[every["kernel"] == kernel], f"{kernel} of {program}")
    rows = every[every["kernel"].isin(names)]
    # Counts that hardly happen have noise alone.
    fitted = rows[rows["fitted"].astype(bool)]
    large = fitted.groupby(["kernel", "counter"])["counted"].max() > RARE_SHARE * work.max()
    r2 = rows.groupby(["kernel", "counter"])["r2"].first()
    good = r2[large[large].index]
    few = sorted(set(rows[rows["fitted"]]["ranks"]))
    columns = ["kernel", "counter", "ranks", "work_per_rank", "fitted", "counted", "modelled",
               "family", "r2"]  # fmt: skip
    return Shown(
        f"Learned on P = {', '.join(f'{P:g}' for P in few)}, R² is {good.min():.3f} to "
        f"{good.max():.3f} for counters with more than a hundredth of the instructions "
        f"({len(good)} of {len(r2)}). Counts are exact, as Valgrind simulates the processor; "
        "crosses were not learned from.",
        bool(good.min() >= GOOD_R2), figure, rows[columns],
    )  # fmt: skip


def show_counters(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Shown:
    """Draw the counters of the largest kernel of the first program."""
    del settings
    return _shown_counters(found, _programs(found)[0], 1)


def show_two_kernels(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Shown:
    """Draw the counters of two kernels of the program with most of them."""
    del settings
    names = _programs(found)
    most = max(names, key=lambda p: _table(found, p, "r2", "counters")["kernel"].nunique())
    return _shown_counters(found, most, 2)


def _costs(found: Mapping[str, Any]) -> pd.DataFrame:
    """Return the costs of each kernel of each program, on each number of ranks."""
    tables = []
    for program in _programs(found):
        rows = _small(_table(found, program, "r2", "kernels"))
        tables.append(rows.assign(program=program))
    return pd.concat(tables, ignore_index=True)


def show_cpi(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Shown:
    """Draw the cycles per instruction of each kernel, with their deviation over the ranks."""
    del settings
    rows = _costs(found)
    few = rows[rows["fitted"].astype(bool)]
    means = few.groupby(["program", "kernel"], sort=False)["cpi"].agg(["mean", "var"])
    figure, (axes,) = panels(1, 7.5, 3.0)
    places = np.arange(len(means))
    above = np.array([np.zeros(len(means)), np.sqrt(means["var"])])
    axes.bar(places, means["mean"], 0.65, yerr=above, color=COLOURS[0], capsize=3)
    for place, (mean, variance) in enumerate(zip(means["mean"], means["var"], strict=True)):
        top = max(mean + np.sqrt(variance), LEAST_CPI)
        axes.annotate(f"{variance:.0e}", (place, top), (0, 2), textcoords="offset points",
                      ha="center", fontsize=6)  # fmt: skip
    axes.set_yscale("log")
    axes.set_ylim(bottom=LEAST_CPI)
    names = [f"{kernel} of {program}" for program, kernel in means.index]
    axes.set_xticks(places, names, fontsize=7, rotation=35, ha="right")
    axes.set_ylabel("cycles per instruction")
    axes.set_title("CPI without memory, and its deviation over P (Eq. 4)", fontsize=9)
    plain(axes)
    table = means.reset_index().rename(
        columns={"mean": "CPI", "var": "deviation of CPI (Eq. 4)"}
    )  # fmt: skip
    typical = float(means["var"].median())
    return Shown(
        f"The deviation of CPI over the ranks is {means['var'].min():.1e} to "
        f"{means['var'].max():.1e}, {typical:.1e} in the median: a constant CPI will do for most "
        "kernels. Those with tiny blocks have more: a call costs them as much as their loop.",
        typical <= SMALL_DEVIATION, figure, table,
    )  # fmt: skip


def show_bf_mem(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Shown:
    """Draw BF_mem of each kernel over the ranks."""
    del settings
    rows = _costs(found)
    figure, (axes,) = panels(1, 7.5, 3.4)
    for number, ((program, kernel), part) in enumerate(rows.groupby(["program", "kernel"],
                                                                    sort=False)):  # fmt: skip
        part = part.sort_values("ranks")
        axes.plot(part["ranks"], part["bf_mem"], "o-", color=COLOURS[number % len(COLOURS)],
                  markersize=4, label=f"{kernel} of {program}")  # fmt: skip
    rank_axis(axes, rows["ranks"].tolist())
    axes.set_yscale("symlog", linthresh=1e-3)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("BF_mem: share of memory time\nthat computing does not hide")
    axes.legend(fontsize=6, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    plain(axes)
    named = rows["kernel"] + " of " + rows["program"]
    typical = rows.groupby(named)["bf_mem"].median()
    table = rows[["program", "kernel", "ranks", "work_per_rank", "cpi", "bf_mem", "measured_s"]]
    apart = float(typical.max()) > 2.0 * max(float(typical.min()), 1e-9)
    return Shown(
        f"BF_mem is {typical.min():.3g} ({typical.idxmin()}) to "
        f"{typical.max():.3g} ({typical.idxmax()}) in the median over P. "
        "Without counters of stalls it is what time is left when each instruction takes the "
        "kernel's CPI, so it is 0 where computing explains all.",
        apart, figure, table,
    )  # fmt: skip


def show_messages(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Shown:
    """Draw bytes and time of messages of the program with collectives, measured and modelled."""
    del settings
    names = _programs(found)
    with_sums = [
        name for name in names
        if (_table(found, name, "r2", "messages")["collective"] != POINT_TO_POINT).any()
    ]  # fmt: skip
    return _shown_messages(found, (with_sums or names)[0])


def show_neighbours(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Shown:
    """Draw bytes and time of messages of the first program."""
    del settings
    return _shown_messages(found, _programs(found)[0])


def _shown_messages(found: Mapping[str, Any], program: str) -> Shown:
    rows = _small(_table(found, program, "r2", "messages"))
    kinds = np.where(rows["collective"] == POINT_TO_POINT, POINT_TO_POINT, "collective")
    columns = ["messages", "bytes", "modelled_messages", "modelled_bytes", "measured_s",
               "modelled_s"]  # fmt: skip
    sums = rows.assign(kind=kinds).groupby(["kind", "ranks", "fitted"])[columns].sum().reset_index()
    figure, axes_of = panels(2, 4.6, 3.2)
    for axes, (measured, modelled, label) in zip(
        axes_of,
        (("bytes", "modelled_bytes", "bytes of all ranks"),
         ("measured_s", "modelled_s", "time of all messages (s)")),
        strict=True,
    ):  # fmt: skip
        for colour, (kind, part) in zip(COLOURS, sums.groupby("kind", sort=False), strict=False):
            part = part.sort_values("ranks")
            axes.plot(part["ranks"], part[modelled], color=colour, label=f"{kind}, modelled")
            for known, mark in ((True, "o"), (False, "x")):
                some = part[part["fitted"] == known]
                axes.plot(some["ranks"], some[measured], mark, color=colour, markersize=5,
                          label=f"{kind}, {'learned from' if known else 'judging'}")  # fmt: skip
        rank_axis(axes, sums["ranks"].tolist())
        axes.set_yscale("log")
        axes.set_ylabel(label)
        axes.set_title(program, fontsize=9)
        plain(axes)
    figure.legend(
        *axes_of[0].get_legend_handles_labels(), fontsize=6, frameon=False,
        loc="outside upper center", ncols=3,
    )  # fmt: skip
    judged = sums[~sums["fitted"].astype(bool)]
    errors = {
        name: 100.0 * (judged[f"modelled_{of}"] / judged[measured] - 1.0).abs().median()
        for name, measured, of in (("bytes", "bytes", "bytes"), ("time", "measured_s", "s"))
    }
    return Shown(
        f"On ranks that were not learned from, bytes err by {errors['bytes']:.1f} % in the median "
        f"and time by {errors['time']:.1f} %; point to point has most of both and grows with the "
        "ranks. The model's messages are each alone on the network; measured ones share it.",
        errors["bytes"] <= GOOD_ERROR_PERCENT and errors["time"] <= 2 * GOOD_ERROR_PERCENT,
        figure, sums,
    )  # fmt: skip


def show_large(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Shown:
    """Draw computing time of the larger problem over the ranks, predicted and measured."""
    figure, (axes,) = panels(1, 5.5, 3.4)
    rows = []
    for colour, program in zip(COLOURS, _programs(found), strict=False):
        part = _large(_table(found, program, "r2", "scaling")).sort_values("ranks")
        told = part[["counters_computing_s", "counters_memory_s", "counters_others_s"]].sum(axis=1)
        axes.plot(part["ranks"], told, color=colour, label=f"{program}, predicted")
        axes.plot(part["ranks"], part["measured_kernels_s"], "x", color=colour,
                  label=f"{program}, measured")  # fmt: skip
        rows += [
            {"program": program, "ranks": P, "measured (s)": m, "predicted (s)": t,
             "error (%)": 100.0 * (t / m - 1.0)}
            for P, m, t in zip(part["ranks"], part["measured_kernels_s"], told, strict=True)
        ]  # fmt: skip
    rank_axis(axes, [row["ranks"] for row in rows])
    axes.set_yscale("log")
    axes.set_ylabel("time of kernels on a rank (s)")
    axes.legend(fontsize=6, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    plain(axes)
    table = pd.DataFrame(rows)
    error = float(table["error (%)"].abs().median())
    ratio = (settings["large_points"] / settings["points"]) ** 2
    return Shown(
        f"A problem {ratio:.0f} times as large errs by {error:.1f} % in the median, by the model "
        "of the small one at the same work per rank.",
        error <= GOOD_ERROR_PERCENT, figure, table,
    )  # fmt: skip


def _errors(found: Mapping[str, Any], pick: Any) -> pd.DataFrame:
    """Return the errors of all methods, in percent, for the rows that *pick* returns."""
    rows = []
    for program in _programs(found):
        tables = {by: pick(_table(found, program, by, "scaling")) for by in ("r2", "cv")}
        for place, (_, row) in enumerate(tables["r2"].iterrows()):
            other = tables["cv"].iloc[place]
            rows.append({
                "program": program, "ranks": int(row["ranks"]), "measured (s)": row["measured_s"],
                "r2": row["counters_error_percent"], "cv": other["counters_error_percent"],
                "worley": row["worley_error_percent"], "nan": row["nan_error_percent"],
            })  # fmt: skip
    return pd.DataFrame(rows)


def _shown_errors(table: pd.DataFrame, what: str) -> Shown:
    """Draw the errors of all methods as bars, on the most ranks of each program."""
    most = table[table["ranks"] == table["ranks"].max()]
    figure, (axes,) = panels(1, 7.0, 3.4)
    places, width = np.arange(len(most)), 0.8 / len(METHODS)
    for number, (method, meaning) in enumerate(METHODS.items()):
        heights = most[method].abs().to_numpy(float)
        axes.bar(places + (number - 1.5) * width, np.nan_to_num(heights), width,
                 color=COLOURS[number], label=meaning)  # fmt: skip
        for place, height in zip(places, heights, strict=True):
            text = "none" if np.isnan(height) else f"{height:.0f}"
            axes.annotate(text, (place + (number - 1.5) * width, np.nan_to_num(height)),
                          ha="center", va="bottom", fontsize=6)  # fmt: skip
    if most[list(METHODS)].abs().max().max() > LONGEST_BAR_PERCENT:
        axes.set_yscale("log")
    axes.set_xticks(places, list(most["program"]))
    axes.set_ylabel(f"error on {most['ranks'].max()} ranks (%)")
    figure.legend(fontsize=7, frameon=False, loc="outside upper center", ncols=2)
    plain(axes)
    mean = {method: float(table[method].abs().mean()) for method in METHODS}
    laws = [mean[law] for law in ("worley", "nan") if not np.isnan(mean[law])]
    best = min(laws, default=np.nan)
    median = {method: float(table[method].abs().median()) for method in METHODS}
    told = ", ".join(
        f"{METHODS[m]} {e:.1f} % (median {median[m]:.1f})"
        for m, e in mean.items()
        if not np.isnan(e)
    )
    none = [METHODS[m] for m, e in mean.items() if np.isnan(e)]
    return Shown(
        f"{what}: mean errors over {table['program'].nunique()} programs and P = "
        f"{', '.join(map(str, sorted(set(table['ranks']))))}: {told}"
        + (f"; {', '.join(none)} is for one size" if none else "")
        + ". What counters miss are messages: by a line through those of few ranks, which share "
        "less of the network. Worley's law goes through four runs with four coefficients.",
        bool(mean["r2"] <= best + NOISE_PERCENT), figure,
        table.rename(columns={m: f"{m} error (%)" for m in METHODS}),
    )  # fmt: skip


def show_strong(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Shown:
    """Draw the errors of all methods for the problem that was learned from, on more ranks."""
    del settings
    return _shown_errors(_errors(found, _small), "Strong scaling")


def show_larger(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Shown:
    """Draw the errors of all methods for the larger problem."""
    del settings
    return _shown_errors(_errors(found, _large), "Larger problem")


def show_parts(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Shown:
    """Draw what each predicted time consists of, with the measured time."""
    del settings
    names = _programs(found)
    figure, axes_of = panels(len(names))
    rows = []
    for axes, program in zip(axes_of, names, strict=True):
        part = _small(_table(found, program, "r2", "scaling")).sort_values("ranks")
        places, bottom = np.arange(len(part)), np.zeros(len(part))
        for colour, (name, meaning) in zip(COLOURS, PARTS.items(), strict=False):
            height = 1e3 * part[f"counters_{name}_s"].to_numpy(float)
            axes.bar(places, height, 0.7, bottom, color=colour, label=meaning)
            bottom += height
        axes.plot(places, 1e3 * part["measured_s"], "kx", label="measured")
        axes.set_xticks(places, [f"{P:g}" for P in part["ranks"]])
        axes.set_xlabel("ranks P")
        axes.set_ylabel("time (ms)")
        # Bars without a height are edges that margins would keep to.
        axes.set_ylim(0.0, HEADROOM_FACTOR * max(bottom.max(), 1e3 * part["measured_s"].max()))
        axes.set_title(program, fontsize=9)
        plain(axes)
        for _, row in part.iterrows():
            shares = {m: 100.0 * row[f"counters_{n}_s"] / row["counters_s"]
                      for n, m in PARTS.items()}  # fmt: skip
            rows.append({"program": program, "ranks": int(row["ranks"]),
                         "measured (s)": row["measured_s"], "predicted (s)": row["counters_s"],
                         **{f"{m} (%)": share for m, share in shares.items()}})  # fmt: skip
    figure.legend(
        *axes_of[0].get_legend_handles_labels(), fontsize=7, frameon=False,
        loc="outside upper center", ncols=5,
    )  # fmt: skip
    table = pd.DataFrame(rows)
    most = table[table["ranks"] == table["ranks"].max()]
    column = f"{PARTS['messages']} (%)"
    worst = most.loc[most[column].idxmax()]
    grows = all(
        part.sort_values("ranks")[column].is_monotonic_increasing
        for _, part in table.groupby("program")
    )
    return Shown(
        f"On {worst['ranks']} ranks, messages are {most[column].min():.0f} to "
        f"{most[column].max():.0f} % of the predicted time, most in {worst['program']}; their "
        f"share {'grows' if grows else 'does not always grow'} with the ranks.",
        grows, figure, table,
    )  # fmt: skip


def show_refined(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Shown:
    """Draw cycles per instruction over those of memory, at two loads, and lines through them."""
    del settings
    table, points, why = _refined(found)
    if table is None:
        return Shown(f"Not measured: {why}.")
    figure, (axes,) = panels(1, 7.0, 3.4)
    most = 1.1 * float(points["t_mem"].max())
    for number, row in enumerate(table.to_dict("records")):
        colour = COLOURS[number % len(COLOURS)]
        mine = points[points["case"] == row["case"]]
        axes.plot(mine["t_mem"], mine["cpi"], "o", color=colour, markersize=4)
        if np.isfinite(row["BF_mem"]):
            x = np.array([0.0, most])
            axes.plot(x, row["CPI_core"] + row["BF_mem"] * x, color=colour, label=row["case"])
    axes.set_xlabel("T_mem: cycles of memory per instruction")
    axes.set_ylabel("cycles per instruction")
    axes.set_xlim(0, most)
    if table["BF_mem"].notna().any():
        axes.legend(fontsize=6, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    plain(axes)
    lines = table["BF_mem"].notna()
    good = lines & (table["BF_mem"] >= 0) & (table["CPI_core"] >= 0)
    return Shown(
        f"{int(lines.sum())} of {len(table)} configurations have lines, as memory was slower "
        f"beside the load, and {int(good.sum())} of these have costs that can be. The clock of "
        "this machine cannot be changed, so memory is made slower by a program that streams beside "
        "the kernel, instead of the clock lower. On a machine that others use, too, two timings "
        "differ by more than the load, and a line means little.",
        bool(good.sum() > lines.sum() / 2) if lines.sum() > len(table) / 2 else None,
        figure, table,
    )  # fmt: skip


def show_refined_costs(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Shown:
    """Return the table of the refined costs."""
    del settings
    table, _, why = _refined(found)
    if table is None:
        return Shown(f"Not measured: {why}.")
    return Shown(
        "The costs of the lines in figure 10. The paper refines three kernels of BT, whose error "
        "falls from 18 to 7 %; without another clock, this machine cannot tell whether ours would.",
        None, None, table,
    )  # fmt: skip


def _refined(found: Mapping[str, Any]) -> tuple[pd.DataFrame | None, pd.DataFrame, str]:
    """Return the lines of all kernels, their points, and why there are none."""
    what = found["refine"]
    rows, points = [], []
    why = what.get("why", "")
    for kernel, told in what.get("kernels", {}).items():
        if "why" in told:
            why = told["why"]
            continue
        names = [n for n in told["lines"][0] if n not in ("cpi_core", "bf_mem", "note")]
        for line in told["lines"]:
            case = f"{kernel} {' '.join(f'{n}={line[n]:g}' for n in names)}"
            rows.append({"case": case, "CPI_core": line["cpi_core"], "BF_mem": line["bf_mem"],
                         "note": line["note"] or ""})  # fmt: skip
            points += [
                {"case": case, "t_mem": point["t_mem"], "cpi": point["cpi"]}
                for point in told["points"]
                if all(point[n] == line[n] for n in names)
            ]
    if not rows:
        return None, pd.DataFrame(), why or "no kernel was asked for"
    table = pd.DataFrame(rows)
    table[["CPI_core", "BF_mem"]] = table[["CPI_core", "BF_mem"]].astype(float)
    return table, pd.DataFrame(points), ""


def show_kernels(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Shown:
    """Return how many functions, kernels and loops programs have."""
    del settings
    rows = []
    what = found["profile"]
    if "critical" in what:
        critical = what["critical"]
        rows.append({
            "program": "solver.c", "functions": len(critical["functions"]),
            "kernels": len(critical["critical"]) + 1,
            "not scaling": len(critical["not_scaling"]),
            "lines": what["lines"], "loops": what["loops"],
        })  # fmt: skip
    for program in _programs(found):
        kernels = found["predict"][program]["critical"]["kernels"]
        large = [k for k in kernels if k["reason"]]
        rows.append({
            "program": program, "functions": len(kernels),
            "kernels": len(large) + (len(large) < len(kernels)),
            "not scaling": sum("fall" in k["reason"] for k in large), "lines": "", "loops": "",
        })  # fmt: skip
    table = pd.DataFrame(rows)
    if "critical" not in what:
        return Shown(f"No program was profiled: {what['why']}.", None, None, table)
    ours = rows[0]
    covered = 100 * what["critical"]["covered"]
    return Shown(
        f"A solver in C runs {ours['functions']} functions, most of them of the system, and needs "
        f"{ours['kernels']} kernels, the rest being one; critical ones have {covered:.0f} % of its "
        f"instructions or more. {ours['not scaling']} of them do not scale: each rank reads all of "
        f"the input. It has {ours['loops']} loops, far fewer than the paper's programs. Kernels of "
        "tasks are few by themselves.",
        ours["kernels"] * 10 <= ours["functions"] and covered > 90.0, None, table,
    )  # fmt: skip


def show_sampling(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Shown:
    """Draw the shares of functions by both profilers."""
    del settings
    sampled = found["profile"].get("sampled", found["profile"])
    if "why" in sampled:
        return Shown(f"Not sampled here: {sampled['why']}.")
    shares = {source: sampled[source]["shares"] for source in ("perf", "callgrind")}
    names = list(dict.fromkeys([*shares["perf"], *shares["callgrind"]]))[:MAX_FUNCTIONS]
    figure, (axes,) = panels(1, 6.0, 3.0)
    places = np.arange(len(names))
    for number, (source, about) in enumerate(
        (("perf", "perf: samples of time"), ("callgrind", "Callgrind: instructions"))
    ):
        heights = [100.0 * shares[source].get(name, 0.0) for name in names]
        axes.bar(places + 0.4 * number - 0.2, heights, 0.4, color=COLOURS[number], label=about)
    axes.set_xticks(places, names, fontsize=7, rotation=20)
    axes.set_ylabel("share (%)")
    axes.legend(fontsize=7, frameon=False)
    plain(axes)
    table = pd.DataFrame({
        "function": names,
        "perf (%)": [100.0 * shares["perf"].get(name, 0.0) for name in names],
        "callgrind (%)": [100.0 * shares["callgrind"].get(name, 0.0) for name in names],
    })  # fmt: skip
    overhead = 100.0 * sampled["perf"]["overhead"]
    slower = sampled["callgrind"]["overhead"] + 1.0
    return Shown(
        f"The distance (Eq. 1) is {sampled['distance']:.2g}: perf samples time, and Callgrind "
        "counts instructions, of which those that wait for each other take longer. Sampling costs "
        f"{overhead:.1f} % of processor time here, Callgrind {slower:.0f} times the program's.",
        sampled["distance"] <= SMALL_DISTANCE, figure, table,
    )  # fmt: skip


def headline(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Headline:
    """Return the mean error of the paper's method, here and there."""
    del settings
    table = _errors(found, _small)
    error, other = float(table["r2"].abs().mean()), float(table["cv"].abs().mean())
    return Headline(
        "Mean error of the time on more ranks than were profiled", "about 15 %",
        f"{error:.0f} % by the paper's functions and {other:.0f} % by tasksim's",
    )  # fmt: skip


PAPER_EXHIBITS: Final = (
    Exhibit(
        "figure-2", "Critical kernels",
        "A function is a kernel of the model if it has more than 5 % of the cycles in one of three "
        "runs on different numbers of processes, or if its time does not fall with the processes. "
        "All others are one kernel.",
        show_critical,
    ),
    Exhibit(
        "figure-3", "Counters over work per rank, and their functions",
        "For one kernel of HOMME (laplace_sphere_wk), each counter is a function of the grid "
        "points per rank, learned on 4 to 24 processes. Among polynomials, exponentials and "
        "logarithms, the one with the highest R² is taken.",
        show_counters,
    ),
    Exhibit(
        "figure-4", "Cycles per instruction of each kernel",
        "The deviation of CPI over the numbers of processes (Eq. 4) is about 0.001 to 0.01 for "
        "the kernels of CICE on both clusters, so CPI is a constant.",
        show_cpi,
    ),
    Exhibit(
        "figure-5", "Part of memory time that computing does not hide",
        "Two kernels of CICE with nearly the same CPI have different BF_mem: it tells that stores "
        "hold up one of them.",
        show_bf_mem,
    ),
    Exhibit(
        "figure-6", "Counters of two kernels",
        "R² is around 0.9 for the counters of two kernels of CICE; nearly all accesses are "
        "answered by the first-level cache.",
        show_two_kernels,
    ),
    Exhibit(
        "figure-7", "Messages: bytes and time, measured and modelled",
        "CICE on 32, 96 and 128 processes of several nodes: halos, from point to point, have most "
        "of the bytes; straight lines fit their volume and time over all processes.",
        show_messages,
    ),
    Exhibit(
        "figure-8", "Time of messages, measured and predicted",
        "In HOMME the volume from point to point grows with the processes, while that of "
        "collectives stays at 24 KB each; the model follows the measured time.",
        show_neighbours,
    ),
    Exhibit(
        "figure-9", "Computing time of a larger problem",
        "HOMME on 64 times as many grid points (ne256) is predicted by the model of ne32 at the "
        "same points per process; measured times lie on the lines up to 3000 processes.",
        show_large,
    ),
    Exhibit(
        "figure-10", "Refinement: computing told from memory",
        "Measured at 3 and 2 GHz, CPI of each kernel lies on a line over memory's cycles: its "
        "beginning is CPI_core, its slope BF_mem.",
        show_refined,
    ),
    Exhibit(
        "figure-11", "Errors on more ranks, by method",
        "On 128 processes the model errs less than Nan's law, by up to 25 % for CICE, and than "
        "Worley's law, by up to 52 %; about 15 % on average.",
        show_strong,
    ),
    Exhibit(
        "figure-12", "Errors for a larger problem, by method",
        "For larger problems of CICE and NPB the model is 50 % more accurate on average than "
        "Nan's law; Worley's law, which knows no size, errs even more.",
        show_larger,
    ),
    Exhibit(
        "table-3", "Functions, kernels and loops",
        "By counters, applications have an order of magnitude fewer kernels than by loops: CICE "
        "needs seven. A kernel is a critical function; all others are one.",
        show_kernels,
    ),
    Exhibit(
        "table-4", "Refined costs",
        "CPI_core and BF_mem of three kernels of BT by two clocks; its error falls from 18 % to "
        "less than 7 %.",
        show_refined_costs,
    ),
    Exhibit(
        "equation-1", "Sampled functions against counted ones",
        "Shares of functions by samples of the cycle counter match those of gprof: the normalized "
        "distance is about 0.0001. Counting costs 3 % of the time on average, instrumentation "
        "10 % and more.",
        show_sampling,
    ),
    Exhibit(
        "breakdown", "What a predicted time consists of",
        "The model's output has the time and its breakdown. NPB's MG and SP are bound by messages "
        "from 20 processes on, CG from 50 on; EP has hardly any.",
        show_parts,
    ),
)  # fmt: skip
