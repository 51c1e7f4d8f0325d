"""Sobol' indices by sampling of simulated settings between those of a study."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.study.report.evidence import CONFIDENCE_LEVEL
from tasksim.study.report.pairs import TIE_TOLERANCE
from tasksim.study.sweep.plan import scenario_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tasksim.base.progress import CountProgress
    from tasksim.scenario.scenario import Scenario
    from tasksim.study.report.axes import StudyAxis
    from tasksim.study.report.table import StudyTable

__all__ = ["DrawnIndex", "drawn_sobol_indices", "estimated"]

MAX_SIMULATIONS: Final = 1_000_000
"""Maximum number of simulations, the same as that of cells of a study."""
RESAMPLES: Final = 999
"""Number of bootstrap resamples: the ends of an interval then vary by a few hundredths of its
width."""
MIN_LOG_RANGE_RATIO: Final = 10.0
"""Minimum ratio of a range's ends for draws on a logarithmic scale, on which people choose the
values of wide ranges."""
NUMBER_FORMAT: Final = "{:.9g}"
"""Format of a drawn value; the text of a setting needs no more digits."""


@dataclass(frozen=True)
class DrawnIndex:
    """Share of the variance of ln(makespan) that an axis explains, estimated from draws.

    Parameters
    ----------
    axis : str
    first, first_low, first_high : float
        Share of the axis alone, and its interval.
    total, total_low, total_high : float
        Share with all interactions of the axis, and its interval.
    simulated : int
        Number of simulated makespans.

    See Also
    --------
    drawn_sobol_indices : Compute the indices of all axes.
    """

    axis: str
    first: float
    first_low: float
    first_high: float
    total: float
    total_low: float
    total_high: float
    simulated: int


def drawn_sobol_indices(
    table: StudyTable,
    draws: int,
    seed: int = 0,
    progress: CountProgress | None = None,
) -> list[DrawnIndex]:
    """Return the Sobol' indices over the ranges of a study's settings, the largest total first.

    Numbers are drawn between the smallest and the largest value of the study: whole numbers if all
    values are whole, on a logarithmic scale if the range is wide. All other axes are drawn from
    their values with equal probabilities. Tasks have the mean durations of their models, without
    noise.

    Parameters
    ----------
    table : StudyTable
        Table of a study with a folder. Its grid may have gaps.
    draws : int
        A power of two. The number of simulations is *draws* times the number of axes plus two.
    seed : int, default 0
        Seed of the draws and of the bootstrap.
    progress : callable, optional
        Called with the number of finished simulations and that of all distinct ones.

    Raises
    ------
    InputError
        If the table has no folder, if nothing varies, if *draws* is not a power of two, or if a
        drawn point cannot be simulated.

    See Also
    --------
    tasksim.study.report.sensitivity.sobol_indices : Exact indices of a full grid.

    Notes
    -----
    Points are SciPy's Sobol' sequence with a random shift. Estimators: A. Saltelli et al.,
    "Variance based sensitivity analysis of model output. Design and estimator for the total
    sensitivity index", Computer Physics Communications 181 (2010), pp. 259-270; for the total
    index, the one of Jansen. Intervals are those of a bootstrap over the draws.
    """
    axes = [axis for axis in table.axes if axis.name != "seed"]
    _check(table, axes, draws)
    rng = np.random.default_rng(seed)
    found = estimated(_Points(table, axes, progress).log_makespans, len(axes), draws, rng)
    simulated = draws * (len(axes) + 2)
    indices = [
        DrawnIndex(axis.name, first, first_low, first_high, total, low, high, simulated)
        for axis, (first, first_low, first_high, total, low, high) in zip(
            axes, found.tolist(), strict=True
        )
    ]
    return sorted(indices, key=lambda index: -index.total)


def estimated(
    function: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    axes: int,
    draws: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return first and total indices, each with the ends of its interval, one row per axis.

    *function* takes points of the unit cube, one per row; if it is constant, all indices are 0.
    """
    from scipy.stats import qmc

    shift = rng.random(2 * axes)
    both = (qmc.Sobol(2 * axes, scramble=False).random(draws) + shift) % 1.0
    first, second = both[:, :axes], both[:, axes:]
    mixed = [np.where(np.arange(axes) == axis, second, first) for axis in range(axes)]
    values = function(np.concatenate([first, second, *mixed])).reshape(axes + 2, draws)
    values = values - values.mean()
    rows = rng.integers(draws, size=(RESAMPLES, draws))
    estimates = np.stack([_indices(values), *(_indices(values[:, drawn]) for drawn in rows)])
    levels = [(1.0 - CONFIDENCE_LEVEL) / 2.0, (1.0 + CONFIDENCE_LEVEL) / 2.0]
    low, high = np.quantile(estimates[1:], levels, axis=0)
    return np.stack([estimates[0], low, high], axis=-1).reshape(axes, 6)


def _indices(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first and the total index of each axis."""
    first, second, mixed = values[0], values[1], values[2:]
    variance = float(np.var(values[:2]))
    if variance <= TIE_TOLERANCE**2:
        return np.zeros((len(mixed), 2))
    alone = (second * (mixed - first)).mean(axis=1) / variance
    whole = ((first - mixed) ** 2).mean(axis=1) / (2.0 * variance)
    return np.stack([alone, whole], axis=1)


def _check(table: StudyTable, axes: list[StudyAxis], draws: int) -> None:
    if not table.folder:
        raise InputError("Sobol' indices by draws need the folder of a study, not only a table")
    if not axes:
        raise InputError("Sobol' indices: the study varies nothing but seeds")
    if draws < 2 or draws & (draws - 1):
        raise InputError(f"draws: got {draws}; legal: a power of two, such as 64 or 1024")
    if draws * (len(axes) + 2) > MAX_SIMULATIONS:
        raise InputError(
            f"draws: {draws} x ({len(axes)} axes + 2) are {draws * (len(axes) + 2):,} simulations; "
            f"legal: at most {MAX_SIMULATIONS:,}"
        )


class _Points:
    """Map from points of the unit cube to scenarios, which are variations of the study's cells."""

    def __init__(
        self, table: StudyTable, axes: list[StudyAxis], progress: CountProgress | None
    ) -> None:
        self._axes, self._progress = axes, progress
        self._values = [_between(axis) for axis in axes]
        self._named = [i for i, axis in enumerate(axes) if not _is_range(axis)]
        self._bases = _bases(table, [axes[i].name for i in self._named])

    def log_makespans(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln(makespan) of points of the unit cube, one per row."""
        from tasksim.scenario.many import simulate_many

        asked = [self._scenario(point) for point in points]
        distinct = list({scenario_text(one): one for one in asked}.values())
        makespans = simulate_many(distinct, progress=self._progress).makespan_s.tolist()
        found = dict(zip(map(scenario_text, distinct), makespans, strict=True))
        return np.log([found[scenario_text(one)] for one in asked])

    def _scenario(self, point: NDArray[np.float64]) -> Scenario:
        drawn = [value(float(share)) for value, share in zip(self._values, point, strict=True)]
        base = self._bases.get(tuple(drawn[i] for i in self._named))
        if base is None:
            names = ", ".join(f"{self._axes[i].name} {drawn[i]}" for i in self._named)
            raise InputError(f"Sobol' indices by draws: the study has no cell with {names}")
        changes = {
            axis.name: value
            for axis, value in zip(self._axes, drawn, strict=True)
            if _is_range(axis)
        }
        return base.vary(changes)


def _is_range(axis: StudyAxis) -> bool:
    """Return whether an axis is a numeric setting that can have values between the study's."""
    return (
        axis.is_numeric
        and not axis.aliases
        and axis.name.startswith(("graph.", "platform.", "network.", "engine."))
        and all(map(math.isfinite, axis.numbers or ()))
    )


def _between(axis: StudyAxis) -> Callable[[float], Any]:
    """Return the function from a share of an axis' range, from 0 to below 1, to its value."""
    if not _is_range(axis):
        return lambda share: axis.values[min(int(share * len(axis)), len(axis) - 1)]
    numbers = axis.numbers or ()
    low, high = min(numbers), max(numbers)
    wide = low > 0 and high >= MIN_LOG_RANGE_RATIO * low
    if all(number == int(number) for number in numbers) and not axis.unit and _plain(axis):
        # Half a step more at either end: rounding then gives both ends their full probability.
        first, last = low - 0.5, high + 0.5
        return lambda share: min(max(round(_at(share, first, last, wide)), int(low)), int(high))
    text = NUMBER_FORMAT if _plain(axis) else f"x{NUMBER_FORMAT}"
    unit = f" {axis.unit}" if axis.unit else ""
    return lambda share: text.format(_at(share, low, high, wide)) + unit


def _at(share: float, low: float, high: float, wide: bool) -> float:
    return low * (high / low) ** share if wide else low + share * (high - low)


def _plain(axis: StudyAxis) -> bool:
    """Return whether values are not factors, such as ``x1.5``."""
    return not str(axis.values[0]).startswith("x")


def _bases(table: StudyTable, names: list[str]) -> dict[tuple[Any, ...], Scenario]:
    """Return one scenario of the study for each combination of values of the columns *names*."""
    from tasksim.study.sweep.lookup import scenarios_of

    rows = table.used.drop_duplicates(subset=names) if names else table.used.head(1)
    keys = [tuple(row) for row in rows[names].itertuples(index=False)]
    scenarios = scenarios_of(Path(table.folder), rows["cell"].tolist(), trust=table.trust)
    if any(scenario.clock == "native" for scenario in scenarios):
        raise InputError("Sobol' indices by draws need a simulated study, not one of native runs")
    return dict(zip(keys, (replace(one, noise="none") for one in scenarios), strict=True))
