"""Figures 3 to 5: errors of tensors over cells, rank and samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from experiments.frame import Shown
from experiments.tensor_completion.figures import (
    COLOURS,
    MARKERS,
    MAX_SHOWN_ERROR,
    error_axis,
    panels,
    powers_axis,
)
from experiments.tensor_completion.judged import (
    application_names,
    errors_of,
    least_errors,
    listed,
    panel_title,
    parameter_count,
    with_most_samples,
)
from experiments.tensor_completion.learners import GRID_LEARNERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.tensor_completion.judged import Found

__all__ = ["show_cells", "show_density", "show_ranks"]

ONE_OF_MANY: Final = 0.8
"""Share of applications that must agree: with five or six, all but one."""
NOISE_OF_ERRORS: Final = 1.05
"""Errors that differ by less are the same: that is their own scatter with some hundred tests."""
PAPER_RANK: Final = 4
"""Rank that is enough in the paper."""
LEAST_GAIN: Final = 2.0
"""Factor by which higher ranks must improve one application."""
FALLING_CORRELATION: Final = -0.5
"""Rank correlation at which the best density falls with the number of parameters."""


# --- figures 3 to 5: tensors ---------------------------------------------------------------------


def _grid_peers(axes: Axes, others: pd.DataFrame, over_levels: bool) -> None:
    """Draw sparse grids over 2^level, or their best, and the best splines, as lines."""
    for family in GRID_LEARNERS:
        own = others[(others["family"] == family) & others["error"].notna()]
        if own.empty:
            continue
        if family == "SGR" and over_levels:
            levels = [2 ** int(text.split()[-1]) for text in own["setting"]]
            axes.plot(levels, own["error"], color=COLOURS[family], marker=MARKERS[family],
                      markersize=4, linestyle="--", label="SGR, 2^level")  # fmt: skip
        else:
            axes.axhline(own["error"].min(), color=COLOURS[family], linestyle=":",
                         label=f"{family}, best")  # fmt: skip


def _shades(count: int) -> list[Any]:
    from matplotlib import colormaps

    return [colormaps["viridis"](0.05 + 0.85 * i / max(1, count - 1)) for i in range(count)]


def show_cells(found: Found, settings: Found) -> Shown:
    """Show figure 3: error over cells, by rank, with sparse grids and splines."""
    tensors, others = errors_of(found, "tensors"), errors_of(found, "learners")
    ranks = settings["ranks"]

    def draw(axes: Axes, name: str) -> None:
        own = with_most_samples(tensors, name)
        for rank, colour in zip(ranks, _shades(len(ranks)), strict=True):
            best = least_errors(own[own["rank"] == rank], "cells")
            axes.plot(best.index, best, color=colour, marker="o", markersize=3,
                      label=f"tensor, rank {rank}")  # fmt: skip
        _grid_peers(axes, with_most_samples(others, name), over_levels=True)
        powers_axis(axes, settings["cells"], "cells per parameter (SGR: 2^level)")
        error_axis(axes, MAX_SHOWN_ERROR)

    gains, wins, ratios = [], [], {}
    for name in application_names(found):
        own, peers = with_most_samples(tensors, name), with_most_samples(others, name)
        by_cells = least_errors(own, "cells")
        if by_cells.min() <= by_cells.iloc[0] / NOISE_OF_ERRORS:
            gains.append(name)
        grid = peers[peers["family"].isin(GRID_LEARNERS)]["error"].min()
        ratios[name] = grid / own["error"].min()
        if ratios[name] > 1:
            wins.append(name)
    peers = others[others["family"].isin(GRID_LEARNERS)]
    both = pd.concat([tensors, peers]).fillna({"cells": 0})
    table = least_errors(both, ["application", "samples", "family", "cells"]).reset_index()
    sizes = _sizes_text(found, tensors)
    return Shown(
        f"With {sizes}. More than {settings['cells'][0]} cells lower the error on {listed(gains)}. "
        f"The best tensor beats sparse grids and splines on {listed(wins)}; their best error is "
        + ", ".join(f"{ratio:.2g} ({name})" for name, ratio in ratios.items())
        + " times the tensor's. Where fewer cells are best, there are too few samples for more.",
        len(wins) >= ONE_OF_MANY * len(ratios) and len(gains) >= len(ratios) / 2,
        panels(application_names(found), draw, panel_title(found)),
        table,
    )


def _sizes_text(found: Found, table: pd.DataFrame) -> str:
    most = ((with_most_samples(table, name), name) for name in application_names(found))
    return ", ".join(f"{own['samples'].iloc[0]} samples of {name}" for own, name in most)


def show_ranks(found: Found, settings: Found) -> Shown:
    """Show figure 4: error over rank, by cells, with the best of sparse grids and splines."""
    tensors, others = errors_of(found, "tensors"), errors_of(found, "learners")
    cells = settings["cells"]

    def draw(axes: Axes, name: str) -> None:
        own = with_most_samples(tensors, name)
        for count, colour in zip(cells, _shades(len(cells)), strict=True):
            best = least_errors(own[own["cells"] == count], "rank")
            axes.plot(best.index, best, color=colour, marker="o", markersize=3, label=f"C{count}")
        _grid_peers(axes, with_most_samples(others, name), over_levels=False)
        powers_axis(axes, settings["ranks"], "rank")
        error_axis(axes, MAX_SHOWN_ERROR)

    enough, gains = [], {}
    for name in application_names(found):
        own, peers = with_most_samples(tensors, name), with_most_samples(others, name)
        grid = peers[peers["family"].isin(GRID_LEARNERS)]["error"].min()
        if own[own["rank"] <= PAPER_RANK]["error"].min() < grid:
            enough.append(name)
        first = own[own["rank"] == own["rank"].min()]["error"].min()
        gains[name] = first / own["error"].min()
    table = least_errors(tensors, ["application", "samples", "rank", "cells"]).reset_index()
    return Shown(
        f"Rank 4 or less beats sparse grids and splines on {listed(enough)}. From rank "
        f"{min(settings['ranks'])} to the best, the error falls by a factor of "
        + ", ".join(f"{gain:.2g} ({name})" for name, gain in gains.items())
        + ". Sparse grids are not refined adaptively here: their best level is drawn.",
        len(enough) >= ONE_OF_MANY * len(gains) and max(gains.values()) > LEAST_GAIN,
        panels(application_names(found), draw, panel_title(found)),
        table,
    )


def show_density(found: Found, settings: Found) -> Shown:
    """Show figure 5: error over samples by number of cells, the best rank of each."""
    tensors = errors_of(found, "tensors")
    cells = settings["cells"]

    def draw(axes: Axes, name: str) -> None:
        own = tensors[tensors["application"] == name]
        for count, colour in zip(cells, _shades(len(cells)), strict=True):
            best = least_errors(own[own["cells"] == count], "samples")
            axes.plot(best.index, best, color=colour, marker="o", markersize=3, label=f"C{count}")
        powers_axis(axes, sorted(set(own["samples"])), "samples")
        error_axis(axes, MAX_SHOWN_ERROR)

    kept = tensors[tensors["error"].notna()]
    at = kept.groupby(["application", "samples", "cells"])["error"].idxmin()
    table = kept.loc[at, ["application", "samples", "grid", "cells", "rank", "density", "error"]]
    best = table.loc[table.groupby(["application", "samples"])["error"].idxmin()]
    finer, said = [], []
    for name in application_names(found):
        own = best[best["application"] == name].sort_values("samples")
        first, last = own.iloc[0], own.iloc[-1]
        if last["cells"] > first["cells"]:
            finer.append(name)
        said.append(f"{name} {last['grid']} at {100 * last['density']:.3g} %")
    modes = [parameter_count(found, name) for name in application_names(found)]
    dense = [best[best["application"] == n].iloc[-1]["density"] for n in application_names(found)]
    order = pd.Series(dense).corr(pd.Series(modes), method="spearman")
    return Shown(
        f"Best with the most samples: {'; '.join(said)} density. With more samples, a finer grid "
        f"becomes the best on {listed(finer)}. Best densities fall with the number of parameters "
        f"(rank correlation {order:.2f}).",
        len(finer) >= len(modes) / 2 and order < FALLING_CORRELATION,
        panels(application_names(found), draw, panel_title(found)),
        table.reset_index(drop=True),
    )
