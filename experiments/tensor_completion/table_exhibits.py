"""Tables 1 and 2 and figure 1: metrics, applications, decompositions of functions."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pandas as pd

from experiments.frame import Shown
from experiments.tensor_completion.figures import COLOURS, error_axis, panels, powers_axis
from experiments.tensor_completion.functions import FUNCTIONS
from experiments.tensor_completion.judged import application_names, listed, parameter_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.tensor_completion.judged import Found

__all__ = ["show_applications", "show_functions", "show_metrics"]


# --- tables --------------------------------------------------------------------------------------


def show_metrics(found: Found, settings: Found) -> Shown:  # noqa: ARG001
    """Show table 1: all metrics of a model, and of predictions that are off by a factor."""
    judged = found["tensors"]["metrics"]
    expressions = {
        "MAPE": "|m - y| / y", "MAE": "|m - y|", "MSE": "(m - y)^2",
        "SMAPE": "2 |m - y| / (y + m)", "LGMAPE": "log(|m - y| / y)", "MLogQ": "|log(m / y)|",
        "MLogQ2": "log^2(m / y)",
    }  # fmt: skip
    table = pd.DataFrame(
        {
            "metric": list(expressions),
            "mean of": list(expressions.values()),
            f"tensor of {judged['application']}": [judged["model"][m] for m in expressions],
            **{
                f"predictions {factor} times": [values[m] for m in expressions]
                for factor, values in judged["off by"].items()
            },
        }
    )
    pairs = [("2", "0.5"), ("100", "0.01")]
    same = [
        m
        for m in expressions
        if all(
            abs(judged["off by"][a][m] - judged["off by"][b][m]) <= 1e-9 * judged["off by"][a][m]
            for a, b in pairs
        )
    ]
    return Shown(
        f"The same for as much too long as too short: {listed(same)}. SMAPE is never above 2: 100 "
        "times off hardly differs from 1000 times. So MLogQ is the one to compare.",
        {"MLogQ", "MLogQ2"} <= set(same) and not {"MAPE", "MAE", "MSE"} & set(same),
        table=table,
    )


def show_applications(found: Found, settings: Found) -> Shown:
    """Show table 2: applications, parameters, ranges, configurations."""
    rows = [
        {
            "application": name, "what": about["title"], "durations": about["source"],
            "configurations": about["configurations"], "parameter": parameter,
            "role": axis["role"], "values": axis["values"],
        }
        for name, about in found["datasets"].items()
        for parameter, axis in about["parameters"].items()
    ]  # fmt: skip
    counts = [parameter_count(found, name) for name in application_names(found)]
    return Shown(
        f"{len(counts)} applications of {min(counts)} to {max(counts)} parameters. Sizes end at "
        f"{settings['largest']} where the paper's end at 4096, the broadcast at "
        f"{settings['broadcast_ranks']} ranks; AMG and KRIPKE are made-up functions of the paper's "
        "parameters, since the codes and the machine are not here.",
        None,
        table=pd.DataFrame(rows),
        shown_rows=40,
    )


# --- figure 1 ------------------------------------------------------------------------------------


def show_functions(found: Found, settings: Found) -> Shown:  # noqa: ARG001
    """Show figure 1: error of approximations of low rank, of functions and their logarithms."""
    judged = found["functions"]
    ranks = judged["ranks"]
    styles = {"durations": ("-", COLOURS["SGR"]), "logarithms": ("--", COLOURS["cp"])}

    def draw(axes: Axes, name: str) -> None:
        for which, (line, colour) in styles.items():
            axes.plot(ranks, judged[name][which], linestyle=line, color=colour, marker="o",
                      markersize=3, label=f"decomposition of {which}")  # fmt: skip
        powers_axis(axes, [rank for rank in ranks if not rank & (rank - 1)], "rank")
        error_axis(axes)

    rows = [
        {"function": name, "rank": rank, **{f"MLogQ of {w}": judged[name][w][i] for w in styles},
         "singular value / largest": judged[name]["singular values"][rank - 1]}
        for name in FUNCTIONS
        for i, rank in enumerate(ranks)
    ]  # fmt: skip
    steady = [n for n in FUNCTIONS if _falls(judged[n]["logarithms"])]
    rises = [n for n in FUNCTIONS if not _falls(judged[n]["durations"])]
    formulas = "; ".join(f"{name} = {text}" for name, text in FUNCTIONS.items())
    return Shown(
        f"{formulas}. Of logarithms the error falls with every rank on {listed(steady)}; of "
        f"durations it rises now and then on {listed(rises)}. At rank 4 it is "
        + ", ".join(
            f"{judged[n]['logarithms'][3]:.2g} against {judged[n]['durations'][3]:.2g} ({n})"
            for n in FUNCTIONS
        )
        + ". The formulas are ours: the paper's are in its picture alone.",
        len(steady) == len(FUNCTIONS) and bool(rises),
        panels(list(FUNCTIONS), draw),
        pd.DataFrame(rows),
        len(ranks),
    )


def _falls(errors: list[float]) -> bool:
    """Return whether no error is larger than the one before, but for rounding."""
    return all(b <= a * (1 + 1e-6) + 1e-12 for a, b in pairwise(errors))
