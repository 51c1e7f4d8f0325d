"""Exhibits: the paper's tables and figures, drawn from what was measured here."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from experiments.chunk_sizes.measuring import SCHEDULES, flop, is_vector
from experiments.frame import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Found = Mapping[str, Any]

__all__ = [
    "REPORTED",
    "blocks",
    "curve",
    "listing",
    "methods",
    "operations",
    "schedules",
    "simulated",
    "sweep",
    "teaching",
]

REPORTED: Final = {
    "table-1": (
        "ten operations of Blaze over dense vectors and matrices: daxpy, sums of vectors and of "
        "matrices (stored by rows or by columns), a matrix times a vector, times a number, and "
        "products of matrices."
    ),
    "table-2": "six of them teach and judge, in 288 examples that took two days.",
    "table-3": (
        "blocks found by trial: 4096 elements of a vector, 16 rows of a matrix times a vector, "
        "4 x 1024 for sums of matrices stored alike, 64 x 64 for others, 64 x 64 or 256 x 256 for "
        "products. Operations whose operands are stored differently have 12 names in all."
    ),
    "figure-7": "MFlop/s over chunk size on 4, 8, 12 and 16 threads: a bell over 245 blocks.",
    "figure-8": (
        "the same over 63 blocks: on 16 threads the wrong chunk loses 14 % in one case, 40 % in "
        "another."
    ),
    "figure-9": "the same over 125 blocks: several chunk sizes are as good.",
    "figure-10": "with 100 blocks of a product of matrices, one block per chunk is always best.",
    "table-4": (
        "trees are best: the custom one reaches 94.8 % of the best performance on loops that it "
        "was not taught, has half the nodes of a classification tree, and answers fastest; all "
        "but logistic regression are better than a random choice."
    ),
    "listing-1": "the tree is written as a C++ function of the features, for Blaze.",
    "figure-11": (
        "learned chunks are faster than the old formula (one part per thread) for middle sizes, "
        "and alike for the largest; on 16 threads, and for products below 100, not better."
    ),
    "beyond-1": (
        "names guided, factoring and trapezoid self-scheduling as the alternatives, and does not "
        "compare them."
    ),
    "beyond-2": "nothing is simulated.",
}
MAX_DISTURBED_SHARE: Final = 0.2
"""Share of the runs beyond which a report says that its figures are the machine's, too."""
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#777777")
ALIKE_SHARE: Final = 0.03
"""Share of the performance by which two choices differ that are called alike: what runs of a few
milliseconds repeat within."""


def operations(_: Found, settings: Found) -> Shown:
    """Show what the operations are."""
    words = {
        "vector-add": ("DVecDVecAdd", "c = a + b"), "daxpy": ("Daxpy", "c += 3 a"),
        "matrix-vector": ("DMatDVecMult", "c = A x"),
        "matrix-scale": ("DMatScalarMult", "C = 3 A"),
        "matrix-add": ("DMatDMatAdd", "C = A + B"), "matrix-add-nt": ("DMatTDMatAdd", "C = A + B"),
        "matrix-add-tn": ("TDMatDMatAdd", "C = A + B"),
        "matrix-add-tt": ("TDMatTDMatAdd", "C = A + B"),
        "matrix-multiply": ("DMatDMatMult", "C = A B"),
        "matrix-multiply-nt": ("DMatTDMatMult", "C = A B"),
        "matrix-multiply-tn": ("TDMatDMatMult", "C = A B"),
        "matrix-multiply-tt": ("TDMatTDMatMult", "C = A B"),
    }  # fmt: skip
    used = set(settings["operations"]) | set(settings["shown"])
    table = pd.DataFrame(
        [
            {"operation": name, "Blaze": blaze, "computes": does,
             "flop of n = 100": flop(name, 100), "run here": "yes" if name in used else "no"}
            for name, (blaze, does) in words.items()
        ]
    )  # fmt: skip
    return Shown(
        "all twelve are operations of `tasksim run loop`; -n stands for a matrix stored by rows, "
        "-t for one stored by columns.",
        True, None, table,
    )  # fmt: skip


def teaching(found: Found, settings: Found) -> Shown:
    """Show how many examples there are."""
    rows = found["examples"]
    names = list(dict.fromkeys(row["operation"] for row in rows))
    table = pd.DataFrame(
        {
            "operation": names,
            "examples": [sum(row["operation"] == name for row in rows) for name in names],
            "smallest n": [min(r["n"] for r in rows if r["operation"] == name) for name in names],
            "largest n": [max(r["n"] for r in rows if r["operation"] == name) for name in names],
        }
    )
    threads = ", ".join(map(str, settings["threads"]))
    return Shown(
        f"{len(rows)} examples of {len(names)} operations on {threads} threads, each with "
        f"{len(settings['chunks'])} chunk sizes run {settings['repetitions']} times; the full "
        f"design has three times as many as the quick one. {_calm(rows)}",
        None, None, table,
    )  # fmt: skip


def blocks(found: Found, _: Found) -> Shown:
    """Show which blocks are used."""
    rows = found["examples"]
    table = pd.DataFrame(
        [
            {"operation": name, "block": f"1 x {row['block']}" if is_vector(name)
             else f"{row['block']} rows", "blocks, fewest": min(r["blocks"] for r in group),
             "blocks, most": max(r["blocks"] for r in group)}
            for name, group in _grouped(rows, "operation").items()
            for row in group[:1]
        ]
    )  # fmt: skip
    return Shown(
        "the block is given here, not searched for: 4096 elements as in the paper, and 8 rows, of "
        "which even the smallest matrices have a dozen. Blocks of some columns are there "
        "(`loop block_columns=64`), as well as all twelve operations.",
        None, None, table,
    )  # fmt: skip


def curve(index: int) -> Callable[[Found, Found], Shown]:
    """Return what shows the performance of a loop over its chunk size."""

    def show(found: Found, settings: Found) -> Shown:
        names = settings["shown"]
        if index >= len(names):
            return Shown("no operation was asked for in this place.", None)
        rows = [row for row in found["curves"] if row["operation"] == names[index]]
        figure, axes = _axes()
        for row, colour in zip(rows, COLOURS, strict=False):
            chunks = [int(chunk) for chunk in row["mflops"]]
            axes.plot(chunks, list(row["mflops"].values()), "o-", color=colour,
                      label=_threads(row["threads"]))  # fmt: skip
        _dress(axes, "chunk size (blocks)", "performance (MFlop/s)")
        table = pd.DataFrame(
            [
                {"threads": row["threads"], "chunk size": int(chunk), "MFlop/s": value,
                 "share of the best": value / max(row["mflops"].values())}
                for row in rows
                for chunk, value in row["mflops"].items()
            ]
        )  # fmt: skip
        most = rows[-1]
        best = _best(most["mflops"])
        worst = min(most["mflops"], key=most["mflops"].get)
        lost = 1 - most["mflops"][worst] / most["mflops"][best]
        alike = sum(v >= (1 - ALIKE_SHARE) * most["mflops"][best] for v in most["mflops"].values())
        said = (
            f"{names[index]} with n = {most['n']:,} and {most['blocks']} blocks: on "
            f"{_threads(most['threads'])} {best} blocks per chunk are best, {worst} lose "
            f"{100 * lost:.0f} %; {alike} of {len(most['mflops'])} sizes are alike, within "
            f"{100 * ALIKE_SHARE:.0f} %. With two threads, not 16, there is less to divide, "
            "so that large chunks cost little."
        )
        return Shown(
            said, lost > ALIKE_SHARE if "multiply" not in names[index] else None, figure, table
        )

    return show


def methods(found: Found, _: Found) -> Shown:
    """Show what each method loses, and how long it takes to choose."""
    judged = found["judging"]
    rows = []
    for run, names in (
        ("shuffled", {"tree": "custom tree", "preto": "PreTO, tree", "posto": "PosTO, tree"}),
        ("logistic", {"preto": "PreTO, logistic regression", "posto": "PosTO, linear regression"}),
        ("named", {"tree": "custom tree that knows the operation"}),
        ("left out", {"tree": "custom tree, operation left out"}),
        ("shuffled", {"equal-share": "equal share", "constant": "always the same",
                      "random": "random"}),
    ):  # fmt: skip
        scores = judged.get(run, {}).get("methods", {})
        for name, title in names.items():
            if name in scores:
                score = scores[name]
                rows.append({
                    "method": title, "MSOP (%)": round(100 * score["msop"], 2),
                    "95 % interval": f"{100 * score['low']:.1f} to {100 * score['high']:.1f}",
                    "nodes": score["nodes"] if score["nodes"] is not None else float("nan"),
                    "prediction (us)": 1e6 * score.get("prediction_s", float("nan")),
                })  # fmt: skip
    table = pd.DataFrame(rows)
    by_name = {row["method"]: row for row in rows}
    tree, chance = by_name["custom tree"], by_name["random"]
    said = (
        f"the custom tree gets {tree['MSOP (%)']:.1f} % of the best performance on loops that did "
        f"not teach it, a random choice {chance['MSOP (%)']:.1f} %"
    )
    agrees: bool | None = tree["MSOP (%)"] >= chance["MSOP (%)"]
    if "PreTO, tree" in by_name:
        classes = by_name["PreTO, tree"]
        said += (
            f"; it has {tree['nodes']:.0f} nodes, a classification tree {classes['nodes']:.0f}, "
            f"and answers in {tree['prediction (us)']:.0f} us against "
            f"{classes['prediction (us)']:.0f} us"
        )
        agrees = agrees and tree["nodes"] < classes["nodes"]
    figure, axes = _axes()
    shown = [row for row in rows if not np.isnan(row["MSOP (%)"])]
    axes.barh([row["method"] for row in shown], [row["MSOP (%)"] for row in shown],
              color=COLOURS[0])  # fmt: skip
    axes.invert_yaxis()
    least = min(row["MSOP (%)"] for row in shown)
    axes.set_xlim(max(0.0, 10 * (least // 10) - 10), 100.0)
    _dress(axes, "MSOP (%)", "", legend=False)
    return Shown(f"{said}.", agrees, figure, table)


def listing(found: Found, _: Found) -> Shown:
    """Show the tree as code."""
    lines = found["judging"]["header"].splitlines()
    tree = found["judging"]["tree"]
    table = pd.DataFrame({"tree.h": [line.replace(" ", "\u00a0") for line in lines]})
    return Shown(
        f"`tasksim tune table -o tree.h` writes it, {len(lines)} lines of C for a tree that all "
        f"{tree['examples']} examples taught.",
        True, None, table, 60,
    )  # fmt: skip


def sweep(found: Found, settings: Found) -> Shown:
    """Show the performance over the size, by each way to cut a loop."""
    names, threads = settings["shown"], settings["threads"]
    figure = Figure(figsize=(9.0, 2.3 * len(names)), layout="constrained")
    panels = figure.subplots(len(names), len(threads), squeeze=False)
    styles = {"old": "--", "equal share": ":", "learned": "-"}
    rows = found["sweep"]
    for name, line in zip(names, panels, strict=True):
        for count, axes in zip(threads, line, strict=True):
            mine = [r for r in rows if (r["operation"], r["threads"]) == (name, count)]
            for way, style in styles.items():
                axes.plot([r["n"] for r in mine], [r["mflops"][way] for r in mine], style,
                          color=COLOURS[0 if way == "learned" else 1 if way == "old" else 2],
                          marker="o", markersize=3, label=way)  # fmt: skip
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.set_title(f"{name}, {_threads(count)}", fontsize=9, loc="left")
            _dress(axes, "n", "MFlop/s", legend=axes is panels[0, 0])
    table = pd.DataFrame(
        [
            {"operation": r["operation"], "n": r["n"], "threads": r["threads"],
             "learned chunk": r["learned_chunk"], "equal share's": r["equal_chunk"],
             **{f"{way} (MFlop/s)": r["mflops"][way] for way in styles}}
            for r in rows
        ]
    )  # fmt: skip
    many = [r for r in rows if r["threads"] == max(threads)]
    gains = [r["mflops"]["learned"] / r["mflops"]["old"] - 1 for r in many]
    equal = [r["mflops"]["learned"] / r["mflops"]["equal share"] - 1 for r in many]
    said = (
        f"on {_threads(max(threads))} learned chunks are {_signed(statistics.median(gains))} in "
        f"the median against the old formula ({_signed(min(gains))} at worst, "
        f"{_signed(max(gains))} at best), and {_signed(statistics.median(equal))} against equal "
        "shares of blocks. One part per thread is hard to beat on two cores that do nothing else."
    )
    return Shown(said, statistics.median(gains) >= -ALIKE_SHARE, figure, table)


def schedules(found: Found, settings: Found) -> Shown:
    """Show schedules with chunks that shrink beside the best and the worst fixed chunk."""
    rows = []
    for row in found["schedules"]:
        fixed = {c: v for c, v in row["mflops"].items() if c not in SCHEDULES}
        best = max(fixed.values())
        rows.append({
            "operation": row["operation"], "n": row["n"],
            "best fixed chunk": int(_best(fixed)),
            "worst fixed (%)": 100 * min(fixed.values()) / best,
            **{f"{name} (%)": 100 * row["mflops"][name] / best for name in SCHEDULES},
        })  # fmt: skip
    table = pd.DataFrame(rows)
    medians = {name: float(table[f"{name} (%)"].median()) for name in SCHEDULES}
    figure, axes = _axes()
    titles = [*SCHEDULES, "worst fixed"]
    for place, name in enumerate(titles):
        values = table[f"{name} (%)"]
        axes.plot([place] * len(values), values, "o", color=COLOURS[0], alpha=0.5)
        axes.plot([place - 0.3, place + 0.3], [values.median()] * 2, color=COLOURS[1])
    axes.axhline(100.0, color="#999999", linewidth=0.8)
    axes.set_xticks(range(len(titles)), titles)
    _dress(axes, "", "performance (% of the best fixed chunk)", legend=False)
    told = ", ".join(f"{name} {value:.0f} %" for name, value in medians.items())
    said = (
        f"on {_threads(max(settings['threads']))}, as shares of the best fixed chunk, medians of "
        f"{len(rows)} loops: {told}; the worst fixed chunk has "
        f"{table['worst fixed (%)'].median():.0f} %. No one has to choose a number for them."
    )
    return Shown(said, None, figure, table)


def simulated(found: Found, _: Found) -> Shown:
    """Show what is lost by who believes the simulator."""
    rows = found["simulated"]["rows"]
    table = pd.DataFrame(
        [
            {"operation": r["operation"], "n": r["n"], "threads": r["threads"],
             "simulator's chunk": int(said), "best as measured": int(best),
             "share of the best": r["measured"][said] / r["measured"][best],
             "median error of MFlop/s (%)": 100 * statistics.median(
                 abs(r["simulated"][c] / r["measured"][c] - 1) for c in r["measured"])}
            for r in rows
            for said, best in [(_best(r["simulated"]), _best(r["measured"]))]
        ]
    )  # fmt: skip
    figure = Figure(figsize=(9.0, 2.4 * -(-len(rows) // 2)), layout="constrained")
    panels = figure.subplots(-(-len(rows) // 2), 2, squeeze=False).ravel()
    for axes, r in zip(panels, rows, strict=False):
        chunks = [int(chunk) for chunk in r["measured"]]
        axes.plot(chunks, list(r["measured"].values()), "o-", color=COLOURS[0], label="measured")
        axes.plot(chunks, list(r["simulated"].values()), "s--", color=COLOURS[1],
                  label="simulated")  # fmt: skip
        axes.set_ylim(bottom=0.0)
        title = f"{r['operation']} n={r['n']}, {_threads(r['threads'])}"
        axes.set_title(title, fontsize=9, loc="left")
        _dress(axes, "chunk size (blocks)", "MFlop/s", legend=axes is panels[0])
    for axes in panels[len(rows) :]:
        axes.set_visible(False)
    share = float(table["share of the best"].mean())
    said = (
        f"the simulator, calibrated with a quarter of the passes, chooses chunks with "
        f"{100 * share:.1f} % of the best measured performance in the mean (MSOP), without any "
        f"run of the loop itself; its MFlop/s are "
        f"{table['median error of MFlop/s (%)'].median():.0f} % off in the median."
    )
    return Shown(said, None, figure, table)


def _calm(rows: Sequence[Found]) -> str:
    """Say how many runs others disturbed."""
    runs = sum(row["runs"] for row in rows if row["disturbed"] is not None)
    if not runs:
        return "Nobody looked whether the machine was calm."
    share = sum(row["disturbed"] or 0 for row in rows) / runs
    said = f"Others took more than 2 % of the workers' time of {100 * share:.0f} % of the runs"
    return f"{said}: what differs is then theirs." if share > MAX_DISTURBED_SHARE else f"{said}."


def _best(values: Mapping[str, float]) -> str:
    return max(values, key=lambda choice: values[choice])


def _grouped(rows: Sequence[Found], key: str) -> dict[str, list[Found]]:
    found: dict[str, list[Found]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


def _threads(count: int) -> str:
    return f"{count} thread{'s' if count != 1 else ''}"


def _signed(share: float) -> str:
    return f"{abs(100 * share):.1f} % {'faster' if share >= 0 else 'slower'}"


def _axes() -> tuple[Figure, Any]:
    figure = Figure(figsize=(7.0, 3.6), layout="constrained")
    return figure, figure.subplots()


def _dress(axes: Any, across: str, up: str, *, legend: bool = True) -> None:
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(color="#e8ecf0", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if legend:
        axes.legend(fontsize=8, frameon=False)
