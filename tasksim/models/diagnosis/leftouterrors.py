"""Errors of configurations left out of fits: the worst of them, and the region of most of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.models import CLOCK_PARAMETER
from tasksim.models.quantiles import group_means
from tasksim.models.rows import describe_row, is_logarithmic, row_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.base.arrays import Bools, Floats
    from tasksim.models.samples import Samples
    from tasksim.models.validation.crossvalidation import LeftOut

__all__ = ["ErrorRegion", "WorstConfiguration", "worst_configurations", "worst_region"]

MAX_WORST: Final = 10
"""Number of configurations listed as the worst: as many as are looked at one by one."""
REGION_COUNT: Final = 4
"""Number of regions of a parameter's range: quarters tell the ends from the middle, and each still
has enough configurations."""
MIN_CONFIGURATIONS: Final = 8
"""Smallest number of configurations of a region: the standard error of fewer is itself uncertain
by more than a quarter."""
SIGNIFICANCE: Final = 0.0228
"""Probability that a region without larger errors is named: that of two standard errors, one-sided,
divided among all regions that are compared."""


@dataclass(frozen=True)
class WorstConfiguration:
    """A configuration with a large error when it was left out of the fit."""

    configuration: str
    parameters: dict[str, str | float]
    measured_s: float
    predicted_s: float

    @property
    def factor(self) -> float:
        """Predicted over measured."""
        return self.predicted_s / self.measured_s

    def to_json(self) -> dict[str, Any]:
        """Return the configuration as plain data."""
        return {
            "parameters": self.parameters,
            "measured_s": self.measured_s,
            "predicted_s": self.predicted_s,
            "factor": self.factor,
        }


@dataclass(frozen=True)
class ErrorRegion:
    """A part of the range of a parameter, with the mean error (MLogQ) there and elsewhere.

    A category is a part of its own; for one, *low* and *high* are None.
    """

    parameter: str
    low: float | None
    high: float | None
    category: str | None
    configurations: int
    mlogq: float
    mlogq_elsewhere: float

    def where(self) -> str:
        """Return the region as text: ``n from 16 to 64``, ``layout=row``."""
        if self.category is not None:
            return f"{self.parameter}={self.category}"
        if self.low == self.high:
            return f"{self.parameter}={self.low:.6g}"
        return f"{self.parameter} from {self.low:.6g} to {self.high:.6g}"

    def text(self) -> str:
        """Return a sentence with the errors, and what helps."""
        here, elsewhere = (100 * float(np.expm1(e)) for e in (self.mlogq, self.mlogq_elsewhere))
        return (
            f"{self.where()}: errs by {here:.3g} % there ({self.configurations} configurations "
            f"left out), by {elsewhere:.3g} % elsewhere; more samples there would help most"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the region as plain data."""
        return dict(vars(self))


def worst_configurations(
    out: LeftOut, samples: Samples, most: int = MAX_WORST
) -> list[WorstConfiguration]:
    """Return at *most* this number of configurations with the largest errors, the worst first.

    Where samples were left out, not configurations, the prediction is the mean over the samples.
    """
    rows, group = samples.configurations()
    known = out.known
    errors = out.errors(samples)
    # Of a configuration, a fit left out all samples, or some; the mean is over those.
    kept = group[known]
    count = np.maximum(np.bincount(kept, minlength=len(rows)), 1)
    predicted = np.bincount(kept, out.predicted_s[known], minlength=len(rows)) / count
    measured = group_means(samples.durations_s, group)
    order = np.argsort(-np.nan_to_num(errors, nan=-1.0), kind="stable")
    return [
        WorstConfiguration(
            describe_row(samples.names, rows[i], samples.categories),
            row_values(samples.names, rows[i], samples.categories),
            float(measured[i]),
            float(predicted[i]),
        )
        for i in order[:most].tolist()
        if np.isfinite(errors[i])
    ]


def worst_region(out: LeftOut, samples: Samples) -> ErrorRegion | None:
    """Return the region with the largest mean error of those significantly above the rest.

    None if no region is, or if no configurations were left out as a whole: the errors are then
    those of repetitions.
    """
    if out.by != "configuration":
        return None
    rows, _ = samples.configurations()
    errors = out.errors(samples)
    known = np.isfinite(errors)
    rows, errors = rows[known], errors[known]
    enough = [
        (region, inside)
        for region, inside in _regions(samples, rows)
        if min(inside.sum(), (~inside).sum()) >= MIN_CONFIGURATIONS
    ]
    found = [
        ErrorRegion(
            *region, int(inside.sum()), float(errors[inside].mean()), float(errors[~inside].mean())
        )
        for region, inside in enough
        if _above(errors[inside], errors[~inside], SIGNIFICANCE / len(enough))
    ]
    return max(found, key=lambda region: region.mlogq, default=None)


_Where = tuple[str, float | None, float | None, str | None]


def _regions(samples: Samples, rows: Floats) -> Iterator[tuple[_Where, Bools]]:
    """Yield parameter, bounds and category of each region, and which *rows* are inside."""
    for name, column in zip(samples.names, rows.T, strict=True):
        if name == CLOCK_PARAMETER or len(column) == 0:
            continue
        if name in samples.categories:
            for index, category in enumerate(samples.categories[name]):
                yield (name, None, None, category), column == index
            continue
        low, high = float(column.min()), float(column.max())
        even = np.geomspace if is_logarithmic(low, high) else np.linspace
        part = np.searchsorted(even(low, high, REGION_COUNT + 1)[1:-1], column, side="right")
        for index in np.unique(part):
            inside = part == index
            yield (name, float(column[inside].min()), float(column[inside].max()), None), inside


def _above(inside: Floats, outside: Floats, significance: float) -> bool:
    """Return whether errors *inside* are larger in the mean (Welch's test, cautious)."""
    from scipy.special import stdtrit

    variance = inside.var(ddof=1) / len(inside) + outside.var(ddof=1) / len(outside)
    # Student's quantile for the smaller group: Welch's degrees of freedom are at least as many.
    freedom = min(len(inside), len(outside)) - 1
    difference = float(inside.mean()) - float(outside.mean())
    return bool(difference > stdtrit(freedom, 1 - significance) * np.sqrt(variance))
