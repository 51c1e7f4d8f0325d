"""Figures 6 to 8 and the headline: tensors beside other models, inside and beyond."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from experiments.frame import Headline, Shown
from experiments.tensor_completion.figures import (
    COLOURS,
    MARKERS,
    MAX_SHOWN_ERROR,
    error_axis,
    panels,
    powers_axis,
    size_text,
)
from experiments.tensor_completion.judged import (
    all_errors,
    application_names,
    best_row,
    errors_of,
    errors_with_most,
    failures,
    high_dimensional,
    least_errors,
    left_out,
    listed,
    panel_title,
    with_most_samples,
)
from experiments.tensor_completion.learners import GRID_LEARNERS, TASKSIM_KINDS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from experiments.tensor_completion.judged import Found

__all__ = ["headline", "show_beyond", "show_samples", "show_sizes"]

NOISE_OF_ERRORS: Final = 1.05
"""Errors that differ by less are the same: that is their own scatter with some hundred tests."""


# --- figures 6 and 7: all models -----------------------------------------------------------------


def show_samples(found: Found, settings: Found) -> Shown:
    """Show figure 6: error over samples by model, the best of its settings."""
    every = all_errors(found)

    def draw(axes: Axes, name: str) -> None:
        own = every[every["application"] == name]
        for family in settings["models"]:
            best = least_errors(own[own["family"] == family], "samples").dropna()
            if len(best):
                axes.plot(best.index, best, color=COLOURS[family], marker=MARKERS[family],
                          markersize=4, label=family)  # fmt: skip
        powers_axis(axes, sorted(set(own["samples"])), "samples")
        error_axis(axes, MAX_SHOWN_ERROR)

    table = (
        least_errors(every, ["application", "samples", "family"]).unstack("family").reset_index()
    )
    falls, first, said = [], [], []
    for name in application_names(found):
        own = every[(every["application"] == name) & (every["family"] == "cp")]
        over = least_errors(own, "samples")
        if over.iloc[-1] <= over.iloc[0]:
            falls.append(name)
        last = least_errors(with_most_samples(every, name), "family").dropna()
        peers = last.drop([f for f in TASKSIM_KINDS if f in last])
        if len(peers) and "cp" in last and last["cp"] <= NOISE_OF_ERRORS * peers.min():
            first.append(name)
        said.append(f"{name} {_ranking(last)}")
    high = [name for name in high_dimensional(found) if name in first]
    return Shown(
        f"Errors with the most samples: {'; '.join(said)}. The tensor is at least as accurate as "
        f"the paper's other models on {listed(first)}."
        + left_out(found)
        + failures(found, "tensors", "learners")
        + (" Fewer samples than in the paper: where another model leads, more samples favour the "
           "tensor." if len(high) < len(high_dimensional(found)) else ""),
        len(falls) == len(application_names(found)) and len(high) == len(high_dimensional(found)),
        panels(application_names(found), draw, panel_title(found)),
        table,
    )  # fmt: skip


def _ranking(errors: pd.Series) -> str:
    return ", ".join(f"{family} {error:.2g}" for family, error in errors.sort_values()[:4].items())


def show_sizes(found: Found, settings: Found) -> Shown:
    """Show figure 7: error over bytes of the model, all settings."""
    judged = errors_with_most(found)

    def draw(axes: Axes, name: str) -> None:
        own = judged[judged["application"] == name]
        for family in settings["models"]:
            some = own[own["family"] == family].sort_values("bytes")
            # The lower left envelope: what no smaller model betters.
            front = some[some["error"] <= some["error"].cummin()]
            axes.plot(front["bytes"], front["error"], color=COLOURS[family],
                      marker=MARKERS[family], markersize=4, linewidth=1, label=family)  # fmt: skip
        powers_axis(axes, [], "bytes of the model", base=10)
        error_axis(axes, MAX_SHOWN_ERROR)

    ratios, lowest = {}, []
    for name in application_names(found):
        own = judged[judged["application"] == name]
        ours = own[own["family"] == "cp"]
        peers = own[~own["family"].isin(TASKSIM_KINDS)]
        if peers.empty or ours.empty:
            continue
        other = best_row(peers)
        near = ours[ours["error"] <= NOISE_OF_ERRORS * max(other["error"], ours["error"].min())]
        ratios[name] = (other["family"], other["bytes"] / near["bytes"].min(),
                        ours["error"].min() / other["error"])  # fmt: skip
        if ours["error"].min() <= NOISE_OF_ERRORS * other["error"]:
            lowest.append(name)
    said = "; ".join(
        f"{name}: {family} has {_times(size)} the bytes and {1 / error:.2g} times the error"
        for name, (family, size, error) in ratios.items()
    )
    columns = ["application", "samples", "family", "setting", "cells", "rank", "bytes", "error"]
    return Shown(
        "The most accurate other model, compared with the smallest tensor that is as accurate, or "
        f"the most accurate one: {said}.{left_out(found)}",
        bool(ratios)
        and all(size > 1 for _, size, _ in ratios.values())
        and set(high_dimensional(found)) <= set(lowest),
        panels(application_names(found), draw, panel_title(found)),
        judged.reindex(columns=columns).reset_index(drop=True),
    )


# --- figure 8 ------------------------------------------------------------------------------------


def _times(ratio: float) -> str:
    """Return a ratio as text, without an exponent.

    >>> _times(0.268), _times(44.4), _times(1602.0)
    ('0.27 times', '44 times', '1,602 times')
    """
    return f"{ratio:,.0f} times" if ratio >= 10 else f"{ratio:.2g} times"


def show_beyond(found: Found, settings: Found) -> Shown:
    """Show figure 8: error beyond the largest value that was learnt from."""
    judged = errors_of(found, "extrapolation")
    known = found["beyond"]

    def title(name: str) -> str:
        case = known[name]
        low, high = case["beyond"]
        tested = size_text(low) if low == high else f"{size_text(low)} to {size_text(high)}"
        return f"{case['application']}: {', '.join(case['parameters'])} = {tested}"

    def draw(axes: Axes, name: str) -> None:
        own = judged[judged["case"] == name]
        for family in settings["models"]:
            best = least_errors(own[own["family"] == family], "top").dropna()
            if len(best):
                axes.plot(best.index, best, color=COLOURS[family], marker=MARKERS[family],
                          markersize=4, label=family)  # fmt: skip
        powers_axis(axes, known[name]["tops"], "largest value learnt from, N")
        error_axis(axes, MAX_SHOWN_ERROR)

    table = least_errors(judged, ["case", "top", "family"]).unstack("family").reset_index()
    wins: dict[str, list[bool]] = {}
    for name in known:
        for _, own in judged[judged["case"] == name].groupby("top"):
            best = least_errors(own, "family").dropna()
            peers = best.drop([f for f in TASKSIM_KINDS if f in best])
            if "cp" in best and len(peers):
                won = best["cp"] <= NOISE_OF_ERRORS * peers.min()
                wins.setdefault(name, []).append(bool(won))
    said = ", ".join(f"{sum(own)} of {len(own)} ({name})" for name, own in wins.items())
    last = table.sort_values("top").groupby("case").last()
    single = [own for name, own in wins.items() if len(known[name]["parameters"]) == 1
              and not name.endswith("-nodes")]  # fmt: skip
    return Shown(
        f"The positive tensor is the most accurate of the paper's models for {said} values of N. "
        "With the largest N: "
        + "; ".join(f"{name} {_ranking(row.drop('top').dropna())}" for name, row in last.iterrows())
        + f". From {settings['below']} configurations, where the paper has 4096."
        + left_out(found)
        + failures(found, "extrapolation"),
        bool(single) and all(sum(own) >= len(own) / 2 for own in single),
        panels(list(known), draw, title),
        table,
    )


# --- headline ------------------------------------------------------------------------------------


def headline(found: Found, settings: Found) -> Headline:  # noqa: ARG001
    """Return the paper's claim on errors and bytes in many dimensions, and ours."""
    judged = errors_with_most(found)
    errors, sizes = [], []
    for name in high_dimensional(found):
        own = judged[judged["application"] == name]
        ours = own[own["family"] == "cp"]
        best = best_row(ours)
        grid = own[own["family"].isin(GRID_LEARNERS)]["error"]
        if len(grid):
            errors.append(grid.min() / best["error"])
        network = own[own["family"] == "NN"]
        if len(network):
            sizes.append(best_row(network)["bytes"] / best["bytes"])
    here = f"{min(errors):.1f} to {max(errors):.1f} times" if errors else "not judged"
    if sizes:
        here += f", and {min(sizes):.0f} to {max(sizes):.0f} times fewer bytes"
    return Headline(
        "Errors of tensors with six or more parameters, against sparse grids and splines; bytes, "
        "against the most accurate neural network",
        "up to 4 times lower, and 50 times fewer bytes",
        here,
    )
