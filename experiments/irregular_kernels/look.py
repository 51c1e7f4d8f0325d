"""Look of the figures: colours of models, their names, legends, numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from matplotlib.patches import Patch

from experiments.irregular_kernels.results import GENERAL, NAIVE, SPECIFIC, VARIANTS
from tasksim.view.style import TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.irregular_kernels.results import Outcome

__all__ = [
    "COLOURS",
    "DARK",
    "NATIVE",
    "SHADE",
    "WIDTH_INCHES",
    "bare",
    "by_distribution",
    "legend",
    "name_variants",
    "plain",
    "short",
    "simulated",
    "variants",
]

NATIVE: Final = "native"
WIDTH_INCHES: Final = 9.0
"""As wide as a page shows without shrinking."""
COLOURS: Final = {NATIVE: "#7d8790", NAIVE: "#d55e00", SPECIFIC: "#56b4e9", GENERAL: "#0072b2"}
"""Of native runs and models; apart in lightness too (after Okabe and Ito)."""
DARK, SHADE = "#222222", "#eceff2"


def plain(value: float) -> str:
    """Return a number with three digits, or all those before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def simulated(outcome: Outcome) -> dict[str, Any]:
    """Return the simulated runs in the order of :data:`VARIANTS`."""
    return {name: outcome.simulated[name] for name in VARIANTS if name in outcome.simulated}


def by_distribution(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Return the outcomes per distribution of particles, in the order in which they come."""
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.input.distribution, []).append(outcome)
    return found


def variants(outcomes: Sequence[Outcome]) -> list[str]:
    """Return which of :data:`VARIANTS` predicted any of *outcomes*."""
    return [name for name in VARIANTS if any(name in o.simulated for o in outcomes)]


def short(name: str) -> str:
    """Return the name of a variant without what all regressions have in common."""
    return name.removeprefix("MLR ")


def name_variants(made: Figure, names: Sequence[str], *, bad: bool = False) -> None:
    """Say below a figure which colour is which model."""
    handles = [Patch(color=COLOURS[name], label=name) for name in (NATIVE, *names)]
    if bad:
        handles.append(Patch(color=SHADE, label="badly chosen group size"))
    legend(made, handles)


def legend(made: Figure, handles: Sequence[Artist]) -> None:
    """Put a legend below a figure, in one row."""
    made.legend(
        handles=list(handles),
        loc="outside lower center",
        ncols=len(handles),
        fontsize=TEXT["small"],
        frameon=False,
    )


def bare(axes: Axes) -> None:
    """Leave out the frame, and what is not needed of the ticks."""
    axes.tick_params(labelsize=TEXT["small"])
    axes.tick_params(axis="x", length=0 if axes.get_xscale() == "linear" else 3)
    axes.spines[["top", "right"]].set_visible(False)
